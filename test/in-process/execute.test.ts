/** Requests without HTTP: the same results, and the same errors in the same order. */
/** Members in the results of calls without HTTP: their integers are exact at every level. */
import t from 'tap'
import { createDatabase } from '../../src/databases/database.ts'
import type { Dialect } from '../../src/dialects/dialect.ts'
import { execute, type ExecuteRequest } from '../../src/in-process/calls.ts'
import { createRowQuery, type GrantOptions, ServiceError } from '../../src/index.ts'
import { lookOver, parseExactJson, repeatsKey } from '../../src/json/exact-json.ts'
import { toJson } from '../../src/request/copy-json.ts'
import { badBodies } from '../support/bad-bodies.ts'
import { badValuesByTable, shopAndOdd } from '../support/bad-values.ts'
import { tokenFor } from '../support/documents.ts'
import { onEachEngine, type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { LIMITS, orders } from '../support/sql.ts'

const everything: GrantOptions = { permissions: ['select', 'insert', 'update', 'delete'] }

/** execute without types, as a JavaScript program can call it. */
type Call = (request: Partial<{ [K in keyof ExecuteRequest]: unknown }>) => Promise<any>
const callOf = ({ server }: Pick<Service, 'server'>): Call => (request) => (server.rows.execute as unknown as Call)({
  database: 'shop', table: 'customers', grant: everything, ...request
})

/** The error of a call, in the form of an error response. */
async function refusalOf (answer: Promise<unknown>): Promise<object> {
  const error = await answer.then(() => new Error('was not refused'), (error: unknown) => error) as ServiceError
  if (!(error instanceof ServiceError)) throw error
  const { code, message, details, statusCode } = error
  return { status: statusCode, error: { code, message, details } }
}

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('the four verbs return the data of their responses', async (t, service) => {
  const call = callOf(service)
  t.same(await call({ body: { verb: 'select', columns: ['id', 'credit'], filters: { id: [1, 2] }, orderBy: 'id' } }), {
    rows: [{ id: 1, credit: '12.50' }, { id: 2, credit: '0.99' }], count: 2
  })
  t.same(await call({ table: 'orders', body: { verb: 'insert', data: { customer_id: 1 } } }), { inserted: 1, id: 3 })
  t.same(await call({ table: 'orders', body: { verb: 'update', data: { note: 'x' }, filters: { id: 3 } } }), {
    updated: 1
  })
  t.same(await call({ table: 'orders', body: { verb: 'delete', filters: { id: 3 } } }), { deleted: 1 })
})

await testShop('a grant is bound once, for calls with the fields of a body', async (t, { server }) => {
  const grant = { permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: ['orders'] } }
  const calls = server.rows.as(grant as GrantOptions)
  t.same(await calls.select('shop', 'orders', { columns: ['id'], filters: { id: 1 } }), { rows: [{ id: 1 }], count: 1 })
  grant.permissions.length = 0
  t.same(
    await calls.insert('shop', 'orders', { data: { customer_id: 1 } }), { inserted: 1, id: 3 }, 'the grant was copied'
  )
  t.same(await calls.update('shop', 'orders', { data: { note: 'x' }, filters: { id: 3 } }), { updated: 1 })
  const notes: unknown[] = []
  for await (const { note } of calls.stream('shop', 'orders', { columns: ['note'], filters: { id: 3 } })) {
    notes.push(
      note
    )
  }
  t.same(notes, ['x'])
  t.same(await calls.delete('shop', 'orders', { filters: { id: 3 } }), { deleted: 1 })
  t.match(await refusalOf(calls.select('shop', 'customers')), { error: { code: 'TABLE_NOT_FOUND' } })
  t.match(await refusalOf(calls.select('shop', 'orders', {}, { bigint: 'string' } as object)), {
    error: { code: 'INVALID_BODY', message: /did you mean "bigints"/ }
  })
  await t.rejects(server.rows.as({ permission: [] } as unknown as GrantOptions).select('shop', 'orders'), {
    name: 'InvalidGrant'
  })
})

