/** Documents show what a grant sees of a table. */
import t from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { get } from '../support/documents.ts'
import { runRowQuery } from '../support/row-query.ts'
import { onEachEngine } from '../support/service.ts'
import { tenants, tokenFor } from './support.ts'

const rows = { tenant: { $claim: '/tenant' } }
const columns = { select: ['id', 'status', 'total'], insert: ['status', 'total', 'secret'], update: ['status'] }

const tokens = [
  tokenFor('clerk', { orders: { columns, rows: { ...rows, total: { $gte: 0 } } }, customers: { permissions: ['select'], columns: { select: ['id'] } } }, { tenant: 'acme' }),
  tokenFor('twin', { customers: { permissions: ['select'], columns: { select: ['id', 'nope'] } }, orders: { columns, rows: { tenant: 'zeta', total: { $gt: 5 } } } }),
  tokenFor('form', { orders: { columns: { insert: ['status'] }, rows }, customers: { rows: { nope: 1 } } }),
  tokenFor('keys', { orders: { columns: { select: ['id', 'customer_id', 'tenant', 'sku'] } }, customers: { columns: { select: ['name'] } } })
]

const { permissions, databases } = tokens[0] as TokenOptions
const roles = { clerk: { permissions, databases } }
const jwt = [{ issuer: 'https://login.example.com', audience: 'rows', secret: 'x'.repeat(32), algorithms: ['HS256'], role: '/role' }]

await onEachEngine(t, 'a document has the columns that the token sees or may write', { schema: tenants, tokens }, async (t, { server }) => {
  const clerk = await get(server, '/shop/openapi.json', { token: 'clerk' })
  const { components: { schemas }, paths } = clerk.json
  t.same(Object.keys(paths).sort(), ['/shop', '/shop/customers', '/shop/orders'])
  t.same(Object.keys(schemas.OrdersRow.properties), ['id', 'status', 'total'])
  t.same(schemas.OrdersColumn.enum, ['id', 'status', 'total'])
  t.same([Object.keys(schemas.OrdersInsert.properties), schemas.OrdersInsert.required], [['status', 'total', 'secret'], ['total']])
  t.same(Object.keys(schemas.OrdersUpdate.properties), ['status'])
  t.same(Object.keys(schemas.OrdersFilters.properties).filter((name) => !name.startsWith('$')), ['id', 'status', 'total'])
  t.same(Object.keys(schemas.CustomersRow.properties), ['id'])
  t.notMatch(JSON.stringify({ paths, schemas }), /tenant|sku|customer_id/, 'nothing else is named')

  const twin = await get(server, '/shop/openapi.json', { token: 'twin' })
  t.equal(twin.headers['etag'], clerk.headers['etag'], 'the same document for a token that sees the same')
  const form = await get(server, '/shop/openapi.json', { token: 'form' })
  t.same(Object.keys(form.json.paths).sort(), ['/shop', '/shop/orders'], 'a table whose rules do not apply is not there')
  t.same(Object.keys(form.json.components.schemas.OrdersInsert.properties), ['status'])
  t.notOk(form.json.components.schemas.OrdersRow)
  t.match(form.json.paths['/shop/orders'].post.requestBody.content['application/json'].examples, { insert: {} })
  t.same(Object.keys(form.json.paths['/shop/orders'].post.requestBody.content['application/json'].examples), ['insert'])

  const keys = (await get(server, '/shop/openapi.json', { token: 'keys' })).json.components.schemas.OrdersRow
  t.same(keys['x-unique-keys'].map((key: any) => key.columns).filter((each: string[]) => each.length > 1), [['tenant', 'sku']])
  t.notOk(keys['x-foreign-keys'], 'it would name a column of the other table')
})

await onEachEngine(t, 'row-query types and row-query openapi show what a token sees', { schema: tenants, only: ['sqlite'], tokens }, async (t, { url, server }) => {
  const config = `${t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url }, other: { url } }, tokens, roles, jwt }) })}/row-query.json`
  const run = async (...args: string[]) => await runRowQuery(t, [...args, '--config', config])
  const { stdout } = await run('types', 'shop', '--token', 'clerk')
  t.match(stdout, `export interface Customers {
  id: Column<Int64, never, never, string>
}

export interface Orders {
  id: Column<Int64, never, never, string>
  status: Column<string, string | undefined, string>
  total: Column<Int64 | null, Int64 | null, never, string>
  secret: Column<never, string | null | undefined, never>
}
`)
  t.match((await run('types', '--token', 'form')).stdout, 'export interface Orders {\n  status: Column<never, string | undefined, never>\n}', 'the only database that the token sees')
  t.equal((await run('types', 'shop', '--role', 'clerk')).stdout, stdout, 'a role')
  t.match(await run('types', '--role', 'nobody'), { code: 2, stderr: 'row-query: --role: no role is called "nobody"\n' })
  const { stdout: printed } = await run('openapi', 'shop', '--token', 'clerk')
  t.same(JSON.parse(printed), (await get(server, '/shop/openapi.json', { token: 'clerk' })).json)
  t.match(await run('types', 'other', '--token', 'clerk'), { code: 2, stderr: 'row-query: "clerk" has no permission on "other"\n' })
  t.match(await run('types', '--token', 'nobody'), { code: 2, stderr: 'row-query: --token: no token is called "nobody"\n' })
})
