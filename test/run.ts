/**
 * What `npm test` runs: obtains the MySQL-protocol servers, then runs the test files with them.
 *
 *     node test/run.ts [--all [--mysql-optional] | --sqlite-only] [--night] [--jobs=N] [--no-timeout] [--tap] [--bail]
 *       [--write] [files…]
 *
 * Without options, the files that are not marked with `// night: <reason>`, on SQLite and on the first server that it
 * can get, most tests on one of the two (support/rotation.ts). `--all`: every test on SQLite, MariaDB and MySQL.
 * `--mysql-optional`: goes on without MySQL on a day on which the archive does not provide its package.
 * `--sqlite-only`: no server at all. `--night`: the marked files as well. With names of files, these. `--tap` prints
 * every assertion. `--bail`: starts no file after the first one that fails. `--write`: renews the expected responses
 * in files that tests compare with.
 */
import { globSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { NIGHT, ONE_ENGINE, WRITE } from './protocol.ts'
import { endWithTests, runFiles } from './runner.ts'
import { COMPILED } from './servers/folders.ts'
import { obtain } from './servers/obtain.ts'
import { NOT_PROVIDED } from './servers/packages.ts'
import type { Server } from './servers/answer.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * `// night: starts programs`. Says why a file is left to the nightly run: many random cases, real time limits, started
 * programs, measured times.
 */
const MARK = /^(?:\/\/.*\n)*\/\/ night: ./

/** The time limit of a file in milliseconds: many times what the slowest takes, for a busy machine. */
const TIMEOUT = 480_000

/** Tests also wait for servers and for processes that they start; each process compiles and warms up for itself. */
const JOBS = Math.min(2 * availableParallelism(), 10)

const { values: options, positionals: named } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    'mysql-optional': { type: 'boolean', default: false },
    'sqlite-only': { type: 'boolean', default: false },
    night: { type: 'boolean', default: false },
    tap: { type: 'boolean', default: false },
    bail: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    'no-timeout': { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(JOBS) }
  }
})

async function obtainServers (): Promise<Server[]> {
  if (options['sqlite-only']) return []
  if (!options.all) return [await obtain([{ kind: 'mariadb' }, { kind: 'mysql' }])]
  const [mariadb, mysql] = await Promise.allSettled([
    obtain([{ kind: 'mariadb' }]), obtain([{ kind: 'mysql', atLeast: '9.7' }])
  ])
  if (mariadb.status === 'rejected') throw mariadb.reason
  if (mysql.status === 'fulfilled') return [mariadb.value, mysql.value]
  const { message } = mysql.reason as Error
  // the archive changes by the day: a day without the package is not a failure of this project
  if (!options['mysql-optional'] || !message.includes(NOT_PROVIDED)) throw mysql.reason
  console.log(`# tests go on WITHOUT MySQL: ${message}`)
  return [mariadb.value]
}

/** Whether a test may take one of the engines: in a run of all files that is not asked for all engines. */
const isQuick = !options.all && named.length === 0

const sizeOf = (file: string): number => statSync(ROOT + file).size

/**
 * The files of the run, the largest first, so that no long one is left for the end. test/faults has servers of its own
 * (faults/run.ts).
 */
function findFiles (): string[] {
  if (named.length > 0) return globSync(named, { cwd: ROOT })
  const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/faults/**'] }).sort(
    (one, other) => sizeOf(other) - sizeOf(one)
  )
  return options.night ? files : files.filter((file) => !MARK.test(readFileSync(ROOT + file, 'utf8')))
}

endWithTests()
try {
  const servers = await obtainServers()
  for (const { engine, from } of servers) {
    console.log(
      `# ${engine.name} ${engine.version} on ${new URL(engine.url).host} (${from})`
    )
  }
  const files = findFiles()
  const { TEST_SEED = String(Date.now() % 1_000_000) } = process.env
  console.log(`# TEST_SEED=${TEST_SEED}`)
  if (files.length === 0) throw new Error(`there are no such files: ${named.join(' ')}`)
  // the servers and their data go when this process exits, whichever way it does
  process.exit(await runFiles(files, {
    jobs: Number(options.jobs),
    timeout: options['no-timeout'] ? 0 : TIMEOUT,
    isVerbose: options.tap,
    isBailing: options.bail,
    env: {
      TEST_SEED,
      TEST_ENGINES: JSON.stringify(servers.map(({ engine }) => engine)),
      NODE_COMPILE_CACHE: COMPILED,
      ...(options.night ? { [NIGHT]: '1' } : isQuick && { [ONE_ENGINE]: '1' }),
      ...(options.write && { [WRITE]: '1' })
    }
  }))
} catch (error) {
  console.error(`npm test: ${(error as Error).message}`)
  process.exit(1)
}
