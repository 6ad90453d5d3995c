// slow: drives a browser
/** The page at {prefix}/docs, in a browser. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { tokenFor } from '../support/documents.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const options = { docs: true }
const tokens = [tokenFor('writer', ['insert'], { shop: ['orders'] })]

/** How long a test waits for what it expects, in milliseconds: the machine may be busy. */
const PATIENCE = 60_000

/** One browser for all tests, because it starts slowly. */
const browser = noBrowser === false ? startBrowser(t as unknown as Test) : undefined

interface Visit { readonly page: Page, readonly faults: string[] }

/** Opens the page. Errors of its scripts and policy, and requests to other hosts, are faults. */
async function visit (t: Test, address: string, { path = '/api/docs', ...options }: BrowserContextOptions & { path?: string } = {}): Promise<Visit> {
  const context = await (await browser as Browser).newContext({ viewport: { width: 1200, height: 900 }, ...options })
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const faults: string[] = []
  // the browser reports every answer of 400 and more
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type()) && !message.text().startsWith('Failed to load resource')) faults.push(message.text()) })
  page.on('pageerror', (error) => { faults.push(error.message) })
  page.on('request', (request) => { if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(`${address}/`)) faults.push(request.url()) })
  await page.goto(address + path)
  return { page, faults }
}

async function signIn (page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Open' }).click()
}

async function openTable (page: Page, name: string): Promise<Locator> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, exact: true }).waitFor()
  return await rowsOf(page, name)
}

async function rowsOf (page: Page, name: string): Promise<Locator> {
  const rows = page.getByRole('region', { name: `Rows of ${name}`, exact: true })
  await rows.waitFor()
  return rows
}

const button = (page: Page | Locator, name: string | RegExp): Locator => page.getByRole('button', { name, exact: typeof name === 'string' })
const verb = (page: Page, name: string): Locator => button(page.getByRole('group', { name: 'Verb' }), name)
const body = (page: Page): Locator => page.getByRole('textbox', { name: 'Request body' })
const readBody = async (page: Page): Promise<any> => JSON.parse(await body(page).inputValue())
const status = (page: Page, text: string | RegExp): Locator => page.getByRole('region', { name: 'Answer' }).getByRole('status').filter({ hasText: text })
const overflow = async (page: Page): Promise<number> => await page.evaluate('document.documentElement.scrollWidth - innerWidth')
const cellsOf = async (rows: Locator): Promise<string[]> => (await rows.locator('tbody tr').first().locator('td').allInnerTexts()).slice(1)

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds: the rule and the elements. */
async function findingsOf (page: Page): Promise<string[]> {
  await page.evaluate(axe)
  return await page.evaluate("axe.run(document, { preload: false }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, any, all }) => id + ': ' + html.slice(0, 200) + [...any, ...all].map(({ message }) => message).join())))")
}

