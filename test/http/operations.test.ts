/** POST /api/{database}: several operations in one transaction. */
import t from 'tap'
import type { Operation, OperationsBody } from '../../schemas/body.ts'
import type { OperationOf, OperationsFields } from '../../src/client/index.ts'
import { tokenOf } from '../grants/support.ts'
import { numberedId } from '../support/definitions.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const tokens = [
  tokenOf('reader', { permissions: ['select'], databases: { shop: ['orders', 'absent', 'missing'] } }),
  tokenOf('writer', { permissions: ['update', 'delete', 'insert'] })
]
const schema: Schema = (engine) => [
  ...engine === 'sqlite' ? shop.sqlite : shop.mysql,
  `create table items (${numberedId(engine, 'bigint')}, big bigint, note varchar(50), doc json)`,
  'create table texts (id int primary key, text varchar(4000))',
  ...engine === 'sqlite' ? [] : ['create table plain (id int not null primary key) engine = MyISAM']
]
const insertOrder = { table: 'orders', verb: 'insert', data: { customer_id: 1, note: 'new' } }
const buyMug = { table: 'customers', verb: 'update', filters: { id: 1 }, data: { status: 'old' } }
const counts = async ({ sql }: Service): Promise<number[]> => {
  const [row] = await sql('select (select count(*) from orders) as orders, (select count(*) from order_items) as items')
  return [row.orders, row.items]
}

const test = sharedOnEachEngine(t, { schema, tokens })
const testLimited = sharedOnEachEngine(t, {
  schema,
  options: { limits: { operations: 4, filterConditions: 4, filterValues: 6, changed: 3 } },
  database: { resultLimit: 2000 }
})

await test('operations run in their order, and a reference takes a value of an earlier result', async (t, service) => {
  const { operate, sql } = service
  const { status, json, headers } = await operate([
    buyMug,
    insertOrder,
    {
      table: 'order_items',
      verb: 'insert',
      data: { order_id: { $ref: '/1/id' }, line: 1, product_sku: 'MUG-1', price: '7.50' }
    },
    { table: 'order_items', verb: 'select', filters: { order_id: { $ref: '/1/id' } }, columns: ['line', 'product_sku'] }
  ])
  t.equal(status, 200)
  t.match(headers, { 'content-type': 'application/json; charset=utf-8' })
  t.strictSame(json, {
    success: true,
    data: {
      results: [{ updated: 1 }, { inserted: 1, id: 3 }, { inserted: 1, id: null }, {
        rows: [{ line: 1, product_sku: 'MUG-1' }], count: 1
      }]
    }
  })
  t.match(await sql('select order_id, line, price from order_items where order_id = 3'), [{ order_id: 3, line: 1 }])
})

await test('all of them happen or none', async (t, service) => {
  const { operate } = service
  const refused = await operate([
    insertOrder,
    {
      table: 'order_items',
      verb: 'insert',
      data: { order_id: { $ref: '/0/id' }, line: 1, product_sku: 'MUG-1', price: '7.50' }
    },
    {
      table: 'order_items',
      verb: 'insert',
      data: { order_id: { $ref: '/0/id' }, line: 1, product_sku: 'CUP-1', price: '5.00' }
    }
  ])
  isRefusal(t, refused, { status: 409, code: 'UNIQUE_VIOLATION', why: 'the same line twice' })
  t.match(refused.json.error.details, [{ path: '/operations/2/data/order_id' }, { path: '/operations/2/data/line' }])
  t.same(await counts(service), [2, 2])
})

