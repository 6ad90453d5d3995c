/** The service on engines derived from MySQL, which a proxy imitates (test/support/engine-rules.ts). */
import t, { type Test } from 'tap'
import { checkDatabase } from '../../src/cli/check.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { tokenFor } from '../grants/support.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { createEngineProxy, type EngineRules } from '../support/engine-proxy.ts'
import { TIDB, VITESS } from '../support/engine-rules.ts'
import { startService } from '../support/service.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'

const SCHEMA = [
  `create table customers (
    id int auto_increment primary key, email varchar(100) not null unique, name varchar(200) not null,
    credit int not null default 0, half int generated always as (credit div 2) stored, unique key by_half (half),
    fulltext key by_words (name)) engine = InnoDB`,
  'create table orders (id int primary key, customer_id int not null, total decimal(10,2) not null, placed datetime ' +
    'null, foreign key (customer_id) references customers (id)) engine = InnoDB',
  CREATE.mysql,
  "insert into customers (id, email, name, credit) values (1, 'a@x', 'Ada', 10), (2, 'b@x', 'Bob', 20), " +
    "(3, 'c@x', 'Cy', 30)",
  "insert into orders values (1, 1, 9.50, '2026-01-02 03:04:05'), (2, 1, 20.00, null), (3, 2, 5.25, null)"
]

const TENANT = 'a-token-that-sees-some-rows-and-columns'
const tokens = [
  tokenFor(TENANT, { customers: { columns: { select: ['id', 'email', 'name'] }, rows: { name: ['Ada', 'Lu'] } } })
]

type Request = readonly [name: string, send: (service: Sent) => Promise<{
  status: number, json: any
}>, refusedBy?: readonly string[]]
type Sent = Awaited<ReturnType<typeof startService>>
const on = (table: string, body: object, headers: Record<string, string> = {}) =>
  ({ post }: Sent) => post(table, body, { headers })
const tenant = (body: object) => ({ post }: Sent) => post('customers', body, { token: TENANT })
const together = (body: object | object[]) => ({ operate }: Sent) => operate(body)
const ada = { id: 1 }
const upsert = (data: object, more: object = {}) => on('customers', {
  verb: 'insert', data, onConflict: { key: ['id'] }, ...more
})

