// night: drives a browser
/** The page at {prefix}/docs in a browser: words, paths inside JSON, views, and groups by related columns. */
import t, { type Test } from 'tap'
import type { Browser } from 'playwright-core'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { onEachEngine, TOKEN, type EngineName, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  body, button, findingsOf, openQuery, openTable, overflow, readBody, rowsOf, scrolling, status, verb, visit
} from '../support/workbench.ts'

const browser = noBrowser === false ? startBrowser(t as unknown as Test) : undefined

const columns = 'title varchar(100) not null, body varchar(200) not null, author int not null references authors ' +
  '(id), doc json null'
const schema = (engine: EngineName): string[] => [
  'create table authors (id int not null primary key, name varchar(50) not null, country varchar(2) null)',
  ...engine === 'sqlite'
    ? [
      `create table articles (id integer primary key, ${columns})`,
      "create virtual table words using fts5(title, body, content='articles', content_rowid='id')"
      ]
    : [
      `create table articles (id int not null primary key, ${columns}, fulltext key words (title, body),
        foreign key (author) references authors (id)) engine=innodb`
      ],
  'create view article_lines as select id as article_id, title as line from articles union all select id, ' +
    'body from articles',
  "insert into authors values (1, 'Ada', 'GB'), (2, 'Linus', 'FI'), (3, 'Grace', null)",
  'insert into articles values (1, \'Red shoes\', \'for dry weather\', 1, \'{"size": 7, "tags": ["new", "5"]}\'), ' +
    '(2, \'Green boots\', \'a red lace, and red soles\', 1, \'{"size": 5}\'), (3, \'Blue hat\', \'warm\', 2, ' +
      '\'{"size": "7"}\'), (4, \'Grey hat\', \'cold\', 3, null)',
  ...engine === 'sqlite' ? ["insert into words (words) values ('rebuild')"] : []
]

