// night: waits until it is sure that something is gone
/** Tables that change while the service runs, until it is sure of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type FilterOperator, OPERATORS } from '../../schemas/filters.ts'
import { movableClock } from '../support/clock.ts'
import { isLost, untilStatus } from '../support/lost-tables.ts'
import { onEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select' }

await onEachEngine(t, 'changes are detected after ' +
  'the refresh interval', { schema: shop, database: { refreshInterval: 50 } }, async (t, { post, sql }) => {
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
const wide = [
  `create table wide (
    id int not null, note varchar(5) null, ${uses.map(([column]) => `${column} int null`).join(', ')})`,
  'insert into wide (id) values (1)'
]

await onEachEngine(t, 'a request that names a dropped column is rejected once it is sure that it is gone, and the ' +
  'error names the column', { schema: { mysql: wide, sqlite: wide } }, async (t, { post, sql }) => {
  for (const [column, body] of uses) {
    await sql(`alter table wide drop column ${column}`)
    isLost(t, await post('wide', body), column)
  }
  for (const [column, body] of uses) {
    const { status, json } = await untilStatus(400, () => post('wide', body))
    t.equal(status, 400, column)
    t.match(json.error, {
      code: 'COLUMN_NOT_FOUND', message: `Column "${column}" does not exist in table "wide"`
    }, column)
  }
  t.match(await sql('select * from wide'), [{ id: 1, note: null }], 'nothing was changed')
})

await onEachEngine(t, 'a dropped table is TABLE_NOT_FOUND for every verb once it is ' +
  'sure that it is gone', { schema: shop }, async (t, { post, sql }) => {
  const bodies = [select, { verb: 'insert', data: {} }, { verb: 'update', data: { note: 'x' }, filters: { id: 1 } }, {
    verb: 'delete', filters: { id: 1 }
  }]
  await sql('drop table settings')
  for (const body of bodies) isLost(t, await post('settings', body), body.verb)
  await untilStatus(404, () => post('settings', select))
  for (const body of bodies) {
    t.match(await post('settings', body), { status: 404, json: { error: { code: 'TABLE_NOT_FOUND' } } }, body.verb)
  }
})

await onEachEngine(t, 'a unique key that is missing for a moment is not ' +
  'refused in an upsert', { schema: shop }, async (t, { server, post, sql, engine }) => {
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

await onEachEngine(t, 'a background refresh that fails is logged', {
  schema: shop, only: ['mariadb', 'mysql'], database: { refreshInterval: 30 }
}, async (t, { proxy, log }) => {
  await proxy?.close()
  while (!log.some((line) => line.includes('could not be read'))) await sleep(10)
  t.match(JSON.parse(log.find((line) => line.includes('could not be read')) as string), {
    level: 40, database: 'shop', code: 'DATABASE_UNAVAILABLE'
  })
})

/** Former and present types of a column; values that both of them store, and values for filters on the former one. */
const altered: Array<[was: string, is: string, rows: string[], values: unknown[]]> = [
  ['int null', 'varchar(20) null', ["'0'", "'7'", "'abc'", "'7x'"], [0, 7]],
  ['decimal(30,2) null', 'varchar(40) null', ["'0.00'", "'abc'", "'7.5'"], ['0.00', '7.50']],
  ['double null', 'varchar(20) null', ["'0'", "'abc'", "'1e0'"], [0, 1]],
  ['bit(4) null', 'varchar(20) null', ["'0'", "'abc'"], ['0000', '0001']],
  ['varchar(20) null', 'int null', ['0', '7', '70'], ['abc', '7x']],
  ['varchar(20) null', 'decimal(10,2) null', ['0', '7.5'], ['abc', '7.50']],
  ['date null', 'varchar(20) null', ["'2026-01-01'", "'2026-1-1'", "'abc'"], ['2026-01-01', '2026-02-01']],
  ['varchar(20) null', 'date null', ["'2026-01-01'"], ['2026-1-1', 'abc']],
  ["enum('b','a') null", 'varchar(20) null', ["'a'", "'b'", "'2'"], ['a', 'b']],
  ["enum('b','a') null", "enum('a','b') null", ["'a'", "'b'"], ['a', 'b']],
  ['varchar(20) null', "enum('1','0') null", ["'1'", "'0'"], ['1', '2']]
]

/** A filter on the column for each operator. */
const filtersOf = ([one, other]: unknown[]): object[] => Object.entries<FilterOperator>(OPERATORS)
  .map(([name, { operand }]) => {
    switch (operand) {
      case 'values': return { [name]: [one, other] }
      case 'pair': return { [name]: [one, other] }
      case 'boolean': return { [name]: false }
      case 'pattern': return { [name]: String(one) }
      case 'members': return { [name]: [one] }
      default: return { [name]: one }
    }
  })

await onEachEngine(t, 'a second after a column has become another type, filters select and delete what they do ' +
  'with a new catalog', {
  schema: () => ['create table shift (id int not null primary key, c int null)'], only: ['mariadb', 'mysql']
}, async (t, { post, sql, server, url }) => {
  const clock = movableClock(t)
  const current = await startService(t, url)
  await sql("set session sql_mode = ''")
  for (const [was, is, rows, values] of altered) {
    for (const filter of filtersOf(values)) {
      const filters = { c: filter }
      for (const verb of ['select', 'delete']) {
        const body = verb === 'select' ? { verb, columns: ['id'], filters, orderBy: 'id' } : { verb, filters }
        await sql('drop table shift')
        await sql(`create table shift (id int not null primary key, c ${was})`)
        await server.rows.refresh()
        // the planner refuses what the former type does not accept
        if ((await post('shift', body)).status !== 200) continue
        await sql(`alter table shift modify c ${is}`)
        for (const [index, value] of rows.entries()) await sql(`insert into shift values (${index}, ${value})`)
        clock.pass(1100)
        await current.server.rows.refresh()
        const expected = await current.post('shift', { verb: 'select', columns: ['id'], filters, orderBy: 'id' })
        const { status, json } = await post('shift', body)
        const why = `${was} to ${is}: ${verb} ${JSON.stringify(filter)}`
        if (!t.equal(status, expected.status, why)) continue
        const ids = expected.status === 200 ? expected.json.data.rows.map(({ id }: { id: number }) => id) : []
        if (verb === 'select' && status === 200) t.same(json.data.rows.map(({ id }: { id: number }) => id), ids, why)
        const left = verb === 'select'
          ? rows.map((_, index) => index)
          : [...rows.keys()].filter((id) => !ids.includes(id))
        t.same((await sql('select id from shift order by id')).map(({ id }) => id), left, why)
      }
    }
  }
})
