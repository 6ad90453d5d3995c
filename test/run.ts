/**
 * What `npm test` runs: obtains the MySQL-protocol servers, then runs tap with them.
 *
 *     node test/run.ts [--all | --sqlite-only] [tap's arguments…]
 *
 * `--all`: MariaDB and MySQL, where otherwise one of them will do. `--sqlite-only`: no server at all.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { obtain } from './servers/obtain.ts'
import type { Server } from './servers/answer.ts'

const OWN_OPTIONS = ['--all', '--sqlite-only']

async function serversFor (options: string[]): Promise<Server[]> {
  if (options.includes('--sqlite-only')) return []
  if (!options.includes('--all')) return [await obtain([{ kind: 'mariadb' }, { kind: 'mysql' }])]
  const [mariadb, mysql] = await Promise.allSettled([obtain([{ kind: 'mariadb' }]), obtain([{ kind: 'mysql', atLeast: '9.7' }])])
  if (mariadb.status === 'rejected') throw mariadb.reason
  if (mysql.status === 'fulfilled') return [mariadb.value, mysql.value]
  // it comes from an archive that changes by the day: a day without it is no failure of this project
  console.log(`# tests go on WITHOUT MySQL: ${(mysql.reason as Error).message}`)
  return [mariadb.value]
}

/** Runs tap to its end and gives its exit code. It has a process group of its own, so that its tests can be ended with it. */
async function tap (args: string[], servers: Server[]): Promise<number> {
  const program = fileURLToPath(new URL('../node_modules/tap/dist/esm/run.mjs', import.meta.url))
  const TEST_ENGINES = JSON.stringify(servers.map(({ engine }) => engine))
  child = spawn(process.execPath, [program, ...args],
    { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, TEST_ENGINES }, detached: true })
  const [code, signal] = await once(child, 'exit') as [number | null, NodeJS.Signals | null]
  return code ?? exitCodeOf(signal ?? 'SIGTERM')
}

/** tap may take its time after a signal (it waits for the tests that run): after two seconds, or a second signal, it is ended. */
function interrupt (signal: NodeJS.Signals): void {
  const end = () => {
    signalTap('SIGKILL')
    process.exit(exitCodeOf(signal))
  }
  if (child === undefined || interrupted) return end()
  interrupted = true
  signalTap(signal)
  setTimeout(end, 2000)
}

function signalTap (signal: NodeJS.Signals): void {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, signal)
  } catch {} // it has ended
}

function exitCodeOf (signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

let child: ChildProcess | undefined
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)

const options = process.argv.slice(2).filter((argument) => OWN_OPTIONS.includes(argument))
const args = process.argv.slice(2).filter((argument) => !OWN_OPTIONS.includes(argument))
try {
  const servers = await serversFor(options)
  for (const { engine, from } of servers) console.log(`# ${engine.name} ${engine.version} on ${new URL(engine.url).host} (${from})`)
  // the servers and their data go when this process exits, whichever way it does
  process.exit(await tap(args, servers))
} catch (error) {
  console.error(`npm test: ${(error as Error).message}`)
  process.exit(1)
}
