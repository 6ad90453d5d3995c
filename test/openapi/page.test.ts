// slow: large documents and answers
/** The page at {prefix}/docs, in a browser. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { get, tokenFor } from '../support/documents.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const FILES = ['/docs', '/docs/page.css', '/docs/page.js', '/docs/columns.js', '/docs/reference.js', '/docs/schemas.js', '/docs/swagger-ui/static/swagger-ui.css', '/docs/swagger-ui/static/swagger-ui-bundle.js']
const options = { docs: true }
const tokens = [tokenFor('writer', ['insert'], { shop: ['orders'] })]

await onEachEngine(t, 'the page needs no token, does not mention databases and allows no other hosts', { schema: shop, only: ['sqlite'], options }, async (t, { server }) => {
  for (const file of FILES) {
    const { status, headers, text } = await get(server, file, { token: null })
    t.match({ status, headers }, { status: 200, headers: { etag: /^(W\/)?"[\w-]+"$/, 'x-content-type-options': 'nosniff', 'x-request-id': String } }, file)
    t.equal(headers['content-security-policy'],
      "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';base-uri 'none';form-action 'none';frame-ancestors 'none'")
    t.match(headers, { 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer', 'cross-origin-opener-policy': 'same-origin', 'cross-origin-resource-policy': 'same-origin', 'cache-control': 'no-cache' })
    t.notOk('strict-transport-security' in headers)
    t.match(await get(server, file, { token: null, headers: { 'if-none-match': headers['etag'] as string } }), { status: 304, text: '' })
    if (!file.includes('swagger')) t.notMatch(text, /customers|https?:/)
  }
  t.match(await get(server, '/docs/other.js', { token: null }), { status: 401 })
  for (const path of ['', '/', '/json', '/yaml', '/static/index.html', '/static/swagger-initializer.js', '/static/other.js', '/static/..%2f..%2fpackage.json']) {
    t.match(await get(server, `/docs/swagger-ui${path}`), { status: 404, json: { error: { code: 'NOT_FOUND' } } }, `${path}: nothing else of Swagger UI`)
  }
})

await onEachEngine(t, 'the page is off by default', { schema: shop, only: ['sqlite'] }, async (t, { server }) => {
  t.match(await get(server, '/docs'), { status: 404, json: { error: { code: 'NOT_FOUND' } } })
  t.match(await get(server, '/docs/page.js'), { status: 405 }, 'the path is that of a table')
})

/** One browser for all tests, because it starts slowly. */
const browser = noBrowser === false ? startBrowser(t as unknown as Test) : undefined

interface Visit { page: Page, address: string, faults: string[] }

/** Opens the page. Errors in its console and requests to other hosts are faults. */
async function visit (t: Test, address: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await (await browser as Browser).newContext({ viewport: { width: 1280, height: 1000 }, ...options })
  t.teardown(() => context.close())
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) faults.push(message.text()) })
  page.on('pageerror', (error) => { faults.push(error.message) })
  page.on('request', (request) => { if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(`${address}/`)) faults.push(request.url()) })
  await page.goto(`${address}/api/docs`)
  return { page, address, faults }
}

async function open (page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Open' }).click()
}

/** Selects a table, waits for it and sends the example of a verb. */
async function send (page: Page, table: string, verb: string): Promise<string> {
  await page.getByLabel('Table').selectOption(table)
  await page.locator(`[data-path="/shop/${table}"], [data-path="/demo/${table}"]`).waitFor()
  await page.locator('.examples-select select').first().selectOption(verb)
  await page.getByRole('button', { name: 'Execute' }).click()
  return await page.locator('.live-responses-table .response').first().innerText()
}

const longs = ['create table longs (id bigint not null primary key, ratio double null)', 'insert into longs values (9007199254740993, 0.5)']

await onEachEngine(t, 'a user enters a token, selects a table and sends an example', { schema: { sqlite: [...shop.sqlite, ...longs], mysql: [...shop.mysql, ...longs] }, only: ['sqlite', 'mariadb'], options, tokens }, async (t, { server }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const { page, faults } = await visit(t, await server.app.listen({ port: 0 }))
  await open(page, TOKEN)
  t.match(await send(page, 'customers', 'select'), /200[^]*"email": "ada@example\.com"/)
  t.match(await send(page, 'orders', 'insert'), /200[^]*"inserted": 1/)
  t.match(await send(page, 'orders', 'delete'), /200[^]*"deleted": 0/, 'an example that is sent unread removes nothing')
  t.match(await send(page, 'longs', 'select'), /"id": 9007199254740993,\s+"ratio": 0\.5/, 'numbers are shown as they were answered')
  t.same(await page.getByLabel('Table').locator('option').allInnerTexts().then((names) => names.sort()), ['Several operations', 'customers', 'longs', 'order_items', 'order_lines', 'orders', 'products', 'settings'])

  await open(page, 'writer')
  await page.locator('[data-path="/shop/orders"]').waitFor()
  t.same(await page.getByLabel('Table').locator('option').allInnerTexts(), ['orders', 'Several operations'], 'what the token may do')
  const examples = page.locator('.examples-select select').first().locator('option')
  await examples.first().waitFor({ state: 'attached' })
  t.same(await examples.allInnerTexts(), ['insert'])
  t.same(faults, [], 'without a word in the console, or a request to another host')

  await open(page, 'nobody')
  t.equal(await page.getByRole('alert').filter({ hasText: 'token' }).innerText(), 'The token is not valid')
})