await test('every error names its operation', async (t, service) => {
  const { operate } = service
  const cases: Array<[object, number, string, string]> = [
    [
      { table: 'orders', verb: 'select', filters: { nothing: 1 } }, 400, 'COLUMN_NOT_FOUND',
      '/operations/1/filters/nothing'
    ],
    [
      { table: 'orders', verb: 'insert', data: { customer_id: 'x' } }, 400, 'INVALID_VALUE',
      '/operations/1/data/customer_id'
    ],
    [{ table: 'orders', verb: 'insert', data: {} }, 400, 'MISSING_COLUMN', '/operations/1/data/customer_id'],
    [{ table: 'nothing', verb: 'select' }, 404, 'TABLE_NOT_FOUND', '/operations/1/table'],
    [
      { table: 'orders', verb: 'delete', filters: { id: { $nin: [] } } }, 400, 'FILTERS_REQUIRED',
      '/operations/1/filters'
    ],
    [{ table: 'orders', verb: 'drop' }, 400, 'INVALID_BODY', '/operations/1/verb'],
    [{ table: 'orders', verb: 'delete', filters: { id: 1 } }, 409, 'FOREIGN_KEY_VIOLATION', '/operations/1']
  ]
  for (const [operation, status, code, path] of cases) {
    const answer = await operate([insertOrder, operation])
    isRefusal(t, answer, { status, code, why: JSON.stringify(operation) })
    for (const detail of answer.json.error.details) {
      t.ok(detail.path.startsWith(path), `${detail.path} begins with ${path}`)
    }
    t.not(answer.json.error.details.length, 0)
  }
  t.same(await counts(service), [2, 2])
})

await onEachEngine(t, 'the setting limits.operations is the most operations, which the document says ' +
  'and references reach', {
  schema, only: ['sqlite'], options: { limits: { operations: 150 } }
}, async (t, { operate, server }) => {
  const operations = 150
  const select = { table: 'orders', verb: 'select', limit: 1 }
  t.equal((await operate(Array(operations).fill(select))).json.data.results.length, operations)
  const refused = await operate(Array(operations + 1).fill(select))
  isRefusal(t, refused, { status: 400, code: 'INVALID_BODY', why: 'one more' })
  t.match(refused.json.error, {
    message: `"operations" must be a list of 1 to ${operations} operations`, details: [{ path: '/operations' }]
  })
  const last = `/${operations - 2}/count`
  t.equal((await operate([
    ...Array(operations - 1).fill(select), { ...select, filters: { id: { $gt: { $ref: last } } } }
  ])).status, 200)
  const document = (await server.app.inject({
    url: '/api/shop/openapi.json', headers: { authorization: `Bearer ${TOKEN}` }
  })).json()
  t.equal(document.components.schemas.OperationsRequest.properties.operations.maxItems, operations)
})

