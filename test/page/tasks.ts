/** The tasks of tasks.md, as a person does them, at a size of the window, in both color schemes. */
import { readFileSync } from 'node:fs'
import type { Browser, Locator } from 'playwright-core'
import type { Test } from 'tap'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { onEachEngine, TOKEN, type Schema, type Service } from '../support/service.ts'
import {
  button, findingsOf, openQuery, overflow, readBody, rowsOf, signIn, status, visit
} from '../support/workbench.ts'

const PNG =
  '89504e470d0a1a0a0000000d4948445200000004000000040802000000269309290000001049444154789c6338216703470cc47100e0431221' +
    'd090f7ea0000000049454e44ae426082'
const WIDE = Array.from({ length: 30 }, (_, index) => `c${index}`)
const schema: Schema = () => [
  'create table customers (id integer primary key, name varchar(50) not null, email varchar(50), photo blob)',
  'create table products (sku varchar(20) not null primary key, title varchar(50) not null)',
  `create table orders (id integer primary key, customer_id integer not null references customers (id),
    status varchar(10) not null default 'new', note text, total decimal(10,2) not null,
    is_gift boolean not null default false, ordered_at datetime not null)`,
  'create table order_items (order_id integer not null references orders (id), line integer not null, sku ' +
    'varchar(20) references products (sku) on delete set null, primary key (order_id, line))',
  'create table settings (name varchar(20) primary key, value text)',
  `create table readings (id integer primary key, ${WIDE.map((name) => `${name} integer`).join(', ')})`,
  `insert into customers (id, name, photo) values (1, 'Ada Lovelace', x'${PNG}'), (2, 'Grace Hopper', x'0102'),
    (17, 'Zbigniew Kowalczyk', null)`,
  "insert into products values ('MUG', 'Espresso mug')",
  ...Array.from({ length: 60 }, (_, index) =>
    `insert into orders values (${index + 1}, ${[1, 2, 17][index % 3]}, '${['new', 'paid', 'sent'][index % 3]}',
      ${index === 0 ? "'two  spaces at the end  '" : 'null'}, ${index + 1}.50, ${index % 2},
      '2026-${String(index % 12 + 1).padStart(2, '0')}-10T13:24:56')`),
  "insert into order_items values (1, 1, 'MUG'), (1, 2, 'MUG')",
  "insert into settings values ('currency', 'EUR')",
  `insert into readings with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) select i,
    ${WIDE.map((_, index) => `i * ${index + 1}`).join(', ')} from n`
]

/** Runs the tasks in a window of this size. */
export async function runTasks (t: Test, viewport: { readonly width: number, readonly height: number }): Promise<void> {
  await onEachEngine(t, 'tasks', { schema, only: ['sqlite'], options: { docs: true } }, async (t, service: Service) => {
    if (noBrowser !== false) return t.comment(noBrowser)
    const address = await service.server.app.listen({ port: 0 })
    const browser = await startBrowser(t)
    for (const colorScheme of ['light', 'dark'] as const) {
      await t.test(`${viewport.width}x${viewport.height}, ${colorScheme}`, async (t) => await runOnce(t, {
        service, address, browser, view: { viewport, colorScheme, hasTouch: viewport.width < NARROW }
      }))
    }
  })
}

/** A window that is narrower has no place for everything. */
const NARROW = 720

interface Run {
  readonly service: Service
  readonly address: string
  readonly browser: Browser
  readonly view: {
    readonly viewport: { readonly width: number, readonly height: number },
    readonly colorScheme: 'light'
    | 'dark',
    readonly hasTouch: boolean
  }
}

