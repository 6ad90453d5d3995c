/** Installs the packages of the benchmark into bench/, in the first run and when the lock file has changed. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { run } from '../test/servers/shell.ts'

/** npm's list of the installed packages, in the format of the lock file. */
const INSTALLED = 'node_modules/.package-lock.json'
const CONTENDER = 'node_modules/@platformatic/db'

/** Without install scripts: they would build SQLite for Platformatic DB, which is not measured. */
export async function installDependencies (): Promise<void> {
  if (versionIn(INSTALLED) === versionIn('package-lock.json')) return
  console.log('# installing the contenders, once')
  await run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: fileURLToPath(new URL('.', import.meta.url)) })
}

/** Undefined if there is no list. */
function versionIn (list: string): string | undefined {
  try {
    const { packages } = JSON.parse(readFileSync(new URL(list, import.meta.url), 'utf8')) as { packages: Record<string, { version: string }> }
    return packages[CONTENDER]?.version
  } catch {
    return undefined
  }
}
