/** Sends random bodies concurrently. */
import fc from 'fast-check'
import t from 'tap'
import { onEachEngine } from '../support/service.ts'
import { bodiesOf } from './bodies.ts'
import { campaign, isWanted, seed } from './campaign.ts'
import { sentOf } from './mutations.ts'
import { brokenPagesOf } from './pages.ts'
import { prepareTables, schema } from './tables.ts'
import { runTogether } from './together.ts'

/** Share of the bodies that is sent in this way. */
const SHARE = 0.1
const AT_ONCE = 8

t.comment(`FUZZ_SEED=${seed}`)

await onEachEngine(t, 'bodies that come at once change as many rows as ' +
  'their answers say', { schema }, async (t, service) => {
  const tables = (await prepareTables(service)).filter(({ name }) => isWanted(name)).slice(0, 2)
  for (const table of tables) {
    let bodies = 0
    const batch = fc.array(sentOf(bodiesOf(table), brokenPagesOf(table)), {
      minLength: 1, maxLength: AT_ONCE, size: 'max'
    })
    const property = fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 8 }), async (batches) => {
      bodies += batches.flat().length
      service.log.splice(0)
      service.statements()
      await runTogether(service, table, batches)
    })
    await campaign(t, { name: table.name, share: SHARE / tables.length, property, sent: () => bodies })
  }
})
