/** What only the benchmark needs is installed beside it when it is first run. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { run } from '../test/servers/shell.ts'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))

/** Without install scripts: what they would build here (SQLite for Platformatic DB) is not measured. */
export async function installDependencies (): Promise<void> {
  if (existsSync(new URL('node_modules/@platformatic/db/package.json', import.meta.url))) return
  console.log('# installing the contenders, once')
  await run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER })
}
