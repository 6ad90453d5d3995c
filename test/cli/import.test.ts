/** `row-query import`, in this process: what it reads, and what it says after an error. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { runInProcess } from '../support/command.ts'

const folder = t.testdir()
const file = join(folder, 'shop.db')
const database = new DatabaseSync(file)
database.exec(
  'create table items (id integer primary key autoincrement, sku text not null unique, price numeric(10,2))'
)
t.teardown(() => database.close())
const count = (): unknown => database.prepare('select count(*) as n from items').get()?.['n']

const load = async (t: Test, text: string, ...more: string[]) => {
  writeFileSync(join(folder, 'items.csv'), text)
  return await runInProcess(t, ['import', 'shop', 'items', '--format', 'csv', '--input', 'items.csv', ...more], {
    cwd: folder, env: { DATABASE_URL: 'sqlite:shop.db' }
  })
}

t.test('the rows of a file are inserted, or those that exist are updated', async (t) => {
  t.same(await load(t as Test, 'sku,price\na,1.5\nb,\n'), {
    code: 0, stdout: 'inserted: 2, updated: 0, unchanged: 0\n', stderr: ''
  })
  t.same(await load(t as Test, 'sku;price\na;2\nc;3\n', '--on-conflict', 'sku', '--set', 'price', '--separator', ';'), {
    code: 0, stdout: 'inserted: 1, updated: 1, unchanged: 0\n', stderr: ''
  })
  t.same(await load(t as Test, 'sku\nx\n', '--dry-run'), {
    code: 0, stdout: 'inserted: 1, updated: 0, unchanged: 0, dryRun: true\n', stderr: ''
  })
  t.equal(count(), 3)
})

t.test('after an error of a batch it names the line to go on from, with which every row is there once', async (t) => {
  const rows = Array.from({ length: 2500 }, (_, index) => `s${index}`)
  const text = (bad: string): string => ['sku', ...rows.with(2200, bad)].join('\n')
  const failed = await load(t as Test, text('a'), '--transaction', 'batch')
  t.equal(failed.code, 1)
  const [error, state, ...rest] = failed.stderr.split('\n')
  t.match(error, /^row-query: .*UNIQUE_VIOLATION.* at \/data\/2200\/sku, line 2202$/)
  t.same([state, rest], ['row-query: 2000 rows up to line 2001 are in; continue with --from-line 2002', ['']])
  t.match(await load(t as Test, text('s2200'), '--transaction', 'batch', '--from-line', '2002'), {
    code: 0, stdout: 'inserted: 500, updated: 0, unchanged: 0\n'
  })
  t.equal(count(), 2503)
})

t.test('what cannot be imported is refused before anything is read', async (t) => {
  t.match(await load(t as Test, 'sku\nz\n', '--transaction', 'half'), {
    code: 2, stderr: /"transaction" must be one of/
  })
  t.match(await load(t as Test, 'sku\nz\n', '--from-line', '0'), {
    code: 2, stderr: /--from-line: must be a whole number/
  })
  t.match(await load(t as Test, 'sku\nz\n', '--input', 'missing.csv'), {
    code: 2, stderr: /--input: missing.csv cannot be read \(ENOENT\)/
  })
  t.match(await load(t as Test, 'nope\nz\n'), { code: 1, stderr: /COLUMN_NOT_FOUND.*line 1/ })
  t.equal(count(), 2503)
})
