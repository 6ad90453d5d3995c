import { ask } from '../ask.ts'
import { builtFile } from '../build.ts'
import type { TurnResult } from '../load/loop.ts'
import type { Contender } from './contender.ts'
import type { BareQuestion } from './programs/bare.ts'
import type { PlainOperation } from './programs/statements.ts'
import { spawnProgram } from './spawn.ts'

const BARE = builtFile('bench/contenders/programs/bare.ts')

/** mysql2 alone: it generates its own load, without HTTP. */
export function bareContender (name: string, method: 'query' | 'execute'): Contender {
  return {
    name,
    async start ({ databaseUrl }) {
      const begin = performance.now()
      const program = spawnProgram({ args: [BARE], env: { DATABASE_URL: databaseUrl, METHOD: method }, channel: true })
      const question = <T>(content: BareQuestion): Promise<T> => ask(program, content)
      await question({ kind: 'run', operation: { kind: 'key', id: 1 } })
      return {
        pid: program.pid,
        startSeconds: (performance.now() - begin) / 1000,
        run: async (operation) => [await question<Record<string, unknown> | []>({ kind: 'run', operation: operation as PlainOperation })].flat(),
        turn: ({ workload, connections, ...turn }) => question<TurnResult>({ kind: 'turn', workload: workload.name, connections, turn: { ...turn, pid: program.pid } }),
        refusals: async () => [],
        stop: () => program.stop()
      }
    }
  }
}