const ODD = ['constructor', '__proto__', "it's {1}", '🙂 <script>alert(1)</script>']
const odd = ODD.map((name) => `create table "${name}" (id integer primary key, "constructor" int, "<b>bold</b>" text)`)
const wide = `create table wide (${Array.from({ length: 500 }, (_, index) => `column_${index} int`).join(', ')})`

const lines = ['create table lines (id integer primary key, text varchar(300) not null)',
  "with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000) insert into lines select i, printf('%0200d', i) from n"]

const overflow = async (page: Page): Promise<number> => await page.evaluate('document.documentElement.scrollWidth - innerWidth')
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })

await onEachEngine(t, 'the page on a phone', { schema: () => [...shop.sqlite, ...odd, ...lines, wide], only: ['sqlite'], options: { ...options, openapiInfo: { title: 'Shop <b>rows</b>' } }, tokens }, async (t, { server }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const address = await server.app.listen({ port: 0 })
  const { page, faults } = await visit(t, address, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
  const stored = async (): Promise<unknown> => await page.evaluate('[Object.values(sessionStorage), localStorage.length]')

  await t.test('says where a token comes from, and opens the table that the address names', async (t) => {
    t.match(await page.locator('#start').innerText(), /row-query token[^]*press Open/)
    t.equal(await overflow(page), 0)
    await page.goto(`${address}/api/docs#/shop/customers`)
    await open(page, ` Bearer ${TOKEN} \n`)
    await heading(page, 'customers').waitFor()
    t.equal(await page.title(), 'customers – Shop <b>rows</b>')
    t.equal(await page.locator('#start').isVisible(), false)
    const email = page.getByRole('region', { name: 'Columns' }).locator('tr').filter({ hasText: 'email' }).first()
    t.match(await email.innerText(), /varchar\(100\)[^]*required[^]*\$startsWith/i, 'columns and operators without a click')
    t.match(await page.locator('#fields').innerText(), /onConflict[^]*insert[^]*Updates the rows/)
    t.equal(await page.locator('#message').innerText(), '')
    t.equal(await overflow(page), 0)
    t.equal(await page.evaluate('getComputedStyle(document.body).colorScheme'), 'dark')
  })

  await t.test('shows the answer without scrolling, and the request as a command that works', async (t) => {
    await send(page, 'customers', 'select')
    await page.waitForFunction('document.querySelector(".live-responses-table pre").getBoundingClientRect().top < innerHeight - 200')
    t.equal(await overflow(page), 0)
    const pre = page.locator('.live-responses-table pre').first()
    t.not(await pre.locator('span').count(), 0, 'in colors')
    await page.getByLabel('Table').selectOption('lines')
    await page.getByRole('textbox', { name: 'Request body' }).fill('{"verb": "select", "limit": 1000}')
    await page.getByRole('button', { name: 'Execute' }).click()
    t.match(await pre.innerText(), '"count": 1000')
    t.equal(await pre.locator('span').count(), 0, 'a large answer takes one element')
    await page.getByLabel('Table').selectOption("it's {1}")
    await page.getByRole('textbox', { name: 'Request body' }).fill('{"verb": "insert", "data": {"<b>bold</b>": "it\'s $HOME `id`"}, "returning": "*"}')
    const command = await page.locator('#command').innerText()
    t.notMatch(command, TOKEN)
    const { stdout } = await promisify(execFile)('bash', ['-c', `${command} --silent`], { env: { ...process.env, TOKEN } })
    t.match(JSON.parse(stdout), { data: { inserted: 1, rows: [{ '<b>bold</b>': "it's $HOME `id`" }] } })
  })

  await t.test('keeps the token for the tab alone', async (t) => {
    await page.reload()
    await heading(page, "it's {1}").waitFor()
    t.same(await stored(), [[TOKEN], 0])
    t.notMatch(page.url(), TOKEN)
    const other = await page.context().newPage()
    await other.goto(page.url())
    t.equal(await other.locator('#start').isVisible(), true, 'another tab asks for a token')
    await other.close()
  })

  await t.test('shows tables of any name, and the earlier one on going back', async (t) => {
    for (const name of ODD) {
      await page.getByLabel('Table').selectOption({ label: name })
      await heading(page, name).waitFor()
      await page.getByRole('button', { name: 'Execute' }).waitFor()
      t.same(await page.locator('#columns tbody th').allInnerTexts(), ['id', 'constructor', '<b>bold</b>'])
    }
    await page.goBack()
    await heading(page, ODD.at(-2) as string).waitFor()
    await page.goto(`${address}/api/docs#/shop/wide`)
    await heading(page, 'wide').waitFor()
    t.equal(await page.locator('#columns tbody tr').count(), 500)
    t.ok((await page.locator('#columns').boundingBox() as { height: number }).height < 500, 'many columns scroll in their own box')
    t.equal(await overflow(page), 0)
  })

  await t.test('names what cannot be opened, and forgets the token', async (t) => {
    await page.goto(`${address}/api/docs#/shop/nope`)
    await page.getByRole('alert').filter({ hasText: 'There is no table "nope"' }).waitFor()
    await page.goto(`${address}/api/docs#/nope/orders`)
    await page.getByRole('alert').filter({ hasText: 'There is no database "nope"' }).waitFor()
    await open(page, 'токен')
    await page.getByRole('alert').filter({ hasText: 'a character that tokens do not have' }).waitFor()
    await open(page, TOKEN)
    await page.getByRole('button', { name: 'Forget' }).click()
    t.equal(await page.locator('#start').isVisible(), true)
    t.same(await stored(), [[], 0])
    t.same(faults, [])

    await page.evaluate('sessionStorage.setItem("row-query token of /api", "revoked")')
    await page.reload()
    await page.getByRole('alert').filter({ hasText: 'The token is not valid' }).waitFor()
    t.same(await stored(), [[], 0], 'a token that is refused is not kept')
    await server.app.close()
    await open(page, TOKEN)
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
  })
})

const hostile = '<img src=http://example.com/a.png onerror=alert(1)> ![](http://example.com/b.png) [link](javascript:alert(1)) <b>not bold</b>'

await onEachEngine(t, 'comments are shown as text, and tables with unusual names can be selected', {
  schema: () => [`create table \`it's "<b>" \\ é\` (id int not null primary key, \`a<b>\` int null comment '${hostile}', \`__proto__\` int null) comment '${hostile}'`], only: ['mariadb'], options: { docs: true, openapi: 'public' }
}, async (t, { server }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const { page, faults } = await visit(t, await server.app.listen({ port: 0 }))
  const shown = page.locator('.opblock-description').first()
  await shown.waitFor() // the documents are public, so the page opens them at once
  t.match(await page.locator('#columns tbody').innerText(), hostile)
  t.equal(await page.locator('#columns tbody :is(img, a, b)').count(), 0)
  await open(page, '')
  await shown.waitFor()
  t.match(await shown.innerText(), '<b>not bold</b>')
  t.match(await shown.innerText(), 'onerror=alert(1)')
  t.equal(await page.locator('#reference img, #reference a[href^="javascript"], .opblock-description b').count(), 0)
  t.same(await page.getByLabel('Table').locator('option').allInnerTexts(), ["it's \"<b>\" \\ é", 'Several operations'])
  t.same(faults, [], 'everybody may look')
  await page.getByRole('button', { name: 'Execute' }).click()
  t.match(await page.locator('.live-responses-table .response').first().innerText(), /401[^]*UNAUTHENTICATED/, 'and asks for rows with a token only')
})

t.test('the demo serves the page and prints its address', { skip: noBrowser }, async (t) => {
  const server = await serveRowQuery(t)
  const stdout = await server.printed(/"update"/)
  const [, address = ''] = /page {5}(\S+)\/api\/docs\n/.exec(stdout) as RegExpExecArray
  const [, token = ''] = /token {4}(\S+)/.exec(stdout) as RegExpExecArray
  const { page, faults } = await visit(t as Test, address)
  await open(page, token)
  t.match(await send(page, 'orders', 'select'), /200[^]*"ordered_at"/)
  t.notMatch(await page.locator('body').innerText(), token, 'the token is shown nowhere')
  t.same(faults, [])
  const folder = process.env['TEST_SCREENSHOTS'] // for the documents: TEST_SCREENSHOTS=docs
  if (folder === undefined) return
  for (const [name, width, height, colorScheme] of [['', 1280, 1100, 'light'], ['-dark', 1280, 1100, 'dark'], ['-narrow', 390, 1100, 'light']] as const) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme })
    await page.evaluate('scrollTo(0, 0)')
    await page.screenshot({ path: `${folder}/docs-page${name}.png`, animations: 'disabled' })
  }
})