const tables: Schema = (engine) => [
  `create table numbers (id ${engine === 'sqlite' ? 'integer' : 'bigint'} not null primary key, total int null)`,
  'insert into numbers values (9223372036854775807, 1), (1, 2)',
  `create table big (id ${engine === 'sqlite' ? 'bigint' : 'bigint unsigned'} not null primary key,
    amount decimal(${engine === 'sqlite' ? 15 : 30},10) null, ratio double null, doc json null, __proto__ bigint null)`,
  'create table owners (id bigint not null primary key, big bigint not null)',
  'insert into owners values (9007199254740993, 9007199254740995), (1, 2)',
  'create table things (id bigint not null primary key, owner_id bigint not null, big bigint not null)',
  'create index by_owner on things (owner_id)',
  'insert into things values (9007199254740997, 9007199254740993, 9007199254740999), (3, 1, 4)',
  'create table items (id int primary key)'
]
const test = sharedOnEachEngine(t, { schema: tables })

await test('an aggregate is converted as its column, not as one of the table with its name', async (t, service) => {
  const call = callOf(service)
  const body = { verb: 'select', aggregates: { n: { $count: '*' }, total: { $max: 'id' }, id: { $avg: 'total' } } }
  t.same(await call({ table: 'numbers', body }), {
    rows: [{ n: 2, total: 9223372036854775807n, id: '1.5000' }], count: 1
  })
  t.same(await call({ table: 'numbers', body, bigints: 'string' }), {
    rows: [{ n: 2, total: '9223372036854775807', id: '1.5000' }], count: 1
  })
  t.same(await call({ table: 'numbers', body: { verb: 'select', groupBy: ['id'], orderBy: 'id DESC', limit: 1 } }), {
    rows: [{ id: 9223372036854775807n }], count: 1
  })
})

await test('writes return rows with integers as exact as those of a select', async (t, service) => {
  const call = callOf(service)
  const body = {
    verb: 'update', data: { id: { $inc: -1n } }, filters: { total: 1 }, returning: ['id'], expect: 1, dryRun: true
  }
  t.same(await call({ table: 'numbers', body }), { rows: [{ id: 9223372036854775806n }], updated: 1, dryRun: true })
  t.same(await call({
    table: 'numbers', body: { verb: 'delete', filters: { total: 1 }, returning: '*' }, bigints: 'string'
  }), { rows: [{ id: '9223372036854775807', total: 1 }], deleted: 1 })
  t.match(await refusalOf(call({ table: 'numbers', body: { ...body, expect: 2 } })), {
    status: 412, error: { code: 'EXPECTATION_FAILED', details: [{ path: '/expect' }] }
  })
})

/** The value of a body that is text or bytes; undefined if JavaScript has no such value. */
function asValue (sent: unknown): unknown {
  try {
    if (typeof sent !== 'string' && !Buffer.isBuffer(sent)) return sent
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(sent as Buffer))
    const body = parseExactJson(text)
    JSON.stringify(body)
    return repeatsKey(lookOver(text), body) ? undefined : body
  } catch {
    return undefined
  }
}

await onEachEngine(t, 'requests that HTTP refuses fail ' +
  'with the same error', { schema: shopAndOdd, only: ['sqlite'] }, async (t, service) => {
  const call = callOf(service)
  for (const [table, bodies] of [['customers', badBodies], ...badValuesByTable] as const) {
    for (const { why, body: sent } of bodies) {
      const body = asValue(sent)
      if (body === undefined) continue
      const { status, json: { error } } = await service.post(table, sent)
      t.same(await refusalOf(call({ table, body })), { status, error }, why)
    }
  }
})

const grants: Array<[why: string, grant: GrantOptions]> = [
  ['no permission on the database', { permissions: ['select'], databases: { other: '*' } }],
  ['no permission on the table', { permissions: ['select'], databases: { shop: ['orders'] } }],
  ['no permission for the verb', { permissions: ['insert'], databases: { shop: '*' } }],
  ['no permission at all', { permissions: [] }],
  ['a table that is not there', { permissions: ['delete'], databases: { shop: ['customers', 'nowhere'] } }]
]

