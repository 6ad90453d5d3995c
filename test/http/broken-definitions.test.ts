// night: waits for real time limits
import t from 'tap'
import { trigger } from '../support/definitions.ts'
import { COMMON } from '../support/missing-tables.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema } from '../support/service.ts'
import { until } from '../support/until.ts'

const schema: Schema = () => [...COMMON, 'drop table gone']

await onEachEngine(t, 'a broken trigger works as soon as the ' +
  'missing object exists', { schema }, async (t, { post, sql }) => {
  const insert = { verb: 'insert', data: { id: 2 } }
  t.equal((await post('rows_kept', insert)).status, 422)
  await sql('create table gone (id int null)')
  await until('it works', async () => (await post('rows_kept', insert)).status === 200)
  t.match(await sql('select * from gone'), [{ id: 1 }])
})

await onEachEngine(t, 'the error for a dropped column names it once it is sure, even while a ' +
  'trigger is broken', { schema, only: ['mariadb', 'mysql'] }, async (t, { post, sql }) => {
  t.equal((await post('rows_kept', { verb: 'insert', data: { id: 2 } })).json.error.code, 'BROKEN_DEFINITION')
  await sql('alter table columns_kept drop column n')
  const insert = async (): Promise<string> =>
    (await post('columns_kept', { verb: 'insert', data: { id: 2, n: 2 } })).json.error.code
  t.equal(await insert(), 'DATABASE_UNAVAILABLE')
  await until('it is sure', async () => await insert() === 'COLUMN_NOT_FOUND')
})

const passing = [
  'create table twins (id int not null primary key, n int null)',
  'create table log (id int not null, n int null)',
  'create table pairs (id int not null primary key)',
  trigger('t6', 'after insert on twins', 'insert into log (id, n) values (1, 1)'),
  trigger('t7', 'after insert on pairs', 'insert into log (id) values (1)')
]

await onEachEngine(t, 'a table of a trigger that is renamed for a moment is no ' +
  'broken definition', { schema: { mysql: passing, sqlite: passing } }, async (t, { post, sql, engine }) => {
  // otherwise SQLite adapts the triggers, and refuses to rename a table while one names a table that is not there
  if (engine === 'sqlite') await sql('pragma legacy_alter_table = on')
  await sql('alter table log rename to away')
  const insert = async (id: number) => await post('pairs', { verb: 'insert', data: { id } })
  isRefusal(t, await insert(1), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'it may come back' })
  await sql('alter table away rename to log')
  await until('it works', async () => (await insert(2)).status === 200)
})

await onEachEngine(t, 'an error that names a column of the table is ' +
  'permanent only if it lasts', { schema: { mysql: passing, sqlite: passing } }, async (t, { post, sql, server }) => {
  await sql('drop trigger t6')
  await sql('drop trigger t7')
  await sql('drop table log')
  await sql('create table log (id int not null)')
  await sql(trigger('t6', 'after insert on twins', 'insert into log (id, n) values (1, 1)'))
  await server.rows.refresh()
  const insert = async () => await post('twins', { verb: 'insert', data: { id: 1, n: 1 } })
  const answer = await insert()
  isRefusal(t, answer, { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'it may pass' })
  t.equal(answer.headers['retry-after'], '4')
  const before = performance.now()
  await until('it is permanent', async () => (await insert()).json.error.code === 'BROKEN_DEFINITION')
  t.ok(performance.now() - before > 3000)
  t.same(await sql('select * from twins'), [], 'nothing was changed')
})