await onEachEngine(t, 'words, paths inside JSON, views and related columns', {
  schema, only: ['sqlite', 'mariadb'], options: { docs: true }
}, async (t, { server, engine }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const { page, faults } = await visit(t, await browser as Browser, await server.app.listen({ port: 0 }), {
    path: `/api/docs#token=${TOKEN}&/shop/articles`
  })
  const rows = await rowsOf(page, 'articles')

  await t.test('a search of words where there is an index, the best first', async (t) => {
    await page.getByLabel('Search in').selectOption('words of title, body')
    await page.getByLabel('Search words').fill('red')
    await page.getByLabel('Search words').press('Enter')
    await status(page, /^Rows 1–2 of 2/).waitFor()
    t.match(await button(page, /^Query/).innerText(), 'title, body has any word of “red”')
    await button(page, 'Best first').click()
    await until('the order is in the address', () => decodeURIComponent(page.url()).includes('"DESC"'))
    await status(page, /^Rows 1–2 of 2/).waitFor()
    t.same(await findingsOf(page), [])
    await openQuery(page)
    t.same(await page.getByLabel('Words of filter 1').locator('option').allInnerTexts(), [
      'has any word of', 'has every word of', ...engine === 'sqlite' ? [] : ['has by operators of the server:']
    ])
    await page.getByLabel('Words of filter 1').selectOption('has every word of')
    await page.getByLabel('Value of filter 1').fill('red boots')
    t.match(await readBody(page), {
      filters: { $match: { columns: ['title', 'body'], text: 'red boots', mode: 'all' } },
      orderBy: [{ $match: 'DESC' }],
      offset: 0
    })
    await button(page, 'Run').click()
    await status(page, /^Rows 1–1 of 1/).waitFor()
    t.equal(await page.getByLabel('Search words').inputValue(), 'red boots')
    await page.getByLabel('Search words').fill('the')
    await page.getByLabel('Search words').press('Enter')
    await page.getByText('leaves out short words').waitFor()
    await page.getByLabel('Search words').fill('')
    await status(page, /^Rows 1–4 of 4/).waitFor()
    t.same(await readBody(page), { verb: 'select', limit: 50, total: 10000, after: null })
    await openTable(page, 'authors')
    t.equal(await page.getByLabel('Search in').count(), 0, 'no index, no words')
    t.equal(await button(page, 'Search words').count(), 0)
    await page.getByLabel('Search all texts').fill('nobody')
    await page.getByLabel('Search all texts').press('Enter')
    await page.getByText('Letter case makes no difference.').waitFor()
    await openTable(page, 'articles')
    await button(page, 'Search words').click()
    await page.getByLabel('Value of filter 1').fill('hat')
    t.same((await readBody(page)).filters, { $match: { columns: ['title', 'body'], text: 'hat' } })
    await button(page, 'Remove filter 1').click()
  })

  await t.test('values at a path inside JSON', async (t) => {
    await button(page, 'Add a filter').click()
    await page.getByLabel('Column of filter 1').selectOption('doc')
    t.equal(
      await page.getByLabel('Operator of filter 1', { exact: true }).locator('option:checked').innerText(),
      'at the path'
    )
    await page.getByLabel('Path of filter 1', { exact: true }).fill('size')
    await page.getByLabel('Operator at the path of filter 1').selectOption('≥')
    await page.getByLabel('Value of filter 1').fill('6')
    t.same((await readBody(page)).filters, { doc: { $at: { '$.size': { $gte: 6 } } } })
    t.same(await findingsOf(page), [])
    await button(page, 'Run').click()
    await status(page, /^Rows 1–1 of 1/).waitFor()
    await page.getByLabel('Operator at the path of filter 1').selectOption('is')
    await page.getByLabel('Value of filter 1').fill('"7"')
    await button(page, 'Run').click()
    await rows.getByText('Blue hat').waitFor()
    t.match(await button(page, /^Query/).innerText(), 'doc $.size is 7')
    await page.getByLabel('Operator at the path of filter 1').selectOption('is not there')
    await button(page, 'Run').click()
    await rows.getByText('Grey hat').waitFor()
    await page.getByLabel('Path of filter 1', { exact: true }).fill('$.tags[x')
    t.equal(await page.getByLabel('Path of filter 1', { exact: true }).getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Path of filter 1', { exact: true }).fill('tags[1]')
    await page.getByLabel('Operator at the path of filter 1').selectOption('is')
    await page.getByLabel('Value of filter 1').fill('5')
    await button(page, 'Add a filter').click()
    await page.getByLabel('Column of filter 2').selectOption('doc')
    await page.getByLabel('Path of filter 2', { exact: true }).fill('$.size')
    await page.getByLabel('Value of filter 2').fill('7')
    t.same((await readBody(page)).filters, { doc: { $at: { '$.tags[1]': 5, '$.size': 7 } } })
    await body(page).fill('{"verb": "select", "filters": {"doc": {"$at": {"$.tags[1]": "5", "$.size": 7}}}}')
    t.equal(await page.getByLabel('Value of filter 1').inputValue(), '"5"')
    await button(page, 'Run').click()
    await rows.getByText('Red shoes').waitFor()
  })

  await t.test('rows of a view by columns that are chosen', async (t) => {
    await openTable(page, 'articles')
    t.match(await page.getByRole('navigation').innerText(), /article_lines\s+view/)
    await button(page, /^Related/).click()
    await page.getByLabel('By other columns').selectOption('article_lines')
    t.equal(await page.getByLabel('Column of articles 1').inputValue(), 'id')
    t.equal(await page.getByLabel('Column of article_lines 1').inputValue(), 'article_id')
    t.same(
      await page.getByLabel('Column of article_lines 1').locator('option').allInnerTexts(), ['article_id'],
      'columns of one kind'
    )
    t.same(await findingsOf(page), [])
    await button(page, 'Add article_lines').click()
    t.same((await readBody(page)).include, { article_lines: { on: { id: 'article_id' }, limit: 20 } })
    await page.getByRole('checkbox', { name: /article_lines view · id = article_lines.article_id/ }).waitFor()
    await page.keyboard.press('Escape')
    await button(page, 'Run').click()
    await button(rows, '2 rows').first().click()
    await page.getByRole('region', { name: 'article_lines', exact: true }).getByText('for dry weather').waitFor()
    await button(page, /^Related/).click()
    await page.getByLabel('Form of article_lines').selectOption('the first row')
    t.same((await readBody(page)).include, { article_lines: { on: { id: 'article_id' }, as: 'object' } })
    await page.keyboard.press('Escape')
    await button(page, 'Run').click()
    await button(rows, /^1 · /).waitFor()
    await button(page, /^Related/).click()
    await page.getByRole('checkbox', { name: /article_lines/ }).click()
    await page.keyboard.press('Escape')
    t.equal((await readBody(page)).include, undefined)
  })

  await t.test('groups by a column of a related row', async (t) => {
    await openTable(page, 'articles')
    await button(page, /^Summarize/).click()
    await page.getByLabel('Add a group').selectOption('country of authors')
    t.same(await findingsOf(page), [])
    await page.keyboard.press('Escape')
    const { groupBy, include } = await readBody(page)
    t.same({ groupBy, include }, { groupBy: [{ authors_country: { authors: 'country' } }], include: { authors: {} } })
    await button(page, 'Run').click()
    await rows.getByRole('gridcell', { name: 'GB' }).waitFor()
    t.same((await rows.locator('tbody tr').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ')).sort(), [
      'FI 1', 'GB 2', 'NULL 1'
    ])
    await button(page, /^Summarize/).click()
    await page.getByText('country of authors', { exact: true }).first().waitFor()
    await button(page, 'Remove authors_country').click()
    await page.keyboard.press('Escape')
    t.equal((await readBody(page)).include, undefined)
  })

  await t.test('menus and forms stay inside a small window', async (t) => {
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto(page.url().replace(/\?.*$/, ''))
    await status(page, /^Rows 1–4 of 4/).waitFor()
    t.equal(await overflow(page), 0)
    await button(page, /^Related/).click()
    await page.getByLabel('By other columns').selectOption('article_lines')
    await button(page, 'and another column').click()
    await button(page, 'and another column').click()
    const panel = page.getByRole('group', { name: 'Related', exact: true })
    await until('the panel is inside', async () => {
      const { x, y, width, height } = await panel.boundingBox() as {
        x: number, y: number, width: number, height: number
      }
      return x >= 0 && y >= 0 && x + width <= 390 && y + height <= 800
    })
    await page.keyboard.press('Escape')
    await verb(page, 'Insert').click()
    await page.getByRole('group', { name: 'The new row' }).getByLabel('author').first().fill('1')
    t.same(await scrolling(page), ['content'], 'the form does not scroll in the window')
    await page.getByRole('group', { name: 'The new row' }).locator('input, textarea').last().scrollIntoViewIfNeeded()
    const { y } = await button(page, 'Insert …').boundingBox() as { y: number }
    t.ok(y > 0 && y < 300, `the button is in the window: ${y}`)
    t.same(await findingsOf(page), [])
  })
  await t.test('an answer that comes while another table is opened does not take the address back', async (t) => {
    await page.addInitScript(`{
      const { fetch } = window
      window.waiting = 0
      window.fetch = async (...call) => {
        const response = await fetch(...call)
        if (window.held === undefined || call[1]?.body?.includes('total') !== true) return response
        const text = await response.text()
        window.waiting++
        await window.held
        return { status: response.status, headers: response.headers, text: async () => text }
      }
    }`)
    await page.goto(page.url().replace(/\?.*$/, ''))
    await page.reload()
    await status(page, /^Rows 1–4 of 4/).waitFor()
    await page.evaluate('window.held = new Promise((resolve) => { window.release = resolve }); undefined')
    await button(page, 'Run').click()
    await until('the answer is there', async () => await page.evaluate('window.waiting') === 1)
    // the event of the address comes after the answer
    await page.evaluate("window.held = undefined; location.hash = '#/shop/authors'; window.release()")
    await page.getByRole('heading', { name: 'authors', exact: true }).waitFor({ state: 'attached' })
  })
  t.same(faults, [])
})
