// night: a table for each of ninety names
/** Tables and columns with odd names. */
import t, { type Test } from 'tap'
import { checkNames, namesOn, tablesOf } from '../support/odd-names.ts'
import { onEachEngine } from '../support/service.ts'

await onEachEngine(t, 'tables and columns with odd names are read and written like any other, and ' +
  'nothing else is changed', { schema: (engine) => tablesOf(engine, namesOn(engine)) }, async (t, service) => {
  await checkNames(t as Test, service, namesOn(service.engine))
})
