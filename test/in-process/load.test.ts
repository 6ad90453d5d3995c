/** Imports without HTTP: of bytes, texts and objects. */
import t from 'tap'
import { sharedOnEachEngine } from '../support/service.ts'

const schema = {
  mysql: ['create table items (id int auto_increment primary key, sku varchar(20) not null unique, n bigint, at datetime) engine=innodb'],
  sqlite: ['create table items (id integer primary key autoincrement, sku varchar(20) not null unique, n bigint, at datetime)']
}
const grant = { permissions: ['insert' as const, 'update' as const] }
const to = { database: 'shop', table: 'items', grant }
const test = sharedOnEachEngine(t, { schema })

await test('rows.load inserts bytes, texts and objects, and reads no further after an error', async (t, { server: { rows }, sql }) => {
  t.strictSame(await rows.load({ ...to, format: 'csv' }, ['sku,n\na,', Buffer.from('9007199254740993\n')]), { inserted: 1, updated: 0, unchanged: 0 })
  async function * objects (): AsyncGenerator<object> {
    yield { sku: 'a', n: 9007199254740993n }
    yield { sku: 'b', n: null }
  }
  t.strictSame(await rows.load({ ...to, onConflict: ['sku'], set: ['n'] }, objects()), { inserted: 1, updated: 0, unchanged: 1 })
  t.strictSame(await rows.load({ ...to, dryRun: true }, [{ sku: 'c' }]), { inserted: 1, updated: 0, unchanged: 0, dryRun: true })
  t.equal((await sql('select sku from items')).length, 2)

  let given = 0
  let isClosed = false
  function * endless (): Generator<object> {
    try {
      for (;;) yield { sku: `s${given === 1500 ? 0 : given}`, n: given++ }
    } finally {
      isClosed = true
    }
  }
  await t.rejects(rows.load({ ...to, transaction: 'batch' }, endless()), { code: 'UNIQUE_VIOLATION', committed: { rows: 1000, line: 1000 }, details: [{ path: '/data/1500/sku', line: 1501 }] })
  t.ok(given < 100_000)
  await t.resolves(new Promise((resolve) => setImmediate(resolve)))
  t.ok(isClosed, 'the source was left')
  async function * failing (): AsyncGenerator<object> {
    yield { sku: 'never' }
    throw new TypeError('of the app')
  }
  await t.rejects(rows.load(to, failing()), { message: 'of the app' })
  t.strictSame(await sql("select sku from items where sku = 'never'"), [])
  await t.rejects(rows.load({ ...to, dryrun: true } as never, []), { code: 'INVALID_BODY' })
  await t.rejects(rows.load({ ...to, grant: { permissions: ['select'] } }, []), { code: 'PERMISSION_DENIED' })
})
