import fc from 'fast-check'
import t from 'tap'
import { onEachEngine, type EngineName } from '../support/service.ts'
import { bodiesOf } from './bodies.ts'
import { campaign, isWanted, seed } from './campaign.ts'
import { sentOf } from './mutations.ts'
import { runScenario } from './scenario.ts'
import { prepareTables, schema } from './tables.ts'

/** Bodies of every kind, one after the other: every answer is in the contract, and nothing changes that the model does not say. */
export async function fuzzBodiesOn (engine: EngineName): Promise<void> {
  t.comment(`FUZZ_SEED=${seed}`)
  await onEachEngine(t, 'no body does what it must not', { schema, only: [engine] }, async (t, service) => {
    const tables = (await prepareTables(service)).filter(({ name }) => isWanted(name))
    for (const table of tables) {
      let bodies = 0
      const property = fc.asyncProperty(fc.array(sentOf(bodiesOf(table)), { minLength: 1, maxLength: 60, size: 'max' }), async (sent) => {
        bodies += sent.length
        service.log.splice(0)
        service.statements()
        await runScenario(service, table, sent)
      })
      await campaign(t, { name: table.name, share: 1 / tables.length, property, sent: () => bodies })
    }
  })
}