await onEachEngine(t, 'a person reads and changes rows', { schema: shop, only: ['sqlite'], options, tokens }, async (t, { server, sql }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const address = await server.app.listen({ port: 0 })
  const { page, faults } = await visit(t, address)

  await t.test('first without a token, then with a wrong one', async (t) => {
    t.match(await page.getByRole('main').innerText(), /row-query token[^]*press Open/)
    t.same(await findingsOf(page), [])
    await signIn(page, 'nobody')
    await page.getByRole('alert').filter({ hasText: 'token' }).waitFor()
    t.equal(await page.getByRole('alert').innerText(), 'The token is not valid')
    await signIn(page, 'токен')
    await page.getByRole('alert').filter({ hasText: 'a character that tokens do not have' }).waitFor()
    await signIn(page, ` Bearer ${TOKEN} \n`)
    const rows = await rowsOf(page, 'customers')
    t.equal(await page.locator('#message').textContent(), '')
    t.same(await page.getByRole('navigation').getByRole('link').allInnerTexts(), ['customers', 'order_items', 'order_lines', 'orders', 'products', 'settings', 'Several operations'])
    t.match(await rows.getByRole('columnheader').allInnerTexts(), ['Open', /key\s*id[^]*INTEGER/i, /email[^]*varchar\(100\)/i])
    t.match(await cellsOf(rows), ['1', 'ada@example.com', 'Ada', 'new', '12.50', 'NULL'])
    t.equal(await page.title(), 'customers – Row Query')
    t.match(await status(page, 'Rows').innerText(), /^Rows 1–4 of 4/)
    t.same(await findingsOf(page), [])
  })

  await t.test('filters in a form and in the body, which say the same', async (t) => {
    await page.getByLabel('Value of filter 1').fill('A')
    t.same((await readBody(page)).filters, { name: { $contains: 'A' } })
    await page.getByLabel('Operator of filter 1').selectOption('starts with')
    await button(page, '+ Add a filter').click()
    await page.getByLabel('Column of filter 2').selectOption('id')
    await page.getByLabel('Operator of filter 2').selectOption('is one of')
    await page.getByLabel('Value of filter 2').fill('1, 2, 3')
    t.same((await readBody(page)).filters, { name: { $startsWith: 'A' }, id: { $in: [1, 2, 3] } })
    await page.getByLabel('Value of filter 2').press('Enter')
    await status(page, /^Rows 1–1 of 1/).waitFor()
    await body(page).fill('{"verb": "select", "filters": {"$or": [{"id": 3}, {"id": 4}], "credit": {"$gt": "0"}}, "orderBy": "id DESC"}')
    t.equal(await page.getByLabel('Value of filter 2').inputValue(), '0')
    t.match(await page.getByRole('group', { name: 'Filters' }).innerText(), '$or')
    await page.getByText('the request has changed').waitFor()
    await body(page).press('Control+Enter')
    await status(page, /^1 row/).waitFor()
    await button(page, 'Remove filter 1').click()
    t.same((await readBody(page)).filters, { credit: { $gt: '0' } })
    await body(page).fill('{"verb": ')
    await page.getByText('The form is back when it is one.').waitFor()
    await button(page, 'Run').click()
    t.match(await page.getByRole('alert').filter({ hasText: 'JSON' }).innerText(), 'INVALID_JSON', 'what is sent is the text')
  })

  await t.test('columns, order, pages, JSON, CSV', async (t) => {
    await body(page).fill('{"verb": "select", "limit": 2, "after": null, "total": true}')
    await button(page, 'Run').click()
    const rows = await rowsOf(page, 'customers')
    await status(page, /^Rows 1–2 of 4/).waitFor()
    await button(page, 'Next ›').click()
    await status(page, /^Rows 3–4 of 4/).waitFor()
    t.equal(await button(page, 'Next ›').isDisabled(), true)
    await button(page, '‹ Previous').click()
    await status(page, /^Rows 1–2 of 4/).waitFor()
    await button(rows.getByRole('columnheader', { name: 'name' }), /name/).click()
    await rows.getByRole('columnheader', { name: 'name' }).and(page.locator('[aria-sort="ascending"]')).waitFor()
    await button(rows.getByRole('columnheader', { name: 'name' }), /name/).click()
    await rows.getByText('Zoë', { exact: true }).waitFor()
    t.equal((await readBody(page)).orderBy, 'name DESC')
    await button(page, /^Columns/).click()
    await page.getByRole('checkbox', { name: 'login' }).uncheck()
    await page.getByRole('checkbox', { name: 'note' }).uncheck()
    await page.keyboard.press('Escape')
    t.same((await readBody(page)).columns, ['id', 'email', 'name', 'status', 'credit', 'created_at'])
    await button(page, 'Run').click()
    await rows.getByRole('columnheader', { name: 'login' }).waitFor({ state: 'detached' })
    await button(page, 'JSON').click()
    t.match(await page.getByLabel('The answer as JSON').innerText(), /"credit": "1000000\.01"/)
    await button(page, 'Grid').click()
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Export CSV').click()])
    t.equal(download.suggestedFilename(), 'customers.csv')
    const csv = readFileSync(await download.path(), 'utf8').split('\r\n')
    t.same([csv[0], csv.length], ['id,email,name,status,credit,created_at', 6], 'every row, not those of the page')
    t.match(csv[1], /^4,zoë@example\.com,Zoë,old,1000000\.01,/)
  })

  await t.test('related rows in place, also by include', async (t) => {
    const rows = await openTable(page, 'orders')
    await button(rows.locator('tbody tr').first(), '1').click() // the foreign key
    await page.getByRole('region', { name: 'Related rows of customers' }).getByText('ada@example.com', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'order_items' }).click()
    const items = page.getByRole('region', { name: 'Related rows of order_items' })
    await items.getByText('CUP-1').waitFor()
    await button(items, 'MUG-1').click()
    await page.getByRole('region', { name: 'Related rows of products' }).getByText('7.50').waitFor()
    t.same(await findingsOf(page), [])
    await button(page, 'Close the row').first().click()
    await button(page, /^Related/).click()
    for (const name of ['customers', 'order_items']) await page.getByRole('checkbox', { name }).check()
    await page.keyboard.press('Escape')
    await button(page, 'Run').click()
    await button(rows, /^1 · ada/).waitFor()
    await button(rows, '2 rows').click()
    await page.getByRole('region', { name: 'order_items', exact: true }).getByText('CUP-1').waitFor()
    await openTable(page, 'order_items')
    await page.goBack()
    await page.getByRole('heading', { name: 'orders', exact: true }).waitFor()
    await button(await rowsOf(page, 'orders'), '2 rows').waitFor() // the request is in the address
  })

  await t.test('numbers for groups', async (t) => {
    await openTable(page, 'order_items')
    await button(page, /^Summarize/).click()
    await page.getByLabel('Add a value to compute').selectOption('sum of quantity')
    await page.getByLabel('Add a group').selectOption('product_sku')
    t.same(await findingsOf(page), [])
    await page.keyboard.press('Escape')
    t.same(await readBody(page), { verb: 'select', groupBy: ['product_sku'], aggregates: { sum_quantity: { $sum: 'quantity' } }, orderBy: 'sum_quantity DESC', limit: 50, offset: 0 })
    await button(page, 'Run').click()
    const rows = await rowsOf(page, 'order_items')
    await rows.getByRole('columnheader', { name: 'sum_quantity' }).waitFor()
    t.same(await rows.locator('tbody tr').allInnerTexts(), ['MUG-1\t2', 'CUP-1\t1'])
  })

  await t.test('an insert, after what it would do', async (t) => {
    await openTable(page, 'orders')
    await button(page, 'Insert a row …').click()
    await page.locator('datalist option[value="2"]').waitFor({ state: 'attached' }) // rows to choose from
    await page.getByLabel('customer_id').fill('99')
    await button(page, 'Insert …').click()
    t.match(await page.getByRole('alert').filter({ hasText: 'foreign key' }).innerText(), /\/data\/customer_id[^]*FOREIGN_KEY_VIOLATION/)
    await page.getByLabel('customer_id').fill('2')
    await page.getByLabel('note').first().fill('by the page')
    await button(page, 'Insert …').click()
    const dialog = page.getByRole('dialog', { name: 'Insert 1 row into orders?' })
    await dialog.getByText('by the page').waitFor()
    t.same(await findingsOf(page), [])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    t.same(await sql("select * from orders where note = 'by the page'"), [], 'nothing was written')
    await button(page, 'Insert …').click()
    await button(dialog, 'Insert 1 row').click()
    await status(page, '1 row inserted').waitFor()
    t.match(await sql("select customer_id from orders where note = 'by the page'"), [{ customer_id: 2 }])
    await button(page, 'Show the rows of orders').click()
    await (await rowsOf(page, 'orders')).getByText('by the page').waitFor()
  })

  await t.test('an update and a delete of a row, and of several', async (t) => {
    const rows = await openTable(page, 'customers')
    await button(rows, 'Row 2').click()
    await button(page, 'Edit').click()
    t.equal(await button(page, 'Save …').isDisabled(), true)
    const panel = rows.locator('.row-panel')
    await panel.getByLabel('email').fill('grace@example.org')
    t.same(await findingsOf(page), [])
    await button(page, 'Save …').click()
    const dialog = page.getByRole('dialog')
    await button(dialog, 'Update 1 row').click()
    await rows.getByText('grace@example.org').first().waitFor()
    t.same(await sql('select email from customers where id = 2'), [{ email: 'grace@example.org' }])

    await verb(page, 'Update').click()
    await page.getByRole('group', { name: 'Set' }).getByLabel('note').first().fill('checked')
    await page.getByLabel('Column of filter 1').selectOption('status')
    await page.getByLabel('Operator of filter 1').selectOption('is')
    await page.getByLabel('Value of filter 1').fill('old')
    t.same(await readBody(page), { verb: 'update', data: { note: 'checked' }, filters: { status: 'old' } })
    await button(page, 'Update …').click()
    await button(dialog, 'Update 2 rows').click()
    await status(page, '2 rows updated').waitFor()

    await verb(page, 'Delete').click()
    t.same(await readBody(page), { verb: 'delete', filters: { status: 'old' } }, 'filters stay')
    await page.getByLabel('Value of filter 1').fill('none')
    await button(page, 'Delete …').click()
    await dialog.getByText('No row of customers would be deleted').waitFor()
    await button(dialog, 'Close').click()
    await page.getByLabel('Value of filter 1').fill('old')
    await button(page, 'Delete …').click()
    await button(dialog, 'Delete 2 rows').click()
    await status(page, '2 rows deleted').waitFor()
    t.same(await sql('select id from customers'), [{ id: 1 }, { id: 2 }])
  })

  await t.test('several operations, with an example that writes and refers', async (t) => {
    await page.getByRole('link', { name: 'Several operations' }).click()
    await page.getByText('insert order_items').waitFor()
    t.match(await readBody(page), { operations: [{ table: 'orders', verb: 'insert' }, { table: 'order_items', verb: 'insert', data: { order_id: { $ref: '/0/id' } } }, { table: 'orders', verb: 'select' }] })
    await page.getByLabel('Table of the operation').selectOption('order_items')
    await button(page, 'Add').click()
    await page.getByText('insert order_items').nth(1).waitFor()
    const { operations: [, first, , second] } = await readBody(page)
    t.match(second.data, { ...first.data, line: first.data.line + 1 }, 'one more refers as well')
    const count = async (): Promise<unknown> => (await sql('select count(*) as n from order_items'))[0].n
    const before = await count() as number
    await button(page, 'Run …').click()
    const dialog = page.getByRole('dialog', { name: 'Run 4 operations in one transaction?' })
    await dialog.getByText('inserted 1 · id').waitFor()
    t.same(await findingsOf(page), [])
    t.equal(await count(), before)
    await button(dialog, 'Run').click()
    await status(page, 'Done.').waitFor()
    t.equal(await count(), before + 2)
  })

  await t.test('the request as a command that works, for the client, and those of before', async (t) => {
    await page.goto(`${address}/api/docs#/shop/settings?body=${encodeURIComponent('{"verb": "insert", "data": {"note": "it\'s $HOME"}, "returning": "*"}')}`)
    await page.getByText('The answer is shown here.').waitFor() // a link to a write does not write
    await page.getByRole('tab', { name: 'curl' }).click()
    const command = await page.getByLabel('curl', { exact: true }).innerText()
    t.notMatch(command, TOKEN)
    const { stdout } = await promisify(execFile)('bash', ['-c', `${command} --silent`], { env: { ...process.env, TOKEN } })
    t.match(JSON.parse(stdout), { data: { inserted: 1, rows: [{ note: "it's $HOME" }] } })
    await page.getByRole('tab', { name: 'TypeScript' }).click()
    t.match(await page.getByLabel('TypeScript').innerText(), "const { inserted, id, rows } = await db.insert('settings', { data: { note: 'it\\'s $HOME' }, returning: '*' })")
    await page.getByRole('tab', { name: 'History' }).click()
    await button(page, /^update customers 200/).click()
    await page.getByRole('heading', { name: 'customers', exact: true }).waitFor()
    t.match(await readBody(page), { verb: 'update', data: { note: 'checked' } })
    await button(page, 'Reference').click()
    await page.getByRole('heading', { name: 'Fields of a request' }).waitFor()
    t.match(await page.getByRole('region', { name: 'Columns' }).innerText(), /varchar\(100\)[^]*required[^]*\$startsWith/i)
    t.match(await page.getByRole('region', { name: 'Errors' }).innerText(), /409\s+UNIQUE_VIOLATION/)
    await page.getByText('CustomersInsert', { exact: true }).click()
    await page.getByText('"additionalProperties": false').first().waitFor()
    t.same(await findingsOf(page), [])
  })

  await t.test('a token that may only insert, and one that is forgotten', async (t) => {
    const stored = async (): Promise<unknown> => await page.evaluate('[Object.keys(sessionStorage).length, localStorage.length]')
    await button(page, 'Forget the token').click()
    t.same(await stored(), [0, 0])
    await signIn(page, 'writer')
    await page.getByRole('heading', { name: 'orders', exact: true }).waitFor()
    t.same(await page.getByRole('group', { name: 'Verb' }).getByRole('button').allInnerTexts(), ['Insert'])
    t.same(await page.getByRole('navigation').getByRole('link').allInnerTexts(), ['orders', 'Several operations'])
    t.notMatch(page.url(), 'writer')
    await page.reload()
    await page.getByRole('heading', { name: 'orders', exact: true }).waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByLabel('Token').waitFor() // another tab asks for it
    await other.close()
    t.same(faults, [], 'without a word in the console, or a request to another host')
    await page.evaluate('sessionStorage.setItem("row-query token of /api", "revoked")')
    await page.reload()
    await page.getByRole('alert').filter({ hasText: 'The token is not valid' }).waitFor()
    t.same(await stored(), [0, 0], 'a token that is refused is not kept')
  })
})

