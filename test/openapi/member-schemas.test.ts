/** The schemas of `include`: a member has the schema of its table as the grant sees it, and rows with members are as the document says. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { get, referencesIn, tokenFor } from '../support/documents.ts'
import { onEachEngine, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const customer = { table: 'customers', columns: ['name'] }

const accepted: Array<[table: string, include: object]> = [
  ['orders', { customer }],
  ['orders', { items: { table: 'order_items', filters: { line: { $gt: 0 } }, columns: ['line'], orderBy: 'line DESC, price', limit: 2 } }],
  ['orders', { items: { table: 'order_items', orderBy: [{ line: 'DESC' }], include: { product: { table: 'products', include: { items: { table: 'order_items', limit: 1 } } } } } }],
  ['orders', { sums: { table: 'order_items', filters: { quantity: 1 }, aggregates: { n: { $count: '*' }, paid: { $sum: 'price', filters: { line: 1 } } } } }],
  ['orders', { customer: { table: 'customers', on: { customer_id: 'id' } }, again: { table: 'orders', on: { id: 'id' } } }],
  ['order_lines', { order: { table: 'orders', on: { order_id: 'id' } } }]
]
const rejected: Array<[table: string, include: object]> = [
  ['orders', {}], ['orders', { customer: { table: 'customers', columns: ['nope'] } }], ['orders', { customer: { table: 'customers', filters: { nope: 1 } } }], ['orders', { customer: { table: 'nowhere' } }],
  ['orders', { customer: { table: 'customers', limit: 1 } }], ['orders', { customer: { table: 'customers', orderBy: 'id' } }], ['orders', { note: customer }], ['orders', { '1st': customer }],
  ['orders', { lines: { table: 'order_lines', on: { id: 'order_id' } } }], ['orders', { settings: { table: 'settings' } }], ['orders', { settings: { table: 'settings', on: {} } }], ['orders', { settings: { table: 'settings', on: { nope: 'id' } } }],
  ['orders', { items: { table: 'order_items', limit: 1001 } }], ['orders', { items: { table: 'order_items', orderBy: 'nope' } }], ['orders', { items: { table: 'order_items', groupBy: ['line'] } }],
  ['orders', { items: { table: 'order_items', aggregates: { n: { $count: '*' } }, columns: ['line'] } }], ['orders', { items: { table: 'order_items', aggregates: { n: { $sum: 'product_sku' } } } }],
  ['orders', { items: { table: 'order_items', include: { line: { table: 'products' } } } }], ['orders', { items: { table: 'order_items', include: { customer } } }], ['order_lines', { order: { table: 'orders' } }],
  ['orders', Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`c${index}`, customer]))]
]

const nameOf = (table: string): string => table === 'orders' ? 'Orders' : 'OrderLines'

async function compare (t: Test, { server, post }: Service): Promise<void> {
  const { json: document } = await get(server, '/shop/openapi.json')
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  const check = (name: string, value: unknown): boolean => ajv.validate(`document#/components/schemas/${name}`, value)
  for (const [table, include] of accepted) {
    const body = { verb: 'select', limit: 2, include }
    t.ok(check(`${nameOf(table)}SelectRequest`, body), JSON.stringify(body))
    const { status, json, text } = await post(table, body)
    t.equal(status, 200, text)
    t.ok(check(`${nameOf(table)}SelectResponse`, json), text)
    t.notOk(check(`${nameOf(table)}SelectResponse`, { ...json, data: { ...json.data, rows: [{ ...json.data.rows[0], other: 5 }] } }), 'a member is no number')
  }
  for (const [table, include] of rejected) {
    const body = { verb: 'select', include }
    t.notOk(check(`${nameOf(table)}SelectRequest`, body), JSON.stringify(body))
    t.match(await post(table, body), { status: /40[04]/ }, JSON.stringify(body))
  }
  for (const beside of [{ groupBy: ['note'] }, { aggregates: { n: { $count: '*' } } }]) t.notOk(check('OrdersSelectRequest', { verb: 'select', include: { customer }, ...beside }))
  for (const orderBy of ['customer.name DESC, id', 'id,customer.id asc', [{ customer: { name: 'DESC' } }, { id: 'ASC' }]]) {
    const body = { verb: 'select', orderBy, limit: 2 }
    t.same([check('OrdersSelectRequest', { ...body, include: { customer } }), check('OrdersSelectRequest', body)], [true, false], JSON.stringify(orderBy))
    t.match([await post('orders', { ...body, include: { customer } }), await post('orders', body)], [{ status: 200 }, { status: 400, json: { error: { code: 'INVALID_ORDER_BY' } } }], JSON.stringify(orderBy))
  }
  for (const orderBy of ['nota', 'customer.name DOWN', [{ nota: 'DESC' }]]) t.notOk(check('OrdersSelectRequest', { verb: 'select', orderBy, include: { customer } }), JSON.stringify(orderBy))
  const operation = { table: 'orders', verb: 'select', include: { customer } }
  t.same([check('OrdersSelectOperation', operation), check('OrdersSelectOperation', { ...operation, lock: true })], [true, false])
  t.notOk(check('OrdersFilters', { $is: { id: 1, customer: null } }), 'a filter has no members')
}

const tokens = [
  tokenFor('some', ['select'], { shop: ['orders', 'order_lines'] }),
  { ...tokenFor('narrow', ['select']), databases: { shop: { orders: {}, customers: { columns: { select: ['id', 'name'] } }, order_items: { columns: { select: ['line', 'price'] } } } } },
  { ...tokenFor('views', ['select']), databases: { shop: ['order_lines'] } },
  { ...tokenFor('writes', ['select', 'insert']), databases: { shop: { orders: {}, customers: { permissions: ['insert' as const] } } } }
]

await onEachEngine(t, 'members are typed by their tables', { schema: shop, tokens }, async (t, service) => {
  await compare(t as Test, service)
  const { server } = service
  const schemasFor = async (token: string): Promise<any> => (await get(server, '/shop/openapi.json', { token })).json.components.schemas
  t.equal((await schemasFor('some')).Member.anyOf.length, 1, 'only tables that the token sees')
  const narrow = await schemasFor('narrow')
  t.same([narrow.CustomersMember.properties.columns.items, narrow.CustomersColumn.enum], [{ $ref: '#/components/schemas/CustomersColumn' }, ['id', 'name']])
  const rules = narrow.OrdersSelectRequest.dependentSchemas.include.properties.include.additionalProperties
  t.same(rules.else.properties.table.enum, ['customers'], 'a foreign key with a hidden column is none')
  const views = await schemasFor('views')
  t.same([views.Member, views.OrderLinesSelectRequest.properties.include, views.OrderLinesRow.additionalProperties], [undefined, undefined, false], 'views alone have no members')
  t.same((await schemasFor('writes')).Member.anyOf, [{ $ref: '#/components/schemas/OrdersMember' }], 'members are of tables that may be selected from')
})

await onEachEngine(t, 'the setting limits.include 0 leaves members out of documents', { schema: shop, only: ['sqlite'], options: { limits: { include: { members: 0 } } } }, async (t, { server }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  t.same([schemas.Include, schemas.OrdersSelectRequest.properties.include, schemas.OrdersRow.additionalProperties], [undefined, undefined, false])
})

const TABLES = 60

await onEachEngine(t, 'in large databases members have one schema without the types of tables', {
  schema: () => Array.from({ length: TABLES }, (_, index) => `create table t${index} (id integer not null primary key, parent int null references t${Math.max(0, index - 1)} (id))`), only: ['sqlite']
}, async (t, { server, post }) => {
  const { json } = await get(server, '/shop/openapi.json')
  const { schemas } = json.components
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(json, 'document')
  t.equal(schemas.Member.properties.table.enum.length, TABLES)
  t.same(Object.keys(schemas).filter((name) => name.endsWith('Member')), ['Member'])
  const body = { verb: 'select', include: { up: { table: 't8', columns: ['id'] }, down: { table: 't10', limit: 1 } } }
  t.ok(ajv.validate('document#/components/schemas/T9SelectRequest', body))
  t.match(await post('t9', body), { status: 200 })
  t.notOk(ajv.validate('document#/components/schemas/T9SelectRequest', { verb: 'select', include: { up: { table: 't5' } } }), 'no foreign key')
  const references = new Set(referencesIn(json))
  t.same(Object.keys(schemas).filter((name) => !references.has(`#/components/schemas/${name}`)), [])
})
