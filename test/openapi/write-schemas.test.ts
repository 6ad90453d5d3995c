/** The schemas of `returning`, `expect`, `dryRun` and the forms of an update. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { get } from '../support/documents.ts'
import { onEachEngine, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const WRITES = 'token-that-writes-0123456789-0123456789'
const tokens = [{ name: 'writes', sha256: hashToken(WRITES), permissions: ['insert' as const, 'update' as const, 'delete' as const] }]

function createCheck (document: any): (name: string, value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  return (name, value) => ajv.validate(`document#/components/schemas/${name}`, value)
}

const accepted: Array<[schema: string, body: object]> = [
  ['CustomersUpdateRequest', { verb: 'update', data: { credit: { $inc: '1.00' }, created_at: { $now: true }, note: null }, filters: { id: 1 }, returning: ['id', 'login'], expect: 1, dryRun: true }],
  ['CustomersUpdateRequest', { verb: 'update', data: { credit: { $inc: 1 } }, filters: { id: 1 }, returning: '*', expect: { $gte: 1, $lte: 3 } }],
  ['ProductsUpdateRequest', { verb: 'update', data: { tags: { $merge: { a: null } } }, filters: { sku: 'a' } }],
  ['OrdersDeleteRequest', { verb: 'delete', filters: { id: 1 }, returning: ['note'], expect: 0, dryRun: false }],
  ['SettingsInsertRequest', { verb: 'insert', data: {}, returning: ['level'], dryRun: true }],
  ['SettingsSelectRequest', { verb: 'select', expect: { $lt: 5 } }]
]
const rejected: Array<[schema: string, body: object]> = [
  ['CustomersUpdateRequest', { verb: 'update', data: { name: { $inc: 1 } }, filters: { id: 1 } }],
  ['CustomersUpdateRequest', { verb: 'update', data: { credit: { $now: true } }, filters: { id: 1 } }],
  ['CustomersUpdateRequest', { verb: 'update', data: { created_at: { $now: false } }, filters: { id: 1 } }],
  ['CustomersUpdateRequest', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, returning: ['nope'] }],
  ['CustomersUpdateRequest', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, returning: [] }],
  ['CustomersUpdateRequest', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, expect: -1 }],
  ['CustomersUpdateRequest', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, expect: { $ne: 1 } }],
  ['SettingsInsertRequest', { verb: 'insert', data: { level: { $inc: 1 } } }],
  ['SettingsInsertRequest', { verb: 'insert', data: {}, expect: 1 }],
  ['SettingsSelectRequest', { verb: 'select', returning: '*' }]
]

const testShop = sharedOnEachEngine(t, { schema: shop, tokens })

await testShop('a document accepts what the service accepts, and the answers have its schemas', async (t, { server, post }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  const check = createCheck(document)
  for (const [schema, body] of accepted) {
    t.ok(check(schema, body), `${schema} ${JSON.stringify(body)}`)
    const table = schema.replace(/(Select|Insert|Update|Delete)Request$/, '').toLowerCase()
    const answer = await post(table, body)
    t.ok([200, 412].includes(answer.status), answer.text)
    if (answer.status === 200) t.ok(check(schema.replace('Request', 'Response'), answer.json), answer.text)
  }
  for (const [schema, body] of rejected) t.notOk(check(schema, body), `${schema} ${JSON.stringify(body)}`)
  t.same(document.components.schemas.CustomersUpdateResponse.properties.data.properties.rows.items, { $ref: '#/components/schemas/CustomersRow' })
})

await testShop('the document of a token that may not select has no fields that tell of rows', async (t, { server }) => {
  const { json: document } = await get(server, '/shop/openapi.json', { token: WRITES })
  const fields = (name: string) => Object.keys(document.components.schemas[name].properties)
  t.same(fields('CustomersInsertRequest').filter((field) => ['returning', 'dryRun'].includes(field)), ['dryRun'])
  t.same(fields('CustomersUpdateRequest'), ['verb', 'data', 'filters'])
  t.same(fields('CustomersDeleteRequest'), ['verb', 'filters'])
  t.notOk(document.components.schemas.CustomersUpdateResponse.properties.data.properties.rows)
})

await onEachEngine(t, 'an operation may have references in a list of rows', { schema: shop }, async (t, { server, operate }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  const check = createCheck(document)
  const first = { table: 'customers', verb: 'select', columns: ['id'], limit: 1 }
  const row = { customer_id: { $ref: '/0/rows/0/id' }, note: 'x' }
  for (const data of [row, [row], [{ customer_id: 1, note: 'y' }, row]]) {
    const operation = { table: 'orders', verb: 'insert', data }
    t.ok(check('OperationWithReferences', operation), JSON.stringify(data))
    t.equal((await operate({ operations: [first, operation], dryRun: true })).status, 200)
  }
  for (const data of [[{ customer_id: 1 }], [], 'x', [[row]]]) t.notOk(check('OperationWithReferences', { table: 'orders', verb: 'insert', data }), JSON.stringify(data))
})