const noGrants = [
  undefined, null, 'everything', {}, { permissions: 'select' }, { permissions: ['read'] },
  { permissions: ['select'], databases: null },
  { permissions: ['select'], databases: ['shop'] }, { ...everything, name: '' }, { ...everything, name: 7 }, {
    ...everything, claims: { call: () => {} }
  }, { permissions: ['select'], databases: { shop: { customers: { rows: { id: 2 ** 60 } } } } },
  { permissions: ['select'], database: { other: '*' } }
]

await onEachEngine(t, 'errors have the order of HTTP', {
  schema: shop,
  only: ['sqlite'],
  tokens: grants.slice(1, 3).concat(grants.slice(4)).map((
    [why, { permissions, databases }]
  ) => tokenFor(why, [...permissions ?? []], databases as Record<string, '*' | string[]>))
}, async (t, service) => {
  const call = callOf(service)
  for (const [why, grant] of grants) {
    for (const table of ['customers', 'nowhere']) {
      for (const body of [
        { verb: 'delete' }, { verb: 'delete', filters: { nope: 1 } }, { verb: 'delete', filters: { id: 99 } },
        { verb: 'drop' }
      ]) {
        const { status, json } = await service.post(table, body, { token: why })
        if (status === 401) continue // such a token cannot be configured
        const answer = call({ table, body, grant })
        if (status === 200) t.same(await answer, json.data)
        else t.same(await refusalOf(answer), { status, error: json.error }, `${why}: ${table}, ${JSON.stringify(body)}`)
      }
    }
  }
  t.match(await refusalOf(call({ grant: grants[0]?.[1], body: 0 })), {
    status: 404, error: { code: 'DATABASE_NOT_FOUND' }
  })
  t.match(await refusalOf(call({ grant: grants[3]?.[1], body: { verb: 'select' } })), {
    status: 404, error: { code: 'DATABASE_NOT_FOUND' }
  })
})

await testShop('a grant of the wrong form is an error of the app, with its reason, and no ' +
  'refusal of the caller', async (t, service) => {
  const call = callOf(service)
  for (const grant of noGrants) {
    const error = await call({ grant, body: { verb: 'select' } }).catch((error: unknown) => error)
    t.notOk(error instanceof ServiceError)
    t.match(error, { code: 'INTERNAL', statusCode: 500, message: /^The request has a grant that is not valid: / })
  }
  t.match(await call({ grant: { ...everything, name: 'ada', claims: { tenant: 1 } }, body: { verb: 'select' } }), {
    count: 4
  })
}, ['sqlite'])

const circular: Record<string, unknown> = { verb: 'select' }
circular['filters'] = circular

const noJson: Array<[why: string, body: unknown, code: string]> = [
  ['a filter that is undefined, which would be none', { verb: 'select', filters: { id: undefined } }, 'INVALID_BODY'],
  ['filters that are undefined', { verb: 'select', filters: undefined }, 'INVALID_BODY'],
  ['a filter that is not a number, which would be null', { verb: 'select', filters: { note: NaN } }, 'INVALID_BODY'],
  ['infinity', { verb: 'update', data: { credit: Infinity }, filters: { id: 1 } }, 'INVALID_BODY'],
  ['a function', { verb: 'select', filters: { id: () => 1 } }, 'INVALID_BODY'],
  ['a symbol', { verb: 'select', filters: { id: Symbol('id') } }, 'INVALID_BODY'],
  ['no body', undefined, 'INVALID_BODY'],
  ['an object in itself', circular, 'INVALID_JSON'],
  ['a Map, which would be no filters', { verb: 'select', filters: new Map([['id', 1]]) }, 'INVALID_BODY'],
  ['a promise of filters', { verb: 'select', filters: Promise.resolve({ id: 1 }) }, 'INVALID_BODY'],
  ['a list with a hole', { verb: 'select', filters: { id: new Array(2) } }, 'INVALID_BODY'],
  ['a Buffer', { verb: 'select', filters: { name: Buffer.from('Ada') } }, 'INVALID_VALUE'],
  [
    'a Date in a column without an offset', { verb: 'update', data: { created_at: new Date() }, filters: { id: 1 } },
    'INVALID_VALUE'
  ]
]

