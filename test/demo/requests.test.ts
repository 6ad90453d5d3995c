// night: starts Chromium and the command for tools
/**
 * The named requests of the demo, and the page and the tools of examples/named-requests, which may call nothing else.
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DEMO_TOKEN_PATH, keepDemoToken, loadConfig, splitConfig } from '../../src/config/load.ts'
import { createShop } from '../../src/demo/shop.ts'
import { createServer, type Server } from '../../src/server/server.ts'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { ROOT } from '../support/markdown.ts'
import { connectTo } from '../support/mcp.ts'

const EXAMPLE = join(ROOT, 'examples/named-requests')
const read = (name: string): string => readFileSync(join(EXAMPLE, name), 'utf8')

/** Starts the demo in a new folder, as `row-query serve` does. `origin`: of a page, in place of the configured one. */
async function startDemo (t: Test, { file, origin }: {
  file?: string, origin?: string
} = {}): Promise<{ server: Server, token: string }> {
  const before = process.cwd()
  process.chdir(t.testdir())
  t.teardown(() => process.chdir(before))
  const { config, demo } = loadConfig({}, file === undefined ? {} : { config: file })
  createShop(demo?.path as string)
  if (demo?.token !== undefined) keepDemoToken(DEMO_TOKEN_PATH, demo.token)
  const { server: { metrics: _metrics, ...settings }, options } = splitConfig(config)
  const cors = origin === undefined ? {} : { cors: { origins: [origin] } }
  const server = await createServer({ options: { ...options, ...cors }, ...settings, logLevel: 'silent' })
  t.teardown(() => server.app.close())
  return { server, token: demo?.token as string }
}

t.test('the token of the demo calls its three requests', async (t) => {
  const { server: { app }, token } = await startDemo(t)
  const call = async (name: string, parameters: object | string): Promise<any> => {
    const isRead = typeof parameters === 'string'
    const response = await app.inject({
      method: isRead ? 'GET' : 'POST',
      url: `/api/requests/${name}${isRead ? parameters : ''}`,
      headers: { authorization: `Bearer ${token}` },
      ...!isRead && { payload: parameters }
    })
    return response.json()
  }
  const prices = ({ data }: any): string[] => data.rows.map(({ price }: any) => price)
  const all = prices(await call('find_products', '?size=100'))
  t.ok(all.length > 20)
  t.same(all, [...all].sort((one, other) => Number(one) - Number(other)))
  t.match(await call('find_products', '?categories=3&categories=4&name=pen&size=3'), {
    success: true, data: { rows: [{ name: /pen/i }] }
  })
  const cheap = await call('find_products', { most: 20, categories: [3], size: 1, after: null })
  t.match(await call('find_products', { most: 20, categories: [3], size: 1, after: cheap.data.next }), {
    data: { count: 1 }
  })
  t.match(await call('find_products', '?categories=x'), {
    error: { code: 'INVALID_VALUE', details: [{ path: '/categories/0' }] }
  })
  const { data: { id } } = await call('sign_up', { email: 'ada@example.com', name: 'Ada', country: 'GB' })
  t.match(await call('sign_up', { email: 'ada@example.com', name: 'Ada', country: 'GB' }), {
    error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/email' }] }
  })
  const [{ price }] = (await call('find_products', '?name=Porcelain+Mug')).data.rows
  const { data: { results: [, order, item] } } = await call('place_order', {
    customer: id, sku: 'MUG-PORCEL', quantity: 3
  })
  t.same(item.rows, [{ line_total: (Number(price) * 3).toFixed(2) }])
  const { data: { rows: [stored] } } = (await app.inject({
    method: 'POST',
    url: '/api/demo/orders',
    headers: { authorization: `Bearer ${token}` },
    payload: { verb: 'select', filters: { id: order.id } }
  })).json()
  t.match(stored, { customer_id: id, total: item.rows[0].line_total, status: 'new' })
  t.match(await call('place_order', { customer: id, sku: 'nothing' }), { error: { code: 'EXPECTATION_FAILED' } })
  t.match(await call('place_order', { customer: 5000, sku: 'MUG-PORCEL' }), {
    error: { code: 'FOREIGN_KEY_VIOLATION' }
  })
})

t.test('the page of the example finds products, page by page, and ' +
  'signs up a customer', { skip: noBrowser }, async (t) => {
  let html = ''
  const site = createHttpServer(
    (_request, response) => { response.writeHead(200, { 'content-type': 'text/html' }).end(html) }
  ).listen(0, '127.0.0.1')
  await new Promise((resolve) => site.once('listening', resolve))
  t.teardown(() => { site.closeAllConnections(); site.close() })
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const { server: { app } } = await startDemo(t, { file: join(EXAMPLE, 'row-query.json'), origin })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  html = read('index.html').replace('http://127.0.0.1:3000', address)
  const page = await (await startBrowser(t)).newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  await page.goto(origin)
  const rows = page.locator('#products tr')
  await rows.nth(4).waitFor()
  t.equal(await rows.count(), 5)
  await page.click('#more')
  await rows.nth(9).waitFor()
  await page.fill('input[name=name] >> nth=0', 'mug')
  await page.fill('input[name=most]', '10')
  await page.check('input[value="3"]')
  await page.click('text=Find')
  await page.locator('#more').waitFor({ state: 'hidden' })
  t.match(await rows.allTextContents(), [/mug/i])
  await page.fill('input[name=most]', 'cheap')
  await page.click('text=Find')
  await page.locator('#status', { hasText: 'Parameter "most"' }).waitFor()
  await page.fill('input[name=email]', 'zoe@example.com')
  await page.fill('#join input[name=name]', 'Zoë')
  await page.fill('input[name=country]', 'NL')
  await page.click('#join button')
  await page.locator('#status', { hasText: 'Welcome' }).waitFor()
  t.same(errors, [])

  const token = /Bearer ([\w-]+)/.exec(html)?.[1] as string
  const post = async (url: string, payload: object) => (await app.inject({
    method: 'POST', url: `/api/${url}`, headers: { authorization: `Bearer ${token}` }, payload
  })).json().error.code
  t.same([
    await post('demo/products', { verb: 'select' }), await post('demo', { operations: [] }),
    await post('requests/place_order', {})
  ], ['DATABASE_NOT_FOUND', 'DATABASE_NOT_FOUND', 'REQUEST_NOT_FOUND'], 'its token can do nothing else')
})

t.test('the tools of the example are two named requests', async (t) => {
  const { server } = await startDemo(t, { file: join(EXAMPLE, 'row-query.json') })
  const { mcpServers: { shop } } = JSON.parse(read('mcp.json'))
  t.equal(new URL(shop.url).pathname, '/api/mcp')
  const { client, call } = await connectTo(t, { server }, { token: shop.headers.Authorization.replace('Bearer ', '') })
  t.same((await client.listTools()).tools.map(({ name }) => name).sort(), ['find_products', 'place_order'])
  t.match(await call('find_products', { name: 'mug', size: 2 }), { isError: false, result: { count: 2 } })
  t.match(await call('place_order', { customer: 1, sku: 'MUG-PORCEL' }), {
    result: { results: [{}, { inserted: 1 }, {}, { updated: 1 }] }
  })
  await t.rejects(client.callTool({ name: 'select', arguments: { database: 'demo', table: 'customers' } }))
})