/** Each is 200, or 422 on the engines that are named. */
const REQUESTS: readonly Request[] = [
  ['a row by key', on('customers', { verb: 'select', filters: ada })],
  ['filters', on('customers', { verb: 'select', filters: { name: { $like: 'A%' }, credit: { $between: [1, 99] } } })],
  ['an order and a page', on('customers', { verb: 'select', orderBy: 'name DESC', limit: 2, after: null })],
  ['a search, by relevance', on('customers', {
    verb: 'select', filters: { $match: { columns: ['name'], text: 'ada' } }, orderBy: [{ $match: 'DESC' }]
  }), ['TiDB']],
  ['a search with operators', on('customers', {
    verb: 'select', filters: { $match: { columns: ['name'], text: '+ada', mode: 'boolean' } }
  }), ['TiDB']],
  ['a total', on('customers', { verb: 'select', total: true, limit: 1 })],
  ['related rows', on('customers', { verb: 'select', include: { orders: {} } })],
  ['the row that is referred to', on('orders', { verb: 'select', include: { customer: { table: 'customers' } } })],
  ['filters by related rows', on('customers', {
    verb: 'select', filters: { $some: { orders: { filters: { total: { $gt: '6' } } } } }
  })],
  ['groups', on('orders', { verb: 'select', groupBy: ['customer_id'], aggregates: { sum: { $sum: 'total' } } })],
  ['a moment', on('orders', { verb: 'select', filters: { placed: { $lt: { $now: true } } } })],
  ['a lock', together([{ verb: 'select', table: 'customers', filters: ada, lock: true }])],
  ['a lock with filters by related rows', together([
    { verb: 'select', table: 'customers', filters: { $some: { orders: {} } }, lock: true }
  ])],
  ['several reads of one snapshot', together([
    { verb: 'select', table: 'customers' }, { verb: 'select', table: 'orders' }
  ])],
  ['an insert', on('customers', { verb: 'insert', data: { email: 'd@x', name: 'Di', credit: 40 } })],
  ['a list', on('customers', {
    verb: 'insert',
    data: [{ email: 'e@x', name: 'Ed', credit: 50 }, { email: 'f@x', name: 'Flo', credit: 60 }],
    returning: ['id']
  })],
  ['an upsert of a new row', upsert({ id: 20, email: 'g@x', name: 'Gil', credit: 70 })],
  ['an upsert of a row that exists', upsert({ id: 1, email: 'a@x', name: 'Ada L', credit: 10 }, {
    returning: ['id', 'name']
  })],
  ['an upsert of a list', upsert([
    { id: 2, email: 'b@x', name: 'Bo', credit: 20 }, { id: 21, email: 'h@x', name: 'Hal', credit: 80 }
  ])],
  ['an upsert that only finds', upsert({ id: 1, email: 'a@x', name: 'x', credit: 10 }, {
    onConflict: { key: ['id'], set: [] }
  })],
  ['an upsert with an operator', upsert({ id: 3, email: 'c@x', name: 'Cy', credit: 1 }, {
    onConflict: { key: ['id'], set: { name: 'Cyd' } }
  })],
  ['an upsert by a computed key', on('customers', {
    verb: 'insert', data: { email: 'i@x', name: 'I', credit: 90 }, onConflict: { key: ['half'] }
  }), ['TiDB']],
  ['an update', on('customers', { verb: 'update', data: { name: 'Ada' }, filters: ada, returning: ['name'] })],
  ['an update with an operator and a bound', on('orders', {
    verb: 'update', data: { total: { $inc: '1' } }, filters: { id: 1 }, expect: 1
  })],
  ['an update of several rows', on('orders', {
    verb: 'update', key: ['id'], filters: {}, data: [{ id: 1, total: '3' }, { id: 2, total: '4' }]
  })],
  ['a dry run', on('orders', { verb: 'delete', filters: { id: 3 }, dryRun: true })],
  ['an average of some rows', on('orders', {
    verb: 'select', aggregates: { mean: { $avg: 'total', filters: { customer_id: { $in: [1, 2] } } } }
  })],
  ['a delete', on('orders', { verb: 'delete', filters: { id: 3 } })],
  ['operations with a reference', together([
    { verb: 'insert', table: 'customers', data: { email: 'j@x', name: 'Jo', credit: 100 } },
    { verb: 'insert', table: 'orders', data: { id: 9, customer_id: { $ref: '/0/id' }, total: '1' } }
  ])],
  ['an upsert of a tenant, who does not see each column', tenant({
    verb: 'insert',
    data: [{ id: 1, email: 'a@x', name: 'Ada' }, { id: 40, email: 'l@x', name: 'Lu' }],
    onConflict: { key: ['id'] }
  })],
  ['serializable operations', together({
    operations: [{ verb: 'update', table: 'orders', data: { total: '7' }, filters: { id: 1 } }],
    isolation: 'serializable'
  }), ['TiDB']],
  ['an idempotency key', on('orders', { verb: 'insert', data: { id: 30, customer_id: 1, total: '1' } }, {
    'idempotency-key': 'k1'
  })],
  ['the same idempotency key', on('orders', { verb: 'insert', data: { id: 30, customer_id: 1, total: '1' } }, {
    'idempotency-key': 'k1'
  })]
]

async function start (t: Test, engine: Awaited<ReturnType<typeof engines>>[number], rules: EngineRules) {
  const database = await createTestDatabase(engine, SCHEMA)
  const proxy = await createEngineProxy(database.url, rules, { isMariadb: engine.name === 'mariadb' })
  t.teardown(async () => {
    await proxy.close()
    await database.drop()
  })
  return { ...await startService(t, proxy.url, { tokens }), proxy }
}

for (const engine of await engines()) {
  for (const [name, rules] of [['TiDB', TIDB], ['Vitess', VITESS]] as const) {
    t.test(`each request is answered, or refused by name (${name} on ${engine.name})`, async (t) => {
      const service = await start(t as Test, engine, rules)
      for (const [request, send, refusedBy = []] of REQUESTS) {
        const { status, json } = await send(service)
        const expected = refusedBy.includes(name) ? [422, 'NOT_SUPPORTED'] : [200, undefined]
        t.same([status, json.error?.code], expected, `${request}: ${JSON.stringify(json).slice(0, 300)}`)
      }
    })
  }
}

