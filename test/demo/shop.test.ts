/** The demo database: its rows, its rules, and how its file is created. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { createShop, resetShop } from '../../src/demo/shop.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'

type Row = Record<string, unknown>
const TABLES = ['customers', 'products', 'orders', 'order_items', 'categories'] as const

/** What `use` finds in the database at `path`, which is closed again whatever happens. */
function inside<T> (path: string, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

const select = (path: string, sql: string): Row[] =>
  inside(path, (database) => database.prepare(sql).all().map((row) => ({ ...row })))

const dump = (path: string) => TABLES.map((table) => select(path, `SELECT * FROM ${table} ORDER BY 1, 2`))

function newShop (t: Test): string {
  const path = join(t.testdir(), 'data', 'shop.db')
  createShop(path)
  return path
}

t.test('two shops have the same rows', async (t) => {
  const folder = t.testdir()
  createShop(join(folder, 'one.db'))
  createShop(join(folder, 'two.db'))
  t.strictSame(dump(join(folder, 'one.db')), dump(join(folder, 'two.db')))
})

t.test('the newest order is one of yesterday', async (t) => {
  t.strictSame(select(newShop(t), "SELECT date(MAX(ordered_at)) = date('now', '-1 day') AS isYesterday FROM orders"), [
    { isYesterday: 1 }
  ])
  t.match(select(newShop(t), "SELECT ordered_at FROM orders WHERE ordered_at > datetime('now', '-30 days')"), [
    { ordered_at: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/ }
  ])
})

t.test('it has the table for idempotency keys', async (t) => {
  const created = select(
    newShop(t), "SELECT sql FROM sqlite_schema WHERE name LIKE 'row_query_keys%' AND sql IS NOT NULL ORDER BY type DESC"
  ).map(({ sql }) => `${String(sql)};\n`)
  t.equal(created.join('').toLowerCase(), CREATE.sqlite)
})

t.test('a reset restores its rows, whatever was added', async (t) => {
  const path = newShop(t)
  const before = dump(path)
  inside(path, (database) => database.exec('CREATE TABLE mine (id INT REFERENCES orders (id)); INSERT INTO mine ' +
    'VALUES (1); CREATE VIEW a AS SELECT 1; CREATE TRIGGER b AFTER DELETE ON orders BEGIN SELECT 1; END; DELETE FROM ' +
      "order_items; UPDATE orders SET note = 'x'"))
  resetShop(path)
  t.strictSame(dump(path), before)
  t.strictSame(select(path, "SELECT name FROM sqlite_schema WHERE name IN ('mine', 'a', 'b')"), [])
})

t.test('each table has some rows, and NULLs among them', async (t) => {
  const path = newShop(t)
  const counts = dump(path).map((rows) => rows.length)
  t.strictSame(counts.slice(0, 3), [60, 40, 150])
  t.ok(counts[3] as number >= 300 && counts[3] as number <= 400, `${counts[3]} lines`)
  for (const column of [
    'customers.birthday', 'customers.preferences', 'products.description', 'products.weight_kg', 'products.attributes',
    'products.category_id', 'categories.parent_id', 'orders.note'
  ]) {
    const [table] = column.split('.')
    const found = select(
      path, `SELECT SUM(${column} IS NULL) > 0 AS without, SUM(${column} IS NOT NULL) > 0 AS filled FROM ${table}`
    )
    t.strictSame(found, [{ without: 1, filled: 1 }], column)
  }
  t.equal(select(path, 'SELECT DISTINCT status FROM orders').length, 6, 'every status')
})

t.test('every reference points to a row', async (t) => {
  const path = newShop(t)
  t.strictSame(select(path, 'PRAGMA foreign_key_check'), [])
  const references = ['orders', 'order_items', 'products', 'categories'].flatMap(
    (table) => select(path, `SELECT "table" FROM pragma_foreign_key_list('${table}') ORDER BY 1`)
  )
  t.strictSame(references, [
    { table: 'customers' }, { table: 'orders' }, { table: 'products' }, { table: 'categories' }, { table: 'categories' }
  ])
})

t.test('categories have three levels, and each but Home and Outdoors has products', async (t) => {
  const path = newShop(t)
  const levels = select(path, 'WITH RECURSIVE tree AS (SELECT id, 1 AS level FROM categories WHERE parent_id IS NULL ' +
    'UNION ALL SELECT c.id, level + 1 FROM categories c JOIN tree ON c.parent_id = tree.id) SELECT level, COUNT(*) ' +
      'AS n FROM tree GROUP BY level ORDER BY level')
  t.strictSame(levels, [{ level: 1, n: 3 }, { level: 2, n: 4 }, { level: 3, n: 1 }])
  t.strictSame(select(path, 'SELECT name FROM categories WHERE id NOT IN (SELECT category_id FROM products WHERE ' +
    'category_id IS NOT NULL) ORDER BY id'), [{ name: 'Home' }, { name: 'Outdoors' }])
  t.strictSame(select(path, 'SELECT sku FROM products WHERE category_id IS NULL ORDER BY sku'), [
    { sku: 'GIFT-BIRTHD' }, { sku: 'GIFT-THANKY' }
  ])
})

t.test('totals are the sum of their lines, to the cent', async (t) => {
  const path = newShop(t)
  const cents = (column: string) => `CAST(ROUND(100 * ${column}) AS INTEGER)`
  const wrong = select(path, `
    SELECT orders.id FROM orders JOIN order_items ON order_id = orders.id
    GROUP BY orders.id HAVING ${cents('total')} <> SUM(quantity * ${cents('unit_price')}) OR ${cents('total')} <>
    SUM(${cents('line_total')})`)
  t.strictSame(wrong, [])
  t.strictSame(select(path, 'SELECT id, total FROM orders EXCEPT SELECT order_id, total FROM order_totals'), [])
})

t.test('the view names the customer and counts the lines, also of an order without any', async (t) => {
  const path = newShop(t)
  inside(
    path, (database) => database.exec("INSERT INTO orders (customer_id, ordered_at) VALUES (1, '2025-09-01 10:00:00')")
  )
  const [customer] = select(path, 'SELECT name FROM customers WHERE id = 1')
  t.strictSame(select(path, 'SELECT * FROM order_totals WHERE order_id = 151'), [
    { order_id: 151, customer_name: customer?.name, items: 0, total: 0 }
  ])
  t.strictSame(select(path, "SELECT name, type FROM pragma_table_xinfo('order_totals')"), [
    { name: 'order_id', type: 'INTEGER' },
    { name: 'customer_name', type: 'VARCHAR(120)' },
    { name: 'items', type: 'INT' },
    { name: 'total', type: 'NUM' }
  ])
})

t.test('omitted columns get their defaults', async (t) => {
  const path = newShop(t)
  inside(path, (database) =>
    database.exec("INSERT INTO customers (email, name, country) VALUES ('new@example.com', 'New', 'XX')"))
  const [row] = select(path, 'SELECT * FROM customers WHERE id = 61')
  t.match(row, { newsletter: 0, birthday: null, created_at: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/ })
})

t.test('the database refuses invalid rows', async (t) => {
  const path = newShop(t)
  const refused = {
    'INSERT INTO customers (email, name, country) SELECT email, name, country FROM customers': /UNIQUE/,
    'UPDATE customers SET newsletter = 2': /CHECK/,
    "UPDATE customers SET preferences = '{'": /CHECK/,
    'UPDATE products SET price = -1': /CHECK/,
    'UPDATE products SET stock = -1': /CHECK/,
    "UPDATE products SET attributes = 'x'": /CHECK/,
    'UPDATE products SET sku = NULL': /NOT NULL/,
    "UPDATE orders SET status = 'lost'": /CHECK/,
    'UPDATE orders SET customer_id = 999': /FOREIGN KEY/,
    'UPDATE order_items SET quantity = 0': /CHECK/,
    'UPDATE order_items SET line_total = 1': /generated column/,
    'DELETE FROM products': /FOREIGN KEY/
  }
  for (const [sql, message] of Object.entries(refused)) {
    t.throws(() => inside(path, (database) => database.exec(sql)), { message }, sql)
  }
})

t.test('deleting an order deletes its lines', async (t) => {
  const path = newShop(t)
  inside(path, (database) => database.exec('DELETE FROM orders WHERE id = 1'))
  t.strictSame(select(path, 'SELECT COUNT(*) AS lines FROM order_items WHERE order_id = 1'), [{ lines: 0 }])
})

// the file

/** The rows of one query, after the statement `change` if there is one. */
function selectAfter (path: string, sql: string, change = ''): Record<string, unknown>[] {
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
  t.strictSame(selectAfter(path, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])
})

t.test('a second start keeps a changed row', async (t) => {
  const path = join(t.testdir(), 'shop.db')
  createShop(path)
  selectAfter(path, 'SELECT 1', "UPDATE customers SET name = 'Somebody Else' WHERE id = 1")
  createShop(path)
  t.strictSame(selectAfter(path, 'SELECT name FROM customers WHERE id = 1'), [{ name: 'Somebody Else' }])
})

t.test('an existing file is not changed, whatever it contains', async (t) => {
  const path = join(t.testdir({ 'shop.db': '' }), 'shop.db')
  createShop(path)
  t.strictSame(selectAfter(path, 'SELECT name FROM sqlite_schema'), [])
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
  t.strictSame(selectAfter(path, 'SELECT COUNT(*) AS customers FROM customers'), [{ customers: 60 }])
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
  t.strictSame(selectAfter(path, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])
})
