/** Starts processes, each with its own port, that end at the latest with this process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from '../../test/servers/at-exit.ts'
import { temporaryFolder } from '../../test/servers/folders.ts'

export interface Program {
  /** The arguments of Node: a file and its arguments. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Whether it replies to requests (ask.ts). */
  readonly channel?: boolean
}

export interface Spawned {
  readonly child: ChildProcess
  readonly pid: number
  /** The last lines of its output. */
  printed (): string
  stop (): Promise<void>
}

/**
 * In the pauses between turns V8 would free memory and discard machine code (src/cli/start-server.ts, where the
 * service prevents the same). All contenders keep their code, because the cost of continuous requests is measured.
 */
const KEEP_WHAT_IS_COMPILED = '--no-memory-reducer-favors-memory'

/**
 * Starts a program with the current Node. Its output goes to a file, as in production. It gets only the environment
 * variables that are intended for it.
 */
export function spawnProgram ({ args, env, channel = false }: Program): Spawned {
  const folder = temporaryFolder(join(tmpdir(), 'row-query-bench'))
  const path = join(folder.path, 'output')
  const output = openSync(path, 'a')
  const child = spawn(process.execPath, [KEEP_WHAT_IS_COMPILED, ...args], {
    cwd: folder.path,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', output, output, ...(channel ? ['ipc' as const] : [])]
  })
  closeSync(output)
  const kill = atExit(() => { child.kill('SIGKILL') })
  return {
    child,
    pid: child.pid as number,
    printed: () => readFileSync(path, 'utf8').slice(-2000),
    async stop () {
      const ended = child.exitCode !== null || child.signalCode !== null || once(child, 'exit')
      kill()
      await ended
      folder.remove()
    }
  }
}
