/**
 * What `npm test` runs: obtains the MySQL-protocol servers, then runs tap with them.
 *
 *     node test/run.ts [--all [--mysql-optional] | --sqlite-only] [tap's arguments…]
 *
 * Without options, the tests that are not marked as slow (marks.ts): on one of the servers, and on SQLite what concerns SQLite alone. With names
 * of files, all tests in them, on both. `--all`: all tests on MariaDB, MySQL and SQLite, and the coverage (coverage.ts), since some lines are for
 * one of them alone. `--mysql-optional`: goes on without MySQL on a day on which the archive does not provide its package. `--sqlite-only`: no
 * server at all.
 */
import { availableParallelism } from 'node:os'
import { coverageProblems, readCoverage, UNMEASURED } from './coverage.ts'
import { findSlowFiles } from './marks.ts'
import { COMPILED } from './servers/folders.ts'
import { obtain } from './servers/obtain.ts'
import { NOT_PROVIDED } from './servers/packages.ts'
import type { Server } from './servers/answer.ts'
import { endWithTap, runTap } from './tap.ts'

const OWN_OPTIONS = ['--all', '--mysql-optional', '--sqlite-only']

async function serversFor (options: string[]): Promise<Server[]> {
  if (options.includes('--sqlite-only')) return []
  if (!options.includes('--all')) return [await obtain([{ kind: 'mariadb' }, { kind: 'mysql' }])]
  const [mariadb, mysql] = await Promise.allSettled([obtain([{ kind: 'mariadb' }]), obtain([{ kind: 'mysql', atLeast: '9.7' }])])
  if (mariadb.status === 'rejected') throw mariadb.reason
  if (mysql.status === 'fulfilled') return [mariadb.value, mysql.value]
  const { message } = mysql.reason as Error
  // the archive changes by the day: a day without the package is not a failure of this project
  if (!options.includes('--mysql-optional') || !message.includes(NOT_PROVIDED)) throw mysql.reason
  console.log(`# tests go on WITHOUT MySQL: ${message}`)
  return [mariadb.value]
}

/** .taprc excludes these, and an option replaces its list. */
const FAULTS = 'test/faults/**'

const exclude = (patterns: readonly string[]): string[] => patterns.map((files) => `--exclude=${files}`)

/** Whether there is an engine for every line. */
function isWhole (servers: readonly Server[]): boolean {
  return ['mariadb', 'mysql'].every((name) => servers.some(({ engine }) => engine.name === name))
}

/** Tests wait more than they compute: for clocks that they test, for processes that start. */
const JOBS = Math.min(2 * availableParallelism(), 8)

endWithTap()
const options = process.argv.slice(2).filter((argument) => OWN_OPTIONS.includes(argument))
const args = process.argv.slice(2).filter((argument) => !OWN_OPTIONS.includes(argument))
const isQuick = !options.includes('--all') && args.every((argument) => argument.startsWith('--'))
try {
  const servers = await serversFor(options)
  for (const { engine, from } of servers) console.log(`# ${engine.name} ${engine.version} on ${new URL(engine.url).host} (${from})`)
  // the servers and their data go when this process exits, whichever way it does
  const TEST_ENGINES = JSON.stringify(servers.map(({ engine }) => engine))
  const isMeasured = isWhole(servers) && !args.includes('--disable-coverage')
  const run = (isMeasured: boolean, more: string[]): Promise<number> => {
    const sqlite = isQuick ? { TEST_SQLITE: 'alone' } : {}
    const { flags, env } = isMeasured ? { flags: ['--allow-incomplete-coverage'], env: { TEST_COVERAGE: 'on' } } : { flags: ['--disable-coverage'], env: { NODE_COMPILE_CACHE: COMPILED } }
    return runTap([`--jobs=${JOBS}`, ...flags, ...(isQuick ? exclude([...findSlowFiles(), FAULTS]) : []), ...more], { TEST_ENGINES, ...sqlite, ...env })
  }
  if (!isMeasured || args.length > 0) process.exit(await run(isMeasured, args))
  const measured = await run(true, exclude([...UNMEASURED, FAULTS]))
  const problems = measured === 0 ? coverageProblems(readCoverage()) : []
  // tap starts files by name: those of test/build, which take minutes, before all others
  const rest = await run(false, [...UNMEASURED])
  for (const problem of problems) console.error(`npm test: ${problem}`)
  process.exit(problems.length > 0 ? 1 : measured || rest)
} catch (error) {
  console.error(`npm test: ${(error as Error).message}`)
  process.exit(1)
}