const check = (url: string) => checkDatabase(
  resolveSettings({ databases: { shop: { url } }, tokens: [] }).databases[0] as never,
  { configured: [], grants: [], requests: [], limits: {} as never, prefix: '' }
)

for (const engine of await engines()) {
  t.test(`check and the log name the engine, and what it ignores or lacks (${engine.name})`, async (t) => {
    const { proxy: { url }, log } = await start(t as Test, engine, VITESS)
    const { findings } = await check(url)
    t.same(findings.filter(([, text]) => text.startsWith('server:')), [['line', 'server: Vitess 8.0.30-Vitess']])
    const ignored = findings.flatMap(
      ([kind, text]) => kind === 'warning' ? /^the server ignores (\w+): ./.exec(text)?.[1] ?? [] : []
    )
    t.same(ignored, [
      'collation_connection', 'max_sort_length', 'max_execution_time', 'net_write_timeout', 'lc_messages'
    ])
    t.match(log.map((line) => JSON.parse(line)).find(({ engine }) => engine === 'Vitess'), {
      level: 40, database: 'shop', version: '8.0.30-Vitess', ignores: { max_sort_length: /same 1024 bytes/ }
    })
    const tidb = await start(t as Test, engine, TIDB)
    const notes = (await check(tidb.proxy.url)).findings.flatMap(
      ([kind, text]) => kind === 'note' && text.endsWith('TiDB does not have it') ? [text] : []
    )
    t.match(notes, [/isolation "serializable"/, /"onConflict" with a key that the database computes/, /"\$match"/])
  })

  t.test(`an engine that ignores the level of isolation is served and named (${engine.name})`, async (t) => {
    // the level of a server whose own is not the default
    const means = (sql: string): string => sql.replace(/@@(?:transaction|tx)_isolation\b/g, "'SERIALIZABLE'")
    const { post, proxy, log } = await start(t as Test, engine, { ...VITESS, means })
    t.equal((await post('customers', { verb: 'select', filters: ada })).status, 200)
    const warnings = (await check(proxy.url)).findings.flatMap(
      ([kind, text]) => kind === 'warning' && text.includes('transaction_isolation') ? [text] : []
    )
    t.match(warnings, [/^the server ignores transaction_isolation: transactions run at SERIALIZABLE$/])
    t.match(log.map((line) => JSON.parse(line)).find(({ ignores }) => ignores?.transaction_isolation !== undefined), {
      engine: 'Vitess', ignores: { transaction_isolation: /SERIALIZABLE/ }
    })
  })

  t.test(`a connection whose engine ignores the SQL mode or the time zone is not used (${engine.name})`, async (t) => {
    for (const name of ['sql_mode', 'time_zone']) {
      const variables: Record<string, 'set' | 'ignored' | 'stored'> = { ...VITESS.variables }
      const { post, proxy, log } = await start(t as Test, engine, { ...VITESS, variables })
      const ask = async () => (await post('customers', { verb: 'select', filters: ada })).json
      t.equal((await ask()).success, true)
      variables[name] = 'ignored'
      proxy.cut()
      t.match(await ask(), { error: { code: 'DATABASE_UNAVAILABLE' } }, name)
      t.ok(
        log.some((line) => JSON.parse(line).reason?.startsWith(`SETTING_IGNORED: the session has ${name} = `)),
        `the log has the reason: ${name}`
      )
      t.match(await check(proxy.url), {
        answers: false, heading: new RegExp(`the server cannot be used \\(SETTING_IGNORED: the session has ${name} `)
      })
    }
  })

  t.test(`an engine older than its floor is not served (${engine.name})`, async (t) => {
    for (const rules of [{ ...TIDB, version: '8.0.11-TiDB-v7.1.5' }, { ...VITESS, version: '5.7.9-Vitess' }]) {
      const { post, log } = await start(t as Test, engine, rules)
      t.match((await post('customers', { verb: 'select' })).json, { error: { code: 'DATABASE_UNAVAILABLE' } })
      t.ok(log.some((line) => JSON.parse(line).reason?.startsWith('SERVER_TOO_OLD: ')))
    }
  })
}
