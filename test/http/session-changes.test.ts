/** Triggers and functions of views may change session variables, which must be reset before the next statement. */
import t, { type Test } from 'tap'
import { startService, onEachEngine, type EngineName, type Service } from '../support/service.ts'
import { createUser } from '../support/users.ts'

/** A variable that a trigger sets, and the row of `session_state` if it is not reset. */
const CHANGES = [
  "set time_zone = '+05:00'",
  'set sql_select_limit = 1',
  'set timestamp = 86400',
  'set insert_id = 4711',
  'set character_set_results = latin1',
  'set names gbk',
  'set foreign_key_checks = 0',
  "set sql_mode = ''",
  'set session transaction isolation level read uncommitted',
  'set unique_checks = 0, sql_auto_is_null = 1'
]

const state = (isolation: string): string => `create function session_state() returns varchar(1000) reads sql data return
  concat_ws(' ', @@time_zone, @@sql_select_limit, now() > '2020-01-01', @@insert_id, @@character_set_results,
  if(@@foreign_key_checks, 1, 0), if(@@unique_checks, 1, 0), if(@@sql_auto_is_null, 1, 0), @@${isolation})`
const RIGHT = '+00:00 18446744073709551615 1 0 utf8mb4 1 1 0 REPEATABLE-READ'

const trigger = (table: string, event: string, action: string): string => `create trigger ${table}_${event.replace(' ', '_')} ${event} on ${table} for each row ${action}`

const schema = (engine: EngineName): string[] => [
  'create table times (id int primary key, at timestamp null, note varchar(50) character set utf8mb4)',
  'create table plain (id int primary key)',
  ...CHANGES.flatMap((change, index) => [
    `create table changes_${index} (id int primary key auto_increment, n int null)`,
    ...['before insert', 'after update', 'before delete'].map((event) => trigger(`changes_${index}`, event, change)),
    `create table fails_${index} (id int primary key, n int null)`,
    trigger(`fails_${index}`, 'before insert', `begin ${change}; signal sqlstate '45000' set message_text = 'no'; end`),
    `create function f_${index}() returns int no sql begin ${change}; return 1; end`,
    `create view view_${index} as select id, f_${index}() as n from plain`
  ]),
  state(engine === 'mysql' ? 'transaction_isolation' : 'tx_isolation'),
  'create view state as select session_state() as value'
]
const ONE = { only: ['mysql', 'mariadb'] as const, schema, database: { pool: { size: 1 } } }

/** Checks the session with another statement on the same connection, and that a time and a text stay unchanged. */
async function isAsBefore (t: Test, { post, sql }: Pick<Service, 'post' | 'sql'>, name: string, id: number): Promise<void> {
  const row = { id, at: '2026-07-01T12:00:00Z', note: "ħ ' 中' \\" }
  t.equal((await post('times', { verb: 'insert', data: row })).status, 200, name)
  t.same((await post('times', { verb: 'select', filters: { id } })).json.data?.rows, [row], name)
  const stored = await sql('select unix_timestamp(at) as at, hex(note) as note from times where id = ?', [id])
  t.match([Number(stored[0].at), stored[0].note], [Date.parse(row.at) / 1000, Buffer.from(row.note).toString('hex').toUpperCase()], name)
  const { json } = await post('state', { verb: 'select' })
  t.same(json.data?.rows, [{ value: RIGHT }], name)
}

onEachEngine(t, 'a session variable that a trigger sets is reset after its statement', ONE, async (t, service) => {
  const { post } = service
  let id = 1
  for (const [index, change] of CHANGES.entries()) {
    const table = `changes_${index}`
    const inserted = await post(table, { verb: 'insert', data: { n: 1 } })
    t.equal(inserted.status, 200, change)
    await isAsBefore(t, service, `insert: ${change}`, id++)
    t.equal((await post(table, { verb: 'update', data: { n: 2 }, filters: { n: 1 } })).json.data.updated, 1, change)
    await isAsBefore(t, service, `update: ${change}`, id++)
    t.equal((await post(table, { verb: 'delete', filters: { n: 2 } })).json.data.deleted, 1, change)
    await isAsBefore(t, service, `delete: ${change}`, id++)
  }
})

onEachEngine(t, 'a session variable that a trigger sets before it fails is reset', ONE, async (t, service) => {
  for (const [index, change] of CHANGES.entries()) {
    t.equal((await service.post(`fails_${index}`, { verb: 'insert', data: { id: 1 } })).status, 422, change)
    await isAsBefore(t, service, change, index)
  }
})

onEachEngine(t, 'a session variable that a function of a view sets is reset', ONE, async (t, service) => {
  await service.sql('insert into plain values (1)')
  for (const [index, change] of CHANGES.entries()) {
    t.same((await service.post(`view_${index}`, { verb: 'select' })).json.data?.rows, [{ id: 1, n: 1 }], change)
    await isAsBefore(t, service, change, index)
  }
})

/** The number of session resets since the last call. */
const settings = ({ proxy }: Pick<Service, 'proxy'>): number => proxy?.statements.splice(0).filter((sql) => /^set session (?!transaction)/.test(sql)).length ?? 0

onEachEngine(t, 'statements that cannot run a trigger do not reset the session', ONE, async (t, service) => {
  const { post } = service
  await post('plain', { verb: 'insert', data: { id: 1 } })
  settings(service)
  await post('plain', { verb: 'insert', data: { id: 2 } })
  t.equal((await post('plain', { verb: 'insert', data: { id: 2 } })).status, 409)
  await post('plain', { verb: 'update', data: { id: 3 }, filters: { id: 2 } })
  await post('plain', { verb: 'delete', filters: { id: 3 } })
  await post('plain', { verb: 'select' })
  t.equal(settings(service), 0)
  await post('changes_0', { verb: 'insert', data: { n: 1 } })
  await post('plain', { verb: 'select' })
  t.equal(settings(service), 1, 'a session that a trigger changed is reset')
  await post('changes_0', { verb: 'select' })
  t.equal(settings(service), 0, 'no trigger fires for a select')
})

onEachEngine(t, 'if the account cannot see triggers, only writes that fail or change the session reset it', ONE, async (t, { url, sql, proxy }) => {
  const name = new URL(url).pathname.slice(1)
  const account = await createUser(t, { name, url, query: sql }, { grants: ['select, insert, update, delete on *'] })
  const service = await startService(t, account, { database: { pool: { size: 1 } } })
  const { post } = service
  await post('plain', { verb: 'insert', data: { id: 1 } })
  settings({ proxy })
  for (let id = 2; id < 10; id++) await post('plain', { verb: 'insert', data: { id } })
  await post('plain', { verb: 'delete', filters: { id: { $gt: 5 } } })
  t.equal(settings({ proxy }), 0)
  t.equal((await post('plain', { verb: 'insert', data: { id: 2 } })).status, 409)
  await post('plain', { verb: 'select' })
  t.ok(settings({ proxy }) <= 1)
  await post('changes_0', { verb: 'insert', data: { n: 1 } })
  t.equal((await post('times', { verb: 'insert', data: { id: 1, at: '2026-07-01T12:00:00Z' } })).status, 200)
  t.equal(settings({ proxy }), 1)
  t.match(await sql('select unix_timestamp(at) as at from times'), [{ at: Date.parse('2026-07-01T12:00:00Z') / 1000 }])
})
