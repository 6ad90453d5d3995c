// night: a table for each of seventy declarations
/** Defaults of every type. */
import t, { type Test } from 'tap'
import { checkDefaults, tablesOf, typesOn } from '../support/defaults.ts'
import { onEachEngine } from '../support/service.ts'

await onEachEngine(t, 'an upsert finds the row that got the default of its key, and the document ' +
  'shows that default', { schema: (engine) => tablesOf(typesOn(engine)) }, async (t, service) => {
  await checkDefaults(t as Test, service, typesOn(service.engine))
})
