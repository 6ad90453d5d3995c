// night: many grants and tables
/** What a page costs: with an index for it, a page at 90 % of a large table reads about as many rows as the first one. */
import t from 'tap'
import { onEachEngine, type Service } from '../support/service.ts'

const ROWS = 300_000
const LIMIT = 100

/** `created` has NULLs and ties, `kind` has long runs of ties, `code` has a collation. */
const schema = (): string[] => {
  const ten = '(select 0 n union select 1 union select 2 union select 3 union select 4 union select 5 union select 6 union select 7 union select 8 union select 9)'
  return [
    `create table events (
      id int not null auto_increment primary key, tenant int not null, created datetime null, price int not null, kind enum('b', 'c', 'a') not null, code varchar(10) not null,
      key by_created (created), key newest (tenant, created, id), key mixed (price desc, created), key by_kind (kind), key by_code (tenant, code))`,
    `insert into events (tenant, created, price, kind, code)
      select n % 3, if(n % 1000 = 0, null, date_add('2020-01-01', interval (n * 7919) % 100000 minute)), n % 500, 1 + n % 3, concat(char(97 + n % 26), n % 1000)
      from (select a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n n from ${ten} a, ${ten} b, ${ten} c, ${ten} d, ${ten} e, ${ten} f) numbers where n < ${ROWS}`,
    'analyze table events'
  ]
}

const pages: Array<{ orderBy?: string, filters?: object, only?: string }> = [
  {}, { orderBy: 'id DESC' }, { orderBy: 'created' }, { orderBy: 'created DESC' }, { orderBy: 'price DESC, created' }, { orderBy: 'price, created DESC', only: 'mariadb' }, { orderBy: 'kind' }, { orderBy: 'kind DESC' },
  { orderBy: 'created DESC', filters: { tenant: 1 } }, { orderBy: 'created', filters: { tenant: { $in: [1] } } }, { orderBy: 'tenant, created', filters: { tenant: 1 } }, { orderBy: 'tenant DESC, created DESC', filters: { tenant: 2 } },
  { orderBy: 'tenant DESC, created DESC' }, { orderBy: 'code DESC', filters: { tenant: 2 } },
  { orderBy: 'created DESC', filters: { tenant: 1, created: { $lt: '2020-03-01T00:00:00' } } }
]

/** The position at a share of the rows, as the service gives it for the row there. */
async function positionAt ({ post, sql }: Service, { orderBy, filters }: typeof pages[number], share: number): Promise<unknown> {
  const where = Object.entries(filters ?? {}).map(([name, value]) => `${name} ${typeof value === 'number' ? `= ${value}` : value.$in !== undefined ? `= ${value.$in[0]}` : `< '${value.$lt}'`}`).join(' and ') || '1 = 1'
  const direction = /DESC$/.test(orderBy ?? '') ? 'desc' : 'asc'
  const [{ matching }] = await sql(`select count(*) matching from events where ${where}`)
  const [{ id }] = await sql(`select id from events where ${where} order by ${orderBy ?? 'id'}${/\bid\b/.test(orderBy ?? 'id') ? '' : `, id ${direction}`} limit 1 offset ${Math.floor(matching * share)}`)
  const { json } = await post('events', { verb: 'select', filters: { id }, ...orderBy !== undefined && { orderBy }, limit: 1, after: null })
  const [row] = json.data.rows
  return Object.fromEntries([...new Set([...(orderBy ?? 'id').split(', ').map((term) => term.split(' ')[0] as string), 'id'])].map((name) => [name, row[name]]))
}

/** The rows that the last statement of the service reads, by the server's own counters. */
async function readBy ({ sql, statements }: Service): Promise<{ read: number, sorted: number, statement: string }> {
  const statement = statements().at(-1) as string
  await sql('flush status')
  await sql(statement)
  const counters = new Map((await sql("show session status where Variable_name like 'Handler_read%' or Variable_name = 'Sort_rows'")).map((row) => [row.Variable_name, Number(row.Value)]))
  const read = [...counters].filter(([name]) => name.startsWith('Handler_read')).reduce((sum, [, value]) => sum + value, 0)
  return { read, sorted: counters.get('Sort_rows') as number, statement }
}

await onEachEngine(t, 'a page far into a table reads as many rows as the first one', { schema, only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 } }, async (t, service) => {
  for (const { only, ...page } of pages) {
    // MySQL does not read backwards an index whose parts have different directions
    if (only !== undefined && only !== service.engine) continue
    for (const share of [0, 0.5, 0.9]) {
      const after = share === 0 ? null : await positionAt(service, page, share)
      service.statements()
      const { json } = await service.post('events', { verb: 'select', limit: LIMIT, ...page, after })
      t.equal(json.data.count, LIMIT)
      t.not(json.data.next, null)
      const { read, sorted, statement } = await readBy(service)
      t.ok(read <= LIMIT + 10 && sorted === 0, `${read} rows read: ${statement}`)
    }
  }
})