await test('a reference is a value, exact to 64 bits, and never an operator', async (t, service) => {
  const { operate, sql } = service
  const insert = (data: object) => ({ table: 'items', verb: 'insert', data })
  const select = (filters: object) => ({ table: 'items', verb: 'select', filters })
  const resultsOf = async (...operations: object[]) => {
    const { status, json, text } = await operate(operations)
    t.equal(status, 200, text)
    return json.data.results
  }
  await operate('{"operations": [{"table": "items", "verb": "insert", "data": {"big": 9007199254740993, "note": "a", ' +
    '"doc": {"$eq": {"$gt": 0}}}}]}')
  await resultsOf(select({ id: 1 }), insert({
    big: { $ref: '/0/rows/0/big' }, note: { $ref: '/0/rows/0/note' }, doc: { $ref: '/0/rows/0/doc' }
  }))
  t.match(await sql('select cast(big as char) as big, note from items where id = 2'), [
    { big: '9007199254740993', note: 'a' }
  ])
  t.match(
    (await resultsOf(select({ id: 2 })))[0].rows, [{ doc: { $gt: 0 } }],
    'an object that looks like operators is a value'
  )
  t.match((await resultsOf(select({ id: 1 }), select({ big: { $gte: { $ref: '/0/rows/0/big' } } })))[1], { count: 2 })
  t.match((await resultsOf(select({ id: 1 }), select({ big: { $in: [5, { $ref: '/0/rows/0/big' }] } })))[1], {
    count: 2
  })
  t.match((await resultsOf(select({ id: 1 }), select({ id: [{ $ref: '/0/count' }] })))[1], { count: 1 })
  t.match((await resultsOf(select({ id: 1 }), select({
    $or: [{ note: { $startsWith: { $ref: '/0/rows/0/note' } } }, { $not: { id: { $ref: '/0/count' } } }]
  })))[1], { count: 2 })
  for (const filters of [
    { $is: { id: { $ref: '/0/count' }, note: { $ref: '/0/rows/0/note' } } },
    { big: { $is: { $ref: '/0/rows/0/big' } }, id: 1 }, { $not: { $is: { id: { $ref: '/0/count' } } } }
  ]) {
    t.match((await resultsOf(select({ id: 1 }), select(filters)))[1], { count: 1 }, JSON.stringify(filters))
  }
  t.match(
    (await resultsOf(insert({ doc: { $eq: { $ref: '/0/id' } } }), select({ $is: { doc: { $ref: '/0/id' } } })))[1].rows,
    [{ doc: { $ref: '/0/id' } }], 'in the row of $is, a JSON column may have such an object'
  )
  await sql('delete from items where id = 3')
  t.match(
    (await resultsOf(insert({ id: 3, doc: { $eq: { $ref: '/0/id' } } }), select({ id: 3 })))[1].rows,
    [{ doc: { $ref: '/0/id' } }], 'under $eq it is an ordinary object'
  )
  t.match(
    (await resultsOf(insert({ doc: { a: { $ref: '/0/id' } } }), select({ id: 4 })))[1].rows,
    [{ doc: { a: { $ref: '/0/id' } } }], 'and within a JSON value'
  )
  /** References in the data of an insert, behind a select of one row. */
  const refusedReferences: Array<[reference: unknown, code: string]> = [
    ['/1/id', 'INVALID_BODY'], ['', 'INVALID_BODY'], ['0/id', 'INVALID_BODY'], ['/00/id', 'INVALID_BODY'],
    ['/0/~2', 'INVALID_BODY'], [5, 'INVALID_BODY'], ['/0/rows/1/id', 'INVALID_VALUE'],
    ['/0/rows/-/id', 'INVALID_VALUE'], ['/0/__proto__', 'INVALID_VALUE'], ['/0/rows/length', 'INVALID_VALUE'],
    ['/0/rows/0/note', 'INVALID_VALUE'], ['/0', 'INVALID_VALUE'], ['/0/rows', 'INVALID_VALUE']
  ]
  const [first, fourth] = [select({ id: 1 }), select({ id: 4 })]
  const refused: Array<[object[], string, string]> = [
    ...refusedReferences.map(([$ref, code]): [object[], string, string] =>
      [[first, insert({ big: { $ref } })], code, '/operations/1/data/big']),
    [[select({ id: { $ref: '/1/id' } }), select({})], 'INVALID_BODY', '/operations/0/filters/id'],
    [[first, select({ $is: { big: { $ref: '/1/count' } } })], 'INVALID_BODY', '/operations/1/filters/$is/big'],
    [[first, select({ $is: { big: { $ref: '/0/rows/0/note' } } })], 'INVALID_VALUE', '/operations/1/filters/$is/big'],
    [
      [first, { table: 'items', verb: 'update', data: { big: { $inc: { $ref: '/0/count' } } }, filters: { id: 1 } }],
      'INVALID_VALUE', '/operations/1/data/big/$inc'
    ],
    [
      [first, { ...insert({ id: 1 }), onConflict: { key: ['id'], set: { big: { $ref: '/0/count' } } } }],
      'INVALID_VALUE', '/operations/1/onConflict/set/big'
    ],
    [[fourth, select({ big: { $ref: '/0/rows/0/big' } })], 'INVALID_VALUE', '/operations/1/filters/big'],
    [
      [fourth, select({ big: { $in: [1, { $ref: '/0/rows/0/big' }] } })], 'INVALID_VALUE',
      '/operations/1/filters/big/$in/1'
    ],
    [[first, select({ big: { $ref: '/0/rows/0/doc' } })], 'INVALID_VALUE', '/operations/1/filters/big'],
    [[first, select({ big: { $null: { $ref: '/0/count' } } })], 'INVALID_VALUE', '/operations/1/filters/big/$null']
  ]
  for (const [operations, code, path] of refused) {
    const answer = await operate(operations)
    isRefusal(t, answer, { status: 400, code, why: JSON.stringify(operations[1]) })
    t.equal(answer.json.error.details[0].path, path)
  }
  await resultsOf(select({ id: 4 }), insert({ big: { $ref: '/0/rows/0/big' }, note: { $ref: '/0/rows/0/note' } }))
  t.match(
    await sql('select id, big, note from items where id > 4'), [{ big: null, note: null }], 'null is a value in data'
  )
  t.match((await operate([
    select({ id: 1 }), { table: 'items', verb: 'select', filters: { doc: [{ $ref: '/0/id' }] } }
  ])).status, 200, 'an array is a value of a JSON column')
})

