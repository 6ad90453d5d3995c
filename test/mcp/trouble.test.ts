/** Tools where the database, the app or the service is in trouble, and with grants of an app. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { VERBS } from '../../schemas/grant.ts'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { AppOptions } from '../../src/config/settings.ts'
import { tokenFor } from '../grants/support.ts'
import { callOf, connectTo, send } from '../support/mcp.ts'
import { onEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { unforeseen } from '../support/unforeseen.ts'

const only = ['sqlite'] as const
const inShop = (table: string, rest: object = {}) => ({ database: 'shop', table, ...rest })

t.test('a database that is down is a result, and its tables are missing in the list', async (t) => {
  const service = await startService(t, 'sqlite::memory:', {
    options: { databases: { shop: { url: 'sqlite::memory:', setup: shop.sqlite }, gone: { url: 'mysql://root@127.0.0.1:1/gone' } }, mcp: {} }
  })
  const { call } = await connectTo(t, service)
  t.match((await call('list_tables')).result, { databases: ['shop', 'gone'], unavailable: ['gone'], count: 6 })
  for (const [tool, args] of [['describe_table', {}], ['select', {}]] as const) {
    t.match(await call(tool, { database: 'gone', table: 'orders', ...args }), { isError: true, result: { code: 'DATABASE_UNAVAILABLE', message: /nothing was changed/ } })
  }
  t.notMatch(service.log.join(), /unexpected error/)
  t.match(service.log.filter((line) => line.includes('DATABASE_UNAVAILABLE')).at(-1), '"msg":"refused"', 'without a request log, faults are logged')
})

await onEachEngine(t, 'a bug is a result with the request id, which leads to its stack in the log', { schema: unforeseen, only, options: { mcp: { verbs: [...VERBS] } } }, async (t, service) => {
  const { json, headers } = await send(service, callOf('insert', inShop('unforeseen', { data: { a: 1 } })), { headers: { 'x-request-id': 'mine' } })
  t.match(json.result, { isError: true, structuredContent: { code: 'INTERNAL', requestId: 'mine' } })
  t.equal(headers['x-request-id'], 'mine')
  t.notMatch(JSON.stringify(json), /fts5|rank|at \w+ \(/)
  t.match(service.log.find((line) => line.includes('unexpected error')), '"requestId":"mine"')
})

const hooked: AppOptions = {
  databases: { shop: { url: 'sqlite::memory:', setup: shop.sqlite } },
  mcp: { verbs: [...VERBS] },
  authenticate: ({ headers: { cookie } }) => cookie === 'user=ada' ? { name: 'ada', permissions: ['select', 'update'], databases: { shop: { orders: { rows: { customer_id: { $claim: '/customer' } } } } }, claims: { customer: 1 } } : null,
  onWrite: ({ grant, verb, data }) => { if ((data as { note: string }).note !== `${grant.name} ${verb}`) throw new Error('refused') }
}

t.test('the users of an app have tools with their grants, and its hook for writes is called', async (t) => {
  const service = await startService(t, '', { options: hooked as Partial<RowQueryOptions> })
  const as = async (tool: string, args: object): Promise<any> => (await send(service, callOf(tool, args), { token: null, headers: { cookie: 'user=ada' } })).json.result.structuredContent
  t.match(await as('select', inShop('orders')), { rows: [{ id: 1, customer_id: 1 }], count: 1 })
  t.match(await as('update', inShop('orders', { data: { note: 'x' }, filters: { id: 1 } })), { code: 'WRITE_REFUSED' })
  t.match(await as('update', inShop('orders', { data: { note: 'ada update' }, filters: { id: [1, 2] } })), { updated: 1 })
  t.equal((await send(service, callOf('list_tables', {}), { token: null })).status, 401)
})

t.test('databases that do not answer are waited for at the same time', async (t) => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => { sockets.add(socket.on('error', () => {})) }).listen(0, '127.0.0.1')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  await once(silent, 'listening')
  const url = `mysql://root@127.0.0.1:${(silent.address() as AddressInfo).port}/gone`
  const pool = { wait: 2000 }
  const service = await startService(t, 'sqlite::memory:', {
    options: { databases: { a: { url, pool }, b: { url, pool }, c: { url, pool }, d: { url, pool }, shop: { url: 'sqlite::memory:', setup: shop.sqlite } }, mcp: {} }
  })
  const { call } = await connectTo(t, service)
  const before = performance.now()
  t.match((await call('list_tables')).result, { unavailable: ['a', 'b', 'c', 'd'], count: 6 })
  const seconds = (performance.now() - before) / 1000
  t.ok(seconds < 2 * 2, `${seconds.toFixed(1)} s`)
})

t.test('relations are those that filters can use, even if no tool reads rows', async (t) => {
  const service = await startService(t, 'sqlite::memory:', { options: { databases: { shop: { url: 'sqlite::memory:', setup: shop.sqlite } }, mcp: { verbs: ['update'] } }, tokens: [tokenFor('writer', { orders: { permissions: ['select', 'update'] }, customers: { permissions: ['select'] } }), tokenFor('blind', { orders: { permissions: ['select', 'update'] }, customers: { permissions: ['update'] } })] })
  const relationsOf = async (token: string): Promise<unknown> => (await (await connectTo(t, service, { token })).call('describe_table', inShop('orders'))).result.relations
  t.same(await relationsOf('writer'), [{ table: 'customers', on: { customer_id: 'id' }, rows: 'one' }])
  t.same(await relationsOf('blind'), [])
})

t.test('a message that is nested too deeply is refused, and no bug in the log', async (t) => {
  const service = await startService(t, 'sqlite::memory:', { options: { databases: { shop: { url: 'sqlite::memory:', setup: shop.sqlite } }, mcp: {} } })
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const _meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"experimental":{"x":{"y":${deep}}}}}`
  for (const params of [`{"_meta":${_meta}}`, `{"name":"select","arguments":${deep}}`, `{"name":"select","arguments":{"database":${deep}}}`]) {
    const { status, json } = await send(service, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
    t.ok(status === 400 || status === 200, `${status}`)
    t.match(json, { jsonrpc: '2.0' })
  }
  t.notMatch(service.log.join(), /unexpected error/)
})

const rules = { orders: { columns: { select: ['id', 'note'], insert: ['note'] }, rows: { customer_id: [1, 2] } } }

await onEachEngine(t, 'a description does not name columns of rules that are hidden', { schema: shop, options: { mcp: { verbs: [...VERBS] } }, tokens: [tokenFor('hidden', rules)] }, async (t, service) => {
  const { call } = await connectTo(t as never, service, { token: 'hidden' })
  const { text, result } = await call('describe_table', inShop('orders'))
  t.match(result, { insert: { required: [], columns: ['note'] }, relations: [] })
  t.notMatch(text, /customer/)
})
