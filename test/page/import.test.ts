// night: drives a browser
/** The page at {prefix}/docs in a browser: a CSV file is tried and imported. */
import { execFile } from 'node:child_process'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Browser } from 'playwright-core'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { tokenFor } from '../support/documents.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { button, findingsOf, openQuery, overflow, rowsOf, status, visit } from '../support/workbench.ts'

const browser = noBrowser === false ? startBrowser(t as unknown as Test) : undefined

const schema = [
  'create table stock (sku varchar(10) not null primary key, name varchar(20) not null, price decimal(5,2) ' +
    'not null default 1)',
  "insert into stock values ('A', 'apple', 1.50)"
]
const tokens = [tokenFor('writer', ['insert'], { shop: ['stock'] })]

await onEachEngine(t, 'a file is tried, then imported', {
  schema: () =>
    schema,
  only: ['sqlite'],
  options: { docs: true },
  tokens
}, async (t, { server, sql }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const address = await server.app.listen({ port: 0 })
  const { page, faults } = await visit(t, await browser as Browser, address, {
    path: `/api/docs#token=${TOKEN}&/shop/stock`
  })
  const rows = await rowsOf(page, 'stock')
  const dialog = page.getByRole('dialog', { name: 'Import rows into stock' })
  const said = dialog.getByRole('status')
  const choose = async (text: string, name = 'stock.csv'): Promise<void> =>
    await dialog.getByLabel('File').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
  const count = async (): Promise<unknown> => (await sql('select count(*) as n from stock'))[0].n

  await t.test('a line that is refused is named, and nothing is written', async (t) => {
    await button(page, 'Import CSV …').click()
    t.equal(await button(dialog, 'Check the file').isDisabled(), true)
    t.same(await findingsOf(page), [])
    await choose('sku,name,price\r\nB,"two\r\nlines",2\r\nC,cherry,much\r\n')
    await button(dialog, 'Check the file').click()
    const failure = dialog.getByRole('alert')
    await failure.getByText('Line 4, column price').waitFor()
    t.match(await failure.innerText(), 'INVALID_VALUE')
    t.same(await findingsOf(page), [])
    await choose('sku,nome\nB,b\n')
    t.equal(await failure.count(), 0)
    await button(dialog, 'Check the file').click()
    await failure.getByText('Line 1').waitFor()
    t.match(await failure.innerText(), 'COLUMN_NOT_FOUND')
    t.equal(await count(), 1)
  })

  await t.test('a file that was mended has to be chosen again', async (t) => {
    const path = join(t.testdir({ 'stock.csv': 'sku,nome\nB,b\n' }), 'stock.csv')
    await dialog.getByLabel('File').setInputFiles(path)
    await button(dialog, 'Check the file').click()
    await dialog.getByText('COLUMN_NOT_FOUND').waitFor()
    writeFileSync(path, 'sku,name\nB,banana\n')
    utimesSync(path, 1e9, 1e9)
    await button(dialog, 'Check the file').click()
    await dialog.getByRole('alert').filter({ hasText: 'The file has changed' }).waitFor()
    await dialog.getByLabel('File').and(page.locator(':focus')).waitFor()
    await dialog.getByLabel('File').setInputFiles(path)
    await button(dialog, 'Check the file').click()
    await said.getByText('1 row inserted').waitFor()
    t.equal(await count(), 1)
    await button(dialog, 'Import 1 row').and(page.locator(':focus')).waitFor()
  })

  await t.test('what would be written is counted first', async (t) => {
    await choose('sku;name\nA;apricot\nB;banana\nC;cherry\n')
    const separator = dialog.getByLabel('Cells are separated by')
    await until(
      'the separator is found', async () => await separator.locator('option:checked').innerText() === 'semicolons'
    )
    await dialog.getByLabel('Rows that exist').selectOption('stay as they are, by sku')
    await button(dialog, 'Check the file').click()
    await said.getByText('Dry run: 2 rows inserted, 0 rows updated, 1 row unchanged').waitFor()
    t.same(await findingsOf(page), [])
    await dialog.getByLabel('Rows that exist').selectOption('are updated, by sku')
    t.equal(await button(dialog, /^Import/).count(), 0, 'another import is tried first')
    await button(dialog, 'Check the file').click()
    await said.getByText('Dry run: 2 rows inserted, 1 row updated').waitFor()
    t.equal(await count(), 1)
    await button(dialog, 'Import 3 rows').click()
    await said.getByText('2 rows inserted, 1 row updated, 0 rows unchanged.', { exact: true }).waitFor()
    await button(dialog, 'Close').click()
    await rows.getByText('apricot').waitFor()
    await status(page, /^Rows 1–3 of 3/).waitFor()
    t.same(await sql('select sku, name from stock order by sku'), [
      { sku: 'A', name: 'apricot' }, { sku: 'B', name: 'banana' }, { sku: 'C', name: 'cherry' }
    ])
  })

  await t.test('the progress, an end by the person, and what batches have written before an error', async (t) => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => { release = resolve })
    await page.route('**/stock?*', async (route) => {
      await held
      // as if the file had been right when it was tried
      await (route.request().url().includes('dryRun')
        ? route.fulfill({ json: { success: true, data: { inserted: 2500, updated: 0, unchanged: 0, dryRun: true } } })
        : route.continue()).catch(() => {})
    })
    await button(page, 'Import CSV …').click()
    await choose(
      `sku,name\n${Array.from({ length: 2500 }, (_, index) => index === 2400 ? 'A,again' : `r${index},row`).join('\n')}`
    )
    await dialog.getByLabel('Write').selectOption('batch by batch, for large files')
    await button(dialog, 'Check the file').click()
    await dialog.getByRole('progressbar', { name: 'Bytes of the file' }).waitFor()
    t.same(await findingsOf(page), [])
    await button(dialog, 'Cancel').click()
    await button(dialog, 'Check the file').click()
    release()
    await button(dialog, 'Import 2,500 rows').click()
    await dialog.getByRole('alert').getByText(
      'The rows up to line 2001 are in the table (2,000), and none after it.'
    ).waitFor()
    t.match(await dialog.getByRole('alert').innerText(), /Line 2,402[^]*UNIQUE_VIOLATION/)
    t.equal(await count(), 2003)
    await page.unroute('**/stock?*')
    await page.setViewportSize({ width: 390, height: 800 })
    t.equal(await overflow(page), 0)
    t.same(await findingsOf(page), [])
    await page.setViewportSize({ width: 1200, height: 900 })
    await button(dialog, 'Cancel').click()
    await status(page, /^Rows 1–50 of 2,003/).waitFor()
  })

  await t.test('it is in the history, as a command that works', async (t) => {
    await openQuery(page)
    await page.getByRole('tab', { name: 'History' }).click()
    const history = await page.locator('.history').innerText()
    t.match(history, /import stock 409[^]*stock\.csv transaction=batch[^]*import stock, dry run 200/)
    t.match(history, /import stock, dry run 200[^]*stock\.csv onConflict=sku separator=;/)
    await button(page, 'Code of import stock, dry run').first().click()
    const command = await page.getByLabel('import stock, dry run as curl').innerText()
    const folder = t.testdir({})
    writeFileSync(join(folder, 'stock.csv'), 'sku,name\nZ,zucchini\n')
    const { stdout } = await promisify(execFile)('bash', ['-c', `${command} --silent`], {
      cwd: folder, env: { ...process.env, TOKEN }
    })
    t.match(JSON.parse(stdout), { success: true, data: { inserted: 1, dryRun: true } })
  })

  await t.test('with a token that may only insert', async (t) => {
    await button(page, 'Token').click()
    await button(page, 'Forget the token').click()
    await page.getByLabel('Token').fill('writer')
    await button(page, 'Open').click()
    await button(page, 'Import CSV …').click()
    t.same(await dialog.getByLabel('Rows that exist').locator('option').allInnerTexts(), [
      'are refused', 'stay as they are, by sku'
    ])
    await choose('sku,name\nQ,quince\n')
    await button(dialog, 'Check the file').click()
    await button(dialog, 'Import 1 row').click()
    await said.getByText('1 row inserted').waitFor()
    t.same(await sql("select name from stock where sku = 'Q'"), [{ name: 'quince' }])
  })
  t.same(faults, [])
})
