import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { createShop } from '../../src/demo/shop.ts'

/** The rows of one query, after the statement `change` if there is one. */
function select (path: string, sql: string, change = ''): Record<string, unknown>[] {
  const database = new DatabaseSync(path)
  try {
    database.exec(change)
    return database.prepare(sql).all().map((row) => ({ ...row }))
  } finally {
    database.close()
  }
}

t.test('the file and its folder are created, complete and without other files', async (t) => {
  const path = join(t.testdir(), 'data', 'shop.db')
  createShop(path)
  t.strictSame(readdirSync(join(path, '..')), ['shop.db'])
  t.strictSame(select(path, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])
})

t.test('a second start keeps a changed row', async (t) => {
  const path = join(t.testdir(), 'shop.db')
  createShop(path)
  select(path, 'SELECT 1', "UPDATE customers SET name = 'Somebody Else' WHERE id = 1")
  createShop(path)
  t.strictSame(select(path, 'SELECT name FROM customers WHERE id = 1'), [{ name: 'Somebody Else' }])
})

t.test('an existing file is not changed, whatever it contains', async (t) => {
  const path = join(t.testdir({ 'shop.db': '' }), 'shop.db')
  createShop(path)
  t.strictSame(select(path, 'SELECT name FROM sqlite_schema'), [])
})

t.test('a first start that fails leaves nothing, and the next one succeeds', async (t) => {
  const folder = t.testdir()
  const exec = DatabaseSync.prototype.exec
  const failing = t.capture(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, sql: string) {
    if (sql === 'COMMIT') throw new Error('disk full')
    exec.call(this, sql)
  })
  t.throws(() => createShop(join(folder, 'shop.db')), { message: 'disk full' })
  t.equal(failing().length, 2)
  failing.restore()
  t.strictSame(readdirSync(folder), [])
  createShop(join(folder, 'shop.db'))
  t.strictSame(readdirSync(folder), ['shop.db'])
})

t.test('a first start that is killed leaves no file under the name', async (t) => {
  const path = join(t.testdir(), 'shop.db')
  const script = `
    import { DatabaseSync } from 'node:sqlite'
    import { createShop } from ${JSON.stringify(new URL('../../src/demo/shop.ts', import.meta.url).href)}
    const exec = DatabaseSync.prototype.exec
    DatabaseSync.prototype.exec = function (sql) {
      if (sql === 'COMMIT') process.kill(process.pid, 'SIGKILL')
      exec.call(this, sql)
    }
    createShop(${JSON.stringify(path)})`
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script])
  t.equal(child.signal, 'SIGKILL')
  t.notOk(existsSync(path))
  createShop(path)
  t.strictSame(select(path, 'SELECT COUNT(*) AS customers FROM customers'), [{ customers: 60 }])
})

t.test('a folder that cannot be created is reported', async (t) => {
  const folder = t.testdir({ taken: 'a file' })
  t.throws(() => createShop(join(folder, 'taken', 'shop.db')), { code: /^(EEXIST|ENOTDIR)$/ })
  t.strictSame(readdirSync(folder), ['taken'])
})

t.test('a name that cannot be written to is reported and leaves nothing', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'x'.repeat(255))
  t.throws(() => createShop(path), { code: 'ENAMETOOLONG' })
  t.strictSame(readdirSync(folder), [])
})

t.test('remains of an earlier file or attempt do not get into the new file', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'shop.db')
  for (const ending of ['-wal', '-shm', '-journal', `.${process.pid}.tmp`]) writeFileSync(path + ending, 'left behind')
  createShop(path)
  t.strictSame(readdirSync(folder), ['shop.db'])
  t.strictSame(select(path, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])
})
