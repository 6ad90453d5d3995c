import { fileURLToPath } from 'node:url'
import { ask } from '../ask.ts'
import { spawnProgram } from '../contenders/spawn.ts'
import type { Turn, TurnResult } from './loop.ts'

export interface HttpTurn extends Turn {
  readonly port: number
  readonly connections: number
  /** Whole requests, as text. */
  readonly requests: readonly string[]
}

/** One process that sends the requests of every HTTP contender. */
export interface Generator {
  turn (turn: HttpTurn): Promise<TurnResult>
  stop (): Promise<void>
}

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

export function startGenerator (): Generator {
  const worker = spawnProgram({ args: [WORKER], env: {}, channel: true })
  return {
    turn: (turn) => ask<TurnResult>(worker, turn),
    stop: () => worker.stop()
  }
}
