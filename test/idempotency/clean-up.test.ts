import t from 'tap'
import { createKeyCleanUp } from '../../src/idempotency/clean-up.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { onEachDialect } from '../support/dialects.ts'
import { until } from '../support/until.ts'

const schema = { sqlite: CREATE.sqlite.split(';').map((sql) => sql.trim()).filter((sql) => sql !== ''), mysql: [CREATE.mysql] }
const HOUR = 3_600_000

await onEachDialect(t, 'keys are deleted when they are old, however many there are', { schema }, async (t, { dialect, engine, sql }) => {
  const old = engine === 'sqlite' ? "datetime('now', '-3 hours')" : 'current_timestamp - interval 3 hour'
  const hex = (number: number): string => `x'${number.toString(16).padStart(64, '0')}'`
  await sql(`insert into row_query_keys (k, request, created) values ${Array.from({ length: 2100 }, (_, index) => `(${hex(index)}, ${hex(1)}, ${old})`).join()}`)
  await sql(`insert into row_query_keys (k, request) values (${hex(9999)}, ${hex(1)})`)
  const errors: unknown[] = []
  const cleanUp = createKeyCleanUp(dialect, { lifetime: 2 * HOUR, interval: 20, onError: (error) => errors.push(error) })
  const count = async (): Promise<number> => Number((await sql('select count(*) as count from row_query_keys'))[0].count)
  t.equal(await count(), 2101, 'not before a key is used')
  cleanUp.noteUse()
  cleanUp.noteUse()
  await until('the old ones are deleted', async () => await count() === 1)
  cleanUp.stop()
  cleanUp.noteUse()
  t.same(errors, [])
})

await onEachDialect(t, 'a clean-up that fails is told, and the next one runs', { schema: { sqlite: [], mysql: [] } }, async (t, { dialect }) => {
  const errors: unknown[] = []
  const cleanUp = createKeyCleanUp(dialect, { lifetime: HOUR, interval: 10, onError: (error) => errors.push(error) })
  for (let times = 1; times <= 2; times++) {
    await until('it may run', () => {
      cleanUp.noteUse()
      return errors.length >= times
    })
  }
  cleanUp.stop()
  t.ok(errors.length >= 2)
})
