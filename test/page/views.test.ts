// night: drives a browser
/**
 * The page at {prefix}/docs in a browser: on a phone, with large databases, with the types of MySQL, with values that
 * are hard to enter, and the demo.
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { Browser, Locator, Page } from 'playwright-core'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import {
  body,
  button,
  cellsOf,
  findingsOf,
  openQuery,
  openTable,
  overflow,
  readBody,
  rowsOf,
  scrolling,
  signIn,
  status,
  verb,
  visit
} from '../support/workbench.ts'

const options = { docs: true }

/** One browser for all tests, because it starts slowly. */
const browser = noBrowser === false ? startBrowser(t as unknown as Test) : undefined

const ODD = ['constructor', '__proto__', "it's {1}", '🙂 <script>alert(1)</script>']
const odd = ODD.map(
  (name) => `create table "${name}" (id integer primary key, "constructor" int, "<b>bold</b>" text, "__proto__" text)`
)
const rowsOfOdd = ODD.map(
  (name) => `insert into "${name}" values (1, 2, '<img src=x onerror=alert(1)>', '${'long '.repeat(50)}')`
)
const many = Array.from({ length: 500 }, (_, index) => `create table many_${index} (id integer primary key)`)
const WIDE = 500
const wide = [
  `create table wide (${Array.from({ length: WIDE }, (_, index) => `column_${index} int`).join(', ')})`,
  'with recursive n (i) as (select 1 union all select i + 1 from n where i < 30) insert into wide (column_0, ' +
    'column_499) select i, i * 2 from n'
]

