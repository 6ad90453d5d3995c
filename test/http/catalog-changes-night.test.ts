// night: waits until it is sure that something is gone
/** Tables that change while the service runs, until it is sure of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { isLost, untilStatus } from '../support/lost-tables.ts'
import { onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select' }

await onEachEngine(t, 'changes are detected after the refresh interval', { schema: shop, database: { refreshInterval: 50 } }, async (t, { post, sql }) => {
  await sql('create table later (id int not null primary key)')
  t.same((await untilStatus(200, () => post('later', select))).json.data.rows, [])
  await sql('alter table later add column note varchar(10) null')
  t.same((await untilStatus(200, () => post('later', { verb: 'select', columns: ['note'] }))).json.data.rows, [])
  await sql('drop table later')
  t.equal((await untilStatus(404, () => post('later', select))).json.error.code, 'TABLE_NOT_FOUND')
})

const uses: Array<[column: string, body: object]> = [
  ['a', { verb: 'select', columns: ['id', 'a'] }],
  ['b', { verb: 'select', columns: ['id'], filters: { $or: [{ id: 1 }, { b: 1 }] } }],
  ['c', { verb: 'select', columns: ['id'], orderBy: 'id, c' }],
  ['d', { verb: 'insert', data: { id: 2, d: 1 } }],
  ['e', { verb: 'update', data: { e: 1 }, filters: { id: 1 } }],
  ['f', { verb: 'update', data: { note: 'x' }, filters: { f: null } }],
  ['g', { verb: 'delete', filters: { g: null } }]
]
const wide = [`create table wide (id int not null, note varchar(5) null, ${uses.map(([column]) => `${column} int null`).join(', ')})`, 'insert into wide (id) values (1)']

await onEachEngine(t, 'a request that names a dropped column is rejected once it is sure that it is gone, and the error names the column', { schema: { mysql: wide, sqlite: wide } }, async (t, { post, sql }) => {
  for (const [column, body] of uses) {
    await sql(`alter table wide drop column ${column}`)
    isLost(t, await post('wide', body), column)
  }
  for (const [column, body] of uses) {
    const { status, json } = await untilStatus(400, () => post('wide', body))
    t.equal(status, 400, column)
    t.match(json.error, { code: 'COLUMN_NOT_FOUND', message: `Column "${column}" does not exist in table "wide"` }, column)
  }
  t.match(await sql('select * from wide'), [{ id: 1, note: null }], 'nothing was changed')
})

await onEachEngine(t, 'a dropped table is TABLE_NOT_FOUND for every verb once it is sure that it is gone', { schema: shop }, async (t, { post, sql }) => {
  const bodies = [select, { verb: 'insert', data: {} }, { verb: 'update', data: { note: 'x' }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }]
  await sql('drop table settings')
  for (const body of bodies) isLost(t, await post('settings', body), body.verb)
  await untilStatus(404, () => post('settings', select))
  for (const body of bodies) t.match(await post('settings', body), { status: 404, json: { error: { code: 'TABLE_NOT_FOUND' } } }, body.verb)
})

await onEachEngine(t, 'a unique key that is missing for a moment is not refused in an upsert', { schema: shop }, async (t, { server, post, sql, engine }) => {
  if (engine === 'sqlite') await sql('create unique index by_name on settings (level)')
  else await sql('alter table settings add unique key by_name (level)')
  await server.rows.refresh()
  const upsert = { verb: 'insert', data: { level: 7, note: 'x' }, onConflict: { key: ['level'] } }
  t.match(await post('settings', upsert), { status: 200 })
  await sql(engine === 'sqlite' ? 'drop index by_name' : 'alter table settings drop key by_name')
  await server.rows.refresh()
  isLost(t, await post('settings', upsert), 'its key')
  t.match(await untilStatus(400, () => post('settings', upsert)), { status: 400 })
})

await onEachEngine(t, 'a background refresh that fails is logged', { schema: shop, only: ['mariadb', 'mysql'], database: { refreshInterval: 30 } }, async (t, { proxy, log }) => {
  await proxy?.close()
  while (!log.some((line) => line.includes('could not be read'))) await sleep(10)
  t.match(JSON.parse(log.find((line) => line.includes('could not be read')) as string), { level: 40, database: 'shop', code: 'DATABASE_UNAVAILABLE' })
})