await test('nothing is changed by a dry run', async (t, service) => {
  const { operate } = service
  const { json } = await operate({
    operations: [
      insertOrder, { table: 'orders', verb: 'select', filters: { id: { $ref: '/0/id' } }, columns: ['note'] }
    ],
    dryRun: true
  })
  t.match(json.data, { results: [{ inserted: 1 }, { rows: [{ note: 'new' }], count: 1 }], dryRun: true })
  t.same(await counts(service), [2, 2])
})

await test('operations that only select read one snapshot', async (t, { operate, statements }) => {
  await operate([{ table: 'orders', verb: 'select' }, { table: 'customers', verb: 'select' }])
  t.match(statements(), [/^start transaction with consistent snapshot, read only$/, /^select/, /^select/])
  await operate({
    operations: [{ table: 'orders', verb: 'select', lock: true, filters: { id: 1 } }], isolation: 'serializable'
  })
  t.match(statements(), [/^start transaction$/, /^select .* for update$/, /^commit$/])
}, ['mariadb', 'mysql'])

await test('each operation is under its own permissions, and refusals come stage by stage', async (t, service) => {
  const { operate, statements } = service
  const token = 'reader'
  const select = (table: string, rest: object = {}) => ({ table, verb: 'select', ...rest })
  statements()
  const cases: Array<[object[], number, string, string]> = [
    [[select('missing'), insertOrder], 403, 'PERMISSION_DENIED', '/operations/1'],
    [[select('customers'), insertOrder], 403, 'PERMISSION_DENIED', '/operations/1'],
    [[select('orders', { filters: { nothing: 1 } }), select('customers')], 404, 'TABLE_NOT_FOUND', '/operations/1'],
    [[select('missing'), select('customers')], 404, 'TABLE_NOT_FOUND', '/operations/0/table'],
    [[select('customers'), select('missing')], 404, 'TABLE_NOT_FOUND', '/operations/0'],
    [[select('customers'), select('orders', { limit: 0 })], 400, 'LIMIT_OUT_OF_RANGE', '/operations/1'],
    [[select('orders', { lock: true })], 403, 'PERMISSION_DENIED', '/operations/0/lock']
  ]
  for (const [operations, status, code, path] of cases) {
    const answer = await operate(operations, { token })
    isRefusal(t, answer, { status, code, why: JSON.stringify(operations) })
    t.ok(answer.json.error.details[0].path.startsWith(path), answer.json.error.details[0].path)
  }
  const withNull = { ...insertOrder, data: { customer_id: null } }
  t.match((await operate([withNull, select('orders', { filters: { nothing: 1 } })])).json.error, {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/operations/1/filters/nothing' }]
  }, 'what the database refuses comes last')
  t.match((await operate([select('orders'), withNull])).json.error, {
    code: 'NOT_NULL_VIOLATION', details: [{ path: '/operations/1/data/customer_id' }]
  })
  const [hidden, absent] = [
    await operate([select('customers')], { token }), await operate([select('nowhere')], { token })
  ]
  t.same(
    JSON.stringify(hidden.json).replaceAll('customers', 'nowhere'), JSON.stringify(absent.json),
    'a hidden table is like one that does not exist'
  )
  t.same(statements(), [], 'nothing was sent')
})

