// night: drives a browser
/** The page at {prefix}/docs in a browser: a person reads and changes rows. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Locator } from 'playwright-core'
import t from 'tap'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { tokenFor } from '../support/documents.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import {
  body, button, cellsOf, findingsOf, openQuery, openTable, readBody, rowsOf, signIn, status, verb, visit
} from '../support/workbench.ts'

const options = { docs: true }
const tokens = [tokenFor('writer', ['insert'], { shop: ['orders'] })]

await onEachEngine(t, 'a person reads and changes rows', {
  schema: shop, only: ['sqlite'], options, tokens
}, async (t, { server, sql }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const address = await server.app.listen({ port: 0 })
  const { page, faults, asked, replies } = await visit(t, await startBrowser(t), address)

  await t.test('first without a token, then with a wrong one', async (t) => {
    t.match(await page.getByRole('main').innerText(), /row-query token[^]*press Open/)
    t.same(await findingsOf(page), [])
    await signIn(page, 'nobody')
    await page.getByRole('alert').filter({ hasText: 'token' }).waitFor()
    t.equal(await page.getByRole('alert').innerText(), 'The token is not valid')
    await signIn(page, 'токен')
    await page.getByRole('alert').filter({ hasText: 'a character that tokens do not have' }).waitFor()
    await signIn(page, ` Bearer ${TOKEN} \n`)
    const rows = await openTable(page, 'customers')
    t.equal(await page.locator('#message').textContent(), '')
    t.same((await page.getByRole('navigation').getByRole('link').allInnerTexts()).map(
      (text) => text.replaceAll(/\s+/g, ' ')
    ), ['Map', 'customers', 'order_items', 'order_lines view', 'orders', 'products', 'settings', 'Several operations'])
    t.match(await rows.getByRole('columnheader').allInnerTexts(), ['Open', /key\s*id/i, /email/i])
    t.match(await cellsOf(rows), ['1', 'ada@example.com', 'Ada', 'new', '12.50', 'NULL'])
    t.equal(await page.title(), 'customers – Row Query')
    t.match(await status(page, 'Rows').innerText(), /^Rows 1–4 of 4/)
    t.same(await findingsOf(page), [])
  })

  await t.test('filters in a form and in the body, which say the same', async (t) => {
    await openQuery(page)
    t.same(await findingsOf(page), [])
    await page.getByLabel('Value of filter 1').fill('A')
    t.same((await readBody(page)).filters, { name: { $contains: 'A' } })
    await page.getByLabel('Operator of filter 1').selectOption('starts with')
    await button(page, 'Add a filter').click()
    await page.getByLabel('Column of filter 2').selectOption('id')
    await page.getByLabel('Operator of filter 2').selectOption('is one of')
    await page.getByLabel('Value of filter 2').fill('1, 2, 3')
    t.same((await readBody(page)).filters, { name: { $startsWith: 'A' }, id: { $in: [1, 2, 3] } })
    await page.getByLabel('Value of filter 2').press('Enter')
    await status(page, /^Rows 1–1 of 1/).waitFor()
    await body(page).fill(
      '{"verb": "select", "filters": {"$or": [{"id": 3}, {"id": 4}], "credit": {"$gt": "0"}}, "orderBy": "id DESC"}'
    )
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
    t.match(
      await page.getByRole('alert').filter({ hasText: 'JSON' }).innerText(), 'INVALID_JSON', 'what is sent is the text'
    )
  })

  await t.test('one search over all texts, and values that occur', async (t) => {
    await body(page).fill('{"verb": "select", "filters": {"id": {"$gt": 1}}, "limit": 50, "after": null, "total": 100}')
    await page.getByLabel('Search all texts').fill('LINUS')
    await page.getByLabel('Search all texts').press('Enter')
    await status(page, /^Rows 1–1 of 1/).waitFor()
    const { id, $or } = (await readBody(page)).filters
    t.same(id, { $gt: 1 }, 'other filters stay')
    t.same($or.slice(0, 2), [
      { email: { $contains: 'LINUS', $case: 'ignore' } }, { name: { $contains: 'LINUS', $case: 'ignore' } }
    ])
    t.match(await button(page, /^Query/).innerText(), '“LINUS” in any text and id > 1')
    t.same(await findingsOf(page), [])
    await page.getByLabel('Search all texts, or id').fill('3')
    await page.getByLabel('Search all texts, or id').press('Enter')
    await status(page, /^Rows 1–1 of 1/).waitFor()
    t.same((await readBody(page)).filters.$or.at(-1), { id: 3 }, 'a number may be that of the key')
    await page.getByLabel('Search all texts').fill('')
    await status(page, /^Rows 1–3 of 3/).waitFor()
    t.same((await readBody(page)).filters, { id: { $gt: 1 } })
    await page.getByLabel('Column of filter 1').selectOption('status')
    await page.getByLabel('Operator of filter 1').selectOption('is')
    await page.getByLabel('Value of filter 1').focus()
    await page.locator('datalist option[value="old"]').waitFor({ state: 'attached' })
    t.same(
      await page.locator('datalist option').evaluateAll((options: any[]) => options.map(({ value }) => value).sort()),
      ['new', 'old']
    )
  })

  await t.test('filters by related rows', async (t) => {
    await body(page).fill('{"verb": "select"}')
    await button(page, 'Filter by related rows').click()
    const related = page.getByLabel('Related rows of filter 1')
    const names = await related.locator('option').allInnerTexts()
    t.ok(names.includes('orders'), names.join())
    await related.selectOption('orders')
    t.same((await readBody(page)).filters, { $some: { orders: {} } })
    await page.getByLabel('Operator of filter 1', { exact: true }).selectOption('has no')
    await page.getByLabel('Column of filter 1.1').selectOption('id')
    await page.getByLabel('Operator of filter 1.1').selectOption('>')
    await page.getByLabel('Value of filter 1.1').fill('0')
    t.same((await readBody(page)).filters, { $none: { orders: { filters: { id: { $gt: 0 } } } } })
    await body(page).press('Control+Enter')
    await status(page, /^Rows |^\d+ row|no rows/i).waitFor()
    t.same(await findingsOf(page), [])
    await body(page).fill(
      '{"verb": "select", "filters": {"$some": {"orders": {"filters": {"$some": {"order_items": {}}}}}}}'
    )
    t.equal(await page.getByLabel('Related rows of filter 1.1').inputValue(), 'order_items')
    await button(page, 'Remove filter 1.1').click()
    t.same((await readBody(page)).filters, { $some: { orders: {} } })
    await button(page, 'Remove filter 1').click()
    t.equal((await readBody(page)).filters, undefined)
  })

  await t.test('columns, order, pages, JSON, CSV', async (t) => {
    await body(page).fill('{"verb": "select", "limit": 2, "after": null, "total": true}')
    await button(page, 'Run').click()
    const rows = await rowsOf(page, 'customers')
    await status(page, /^Rows 1–2 of 4/).waitFor()
    await button(page, 'Next').click()
    await status(page, /^Rows 3–4 of 4/).waitFor()
    t.equal(await button(page, 'Next').isDisabled(), true)
    const place = await button(page, 'Previous').boundingBox()
    await button(page, 'Previous').click()
    await status(page, /^Rows 1–2 of 4/).waitFor()
    t.same(await button(page, 'Previous').boundingBox(), place, 'the buttons stay where they are')
    await button(page, 'Last').click()
    await status(page, /^Rows 3–4 of 4/).waitFor()
    await button(page, 'First').click()
    await status(page, /^Rows 1–2 of 4/).waitFor()
    await body(page).fill('{"verb": "select", "limit": 3, "after": null, "total": 2, "orderBy": "status"}')
    await button(page, 'Run').click()
    await status(page, /of 2 or more/).waitFor()
    await button(page, 'Last').click()
    await status(page, /^Rows 4–4 of 4/).waitFor() // rows that were not counted before
    t.match(await readBody(page), { orderBy: 'status', offset: 3, total: true })
    await body(page).fill('{"verb": "select", "limit": 2, "after": null, "total": true}')
    await button(page, 'Run').click()
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
    await rows.locator('tbody tr').first().getByText('Ada', { exact: true }).waitFor() // the name of the related row
    await button(rows.locator('tbody tr').first(), '1').click() // the foreign key
    await page.getByRole('region', { name: 'Related rows of customers' }).getByText('ada@example.com', {
      exact: true
    }).waitFor()
    await page.getByRole('tab', { name: 'order_items' }).click()
    const items = page.getByRole('region', { name: 'Related rows of order_items' })
    await items.getByText('CUP-1').waitFor()
    await button(items, 'MUG-1').click()
    await page.getByRole('region', { name: 'Related rows of products' }).getByText('7.50').waitFor()
    t.same(await findingsOf(page), [])
    await button(page, 'Close the row').first().click()
    await button(page, /^Related/).click()
    for (const name of ['customers', 'order_items']) await page.getByRole('checkbox', { name }).check()
    const list = await readBody(page)
    for (const [name, form] of [
      ['customers', 'a list'], ['order_items', 'the first row']
    ] as const) await page.getByLabel(`Form of ${name}`).selectOption(form)
    t.match(await readBody(page), {
      include: { customers: { as: 'list' }, order_items: { as: 'object', limit: undefined } }
    })
    t.same(await findingsOf(page), [])
    for (const [name, form] of [
      ['customers', 'one row'], ['order_items', 'a list']
    ] as const) await page.getByLabel(`Form of ${name}`).selectOption(form)
    t.same(await readBody(page), list)
    await page.keyboard.press('Escape')
    await button(page, 'Run').click()
    await button(rows, /^1 · ada/).waitFor()
    await button(rows, '2 rows').click()
    await page.getByRole('region', { name: 'order_items', exact: true }).getByText('CUP-1').waitFor()
    await openTable(page, 'order_items')
    await page.goBack()
    await page.getByRole('heading', { name: 'orders', exact: true }).waitFor()
    await button(await rowsOf(page, 'orders'), '2 rows').waitFor() // the request is in the address
    await button(await openTable(page, 'orders'), 'Row 1').click()
    await page.getByRole('tab', { name: 'order_items' }).click()
    await button(page, 'Open in order_items').click()
    await status(page, /^Rows 1–2 of 2/).waitFor() // counted, as the rows of a table are
  })

  await t.test('numbers for groups', async (t) => {
    await openTable(page, 'order_items')
    await button(page, /^Summarize/).click()
    await page.getByLabel('Add a value to compute').selectOption('sum of quantity')
    await page.getByLabel('Add a group').selectOption('product_sku')
    t.same(await findingsOf(page), [])
    await page.keyboard.press('Escape')
    t.same(await readBody(page), {
      verb: 'select',
      groupBy: [
        'product_sku'
      ],
      aggregates: { sum_quantity: { $sum: 'quantity' } },
      orderBy: 'sum_quantity DESC',
      limit: 50,
      offset: 0
    })
    await button(page, 'Run').click()
    const rows = await rowsOf(page, 'order_items')
    await rows.getByRole('columnheader', { name: 'sum_quantity' }).waitFor()
    t.same((await rows.locator('tbody tr').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ')), [
      'MUG-1 2', 'CUP-1 1'
    ])
  })

  await t.test('an insert, after what it would do', async (t) => {
    await openTable(page, 'orders')
    await button(page, 'Insert a row …').click()
    await page.getByLabel('customer_id').click()
    await page.getByRole('option', { name: /2$/ }).waitFor() // rows to choose from
    await page.getByLabel('customer_id').fill('99')
    await button(page, 'Insert …').click()
    t.match(
      await page.getByRole('alert').filter({ hasText: 'foreign key' }).innerText(),
      /\/data\/customer_id[^]*FOREIGN_KEY_VIOLATION/
    )
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

  await t.test('an opened row: its address, old and new values, and a question before an edit is lost', async (t) => {
    await sql("insert into customers (id, email, name, note) values (7, 'ida@example.com', 'Ida', 'one\ntwo')")
    const rows = await openTable(page, 'customers')
    await button(rows, 'Row 3').click()
    const panel = rows.locator('.row-panel')
    t.match(await panel.locator('.lines').innerText(), /one\ntwo/)
    t.match(decodeURIComponent(page.url()), /row=\{"id":\+7\}/)
    await page.reload()
    await panel.getByText('ida@example.com', { exact: true }).waitFor()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await button(panel, 'Copy as JSON').click()
    await page.getByText('Copied').waitFor()
    t.match(JSON.parse(await page.evaluate('navigator.clipboard.readText()')), { id: 7, email: 'ida@example.com' })
    await button(panel, 'Copy link').click()
    let link = ''
    await until('the link is copied', async () =>
      (link = await page.evaluate('navigator.clipboard.readText()')).startsWith('http'))

    await button(panel, 'Edit').click()
    await panel.getByLabel('email').fill('ida@example.org')
    const { width } = await panel.boundingBox() as { width: number }
    const input = await panel.getByLabel('email').boundingBox() as { width: number }
    t.ok(input.width > width / 2, 'an input has all the width beside its name')
    replies.push(false, false, false, false)
    await button(rows, 'Row 1').click()
    await button(panel, 'Close the row').click()
    await page.getByRole('navigation').getByRole('link', { name: 'orders', exact: true }).click()
    await until('the address is the one before', () => page.url().includes('#/shop/customers'))
    await verb(page, 'Insert').click()
    t.equal(asked.length, 4)
    t.equal(await panel.getByLabel('email').inputValue(), 'ida@example.org')
    await button(page, 'Save …').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('table').waitFor()
    t.same(await dialog.locator('tbody tr').allInnerTexts(), [
      'id\t7\t7', 'email\tida@example.com\tida@example.org', 'login\tIDA@EXAMPLE.COM\tIDA@EXAMPLE.ORG'
    ])
    t.same(await findingsOf(page), [])
    await button(dialog, 'Update 1 row').click()
    await rows.getByText('ida@example.org').first().waitFor()
    t.equal(asked.length, 4, 'and what is written is not lost')

    await page.goto('about:blank')
    await page.goto(link)
    await status(page, /^Rows 1–1 of 1/).waitFor()
    t.match(await panel.innerText(), 'ida@example.org')
  })

  await t.test('a refused delete names the tables that refer to the row, with a link to their rows; an error ' +
    'says nothing twice', async (t) => {
    const rows = await openTable(page, 'orders')
    await button(rows, 'Row 1').click()
    await button(rows, 'Delete …').click()
    const failure = page.getByRole('alert').filter({ hasText: 'foreign key' })
    await failure.getByText('2 rows of order_items refer to it.').waitFor()
    t.same(await findingsOf(page), [])
    await button(failure, '2 rows of order_items').click()
    await page.getByRole('heading', { name: 'order_items', exact: true }).waitFor()
    await status(page, /^Rows 1–2 of 2/).waitFor()
    t.same((await readBody(page)).filters, { order_id: 1 }, 'as the form shows them')
    await openTable(page, 'customers')
    await verb(page, 'Delete').click()
    await body(page).fill('{"verb": "delete", "filters": {"id": {"$lte": 2}}}')
    await button(page, 'Delete …').click()
    await button(failure, /^\d+ rows of orders/).waitFor()
    t.match(await failure.innerText(), 'rows of orders refer to these rows')
    await verb(page, 'Select').click()
    await body(page).fill('{"verb": "select", "filters": {"created_at": "soon"}}')
    await button(page, 'Run').click()
    const wrong = page.getByRole('alert').filter({ hasText: 'INVALID_VALUE' })
    await wrong.waitFor()
    t.equal((await wrong.innerText()).split('expected').length, 2)
    t.match(await wrong.innerText(), '/filters/created_at ("soon")')
  })

  await t.test('the back button returns from a page, and from a row that was opened', async (t) => {
    await openTable(page, 'products')
    const orders = await openTable(page, 'orders')
    await body(page).fill('{"verb": "select", "limit": 1, "after": null, "total": true}')
    await body(page).press('Control+Enter')
    await status(page, /^Rows 1–1 of/).waitFor()
    await button(page, 'Next').click()
    await status(page, /^Rows 2–2 of/).waitFor()
    const answers = async (): Promise<number> => await page.evaluate(
      "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/shop/orders')).length"
    )
    await orders.getByTitle('Show the row of customers').click()
    await orders.getByRole('tab', { name: 'customers', selected: true }).waitFor()
    const asked = await answers()
    await page.goBack()
    await orders.locator('.row-panel').waitFor({ state: 'detached' })
    t.match(await status(page, /^Rows/).innerText(), /^Rows 2–2 of/)
    t.equal(await answers(), asked, 'the rows stay where they are')
    await page.goForward()
    await orders.locator('.row-panel').waitFor()
    await page.goBack()
    await page.goBack()
    await status(page, /^Rows 1–1 of/).waitFor()
    await page.goForward()
    await status(page, /^Rows 2–2 of/).waitFor()
    await page.reload()
    await status(page, /^Rows 2–2 of/).waitFor()
    t.equal(await button(page, 'Previous').isEnabled(), true, 'the pages before are known after a reload')
    for (let steps = 0; steps < 3; steps++) await page.goBack()
    await page.getByRole('heading', { name: 'products', exact: true }).waitFor()
  })

  await t.test('the focus stays where one works, and the buttons of a long row are in the window', async (t) => {
    const hasFocus = async (what: Locator): Promise<void> => await what.and(page.locator(':focus')).waitFor()
    await page.setViewportSize({ width: 1200, height: 560 })
    const rows = await openTable(page, 'customers')
    await button(page, /^Query/).click()
    await button(rows, 'Row 1').click()
    const edit = button(rows, 'Edit')
    const { y } = await edit.boundingBox() as { y: number }
    t.ok(y < 480, `above the bar of the answer: at ${y}`)
    await edit.press('Enter')
    await hasFocus(rows.getByRole('group', { name: 'Values of the row' }))
    t.same(await findingsOf(page), [])
    await button(rows, 'Cancel').press('Enter')
    await hasFocus(edit)
    await button(rows, 'Close the row').press('Enter')
    await hasFocus(button(rows, 'Row 1'))
    await button(page, 'Insert a row …').press('Enter')
    await hasFocus(page.getByRole('group', { name: 'Values', exact: true }))
    const at = page.getByLabel('created_at', { exact: false }).first()
    await at.fill('2026-05-06T07:08:09')
    t.equal(
      await at.evaluate(({ scrollWidth, clientWidth }: any) => scrollWidth - clientWidth), 0,
      'a time is seen as a whole'
    )
    await at.fill('')
    await verb(page, 'Select').click()
    await openQuery(page)
    await body(page).fill('{"verb": "select", "limit": 2, "after": null, "total": true}')
    await body(page).press('Control+Enter')
    await status(page, /^Rows 1–2 of/).waitFor()
    await button(page, 'Last').press('Enter')
    await status(page, /^Rows [^1]/).waitFor()
    await hasFocus(button(page, 'Last'))
    await page.setViewportSize({ width: 1200, height: 300 })
    await openTable(page, 'orders')
    t.same(await page.locator('.content').evaluate(
      (each: any) => [each.scrollHeight > each.clientHeight, each.scrollWidth > each.clientWidth]
    ), [true, false], 'a scrollbar does not bring the other one')
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  await t.test('a value in its cell, and several rows that are selected', async (t) => {
    const customers = await openTable(page, 'customers')
    await customers.getByRole('gridcell', { name: 'Ida', exact: true }).dblclick()
    t.same(await findingsOf(page), [])
    await page.keyboard.press('Escape')
    await customers.getByRole('gridcell', { name: 'Ida', exact: true }).dblclick()
    await page.getByLabel('New name').fill('Ida B')
    const dialog = page.getByRole('dialog')
    await page.route('**/shop/customers', async (route) => await route.fulfill({
      status: 503,
      body: '{"success": false, "data": {}, "error": {"code": "OVERLOADED", "message": "busy", "details": []}}'
    }))
    await page.keyboard.press('Enter')
    await dialog.getByText('OVERLOADED').waitFor()
    await page.unroute('**/shop/customers')
    await button(dialog, 'Close').click()
    t.equal(await page.getByLabel('New name').inputValue(), 'Ida B', 'what was entered is kept until it is written')
    await page.keyboard.press('Enter')
    await button(dialog, 'Cancel').click()
    await page.keyboard.press('Enter')
    await button(dialog, 'Update 1 row').click()
    await customers.getByRole('gridcell', { name: 'Ida B', exact: true }).waitFor()
    t.same(await sql('select name from customers where id = 7'), [{ name: 'Ida B' }])

    await sql("insert into customers (id, email, name) values (8, 'bo@example.com', 'Bo')")
    await button(page, 'Run').click()
    for (const row of ['3', '4']) await page.getByLabel(`Select row ${row}`).check()
    const selected = page.getByRole('group', { name: 'Selected rows' })
    const [download] = await Promise.all([page.waitForEvent('download'), button(selected, 'Export selected').click()])
    t.match(readFileSync(await download.path(), 'utf8'), /^id,[^]*\r\n7,[^]*\r\n8,/)
    await button(selected, 'Delete …').click()
    await button(dialog, 'Delete 2 rows').click()
    await customers.getByText('Ida B').waitFor({ state: 'detached' })
    t.same(await sql('select id from customers where id > 6'), [])
    t.equal(await selected.count(), 0)
    await customers.and(page.locator(':focus')).waitFor()
    await page.getByLabel('Select row 1').check()
    await button(selected, 'Delete …').click()
    await dialog.getByText('FOREIGN_KEY_VIOLATION').waitFor()
    await button(dialog, 'Close').click()
    await button(selected, 'Delete …').and(page.locator(':focus')).waitFor()
    await button(selected, 'Clear').click()
  })

  await t.test('the last of more rows than can be skipped are the first ones from the end', async (t) => {
    await sql('with recursive n (i) as (select 1 union all select i + 1 from n where i < 100100) insert into ' +
      'settings (level) select i from n')
    await openTable(page, 'settings')
    await button(page, 'Last').click()
    await page.getByText('the last ones are shown first').waitFor()
    await until('the order is in the address', () => decodeURIComponent(page.url()).includes('id+DESC'))
    await status(page, /^Rows 1–50 of 10,000 or more/).waitFor()
    await sql('delete from settings')
  })

  await t.test('several operations, with an example that writes and refers', async (t) => {
    await page.getByRole('link', { name: 'Several operations' }).click()
    await page.getByText('insert order_items').waitFor()
    t.match(await readBody(page), {
      operations: [
        { table: 'orders', verb: 'insert' },
        { table: 'order_items', verb: 'insert', data: { order_id: { $ref: '/0/id' } } },
        { table: 'orders', verb: 'select' }
      ]
    })
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
    await page.goto(
      `${address}/api/docs#/shop/settings?body=` +
        `${encodeURIComponent('{"verb": "insert", "data": {"note": "it\'s $HOME"}, "returning": "*"}')}`
    )
    await page.getByText('The answer is shown here.').waitFor() // a link to a write does not write
    await page.getByRole('tab', { name: 'curl' }).click()
    const command = await page.getByLabel('curl', { exact: true }).innerText()
    t.notMatch(command, TOKEN)
    const { stdout } = await promisify(execFile)('bash', ['-c', `${command} --silent`], {
      env: { ...process.env, TOKEN }
    })
    t.match(JSON.parse(stdout), { data: { inserted: 1, rows: [{ note: "it's $HOME" }] } })
    await page.getByRole('tab', { name: 'TypeScript' }).click()
    t.match(
      await page.getByLabel('TypeScript').innerText(),
      "const { inserted, id, rows } = await db.insert('settings', { data: { note: 'it\\'s $HOME' }, returning: '*' })"
    )
    await page.getByRole('tab', { name: 'History' }).click()
    const history = page.locator('.history')
    t.match(
      await history.innerText(), /update customers 200[^]*grace@example\.org/, 'with what was written to an open row'
    )
    t.match(
      await history.innerText(), /update customers, dry run 200[^]*grace@example\.org/, 'and what was tried first'
    )
    await button(page, 'Code of select customers, export').last().click()
    const exported = await page.getByLabel('select customers, export as curl').innerText()
    const csv = await promisify(execFile)('bash', ['-c', `${exported} --silent`], { env: { ...process.env, TOKEN } })
    t.match(csv.stdout, /^id,email,name,status,credit,created_at\r\n/, 'and an export, which is the same as a command')
    await button(page, /^update customers 200[^]*checked/).click()
    await page.getByRole('heading', { name: 'customers', exact: true }).waitFor()
    t.match(await readBody(page), { verb: 'update', data: { note: 'checked' } })
    await button(page, 'Reference').click()
    await page.getByRole('heading', { name: 'Fields of a request' }).waitFor()
    t.match(
      await page.getByRole('region', { name: 'Columns' }).innerText(), /varchar\(100\)[^]*required[^]*\$startsWith/i
    )
    t.match(await page.getByRole('region', { name: 'Operators' }).getByRole('row').allInnerTexts(), [
      /^Operator/, /^\$contains\s+contains\s+email, /
    ])
    t.match(await page.getByRole('region', { name: 'Errors' }).innerText(), /409\s+UNIQUE_VIOLATION/)
    await page.getByText('CustomersInsert', { exact: true }).click()
    await page.getByText('"additionalProperties": false').first().waitFor()
    t.same(await findingsOf(page), [])
  })

  await t.test('a token that may only insert, and one that is forgotten', async (t) => {
    const stored = async (): Promise<unknown> =>
      await page.evaluate('[Object.keys(sessionStorage).length, localStorage.length]')
    await button(page, 'Token').click()
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