await onEachEngine(t, 'an index is forced only where no other one may find fewer rows', {
  schema: () => ['create table orders (id int not null primary key, tenant int not null, created datetime not null, email varchar(50) not null, key newest (tenant, created), unique key by_email (email), key of_day (created))'],
  only: ['mariadb', 'mysql']
}, async (t, { post, statements }) => {
  const forced = async (body: object): Promise<string | undefined> => {
    statements()
    await post('orders', { verb: 'select', after: null, ...body })
    return /force index \(`(\w+)`\)/.exec(statements().at(-1) as string)?.[1]
  }
  const newest = { orderBy: 'created DESC' }
  t.equal(await forced({}), 'PRIMARY')
  t.equal(await forced({ orderBy: 'created DESC' }), 'of_day')
  t.equal(await forced({ ...newest, filters: { tenant: 1 } }), 'newest')
  t.equal(await forced({ ...newest, filters: { $and: [{ tenant: 1 }, { created: { $gte: '2026-01-01T00:00:00' } }] } }), 'newest')
  t.equal(await forced({ orderBy: 'tenant, created' }), 'newest')
  t.equal(await forced({ orderBy: 'tenant DESC, created DESC, id DESC' }), 'newest')
  for (const body of [
    { ...newest, filters: { tenant: 1, email: 'x' } }, { ...newest, filters: { tenant: 1, id: { $gt: 5 } } }, { ...newest, filters: { $or: [{ tenant: 1 }, { tenant: 2 }] } }, { ...newest, filters: { tenant: [1, 2] } },
    { filters: { $not: { tenant: 1 } } }, { orderBy: 'tenant, created DESC' }, { orderBy: 'created, id DESC' }, { orderBy: 'email DESC, id' }
  ]) t.equal(await forced(body), undefined, JSON.stringify(body))
  t.equal(await forced({ orderBy: 'email' }), 'by_email')
  t.equal(await forced({ filters: { email: 'x' } }), 'by_email', 'the primary key follows the columns of an index')
})

await onEachEngine(t, 'an index that was dropped since the catalog was read is not missed', {
  schema: () => ['create table orders (id int not null primary key, created datetime not null, key of_day (created))', "insert into orders values (1, '2026-01-01'), (2, '2025-01-01')"],
  only: ['mariadb', 'mysql']
}, async (t, { post, sql, statements }) => {
  const body = { verb: 'select', columns: ['id'], orderBy: 'created', after: null }
  t.match((await post('orders', body)).json.data, { rows: [{ id: 2 }, { id: 1 }], next: null })
  await sql('alter table orders drop index of_day')
  statements()
  t.match((await post('orders', body)).json.data, { rows: [{ id: 2 }, { id: 1 }], next: null })
  t.match(statements().filter((statement) => statement.startsWith('select `id`')), [/force index/, /^((?!force).)*$/])
})

await onEachEngine(t, 'SQLite reads an index from the position of a page on', {
  schema: { mysql: [], sqlite: ['create table events (id integer primary key, tenant int not null, created datetime not null, price int, code text)', 'create index newest on events (tenant, created)', 'create index by_code on events (code)', 'create index by_price on events (price)'] },
  only: ['sqlite']
}, async (t, { post, statements, sql }) => {
  const planOf = async (body: object): Promise<string> => {
    statements()
    t.equal((await post('events', { verb: 'select', ...body })).status, 200)
    return (await sql(`explain query plan ${statements().at(-1)}`)).map(({ detail }) => detail).join('; ')
  }
  const filters = { tenant: 1 }
  const created = '2026-01-01T00:00:00'
  t.equal(await planOf({ filters, orderBy: 'created', after: { created, id: 1 } }), 'SEARCH events USING INDEX newest (tenant=? AND created>?)')
  t.equal(await planOf({ filters, orderBy: 'created DESC', after: { created, id: 1 } }), 'SEARCH events USING INDEX newest (tenant=? AND created<?)')
  t.equal(await planOf({ orderBy: 'code', after: { code: 'x', id: 1 } }), 'SEARCH events USING INDEX by_code (code>?)')
  t.equal(await planOf({ orderBy: 'price', after: { price: null, id: 1 } }), 'SCAN events USING INDEX by_price', 'after NULL come all others')
  t.match(await planOf({ after: { id: 1 } }), /^SEARCH events USING INTEGER PRIMARY KEY \(rowid>\?\)$/)
})
