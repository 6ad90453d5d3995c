import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { untilItAnswers, type Engine, type Server } from './answer.ts'
import { atExit } from './at-exit.ts'
import { makeData, words } from './data.ts'
import { dataFolder, temporaryFolder } from './folders.ts'
import { freePort } from './free-port.ts'
import { complaint } from './shell.ts'
import { userFor } from './user.ts'
import type { Kind, Program } from './program.ts'

/**
 * The defaults of these servers are such that a service which relies on a default fails its tests: the
 * time zone is not UTC and the SQL mode not strict. The rest is for speed, as the data are thrown away.
 */
export function settings (kind: Kind): string[] {
  const both = [
    '--default-time-zone=+03:00', '--sql-mode=', '--max-connections=300', '--log-bin-trust-function-creators=1',
    '--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=64M', '--innodb-doublewrite=0'
  ]
  return kind === 'mariadb'
    // a table without a file and statistics of its own is created and dropped in half the CPU time
    ? [...both, '--innodb-log-file-size=32M', '--innodb-file-per-table=OFF', '--innodb-stats-persistent=OFF']
    : [
        ...both, '--skip-log-bin', '--performance-schema=OFF', '--loose-mysqlx=OFF',
        '--loose-innodb-redo-log-capacity=32M'
      ]
}

/** Starts a program on a data folder of its own, on a free port of the loopback interface. */
export async function start (program: Program, from: string): Promise<Server> {
  const folder = temporaryFolder(join(dataFolder(), 'row-query'))
  chmodSync(folder.path, 0o711) // the server may run as another user; its data folder stays its own
  const data = join(folder.path, 'data')
  try {
    const user = userFor(program, folder.path)
    await makeData(program, user, data)
    const command = [
      ...words(program, user, data), ...settings(program.kind),
      ...(program.kind === 'mysql' ? ['--secure-file-priv=NULL'] : [])
    ]
    const { engine, kill } = await listen(command, program.env, data)
    return { engine, from, stop: () => { kill(); folder.remove() } }
  } catch (error) {
    folder.remove()
    throw error
  }
}

interface Running { engine: Engine, kill: () => void }

/**
 * Between the choice of a port and its use another program may take it, perhaps even a server that
 * answers: hence more than one attempt, and only the server with our data folder is ours.
 */
async function listen (command: string[], env: Program['env'], data: string, attempts = 3): Promise<Running> {
  const port = await freePort()
  const log = join(data, `log-${port}.err`) // without a suffix the servers choose another name
  // in its own folder: a server that starts deletes the temporary tables of all servers that have theirs in the same
  // one
  const child = spawnServer([...command, `--tmpdir=${data}`, '--bind-address=127.0.0.1', `--port=${port}`,
    `--socket=${join(data, 's')}`, `--pid-file=${join(data, 'pid')}`, `--log-error=${log}`], env)
  const kill = atExit(() => { child.kill('SIGKILL') }) // no data are worth an orderly shutdown
  try {
    const engine = await untilItAnswers(`mysql://root@127.0.0.1:${port}`, 60, data, () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(lastWords(log))
    })
    return { engine, kill }
  } catch (error) {
    kill()
    if (attempts <= 1 || !/already in use/.test(read(log))) throw error
    return await listen(command, env, data, attempts - 1)
  }
}

/** In a process group of its own: Ctrl-C ends the tests first, and then we end the server. */
export function spawnServer ([file = '', ...args]: string[], env: Program['env']): ChildProcess {
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: 'ignore', detached: true })
  child.on('error', () => {}) // its exit code tells
  child.unref()
  return child
}

export function lastWords (log: string): string {
  return complaint(read(log)) ?? 'the server did not start'
}

function read (log: string): string {
  return existsSync(log) ? readFileSync(log, 'utf8') : ''
}
