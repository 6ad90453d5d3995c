/**
 * Runs the tests of sessions and statements against another mysql2: `TEST_MYSQL2=latest` (or a version, or the path of
 * a package). They show whether it still has the private parts that commands use.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { engines } from '../../servers/engines.ts'

const wanted = process.env['TEST_MYSQL2'] ?? ''
const skip = wanted === '' && 'set TEST_MYSQL2=latest to run them'

t.test('statements run with the mysql2 of TEST_MYSQL2', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-mysql2-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = existsSync(wanted) ? resolve(wanted) : install(folder, wanted)
  const { version } = createRequire(import.meta.url)(join(path, 'package.json')) as { version: string }
  const hooks = join(folder, 'hooks.mjs')
  writeFileSync(hooks, hooksFor(path))
  for (const file of ['connection/statement-command', 'connection/session', 'stopping'].map(
    (name) => `test/dialects/mysql/${name}.test.ts`
  ).concat('test/response/response-sink.test.ts')) {
    const env = { ...process.env, TEST_MYSQL2: '', TEST_ENGINES: JSON.stringify(await engines()) }
    const { status, stdout } = spawnSync(process.execPath, ['--import', pathToFileURL(hooks).href, file], {
      encoding: 'utf8', env
    })
    t.equal(status, 0, `${file} with mysql2 ${version}`, {
      failures: stdout.split('\n').filter((line) => line.includes('not ok'))
    })
  }
})

function install (folder: string, version: string): string {
  execFileSync(
    'npm',
    ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', `mysql2@${version}`],
    { stdio: 'ignore' }
  )
  return join(folder, 'node_modules/mysql2')
}

/** Sends every import of mysql2 to the package in that folder. */
function hooksFor (path: string): string {
  return `import { createRequire, registerHooks } from 'node:module'
    import { pathToFileURL } from 'node:url'
    const require = createRequire(${JSON.stringify(join(path, 'package.json'))})
    const own = { mysql2: require.resolve('./index.js'), 'mysql2/promise': require.resolve('./promise.js') }
    registerHooks({ resolve: (specifier, context, next) => specifier in own
      ? { url: pathToFileURL(own[specifier]).href, shortCircuit: true }
      : next(specifier, context) })`
}