const ODD = ['constructor', '__proto__', "it's {1}", '🙂 <script>alert(1)</script>']
const odd = ODD.map((name) => `create table "${name}" (id integer primary key, "constructor" int, "<b>bold</b>" text, "__proto__" text)`)
const rowsOfOdd = ODD.map((name) => `insert into "${name}" values (1, 2, '<img src=x onerror=alert(1)>', '${'long '.repeat(50)}')`)
const many = Array.from({ length: 500 }, (_, index) => `create table many_${index} (id integer primary key)`)
const WIDE = 500
const wide = [`create table wide (${Array.from({ length: WIDE }, (_, index) => `column_${index} int`).join(', ')})`, 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 60) insert into wide (column_0, column_499) select i, i * 2 from n']

await onEachEngine(t, 'on a phone, in the dark: 500 tables, 500 columns, odd names', { schema: () => ['begin', ...odd, ...rowsOfOdd, ...many, ...wide, 'commit'], only: ['sqlite'], options: { ...options, openapiInfo: { title: 'Shop <b>rows</b>' } } }, async (t, { server }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const address = await server.app.listen({ port: 0 })
  const { page, faults } = await visit(t, address, { path: `/api/docs#token=${TOKEN}&/shop/wide`, viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
  const rows = await rowsOf(page, 'wide')
  t.notMatch(page.url(), 'token', 'the token is out of the address at once')
  t.equal(await page.title(), 'wide – Shop <b>rows</b>')
  t.equal(await rows.getByRole('columnheader').count(), 31, 'a wide table begins with its first columns')
  t.equal(await page.evaluate('getComputedStyle(document.body).colorScheme'), 'light dark')
  t.equal(await page.evaluate('getComputedStyle(document.documentElement).backgroundColor'), 'rgb(20, 24, 29)')
  t.equal(await overflow(page), 0)
  t.same(await findingsOf(page), [])

  await button(page, /^Columns/).click()
  await page.getByLabel('Search columns').fill('column_499')
  await page.getByRole('checkbox', { name: 'column_499' }).check()
  await page.keyboard.press('Escape')
  await page.getByRole('tab', { name: 'Body' }).click()
  const { columns, ...others } = await readBody(page)
  t.equal(columns.length, 31)
  await body(page).fill(JSON.stringify(others))
  await button(page, 'Run').click()
  await rows.getByRole('columnheader', { name: 'column_499' }).waitFor()
  t.equal(await rows.getByRole('columnheader').count(), WIDE + 1)
  await button(rows, 'Draw more rows').click()
  await button(rows, 'Draw more rows').waitFor({ state: 'detached' })
  t.equal(await rows.locator('tbody tr').count(), 50)
  await button(rows, 'Row 1').click()
  t.equal(await overflow(page), 0)

  await button(page, /^wide/).click()
  t.match(await page.getByRole('navigation').innerText(), /and 205 more: search for them/)
  await page.getByLabel('Search tables').fill('many_499')
  await page.getByRole('link', { name: 'many_499' }).click()
  await page.getByText('The table is empty.').waitFor()
  for (const name of ODD) {
    await button(page.getByRole('navigation'), /▾$/).click()
    await page.getByLabel('Search tables').fill(name)
    const rows = await openTable(page, name)
    t.match(await rows.getByRole('columnheader').allInnerTexts(), ['Open', /id/, /constructor/, /<b>bold</, /__proto__/])
    t.match(await cellsOf(rows), ['1', '2', '<img src=x onerror=alert(1)>', /^long[^]*…$/])
  }
  await button(page, /^long/).click()
  t.equal(await page.getByRole('dialog', { name: '__proto__' }).locator('pre').innerText(), 'long '.repeat(50))
  t.same(await findingsOf(page), [])
  t.equal(await overflow(page), 0)
  await button(page, 'Close').click()

  await page.goto(`${address}/api/docs#/shop/nope`)
  await page.getByRole('alert').filter({ hasText: 'There is no table "nope"' }).waitFor()
  await page.goto(`${address}/api/docs#/nope/orders`)
  await page.getByRole('alert').filter({ hasText: 'There is no database "nope"' }).waitFor()
  t.same(faults, [])
  await server.app.close()
  await button(page, 'Run').click()
  await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
})

const hostile = '<img src=http://example.com/a.png onerror=alert(1)> ![](http://example.com/b.png) [link](javascript:alert(1)) <b>not bold</b>'

await onEachEngine(t, 'types of MySQL, exact numbers and comments that are shown as text', {
  schema: () => [
    `create table \`it's "<b>" \\ é\` (id bigint unsigned not null primary key, status enum('new', 'paid', 'it''s') null comment '${hostile}', tags set('a', 'b') null, at datetime(3) null, doc json null, big double null) comment '${hostile}'`,
    'insert into `it\'s "<b>" \\ é` values (18446744073709551615, \'paid\', \'a,b\', \'2020-01-02 03:04:05.678\', \'{"n": 9007199254740993, "d": 52.0}\', 1e300), (1, null, \'\', utc_timestamp(3), null, null)'
  ],
  only: ['mariadb'],
  options: { docs: true, openapi: 'public' }
}, async (t, { server, sql }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const { page, faults } = await visit(t, await server.app.listen({ port: 0 }))
  await page.getByRole('alert').filter({ hasText: /token/i }).waitFor() // the documents are public, and rows are not
  t.match(await page.getByRole('main').innerText(), hostile)
  t.equal(await page.locator('main :is(img, b img, a[href^="javascript"])').count(), 0)
  await signIn(page, TOKEN)
  const name = "it's \"<b>\" \\ é"
  const rows = await rowsOf(page, name)
  t.match(await rows.getByRole('row', { name: '18446744073709551615' }).innerText(), /paid\s+\["a", "b"\]\s+2020-01-02T03:04:05\.678\s+\{"n": 9007199254740993, "d": 52\.0\}\s+1e\+?300/i, 'as they were answered')
  t.match(await rows.getByRole('row', { name: 'Row 1' }).innerText(), /1\s+NULL\s+\[\]/)

  await page.getByLabel('Column of filter 1').selectOption('status')
  await page.getByLabel('Operator of filter 1').selectOption('is one of')
  const members = page.getByRole('group', { name: 'Value of filter 1' })
  t.same(await members.locator('label').allInnerTexts(), ['new', 'paid', "it's"])
  await members.getByLabel('paid').check()
  await members.getByLabel("it's").check()
  t.same((await readBody(page)).filters, { status: { $in: ['paid', "it's"] } })
  await button(page, 'Run').click()
  await status(page, /^Rows 1–1 of 1/).waitFor()
  await page.getByLabel('Column of filter 1').selectOption('at')
  await page.getByLabel('Operator of filter 1').selectOption('is in the last')
  await page.getByLabel('Value of filter 1', { exact: true }).fill('2')
  t.same((await readBody(page)).filters, { at: { $gte: { $now: { days: -2 } } } })
  await button(page, 'Run').click()
  await rows.getByRole('row', { name: 'NULL' }).waitFor()
  await button(page, /^Summarize/).click()
  await page.getByLabel('Add a group').selectOption('year of at')
  await page.keyboard.press('Escape')
  t.same((await readBody(page)).groupBy, [{ at_year: { $year: 'at' } }])

  await page.goto(page.url().replace(/\?.*$/, ''))
  await page.getByLabel('Operator of filter 1').selectOption('is')
  await page.getByLabel('Column of filter 1').selectOption('id')
  await page.getByLabel('Value of filter 1').fill('18446744073709551615')
  await button(page, 'Run').click()
  await status(page, /^Rows 1–1 of 1/).waitFor()
  await button(rows, 'Row 1').click()
  await button(page, 'Edit').click()
  const panel = rows.locator('.row-panel')
  await panel.getByLabel('status').first().selectOption("it's")
  await button(panel, 'at: now').click()
  await button(panel, 'tags: NULL').click()
  await button(page, 'Save …').click()
  await button(page.getByRole('dialog'), 'Update 1 row').click()
  await rows.getByText("it's").first().waitFor()
  const [row] = await sql('select status, tags, cast(at > \'2021-01-01\' as char) as isNew, cast(json_extract(doc, \'$.n\') as char) as n from `it\'s "<b>" \\ é` where id = 18446744073709551615')
  t.match(row, { status: "it's", tags: null, isNew: '1', n: '9007199254740993' })
  t.same(await findingsOf(page), [])
  t.same(faults, [])
})

t.test('the demo leads from its address to its rows', { skip: noBrowser }, async (t) => {
  const server = await serveRowQuery(t)
  const stdout = await server.printed(/"update"/)
  const [, token = ''] = /token {4}(\S+)/.exec(stdout) as RegExpExecArray
  t.match(stdout, `  page     ${server.address}/api/docs#token=${token}\n`)
  const { page, faults } = await visit(t as Test, server.address, { path: '/' })
  await page.getByRole('region', { name: /^Rows of / }).waitFor()
  t.notMatch(page.url() + await page.locator('body').innerText(), token, 'the token is shown nowhere')
  const rows = await openTable(page, 'orders')
  await button(rows, 'Row 2').click()
  await page.getByRole('tab', { name: 'order_items' }).click()
  await page.getByRole('region', { name: 'Related rows of order_items' }).waitFor()
  t.equal(await overflow(page), 0)
  t.same(faults, [])
  t.notMatch((await server.stop()).stderr, token)
  const folder = process.env['TEST_SCREENSHOTS'] // for the documents: TEST_SCREENSHOTS=docs
  if (folder === undefined) return
  for (const [name, width, height, colorScheme] of [['', 1200, 900, 'light'], ['-dark', 1200, 900, 'dark'], ['-narrow', 390, 1000, 'light']] as const) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme })
    if (width < 500) { // the text of the request is one click away
      await page.reload()
      await rowsOf(page, 'orders')
    }
    await page.evaluate('scrollTo(0, 0)')
    await page.screenshot({ path: `${folder}/docs-page${name}.png`, animations: 'disabled' })
  }
})
