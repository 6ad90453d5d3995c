/** What only the benchmark needs is installed beside it, by the first run and when its lock file has changed. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { run } from '../test/servers/shell.ts'

/** npm's own list of what it has installed, in the form of the lock file. */
const INSTALLED = 'node_modules/.package-lock.json'
const CONTENDER = 'node_modules/@platformatic/db'

/** Without install scripts: what they would build here (SQLite for Platformatic DB) is not measured. */
export async function installDependencies (): Promise<void> {
  if (versionIn(INSTALLED) === versionIn('package-lock.json')) return
  console.log('# installing the contenders, once')
  await run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: fileURLToPath(new URL('.', import.meta.url)) })
}

/** Undefined where there is no such list. */
function versionIn (list: string): string | undefined {
  try {
    const { packages } = JSON.parse(readFileSync(new URL(list, import.meta.url), 'utf8')) as { packages: Record<string, { version: string }> }
    return packages[CONTENDER]?.version
  } catch {
    return undefined
  }
}
