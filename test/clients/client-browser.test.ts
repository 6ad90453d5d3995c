// night: runs tools and clients of other projects
/** The client in Chromium, on a page of another origin: the build that a browser loads, CORS, and the exact numbers. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { ROOT } from '../support/markdown.ts'
import { onEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

/** Serves an empty page and the client; `/moved` is a redirect. */
async function startSite (t: Test): Promise<string> {
  const { outputFiles: [file] } = await build({
    entryPoints: [`${ROOT}src/client/index.ts`], bundle: true, minify: true, format: 'esm', write: false
  })
  const server = createServer(({ url }, response) => {
    if (url === '/client.js') return response.writeHead(200, { 'content-type': 'text/javascript' }).end(file?.contents)
    if (url?.startsWith('/moved') === true) return response.writeHead(307, { location: '/elsewhere' }).end()
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Runs in the page. Values are returned as JSON, with bigints marked. */
const PROGRAM = `async ({ url, closed, token }) => {
  const { createClient, RowQueryError } = await import('/client.js')
  const db = createClient({ url, token, idempotencyKeys: false }).database('shop')
  const errorOf = (promise) => promise.then(() => 'resolved', (error) => {
    const { name, code, status, requestId } = error
    return { isOurs: error instanceof RowQueryError, name, code, status, requestId: typeof requestId }
  })
  const id = 9007199254740993n
  await db.insert('orders', { data: { id, customer_id: 1, note: 'browser' } }, {
    headers: { 'x-request-id': 'from-the-page' }
  })
  const large = await db.select('orders', { filters: { id }, columns: ['id', 'note'] }, { consistency: 'primary' })
  const ids = []
  for await (const { id } of db.pages('orders', { limit: 1, columns: ['id'] })) ids.push(id)
  const { results } = await db.transaction([{ table: 'orders', verb: 'delete', filters: { id } }])
  const controller = new AbortController()
  const patient = createClient({ url: closed, token, retries: 100 }).database('shop')
  const aborted = errorOf(patient.select('orders', {}, { signal: controller.signal }))
  setTimeout(() => controller.abort(), 300)
  const value = {
    large, ids, results,
    refused: await errorOf(db.select('nowhere')),
    aborted: await aborted,
    closed: await errorOf(createClient({ url: closed, token, retries: 1 }).database('shop').select('orders')),
    moved: await errorOf(createClient({ url: '/moved', token }).database('shop').select('orders')),
    html: await errorOf(createClient({ url: '/api', token }).database('shop').select('orders'))
  }
  return JSON.stringify(value, (_key, each) => typeof each === 'bigint' ? each + 'n' : each)
}`

t.test('the client in a browser', { skip: noBrowser }, async (t) => {
  const site = await startSite(t as Test)
  const browser = await startBrowser(t as Test)
  await onEachEngine(t as Test, 'reads and writes from another origin', {
    schema: shop, only: ['sqlite'], options: { cors: { origins: [site] } }
  }, async (t, { server }) => {
    const address = await server.app.listen({ host: '127.0.0.1', port: 0 })
    const page = await browser.newPage()
    await page.goto(site)
    const text = await page.evaluate(
      `(${PROGRAM})(${JSON.stringify({ url: `${address}/api`, closed: 'http://127.0.0.1:1/api', token: TOKEN })})`
    )
    t.strictSame(JSON.parse(text as string), {
      large: { rows: [{ id: '9007199254740993n', note: 'browser' }], count: 1 },
      ids: [1, 2, '9007199254740993n'],
      results: [{ deleted: 1 }],
      refused: { isOurs: true, name: 'RowQueryError', code: 'TABLE_NOT_FOUND', status: 404, requestId: 'string' },
      aborted: { isOurs: false, name: 'AbortError', code: 20, requestId: 'undefined' },
      closed: { isOurs: true, name: 'RowQueryError', code: 'NO_ANSWER', status: 0, requestId: 'undefined' },
      moved: { isOurs: true, name: 'RowQueryError', code: 'UNEXPECTED_ANSWER', status: 0, requestId: 'undefined' },
      html: { isOurs: true, name: 'RowQueryError', code: 'UNEXPECTED_ANSWER', status: 200, requestId: 'undefined' }
    })
  })
})
