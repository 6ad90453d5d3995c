import t, { type Test } from 'tap'
import type { Body } from '../schemas/body.ts'
import { createGrant } from '../src/access/grant.ts'
import { StaleCatalog } from '../src/dialects/dialect.ts'
import { deadlock } from '../src/errors.ts'
import { handle } from '../src/pipeline.ts'
import { createFakeDatabase } from './support/fake-database.ts'
import { LIMITS, orders } from './support/sql.ts'

const grant = createGrant('test', { permissions: ['select', 'insert', 'update', 'delete'] })

/** A database whose statements end as told, one after the other. */
function databaseThat (t: Test, ...ends: Array<Error | string>) {
  const told = { executed: 0, introspected: 0 }
  let changes = false
  const { columnList, ...table } = orders.mysql
  const database = createFakeDatabase(t, {
    introspect: async () => {
      told.introspected++
      return [{ ...table, comment: changes ? `${told.introspected}` : '', columns: columnList }]
    },
    read: async (_statement, sink) => {
      const end = ends[told.executed++]
      if (end instanceof Error) throw end
      sink.row(['7', null, null, null, null, null])
      return { rows: 1, changed: 0 }
    },
    write: async () => {
      const end = ends[told.executed++]
      if (end instanceof Error) throw end
      return { rows: 0, changed: 1 }
    }
  })
  const ask = (body: object) => handle({
    access: { grant, database, tableName: 'orders', permissions: grant.permissions }, body: body as Body, limits: LIMITS
  }).then(({ response }) => response)
  return { told, ask, change: () => { changes = true } }
}

const select = { verb: 'select' }
const update = { verb: 'update', data: { name: 'x' }, filters: { id: 1 } }

t.test('a select on a changed table is retried once, after the catalog was read again', async (t) => {
  const { told, ask } = databaseThat(t, new StaleCatalog(), 'the rows')
  t.match(JSON.parse(String(await ask(select))), { data: { rows: [{ id: 7 }], count: 1 } })
  t.same(told, { executed: 2, introspected: 2 })
})

t.test('a select that fails twice while its table is unchanged in the catalog is BROKEN_DEFINITION', async (t) => {
  const { told, ask } = databaseThat(
    t, new StaleCatalog('ER_VIEW_INVALID'), new StaleCatalog('ER_VIEW_INVALID'), 'never'
  )
  await t.rejects(ask(select), {
    code: 'BROKEN_DEFINITION',
    reason: 'ER_VIEW_INVALID',
    message: 'A definition in the database, such as a trigger, view or foreign key, names something that does not exist'
  })
  t.same(told, { executed: 2, introspected: 2 })
})

t.test('the catalog is not read for each request that fails with BROKEN_DEFINITION', async (t) => {
  const ends = Array.from({ length: 5 }, () => new StaleCatalog('ER_NO_SUCH_TABLE (shop.audit)', { isElsewhere: true }))
  const { told, ask } = databaseThat(
    t, ...ends, new StaleCatalog('ER_NO_SUCH_TABLE (shop.other)', { isElsewhere: true }),
    new StaleCatalog('ER_VIEW_INVALID'), new StaleCatalog('ER_VIEW_INVALID')
  )
  for (let request = 0; request < 5; request++) await t.rejects(ask(update), { code: 'BROKEN_DEFINITION' })
  t.same(told, { executed: 5, introspected: 2 })
  await t.rejects(ask(update), { code: 'BROKEN_DEFINITION' })
  t.same(told, { executed: 6, introspected: 3 }, 'but for another error')
  await t.rejects(ask(select), { code: 'BROKEN_DEFINITION' })
  t.same(told, { executed: 8, introspected: 4 }, 'and for one that may be of the table itself')
})

t.test('a statement that fails at each of five attempts while its table changes may be ' +
  'retried by the client', async (t) => {
  const fails = Array.from({ length: 5 }, () => new StaleCatalog())
  const { told, ask, change } = databaseThat(
    t, ...fails, new StaleCatalog('ER_NO_SUCH_TABLE (shop.audit)', { isElsewhere: true })
  )
  change()
  await t.rejects(ask(select), { code: 'DATABASE_UNAVAILABLE' })
  t.equal(told.executed, 5)
  await t.rejects(ask(update), { code: 'DATABASE_UNAVAILABLE' })
})

t.test('an error of the retry is returned', async (t) => {
  const { ask } = databaseThat(t, new StaleCatalog(), deadlock())
  await t.rejects(ask(select), { code: 'DEADLOCK' })
})

t.test('a write is never retried', async (t) => {
  const { told, ask } = databaseThat(t, new StaleCatalog(), 'never')
  await t.rejects(ask(update), { code: 'DATABASE_UNAVAILABLE' })
  t.same(told, { executed: 1, introspected: 2 })
})

t.test('any other error is returned at once', async (t) => {
  const { told, ask } = databaseThat(t, deadlock(), 'never')
  await t.rejects(ask(select), { code: 'DEADLOCK' })
  t.same(told, { executed: 1, introspected: 1 })
})