await testShop('values that JSON does not have are refused', async (t, service) => {
  for (const [why, body, code] of noJson) {
    t.match(await refusalOf(callOf(service)({ body })), {
      status: 400, error: { code }
    }, why)
  }
  t.match(await refusalOf(callOf(service)({ body: { verb: 'select', filters: new Map([['id', 1]]) } })), {
    error: { message: '"filters" is [Map], which JSON does not have' }
  })
  const bare = Object.assign(Object.create(null), { id: 1 })
  t.match(
    await callOf(service)({ body: { verb: 'select', columns: ['id'], filters: bare } }), { rows: [{ id: 1 }] },
    'an object without a prototype is as good as any'
  )
}, ['sqlite'])

await test('integers beyond 2^53 are bigints in bodies and results, others are numbers', async (t, service) => {
  const call = callOf(service)
  const id = service.engine === 'sqlite' ? 9223372036854775807n : 18446744073709551615n
  const doc = { list: [9007199254740993n, 1.5, { n: -9223372036854775808n }], none: null }
  const data = JSON.parse(
    '{"__proto__":1}', (key, value: unknown) => key === '__proto__' ? 9007199254740995n : value
  ) as object
  Object.assign(data, { id, amount: '12345.0000000001', ratio: 0.30000000000000004, doc })
  t.same(await call({ table: 'big', body: { verb: 'insert', data } }), { inserted: 1, id })
  await call({ table: 'big', body: { verb: 'insert', data: { id: 7, ratio: 1e22 } } })
  const { rows } = await call({ table: 'big', body: { verb: 'select', filters: { id: [id, 7n] }, orderBy: 'id DESC' } })
  t.equal(rows[0].id, id)
  t.same([rows[0].amount, rows[0].ratio, rows[0].doc], ['12345.0000000001', 0.30000000000000004, doc])
  t.equal(Object.getOwnPropertyDescriptor(rows[0], '__proto__')?.value, 9007199254740995n)
  t.same([rows[1].id, rows[1].ratio], [7, 1e22], 'a DOUBLE stays a number, however large')
})

await test('integers beyond 2^53 can be strings, which reply.send accepts', async (t, service) => {
  const call = (
    body: object
  ): Promise<any> => (service.server.rows.execute as unknown as (request: object) => Promise<any>)(
    { database: 'shop', table: 'big', body, grant: everything, bigints: 'string' }
  )
  t.same(
    await call({ verb: 'insert', data: { id: 9007199254740993n, ratio: 1e22, doc: { n: [9007199254740993n, 1] } } }),
    { inserted: 1, id: '9007199254740993' }
  )
  const answer = await call({ verb: 'select', columns: ['id', 'ratio', 'doc'] })
  t.same(answer, { rows: [{ id: '9007199254740993', ratio: 1e22, doc: { n: ['9007199254740993', 1] } }], count: 1 })
  t.equal(JSON.parse(JSON.stringify(answer)).rows[0].id, '9007199254740993')
  t.same(await call({ verb: 'insert', data: { id: 7 } }), { inserted: 1, id: 7 }, 'up to there they are numbers')
})

await test('a position keeps its large integers and doubles, and can be sent back', async (t, service) => {
  const call = callOf(service)
  for (const [id, ratio] of [
    [9007199254740993n, 1e22], [9007199254740995n, 1e22], [5n, 0.1]
  ] as const) await call({ table: 'big', body: { verb: 'insert', data: { id, ratio } } })
  const body = { verb: 'select', columns: ['amount'], orderBy: 'ratio DESC', limit: 1 }
  const first = await call({ table: 'big', body: { ...body, after: null } })
  t.same(first, { rows: [{ amount: null }], count: 1, next: { ratio: 1e22, id: 9007199254740995n } })
  t.same(await call({ table: 'big', body: { ...body, after: first.next, total: true } }), {
    rows: [{ amount: null }], count: 1, next: { ratio: 1e22, id: 9007199254740993n }, total: 3
  })
  t.same((await call({ table: 'big', body: { ...body, after: first.next }, bigints: 'string' })).next, {
    ratio: 1e22, id: '9007199254740993'
  })
  t.same((await call({ table: 'big', body: { ...body, after: { ratio: 1e22, id: '9007199254740993' } } })).next, null)
  t.same((await call({ table: 'big', body: { ...body, offset: 0, limit: 2 } })).next, 2)
})

