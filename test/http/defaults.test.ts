/** Defaults of some types; test/http/defaults-law.test.ts has those of all. */
import t, { type Test } from 'tap'
import { checkDefaults, tablesOf, typesOn } from '../support/defaults.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'

const some = (engine: EngineName): string[] => typesOn(engine).filter((_, index) => index % 5 === 0)

await onEachEngine(t, 'an upsert finds the row that got the default of its key, and the document ' +
  'shows that default', { schema: (engine) => tablesOf(some(engine)) }, async (t, service) => {
  await checkDefaults(t as Test, service, some(service.engine))
})