await testLimited('the limits hold for the whole', async (t, { operate }) => {
  const select = (filters: object, rest: object = {}) => ({
    table: 'customers', verb: 'select', filters, columns: ['id'], ...rest
  })
  t.equal((await operate([select({ id: 1, name: 'a' }), select({ id: 1, name: 'a' })])).status, 200)
  isRefusal(t, await operate([select({ id: 1, name: 'a' }), select({ id: 1, name: 'a', status: 'new' })]), {
    status: 400, code: 'INVALID_BODY', why: 'five conditions'
  })
  isRefusal(t, await operate([select({ id: [1, 2, 3] }), select({ id: [1, 2, 3, 4] })]), {
    status: 400, code: 'INVALID_BODY', why: 'seven values'
  })
  const all = { table: 'customers', verb: 'select' }
  t.equal((await operate([all])).status, 200)
  const large = await operate([all, all, all, all])
  isRefusal(t, large, { status: 422, code: 'RESULT_TOO_LARGE', why: 'together' })
  isRefusal(t, await operate(Array(5).fill(select({ id: 1 }))), {
    status: 400, code: 'INVALID_BODY', why: 'five operations'
  })
})

await onEachEngine(t, 'a table that has changed is read again, and the ' +
  'operations run once more', { schema }, async (t, service) => {
  const { operate, sql, engine } = service
  const note = { table: 'orders', verb: 'insert', data: { customer_id: 1, note: 'x' } }
  await sql(engine === 'sqlite'
    ? 'alter table orders rename column note to remark'
    : 'alter table orders change note remark varchar(50)')
  const answer = await operate([insertOrder, note])
  isRefusal(t, answer, { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'it is gone, for now' })
  await sql('alter table settings add column extra int default 1')
  t.equal((await operate([{ table: 'orders', verb: 'insert', data: { customer_id: 1, remark: 'x' } }])).status, 200)
})

await test('a table without transactions is not written', async (t, { operate }) => {
  isRefusal(t, await operate([insertOrder, { table: 'plain', verb: 'insert', data: { id: 1 } }]), {
    status: 422, code: 'NOT_SUPPORTED', why: 'MyISAM'
  })
  t.equal((await operate([insertOrder, { table: 'plain', verb: 'select' }])).status, 200)
}, ['mariadb', 'mysql'])

await test('a list of rows may refer to earlier results', async (t, service) => {
  const { operate, sql } = service
  const { json } = await operate([
    {
      table: 'products',
      verb: 'insert',
      data: [{ sku: 'A', name: 'a', price: '1.00' }, { sku: 'B', name: 'b', price: '2.00' }],
      onConflict: { key: ['sku'] }
    },
    insertOrder,
    {
      table: 'order_items',
      verb: 'insert',
      data: [
        { order_id: { $ref: '/1/id' }, line: 1, product_sku: 'A', price: '1.00' },
        { order_id: { $ref: '/1/id' }, line: { $ref: '/0/inserted' }, product_sku: 'B', price: '2.00' }
      ]
    }
  ])
  t.match(json, {
    success: true,
    data: { results: [{ inserted: 2, updated: 0, unchanged: 0 }, { inserted: 1, id: 3 }, { inserted: 2 }] }
  })
  t.match(await sql('select line, product_sku from order_items where order_id = 3 order by line'), [
    { line: 1, product_sku: 'A' }, { line: 2, product_sku: 'B' }
  ])
})

await testLimited('what a write asks for besides holds in an operation', async (t, service) => {
  const { operate } = service
  const all = { id: { $gte: 0 } }
  isRefusal(t, await operate([insertOrder, { table: 'customers', verb: 'select', filters: all, expect: 5 }]), {
    status: 412, code: 'EXPECTATION_FAILED', why: 'four customers'
  })
  isRefusal(t, await operate([
    insertOrder, { table: 'customers', verb: 'update', filters: { id: 1 }, data: { name: 'x' }, expect: 0 }
  ]), { status: 412, code: 'EXPECTATION_FAILED', why: 'one customer' })
  isRefusal(
    t, await operate([insertOrder, { table: 'customers', verb: 'update', filters: all, data: { name: 'x' } }]),
    { status: 422, code: 'RESULT_TOO_LARGE', why: 'more than three' }
  )
  t.same(await counts(service), [2, 2])
  const { json } = await operate([
    {
      table: 'orders', verb: 'insert', data: [{ customer_id: 1 }, { customer_id: 2 }], returning: ['id', 'customer_id']
    },
    {
      table: 'orders',
      verb: 'update',
      filters: { id: { $ref: '/0/rows/1/id' } },
      data: { customer_id: { $ref: '/0/rows/0/customer_id' } },
      returning: '*',
      expect: 1
    },
    {
      table: 'orders',
      verb: 'delete',
      filters: { id: { $in: [{ $ref: '/0/rows/0/id' }, { $ref: '/1/rows/0/id' }] } },
      returning: ['id']
    },
    { table: 'customers', verb: 'select', groupBy: ['status'], aggregates: { n: { $count: '*' } }, orderBy: 'status' }
  ])
  const [{ rows: [first, second] }] = json.data.results
  t.match(json.data.results, [
    { inserted: 2, rows: [{ customer_id: 1 }, { customer_id: 2 }] },
    { updated: 1, rows: [{ id: second.id, customer_id: 1 }] },
    { deleted: 2, rows: [{ id: first.id }, { id: second.id }] },
    { rows: [{ status: 'new', n: 2 }, { status: 'old', n: 2 }] }
  ])
})