t.test('a successful write is not reported as TABLE_NOT_FOUND if the catalog is reloaded right after it', async (t) => {
  const { columnList, ...table } = orders.sqlite
  let tables = [{ ...table, columns: columnList }]
  const dialect = {
    engine: 'sqlite',
    introspect: async () => tables,
    write: async () => {
      tables = []
      await database.refresh()
      return { rows: 0, changed: 1 }
    }
  } as unknown as Dialect
  const database = createDatabase({
    name: 'shop', dialect, resultLimit: 1e6, refreshInterval: 60_000, onRefreshError: () => {}
  })
  const databases = new Map([['shop', database]])
  const request = { database: 'shop', table: 'orders', body: { verb: 'delete', filters: { id: 1 } }, grant: everything }
  t.same(await execute({ databases, limits: LIMITS }, request), { deleted: 1 })
  await t.rejects(execute({ databases, limits: LIMITS }, request), { code: 'DATABASE_UNAVAILABLE' })
})

t.test('execute fails with a clear error before the plugin is ready', async (t) => {
  const rows = createRowQuery({ databases: { shop: { url: 'mysql://root@127.0.0.1:1/shop' } } })
  await t.rejects(rows.execute({ database: 'shop', table: 'orders', body: { verb: 'select' }, grant: everything }), {
    message: /requires that the plugin is registered/
  })
})

t.test('an invalid date in filters is refused and no IS NULL', async (t) => {
  await t.rejects(async () => toJson({ filters: { expires: new Date('no date') } }), { code: 'INVALID_BODY' })
})

await test('integers of members beyond 2^53 are exact', async (t, { server }) => {
  const execute = server.rows.execute as unknown as (request: object) => Promise<{ rows: object[] }>
  const body = {
    verb: 'select',
    orderBy: 'id DESC',
    include: {
      things: {
        on: { id: 'owner_id' }, include: { owner: { table: 'owners', on: { owner_id: 'id' }, columns: ['big'] } }
      },
      sums: { table: 'things', on: { id: 'owner_id' }, aggregates: { n: { $count: '*' }, last: { $max: 'big' } } }
    }
  }
  const { rows } = await execute({ database: 'shop', table: 'owners', grant: { permissions: ['select'] }, body })
  t.strictSame(rows, [
    {
      id: 9007199254740993n,
      big: 9007199254740995n,
      things: [
        {
          id: 9007199254740997n, owner_id: 9007199254740993n, big: 9007199254740999n, owner: { big: 9007199254740995n }
        }
      ],
      sums: { n: 1, last: 9007199254740999n }
    },
    { id: 1, big: 2, things: [{ id: 3, owner_id: 1, big: 4, owner: { big: 2 } }], sums: { n: 1, last: 4 } }
  ])
})

const grant = { permissions: ['select' as const, 'insert' as const] }

await test('a misspelt option of a request in process is refused, and the one that ' +
  'is meant is named', async (t, { server: { rows }, sql }) => {
  const insert = { table: 'items', grant, body: { verb: 'insert', data: { id: 1 } } }
  const request = { database: 'shop', ...insert }
  await t.rejects(rows.execute({ ...request, dryrun: true } as never), {
    code: 'INVALID_BODY',
    message: '"dryrun" is not an option of execute; the options are database, table, body, grant, bigints, consistency'
  })
  await t.rejects(rows.execute({ ...request, consistancy: 'primary' } as never), {
    message: '"consistancy" is not an option of execute; did you mean "consistency"?'
  })
  const use = async (tx: { execute: (each: any) => Promise<unknown> }): Promise<unknown> => await tx.execute(insert)
  await t.rejects(rows.transaction('shop', use, { dryrun: true } as never), {
    code: 'INVALID_BODY', message: '"dryrun" is not an option of transaction; did you mean "dryRun"?'
  })
  await t.rejects(rows.transaction('shop', async (tx) => await tx.execute({ ...insert, database: 'shop' } as never)), {
    message: '"database" is not an option of execute in a transaction; the options are table, body, grant, bigints'
  })
  t.same(await sql('select id from items'), [], 'nothing was written')
  await rows.transaction('shop', use, { dryRun: true, isolation: 'serializable' })
  t.same(await sql('select id from items'), [])
})