await onEachEngine(t, 'on a phone, in the dark: 500 tables, 500 columns, odd names', {
  schema: () => ['begin', ...odd, ...rowsOfOdd, ...many, ...wide, 'commit'],
  only: ['sqlite'],
  options: { ...options, openapiInfo: { title: 'Shop <b>rows</b>' } }
}, async (t, { server }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const address = await server.app.listen({ port: 0 })
  const { page, faults } = await visit(t, await browser as Browser, address, {
    path: `/api/docs#token=${TOKEN}&/shop/wide`, viewport: { width: 390, height: 844 }, colorScheme: 'dark'
  })
  const rows = await rowsOf(page, 'wide')
  t.notMatch(page.url(), 'token', 'the token is out of the address at once')
  t.equal(await page.title(), 'wide – Shop <b>rows</b>')
  t.equal(await rows.getByRole('columnheader').count(), 31, 'a wide table begins with its first columns')
  t.equal(await page.evaluate('getComputedStyle(document.body).colorScheme'), 'light dark')
  const back = async (): Promise<unknown> =>
    await page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
  t.equal(await back(), 'rgb(20, 24, 29)')
  await page.getByLabel('Colors').selectOption('Light theme')
  t.equal(await back(), 'rgb(246, 247, 249)')
  t.same(await findingsOf(page), [])
  await page.reload()
  await rowsOf(page, 'wide')
  t.equal(await back(), 'rgb(246, 247, 249)', 'the choice stays')
  await page.getByLabel('Colors').selectOption('Auto theme')
  t.equal(await back(), 'rgb(20, 24, 29)')
  t.equal(await overflow(page), 0)
  t.same(await findingsOf(page), [])

  const { y } = await rows.locator('tbody tr').first().boundingBox() as { y: number }
  t.ok(y < 300, `the rows come first: at ${y}`)
  t.same(await scrolling(page), ['content'], 'one area scrolls')
  await openQuery(page)
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
  t.ok(await rows.locator('tr.row').count() <= 28, 'fewer rows of many columns')
  await page.locator('.content').evaluate((each: any) => { each.scrollTop = each.scrollHeight })
  await rows.getByRole('button', { name: 'Row 30', exact: true }).waitFor()
  await page.locator('.content').evaluate((each: any) => { each.scrollTop = 0 })
  await button(rows, 'Row 1').click()
  t.equal(await overflow(page), 0)

  await button(page, /^wide/).click()
  t.match(await page.getByRole('navigation').innerText(), /and 205 more: search for them/)
  await page.getByLabel('Search tables').fill('many_499')
  await page.getByRole('link', { name: 'many_499' }).click()
  await page.getByText('The table is empty.').waitFor()
  for (const name of ODD) {
    await page.getByRole('navigation').locator('.toggle').click()
    await page.getByLabel('Search tables').fill(name)
    const rows = await openTable(page, name)
    t.match(await rows.getByRole('columnheader').allInnerTexts(), [
      'Open', /id/, /constructor/, /<b>bold</, /__proto__/
    ])
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
  await page.goto(`${address}/api/docs#/shop/wide`)
  await rowsOf(page, 'wide')
  await server.app.close()
  await button(page, 'Run').click()
  await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
  await button(page, 'Token').click()
  await button(page, 'Forget the token').click()
  const start = page.locator('main > section')
  await start.getByText('Get a token.').waitFor()
  t.equal(
    await start.evaluate(({ scrollWidth, clientWidth }: any) => scrollWidth - clientWidth), 0,
    'what to do first fits the window'
  )
})

const hostile = '<img src=http://example.com/a.png onerror=alert(1)> ![](http://example.com/b.png) ' +
  '[link](javascript:alert(1)) <b>not bold</b>'

await onEachEngine(t, 'types of MySQL, exact numbers and comments that are shown as text', {
  schema: () => [
    `create table \`it's "<b>" \\ é\` (id bigint unsigned not null primary key,
      status enum('new', 'paid', 'it''s') null comment '${hostile}', tags set('a', 'b') null, at datetime(3) null,
      doc json null, big double null) comment '${hostile}'`,
    'insert into `it\'s "<b>" \\ é` values (18446744073709551615, \'paid\', \'a,b\', \'2020-01-02 ' +
      '03:04:05.678\', \'{"n": 9007199254740993, "d": 52.0}\', 1e300), (1, null, \'\', utc_timestamp(3), null, ' +
      'null)',
    'create table kinds (id int primary key, d date null, dt datetime(3) null, ts timestamp null, t time null, y ' +
      "year null, tags set('a', 'b', 'c') null, b blob null, level int not null default 3)",
    "insert into kinds (id, b, tags) values (1, x'00ff10', 'b')"
  ],
  only: ['mariadb'],
  options: { docs: true, openapi: 'public' }
}, async (t, { server, sql }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const { page, faults } = await visit(t, await browser as Browser, await server.app.listen({ port: 0 }))
  await page.getByRole('alert').filter({ hasText: /token/i }).waitFor() // the documents are public, and rows are not
  t.match(await page.getByRole('main').innerText(), hostile)
  t.equal(await page.locator('main :is(img, b img, a[href^="javascript"])').count(), 0)
  await signIn(page, TOKEN)
  const name = "it's \"<b>\" \\ é"
  const rows = await openTable(page, name)
  await openQuery(page)
  t.match(
    await rows.getByRole('row', { name: '18446744073709551615' }).innerText(),
    /paid\s+\["a", "b"\]\s+2020-01-02 03:04\s+\{"n": 9007199254740993, "d": 52\.0\}\s+1e\+?300/i,
    'as they were answered'
  )
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
  t.same((await readBody(page)).filters, { at: { $gte: { $now: { days: -2 } }, $lte: { $now: true } } })
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
  const [row] =
    await sql(
      'select status, tags, cast(at > \'2021-01-01\' as char) as isNew, cast(json_extract(doc, \'$.n\') as ' +
        'char) as n from `it\'s "<b>" \\ é` where id = 18446744073709551615'
    )
  t.match(row, { status: "it's", tags: null, isNew: '1', n: '9007199254740993' })

  const kinds = await openTable(page, 'kinds')
  for (const [column, operators] of [
    ['d', ['is', 'is between']], ['dt', ['is', '≥', 'is between']], ['ts', ['is']], ['t', ['is', 'is between']]
  ] as const) {
    await page.getByLabel('Column of filter 1').selectOption(column)
    for (const operator of operators) {
      await page.getByLabel('Operator of filter 1').selectOption(operator)
      const inputs = page.locator('.filter input[placeholder]')
      for (const input of await inputs.all()) await input.fill(await input.getAttribute('placeholder') as string)
      await button(page, 'Run').click()
      await page.getByText('No row matches the filters.').waitFor() // an example is a value of the column
      t.equal(await page.getByRole('alert').filter({ hasText: /./ }).count(), 0, `${column} ${operator}`)
    }
  }
  await button(page, 'Remove filter 1').click()
  await button(page, 'Run').click()
  await button(kinds, 'Row 1').click()
  const opened = kinds.locator('.row-panel')
  const [bytes] = await Promise.all([page.waitForEvent('download'), button(opened, 'Download b').click()])
  t.same(readFileSync(await bytes.path()), Buffer.from([0, 255, 16]))
  await button(opened, 'Edit').click()
  const field = (column: string): Locator => opened.locator('.field').filter({ hasText: new RegExp(`^${column} `) })
  t.equal(
    await field('level').locator('input').getAttribute('placeholder'), '',
    'an update leaves what is not set: defaults are of inserts'
  )
  await field('b').locator('input[type=file]').setInputFiles({
    name: 'b.bin', mimeType: 'application/octet-stream', buffer: Buffer.from('bytes')
  })
  for (const [column, picked] of [
    ['d', '2026-05-06'], ['dt', '2026-05-06T07:08'], ['t', '07:08']
  ] as const) await field(column).locator('.picker input').fill(picked)
  await field('tags').getByLabel('c', { exact: true }).check()
  t.same(await findingsOf(page), [])
  await button(page, 'Save …').click()
  await button(page.getByRole('dialog'), 'Update 1 row').click()
  await button(opened, 'Edit').waitFor()
  t.match(
    await sql('select cast(d as char) as d, cast(dt as char) as dt, cast(t as char) as t, cast(tags as char) as ' +
      'tags, cast(b as char) as b from kinds'),
    [{ d: '2026-05-06', dt: /^2026-05-06 07:08:00/, t: '07:08:00', tags: 'b,c', b: 'bytes' }]
  )
  await page.locator('.answer[aria-busy="false"]').waitFor() // rows that are read again are paler
  t.same(await findingsOf(page), [])
  t.same(faults, [])
})

const LINES = ['one\r\ntwo', 'one\rtwo', 'one\r\ntwo\nthree', 'one\ntwo']
const papers = [
  'create table papers (id integer primary key, title varchar(200) null, doc json null, pages int null, score int ' +
    'not null default 0)',
  'insert into papers (id, title, doc, pages) values (1, \'Ada\', \'{"$merge": {"a": 1}}\', 7), (2, null, ' +
    '\'{"$eq": 5}\', null)',
  ...LINES.map((text, index) => `insert into papers (id, title) values (${index + 3}, '${text}')`)
]

await onEachEngine(t, 'values of a row that are hard to enter, by the keyboard', {
  schema: () =>
    papers,
  only: ['sqlite'],
  options
}, async (t, { server, sql }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const { page, faults } = await visit(t, await browser as Browser, await server.app.listen({ port: 0 }), {
    path: `/api/docs#token=${TOKEN}&/shop/papers`
  })
  const rows = await rowsOf(page, 'papers')
  const panel = rows.locator('.row-panel')
  const field = (name: string, within = panel): Locator =>
    within.locator('.field').filter({ hasText: new RegExp(`^${name} `) }).locator(':is(input, textarea)')
  const nullButton = (name: string, within = panel): Locator => button(within, `${name}: NULL`)
  const isPressed = async (pressed: Locator): Promise<boolean> => await pressed.getAttribute('aria-pressed') === 'true'
  const edit = async (id: number): Promise<void> => {
    await button(rows, `Row ${id}`).click()
    await button(panel, 'Edit').click()
    await button(panel, 'Save …').waitFor()
  }
  const close = async (): Promise<void> => await button(panel, 'Close the row').click()
  const save = async (): Promise<void> => {
    await button(panel, 'Save …').click()
    await button(page.getByRole('dialog'), 'Update 1 row').click()
    await button(panel, 'Save …').waitFor({ state: 'detached' })
    await close()
  }
  /** Types at the end of the field, as far as the field keeps the focus. */
  const type = async (input: Locator, text: string, ...keys: string[]): Promise<void> => {
    await input.focus()
    for (const key of ['Control+End', ...keys]) await page.keyboard.press(key)
    await page.keyboard.type(text)
  }
  const title = async (id: number): Promise<unknown> =>
    (await sql(`select title from papers where id = ${id}`))[0].title
  const doc = async (id: number): Promise<unknown> => (await sql(`select doc from papers where id = ${id}`))[0].doc

  await t.test('NULL looks pressed, shows nothing, and a second press brings the value of the row back', async (t) => {
    await edit(1)
    for (const [name, value] of [['title', 'Ada'], ['pages', '7'], ['doc', '{"$merge": {"a": 1}}']] as const) {
      t.equal(await field(name).inputValue(), value)
      await nullButton(name).click()
      t.equal(await isPressed(nullButton(name)), true, name)
      t.equal(await field(name).inputValue(), '')
      t.equal(await field(name).getAttribute('placeholder'), 'NULL')
      await nullButton(name).click()
      t.equal(await isPressed(nullButton(name)), false)
      t.equal(await field(name).inputValue(), value)
      t.equal(await button(panel, 'Save …').isDisabled(), true)
    }
    await type(field('pages'), '', 'Backspace')
    t.equal(await isPressed(nullButton('pages')), true, 'what is cleared is NULL')
    await nullButton('title').click()
    await save()
    t.same(await sql('select title, pages from papers where id = 1'), [{ title: null, pages: null }])
  })

  await t.test('NULL in a new row, and in what an update sets', async (t) => {
    for (const [name, group] of [['Insert', 'The new row'], ['Update', 'Set']] as const) {
      await verb(page, name).click()
      const form = page.getByRole('group', { name: group })
      await type(field('title', form), 'x')
      await nullButton('title', form).click()
      t.same((await readBody(page)).data, { title: null })
      t.equal(await isPressed(nullButton('title', form)), true)
      t.equal(await field('title', form).inputValue(), '')
      await nullButton('title', form).click()
      t.same((await readBody(page)).data, {})
      t.equal(await isPressed(nullButton('title', form)), false)
    }
  })

  await t.test('a text that becomes long, or short, keeps the focus', async (t) => {
    await verb(page, 'Insert').click()
    const input = field('title', page.getByRole('group', { name: 'The new row' }))
    const long = 'a text of several words, '.repeat(4)
    await type(input, long)
    t.same((await readBody(page)).data, { title: long })
    await body(page).fill(JSON.stringify({ verb: 'insert', data: { title: `${long}.` } }))
    await type(input, '', ...Array.from({ length: 60 }, () => 'Backspace'))
    t.same((await readBody(page)).data, { title: `${long}.`.slice(0, -60) })
    await body(page).fill('{"verb": "insert", "data": {"title": "one\\ntwo"}}')
    await type(input, '!')
    t.same((await readBody(page)).data, { title: 'one\ntwo!' }, 'and a value of the body has its lines')
  })

  await t.test('a JSON value that looks like a form is written as a value', async (t) => {
    await verb(page, 'Insert').click()
    const form = page.getByRole('group', { name: 'The new row' })
    await type(field('id', form), '7')
    await type(field('doc', form), '{"$merge": {"b": 1}}')
    t.same((await readBody(page)).data, { id: 7, doc: { $eq: { $merge: { b: 1 } } } })
    await button(page, 'Insert …').click()
    await button(page.getByRole('dialog'), 'Insert 1 row').click()
    await status(page, '1 row inserted').waitFor()
    t.equal(await doc(7), '{"$merge":{"b":1}}')

    await body(page).fill('{"verb": "update", "data": {"doc": {"$merge": {"c": 1}}}}')
    t.equal(
      await field('doc', page.getByRole('group', { name: 'Set' })).isEditable(), false, 'a form of the body stays one'
    )

    await verb(page, 'Select').click()
    for (const [id, before, keys, after] of [
      [1, '{"$merge": {"a": 1}}', 2, '{"$merge":{"a":12}}'], [2, '{"$eq": 5}', 1, '{"$eq":52}']
    ] as const) {
      await edit(id)
      t.equal(await field('doc').inputValue(), before)
      await type(field('doc'), '2', ...Array.from({ length: keys }, () => 'ArrowLeft'))
      t.equal(await field('doc').inputValue(), after.replaceAll(':', ': '))
      await save()
      t.equal(await doc(id), after)
    }
  })

  await t.test('a text that says no value on the way is left as it is typed', async (t) => {
    await edit(7)
    await type(field('doc'), '2, "c": 3', 'ArrowLeft', 'ArrowLeft')
    t.equal(await field('doc').inputValue(), '{"$merge": {"b": 12, "c": 3}}')
    await type(field('score'), '1')
    await type(field('score'), '7', 'Control+a', 'Backspace')
    t.equal(await field('score').inputValue(), '7')
    await save()
    t.same(await sql('select doc, score from papers where id = 7'), [{ doc: '{"$merge":{"b":12,"c":3}}', score: 7 }])
  })

  await t.test('a text keeps its line ends', async (t) => {
    await edit(3)
    await type(field('title'), '!')
    await page.keyboard.press('Enter')
    await page.keyboard.type('three')
    await save()
    t.equal(await title(3), 'one\r\ntwo!\r\nthree')
    for (const id of [4, 5]) {
      await edit(id)
      t.equal(await field('title').isEditable(), false)
      t.match(await field('title').getAttribute('title'), 'line ends')
      await type(field('title'), '!')
      await type(field('score'), '1')
      t.same(await findingsOf(page), [])
      await save()
      t.same(await sql(`select title, score from papers where id = ${id}`), [{ title: LINES[id - 3], score: 1 }])
    }
    await edit(6)
    await type(field('title'), '!')
    await save()
    t.equal(await title(6), 'one\ntwo!')
  })
  t.same(faults, [])
})

t.test('the demo leads from its address to its rows', { skip: noBrowser }, async (t) => {
  const server = await serveRowQuery(t)
  const stdout = await server.printed(/"groupBy"/)
  const [, token = ''] = /token {4}(\S+)/.exec(stdout) as RegExpExecArray
  t.match(stdout, `  page     ${server.address}/api/docs#token=${token}\n`)
  const { page, faults } = await visit(t as Test, await browser as Browser, server.address, { path: '/' })
  await page.getByRole('region', { name: 'What refers to what' }).waitFor()
  t.notMatch(page.url() + await page.locator('body').innerText(), token, 'the token is shown nowhere')
  const rows = await openTable(page, 'orders')
  await button(rows, 'Row 2').click()
  await page.getByRole('tab', { name: 'order_items' }).click()
  await page.getByRole('region', { name: 'Related rows of order_items' }).waitFor()
  t.same(await scrolling(page), ['content'])
  t.equal(await page.evaluate("document.querySelector('.content').scrollTop = 500, document.querySelector('thead " +
    "th').getBoundingClientRect().top - document.querySelector('.content').getBoundingClientRect().top"), 0,
  'and the head stays')
  t.same(await findingsOf(page), [])
  const categories = await openTable(page, 'categories')
  await button(categories, 'Row 2').click()
  t.same(await page.getByRole('tablist', { name: 'Of this row' }).getByRole('tab').allInnerTexts(), [
    'Values', 'parent', 'children', 'products'
  ])
  t.match(await page.getByRole('navigation').innerText(), /order_totals\s+view\s+orders\s/)
  await openTable(page, 'orders')
  await button(rows, 'Row 2').click()
  await page.getByRole('tab', { name: 'order_items' }).click()
  await page.getByRole('region', { name: 'Related rows of order_items' }).waitFor()
  t.equal(await overflow(page), 0)
  t.same(faults, [])
  const folder = process.env['TEST_SCREENSHOTS'] // for the documents: TEST_SCREENSHOTS=docs
  if (folder !== undefined) {
    await openQuery(page)
    await takePictures(page, folder)
  }
  const { stdout: log, stderr } = await server.stop()
  t.notMatch(stderr +
    log.split('\n').filter((line) => line.startsWith('{')).join('\n'), token, 'and is in no line of the log')
})

async function takePictures (page: Page, folder: string): Promise<void> {
  for (const [name, width, height, colorScheme] of [
    ['', 1200, 900, 'light'], ['-dark', 1200, 900, 'dark'], ['-narrow', 390, 1000, 'light']
  ] as const) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme })
    if (width < 500) { // the text of the request is one click away
      await page.reload()
      await rowsOf(page, 'orders')
    }
    await page.evaluate('scrollTo(0, 0)')
    await page.screenshot({ path: `${folder}/docs-page${name}.png`, animations: 'disabled' })
  }
}
