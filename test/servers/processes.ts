import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { atExit } from './at-exit.ts'
import { untilItAnswers } from './answer.ts'
import type { Program } from './program.ts'
import { lastWords, spawnServer } from './start.ts'

/** A server's process, to be ended in any way and started again. */
export interface ServerProcess {
  /** Waits until it answers. */
  start (command: string[]): Promise<void>
  /** SIGTERM is an orderly end. */
  end (signal?: NodeJS.Signals): Promise<void>
  /** It is there and does nothing, until it is told to go on. */
  freeze (on: boolean): void
  remove (): void
}

export interface ProcessOptions { url: string, data: string, log: string, env: Program['env'] }

export function createServerProcess ({ url, data, log, env }: ProcessOptions): ServerProcess {
  let child: ChildProcess | undefined
  const kill = atExit(() => { child?.kill('SIGKILL') })
  return {
    async start (command) {
      const started = child = spawnServer(command, env)
      await untilItAnswers(url, 60, data, () => {
        if (started.exitCode !== null || started.signalCode !== null) throw new Error(lastWords(log))
      })
    },
    async end (signal = 'SIGTERM') {
      const ended = child
      if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return
      ended.ref()
      ended.kill(signal)
      await once(ended, 'exit')
    },
    freeze (on) { child?.kill(on ? 'SIGSTOP' : 'SIGCONT') },
    remove: kill
  }
}