await test('a dry run of a write needs the permission select', async (t, { operate }) => {
  const token = 'writer'
  const update = { table: 'customers', verb: 'update', filters: { id: 1 }, data: { name: 'x' } }
  isRefusal(t, await operate({ operations: [update], dryRun: true }, { token }), {
    status: 403, code: 'PERMISSION_DENIED', why: 'it tells of rows'
  })
  t.equal((await operate([update], { token })).status, 200)
})

await test('a reference of 200,000 steps finds nothing', async (t, { operate }) => {
  const refer = (pointer: string) => operate([
    insertOrder, { table: 'orders', verb: 'select', filters: { id: { $ref: pointer } } }
  ])
  isRefusal(t, await refer(`/0${'/rows'.repeat(200_000)}`), { status: 400, code: 'INVALID_VALUE', why: 'many steps' })
  for (const pointer of [`/0${'/rows'.repeat(200_000)}~`, '/0/a~2b', '/0/~']) {
    isRefusal(t, await refer(pointer), { status: 400, code: 'INVALID_BODY', why: pointer.slice(-10) })
  }
  isRefusal(t, await refer('/0/a~1b\n~0'), { status: 400, code: 'INVALID_VALUE', why: 'escapes and a line feed' })
}, ['sqlite'])

await testLimited('resultLimit counts bytes of the whole answer, not characters', async (t, { post, operate }) => {
  await post('texts', { verb: 'insert', data: { id: 1, text: '中'.repeat(300) } })
  const select = { verb: 'select', table: 'texts' }
  t.match(await operate({ operations: [select, select] }), { status: 200 })
  t.match(
    await operate({ operations: [select, select, select] }),
    { status: 422, json: { error: { code: 'RESULT_TOO_LARGE' } } }, '2,700 bytes of 900 characters'
  )
})

await test('what a table cannot do comes after the mistake of a later operation', async (t, { operate }) => {
  const own = {
    table: 'settings', verb: 'update', data: { level: 1 }, filters: { $some: { settings: { on: { id: 'id' } } } }
  }
  t.match((await operate([own])).json.error, {
    code: 'NOT_SUPPORTED', details: [{ path: '/operations/0/filters/$some/settings' }]
  })
  t.match((await operate([own, { table: 'settings', verb: 'select', columns: ['nope'] }])).json.error, {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/operations/1/columns/0' }]
  })
})

await test('a write to a view is refused before the mistake of a later operation', async (t, { operate }) => {
  const { json } = await operate([{ table: 'order_lines', verb: 'update', filters: { id: 1 }, data: { x: 1 } }, {
    table: 'orders', verb: 'select', columns: ['nope']
  }])
  t.match(json.error, { code: 'PERMISSION_DENIED', message: /view/, details: [{ path: /^\/operations\/0/ }] })
})

type FieldOf<F> = F extends unknown ? Exclude<keyof F, 'operations'> : never
type Same<A, B> = [A, B] extends [B, A] ? true : never

t.test('the client sends every field; its types are apart, because they need no other package', async (t) => {
  // neither line compiles if one of the two types has a field that the other lacks
  const ofWhole: Same<FieldOf<OperationsBody>, FieldOf<OperationsFields<boolean>>> = true
  const ofEach: Same<FieldOf<Operation>, FieldOf<OperationOf<{ things: { id: number } }>>> = true
  t.ok(ofWhole && ofEach)
})
