import fc from 'fast-check'
import type { Test } from 'tap'
import { onEachEngine, type EngineName } from '../support/service.ts'
import { bodiesOf } from './bodies.ts'
import { campaign, isWanted, seed } from './campaign.ts'
import { sentOf } from './mutations.ts'
import { brokenPagesOf } from './pages.ts'
import { runScenario } from './scenario.ts'
import { prepareTables, schema } from './tables.ts'

/** Sends bodies one after the other: every response must be valid, and changes must match the model. */
export async function fuzzBodiesOn (t: Test, engine: EngineName): Promise<void> {
  t.comment(`FUZZ_SEED=${seed}`)
  await onEachEngine(t, 'responses to random bodies are valid and their ' +
    'effects match the model', { schema, only: [engine] }, async (t, service) => {
    const tables = (await prepareTables(service)).filter(({ name }) => isWanted(name))
    for (const table of tables) {
      let bodies = 0
      const property = fc.asyncProperty(fc.array(sentOf(bodiesOf(table), brokenPagesOf(table)), {
        minLength: 1, maxLength: 60, size: 'max'
      }), async (sent) => {
        bodies += sent.length
        service.log.splice(0)
        service.statements()
        await runScenario(service, table, sent)
      })
      await campaign(t, { name: table.name, share: 1 / tables.length, property, sent: () => bodies })
    }
  })
}