async function runOnce (t: Test, { service: { sql }, address, browser, view }: Run): Promise<void> {
  const isNarrow = view.viewport.width < NARROW
  const { page, faults } = await visit(t, browser, address, view)
  await signIn(page, TOKEN)
  await page.getByRole('navigation').waitFor()
  const askOrders = (body: object): Promise<unknown> =>
    page.evaluate(`location.hash = '#/shop/orders?body=' + encodeURIComponent('${JSON.stringify(body)}')`)
  const open = async (table: string): Promise<Locator> => {
    await page.evaluate(`location.hash = '#/shop/${table}'`)
    await page.getByRole('heading', { name: table, exact: true }).waitFor({ state: 'attached' })
    return await rowsOf(page, table)
  }
  const search = async (text: string): Promise<void> => {
    await page.getByLabel('Search all texts').fill(text)
    await page.getByLabel('Search all texts').press('Enter')
  }
  const shows = async (text: RegExp): Promise<void> => { await status(page, text).waitFor() }
  /** The places of the columns. */
  const placesOf = async (rows: Locator): Promise<unknown> => await rows.locator('thead th').evaluateAll(
    (heads: any[]) => heads.map((each) => [each.offsetLeft, each.offsetWidth])
  )
  const hasNoFinding = async (what: string): Promise<void> => {
    t.same(await findingsOf(page), [], what)
    t.same(await overflow(page), 0, `${what}: nothing runs over the edge`)
  }

  await t.test('1 search', async (t) => {
    await open('orders')
    await search('kowalczyk')
    await shows(/^Rows 1–20 of 20/)
    await openQuery(page)
    const token = page.getByText('“kowalczyk” in any text', { exact: true })
    await token.waitFor()
    const remove = await button(page, 'Remove filter 1').boundingBox()
    t.ok(remove !== null && remove.x + remove.width < view.viewport.width, 'the × is in reach')
    await hasNoFinding('the form of a search')
    await button(page, 'Remove filter 1').click()
    t.equal((await page.getByRole('textbox', { name: 'Request body' }).count()) === 0
      ? undefined
      : (await readBody(page)).filters, undefined)
    await button(page, 'Run').click()
    await shows(/^Rows 1–50 of 60/)
    await page.getByRole('button', { name: /^Query/ }).click()
    await search('espresso')
    await page.getByText('No row matches “espresso”.').waitFor()
    await page.getByRole('button', { name: '1 row of products' }).waitFor()
    await hasNoFinding('no rows')
    await page.getByRole('button', { name: '2 rows of order_items' }).click()
    await shows(/^Rows 1–2 of 2/)
  })

  await t.test('2 answers', async (t) => {
    const rows = await open('orders')
    await button(rows, 'Row 1').click()
    await button(page, 'Delete …').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('A foreign key does not allow this change').waitFor()
    await hasNoFinding('a refusal')
    await button(dialog, '2 rows of order_items').click()
    await page.getByRole('heading', { name: 'order_items', exact: true }).waitFor({ state: 'attached' })
    await shows(/^Rows 1–2 of 2/)
  })

  await t.test('3 calm', async (t) => {
    const rows = await open('orders')
    await rows.getByText('Zbigniew Kowalczyk').first().waitFor()
    const before = await placesOf(rows)
    await button(rows, 'Row 3').click()
    await page.getByRole('tab', { name: 'Values' }).waitFor()
    t.same(await placesOf(rows), before, 'a row that is open')
    await hasNoFinding('a row that is open')
    await button(rows, 'Row 3').click()
    const height = await rows.locator('tr.row').nth(1).evaluate((each: any) => each.offsetHeight)
    await rows.getByRole('gridcell', { name: '2.50', exact: true }).dblclick()
    await page.getByLabel('New total').waitFor()
    t.same(await placesOf(rows), before, 'a cell that is edited')
    t.equal(await rows.locator('tr.row').nth(1).evaluate((each: any) => each.offsetHeight), height)
    await page.keyboard.press('Escape')
    const few = await open('settings')
    t.ok(
      await few.evaluate((each: any) => each.querySelector('table').offsetWidth >= each.clientWidth),
      'a table of few columns fills its card'
    )
  })

  await t.test('4 what is there stays', async (t) => {
    const rows = await open('orders')
    await page.route('**/shop/orders', async (route) => await route.abort())
    await button(page, 'Next').click()
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
    t.equal(await rows.getByRole('gridcell', { name: '1.50', exact: true }).count(), 1, 'the rows are there')
    await shows(/^Rows 1–50 of 60/)
    await hasNoFinding('rows of the last answer')
    await page.unroute('**/shop/orders')
    await button(page, 'Try again').click()
    await shows(/^Rows 51–60 of 60/)
    t.equal(await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).count(), 0)
  })

  await t.test('5 charts', async (t) => {
    await page.evaluate("location.hash = '#/shop'")
    await page.getByRole('link', { name: 'total of orders by month' }).click()
    const rows = await rowsOf(page, 'orders')
    t.equal(await rows.locator('.measure').count(), 24, 'a bar behind each number')
    const chart = page.getByRole('img', { name: /^Chart of sum_total by month/ })
    await chart.scrollIntoViewIfNeeded()
    const { x = 0, y = 0, width = 0 } = await chart.boundingBox() ?? {}
    await page.mouse.move(x + width / 2, y + 90)
    await page.locator('.here').waitFor()
    t.match(await page.locator('.here').textContent(), /^2026-\d\d: \d/, 'a label at the pointer')
    t.equal(await chart.locator('path.line').count(), 1)
    await hasNoFinding('a chart')
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Save SVG').first().click()])
    t.match(readFileSync(await download.path(), 'utf8'), /^<svg[^>]*xmlns=[^]*<path[^>]*stroke="rgb/)
    await askOrders({
      verb: 'select',
      groupBy: ['status', { month: { $month: 'ordered_at' } }],
      aggregates: { n: { $count: '*' } }
    })
    await page.getByRole('img', { name: /^Chart of n by month, status/ }).waitFor()
    t.equal(await page.locator('.chart path.line').count(), 3, 'a line for each status')
    await askOrders({ verb: 'select', groupBy: ['status'], aggregates: { n: { $count: '*' } } })
    await page.getByRole('img', { name: /^Chart of n by status;/ }).waitFor()
    t.equal(await page.locator('.chart .bar').count(), 3, 'bars for groups')
  })

  await t.test('6 map', async (t) => {
    await open('settings')
    await page.evaluate("location.hash = '#/shop'")
    const map = page.getByRole('region', { name: 'What refers to what' })
    await map.getByText('60 rows').waitFor()
    t.same((await map.getByRole('link').allTextContents()).sort(), [
      'customers3 rows', 'order_items2 rows', 'orders60 rows', 'products1 row'
    ])
    t.same((await map.locator('path title').allTextContents()).sort(), [
      'order_items.order_id refers to orders', 'order_items.sku refers to products',
      'orders.customer_id refers to customers'
    ])
    t.match(
      await page.getByRole('list', { name: 'Tables without relations' }).innerText(),
      /readings\s*1,000 rows[^]*settings/
    )
    await hasNoFinding('the map')
    await page.getByRole('group', { name: 'Opened last' }).getByRole('link', { name: 'settings' }).click()
    await rowsOf(page, 'settings')
  })

  await t.test('7 values', async (t) => {
    const rows = await open('orders')
    const pills = await rows.locator('.pill').evaluateAll(
      (all: any[]) => all.map((each) => [each.textContent, each.className])
    )
    t.same(new Set(pills.map(([text]) => text)), new Set(['new', 'paid', 'sent']))
    t.equal(new Set(pills.map(([, color]) => color)).size, 3, 'one color for each value')
    t.match(await rows.locator('time').first().innerText(), /^2026-01-10 13:24$/)
    t.equal(await rows.locator('.sign').first().innerText(), '··', 'spaces at the end')
    t.ok(await rows.locator('.yes').count() > 0 || isNarrow)
    await search('spaces')
    await shows(/^Rows 1–1 of 1/)
    t.match(await rows.locator('.pill').first().innerText(), 'new', 'also in a page of few rows')
  })
  const openMenu = async (rows: Locator, name: string): Promise<void> => {
    const menu = button(rows.getByRole('columnheader', { name }), 'Column menu')
    t.ok(await menu.evaluate((each: any) => each.checkVisibility({ opacityProperty: true })), 'the menu is seen')
    await menu.click()
  }
  await t.test('7 images', async (t) => {
    const rows = await open('customers')
    const height = await rows.locator('tr.row').first().evaluate((each: any) => each.offsetHeight)
    await button(rows, 'png, 73 bytes').waitFor()
    await openMenu(rows, 'photo')
    await button(page, 'Show images').click()
    await rows.getByAltText('png, 73 bytes').waitFor()
    t.equal(await rows.locator('img').count(), 1, 'other bytes are no image')
    t.equal(await rows.locator('img').evaluate((each: any) => each.naturalWidth), 4)
    t.ok(
      await rows.locator('tr.row').nth(2).evaluate((each: any) => each.offsetHeight) > height,
      'every row has room for one'
    )
    await hasNoFinding('images')
    await openMenu(rows, 'photo')
    await button(page, 'Show sizes').click()
    await rows.locator('img').waitFor({ state: 'detached' })
  })

  await t.test('8 columns', async (t) => {
    let rows = await open('orders')
    const menu = async (name: string): Promise<void> => await openMenu(rows, name)
    await menu('status')
    await hasNoFinding('the menu of a column')
    await page.getByRole('group', { name: 'Frequent values of status' }).getByRole('button', {
      name: 'paid 20'
    }).click()
    await shows(/^Rows 1–20 of 20/)
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByLabel('Name of the view').fill('Paid orders')
    await button(page, 'Keep').click()
    await hasNoFinding('the views')
    await page.keyboard.press('Escape')
    await menu('status')
    await page.getByRole('button', { name: 'paid 20', pressed: true }).click()
    await shows(/^Rows 1–50 of 60/)
    await menu('note')
    await button(page, 'Hide this column').click()
    await rows.getByRole('columnheader', { name: 'note' }).waitFor({ state: 'detached' })
    await page.reload()
    rows = await rowsOf(page, 'orders')
    t.equal(await rows.getByRole('columnheader', { name: 'note' }).count(), 0, 'hidden after a reload')
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('button', { name: 'Paid orders', exact: true }).click()
    await shows(/^Rows 1–20 of 20/)
    await open('settings')
    rows = await open('orders')
    if (isNarrow) await button(page, 'More').click()
    await button(page, 'Show 1 hidden column').click()
    await page.keyboard.press('Escape')
    await rows.getByRole('columnheader', { name: 'note' }).waitFor()
  })

  await t.test('8 order and filters', async (t) => {
    const rows = await open('orders')
    await openMenu(rows, 'note')
    await button(page, 'Sort up, NULL last').click()
    await button(page, /^Query.*by note nulls last/).waitFor()
    await shows(/^Rows 1–50 of 60/)
    t.match(await rows.locator('tr.row').first().innerText(), /two/, 'what has a value comes first')
    await button(page, 'Next').click()
    await shows(/^Rows 51–60 of 60/)
    await open('readings')
    await openQuery(page)
    await page.getByLabel('Column of filter 1').selectOption('id')
    await page.getByLabel('Operator of filter 1').selectOption('<')
    await button(page, 'Compare filter 1 with a column').click()
    await page.getByLabel('Value of filter 1').selectOption('c1')
    await button(page, 'Run').click()
    await shows(/^Rows 1–50 of 1,000/)
    await page.getByLabel('Operator of filter 1').selectOption('>')
    await button(page, 'Run').click()
    await page.getByText('No row matches the filters.').waitFor()
    await hasNoFinding('a filter by another column')
    await button(page, 'Remove the filters').click()
    await shows(/^Rows 1–50 of 1,000/)
    await page.getByRole('button', { name: /^Query/ }).click()
  })

  await t.test('9 keyboard', async (t) => {
    const rows = await open('orders')
    await rows.getByRole('gridcell', { name: '1', exact: true }).first().focus()
    for (const key of ['ArrowDown', 'ArrowDown', 'End', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key)
    t.equal(await page.evaluate('document.activeElement.textContent'), '3.50')
    await page.keyboard.press('Enter')
    await page.getByLabel('New total').fill('33.50')
    await page.keyboard.press('Enter')
    await button(page.getByRole('dialog'), 'Update 1 row').click()
    await button(page, 'Undo').click()
    await page.getByText('The old value is back').waitFor()
    t.same((await sql('select total from orders where id = 3')).map(({ total }) => Number(total)), [3.5])
    await rows.getByLabel('Select row 1', { exact: true }).check()
    await rows.getByRole('gridcell', { name: '1.50', exact: true }).focus()
    const copied = await page.evaluate(`(() => {
      const data = new DataTransfer()
      const event = new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true })
      document.activeElement.dispatchEvent(event)
      return data.getData('text/plain')
    })()`)
    t.match(
      copied,
      /^id\tcustomer_id\tstatus\tnote\ttotal\tis_gift\tordered_at\n1\t1\tnew\ttwo {2}spaces at the end {2}\t1\.50\t/
    )
    await page.evaluate(`(() => {
      const data = new DataTransfer()
      data.setData('text/plain', 'customer_id\\tstatus\\ttotal\\tordered_at\\n2\\tpasted\\t7.25\\t2026-05-05T10:00:00')
      const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
      document.activeElement.dispatchEvent(event)
    })()`)
    await hasNoFinding('the dry run of a paste')
    await button(page.getByRole('dialog'), 'Insert 1 row').click()
    await page.getByText('1 row inserted').waitFor()
    t.same((await sql("select customer_id, total from orders where status = 'pasted'")).map((row) =>
      [row.customer_id, Number(row.total)]), [[2, 7.25]])
    await button(page, 'Undo').click()
    await page.getByText('The row is gone again').waitFor()
    t.same(await sql("select id from orders where status = 'pasted'"), [])
  })

  await t.test('9 Tab goes on to the next cell', async (t) => {
    const rows = await open('orders')
    await rows.getByRole('gridcell', { name: 'paid' }).first().focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('New status').waitFor()
    for (const [key, name] of [['Tab', 'note'], ['Tab', 'total'], ['Shift+Tab', 'note']] as const) {
      await page.keyboard.press(key)
      await page.getByLabel(`New ${name}`).waitFor()
      t.ok(
        await page.getByLabel(`New ${name}`).evaluate((each: any) => each === each.ownerDocument.activeElement),
        `${key} to ${name}`
      )
    }
    await page.keyboard.press('Escape')
    await page.getByLabel('New note').waitFor({ state: 'detached' })
    t.ok(await rows.getByRole('gridcell', { name: 'NULL' }).first()
      .evaluate((each: any) => each === each.ownerDocument.activeElement), 'and Escape back to the cell')
  })

  await t.test('9 a default', async (t) => {
    const rows = await open('orders')
    await rows.getByRole('gridcell', { name: 'sent', exact: true }).first().dblclick()
    await button(page, 'status: default').click()
    t.equal(await page.getByLabel('New status').inputValue(), 'the default: new')
    await hasNoFinding('a default')
    await button(page, 'Save …').click()
    await button(page.getByRole('dialog'), 'Update 1 row').click()
    await button(page, 'Undo').waitFor()
    t.same(await sql('select status from orders where id = 3'), [{ status: 'new' }])
    await button(page, 'Undo').click()
    await page.getByText('The old value is back').waitFor()
    t.same(await sql('select status from orders where id = 3'), [{ status: 'sent' }])
  })

  await t.test('9 undo', async (t) => {
    const rows = await open('orders')
    await button(rows, 'Row 4').click()
    await button(page, 'Edit').click()
    await page.getByRole('group', { name: 'Values of the row' }).getByLabel('total').fill('44.40')
    await button(page, 'Save …').click()
    await button(page.getByRole('dialog'), 'Update 1 row').click()
    await button(page, 'Undo').click()
    await page.getByText('The old value is back').waitFor()
    t.same(
      (await sql('select total from orders where id = 4')).map(({ total }) => Number(total)), [4.5],
      'an edit of the opened row'
    )

    const change = async (value: string): Promise<void> => {
      await rows.getByRole('gridcell', { name: '5.50', exact: true }).dblclick()
      await page.getByLabel('New total').fill(value)
      await page.keyboard.press('Enter')
      await button(page.getByRole('dialog'), 'Update 1 row').click()
      await button(page, 'Undo').waitFor()
    }
    await change('55.50')
    await sql('update orders set total = 56 where id = 5')
    await button(page, 'Undo').click()
    await page.getByText('Nothing was undone: the rows have been changed since').waitFor()
    t.same(
      (await sql('select total from orders where id = 5')).map(({ total }) => Number(total)), [56],
      'what others have written stays'
    )
    await sql('update orders set total = 5.5 where id = 5')

    const items = await open('order_items')
    const before = await sql('select * from order_items order by line')
    await items.getByLabel('Select all rows').check()
    await button(page.getByRole('group', { name: 'Selected rows' }), 'Delete …').click()
    await button(page.getByRole('dialog'), 'Delete 2 rows').click()
    await button(page, 'Undo').click()
    await page.getByText('2 rows are back').waitFor()
    t.same(await sql('select * from order_items order by line'), before, 'a delete')

    const products = await open('products')
    await button(products, 'Row 1').click()
    await button(page, 'Delete …').click()
    await button(page.getByRole('dialog'), 'Delete 1 row').click()
    await page.getByRole('status').filter({ hasText: '1 row deleted' }).waitFor()
    t.equal(await button(page, 'Undo').count(), 0, 'no row comes back without what the database has changed with it')
    await sql("insert into products values ('MUG', 'Espresso mug')")
    await sql("update order_items set sku = 'MUG'")
  })

  await t.test('10 keys and requests', async (t) => {
    await open('orders')
    await button(page.getByRole('group', { name: 'Verb' }), 'Insert').click()
    const input = page.getByRole('combobox', { name: 'customer_id' })
    await input.fill('grace')
    await page.getByText('This is no id of customers').waitFor()
    await page.getByRole('option', { name: /Grace Hopper/ }).waitFor()
    await hasNoFinding('a list of customers')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    t.equal(await input.inputValue(), '2')
    await page.getByText('Grace Hopper').first().waitFor()
    for (const [tab, text] of [['curl', /^curl -X POST/], ['fetch', /await fetch\(/], ['TypeScript', /createClient/], [
      'Python', /urllib\.request/
    ]] as const) {
      await page.getByRole('tab', { name: tab }).click()
      t.match(await page.locator('.command').innerText(), text, tab)
    }
    await hasNoFinding('a request as a program')
    await page.getByRole('tab', { name: 'History' }).click()
    await button(page, 'Code of insert orders, dry run').first().click()
    for (const [tab, text] of [
      ['fetch', /await fetch\([^]*dryRun/], ['TypeScript', /db\.insert\('orders'[^]*dryRun: true/],
      ['Python', /urllib\.request[^]*dryRun/], ['curl', /^curl -X POST[^]*"dryRun": true/]
    ] as const) {
      await page.getByRole('tablist', { name: 'insert orders, dry run as' }).getByRole('tab', { name: tab }).click()
      t.match(await page.getByLabel(`insert orders, dry run as ${tab}`).innerText(), text, tab)
    }
    await hasNoFinding('the history')
    await button(page.getByRole('group', { name: 'Verb' }), 'Select').click()
  })

  if (!isNarrow) {
    await t.test('10 a token for new tabs', async (t) => {
      const context = page.context()
      const visitAgain = async () => {
        const other = await context.newPage()
        await other.goto(`${address}/api/docs#/shop/settings`)
        return other
      }
      const stranger = await visitAgain()
      await stranger.getByLabel('Token').waitFor()
      await stranger.close()
      await button(page, 'Token').click()
      await page.getByLabel('New tabs use the token').check()
      const other = await visitAgain()
      await rowsOf(other, 'settings')
      t.notMatch(await other.evaluate('JSON.stringify(localStorage)'), TOKEN, 'it is never on the disk')
      await button(other, 'Token').click()
      await button(other, 'Forget the token').click()
      for (const each of [page, other]) await each.getByLabel('Token').waitFor()
      await other.close()
      await signIn(page, TOKEN)
      await page.getByRole('navigation').waitFor()
    })
  }

  await t.test('11 many rows', async (t) => {
    const rows = await open('readings')
    await page.evaluate('location.hash = \'#/shop/readings?body=\' + encodeURIComponent(\'{"verb": "select", ' +
      '"limit": 1000, "after": null}\')')
    await shows(/^1,000 rows/)
    const count = async (): Promise<number> => await rows.locator('tbody tr').count()
    for (const place of [0, 0.3, 0.71, 1]) {
      await page.locator('.content').evaluate((each: any, at) => { each.scrollTop = at * each.scrollHeight }, place)
      await rows.getByRole('button', { name: `Row ${Math.max(1, Math.round(place * 1000))}`, exact: true }).waitFor()
      t.ok(await count() <= 60, `${await count()} rows`)
    }
    await button(rows, 'Row 1000').click()
    await page.getByRole('tab', { name: 'Values' }).waitFor()
    await hasNoFinding('many rows')
  })
  t.same(faults, [])
}
