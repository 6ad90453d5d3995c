// night: many random bodies
/** The law of plans with holes, with many more bodies than holes.test.ts has. */
import t from 'tap'
import { countOutcomes } from '../fuzz/holes.ts'
import { describeTables, schema } from '../fuzz/tables.ts'
import '../support/seed.ts'
import { onEachEngine } from '../support/service.ts'

await onEachEngine(t, 'a plan with holes that is bound equals the ' +
  'plan with the values', { schema }, async (t, service) => {
  const outcomes = countOutcomes(await describeTables(service), service.engine === 'sqlite' ? 15_000 : 2500)
  t.comment([...outcomes].join(' '))
  t.ok((outcomes.get('bound') ?? 0) > 10_000 && (outcomes.get('refused') ?? 0) > 5000)
})
