import t from 'tap'
import { type Schema, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('insert adds the row and returns its AUTO_INCREMENT value as the id', async (t, { post, sql }) => {
  const data = { email: 'new@example.com', name: 'New', credit: '5.00', note: null }
  const { status, text } = await post('customers', { verb: 'insert', data })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"inserted":1,"id":5}}')
  t.match(await sql('select id, email, name, status, note from customers where id = 5'), [{ id: 5, email: 'new@example.com', name: 'New', status: 'new', note: null }])
})

await testShop('insert returns a value given for an AUTO_INCREMENT column as the id', async (t, { post, sql }) => {
  const { json } = await post('customers', { verb: 'insert', data: { id: 77, email: 'x@example.com', name: 'X' } })
  t.same(json.data, { inserted: 1, id: 77 })
  t.equal(Number((await sql('select count(*) as n from customers where id = 77'))[0].n), 1)
  const next = await post('customers', { verb: 'insert', data: { email: 'y@example.com', name: 'Y' } })
  t.same(next.json.data, { inserted: 1, id: 78 }, 'the next number follows it')
})

await testShop('0 in an AUTO_INCREMENT column is stored as 0', async (t, { post, sql }) => {
  const { json } = await post('settings', { verb: 'insert', data: { id: 0, note: 'zero' } })
  t.same(json.data, { inserted: 1, id: 0 })
  t.match(await sql('select note from settings where id = 0'), [{ note: 'zero' }])
})

await testShop('an insert without values uses every default', async (t, { post, sql }) => {
  t.same((await post('settings', { verb: 'insert', data: {} })).json.data, { inserted: 1, id: 1 })
  t.same((await post('settings', { verb: 'insert', data: {} })).json.data, { inserted: 1, id: 2 })
  t.match(await sql('select id, level, note from settings order by id'), [{ id: 1, level: 3, note: null }, { id: 2, level: 3, note: null }])
})

await testShop('the id is the value of a primary key of one column, and null for a key of several columns', async (t, { post }) => {
  const product = await post('products', { verb: 'insert', data: { name: 'Jug', sku: 'JUG "1"', price: '3.00' } })
  t.same(product.json.data, { inserted: 1, id: 'JUG "1"' })
  const item = await post('order_items', { verb: 'insert', data: { order_id: 2, line: 1, product_sku: 'MUG-1', price: 1 } })
  t.same(item.json.data, { inserted: 1, id: null })
})

const keys: Schema = {
  mysql: [
    'create table no_key (a int null)',
    'create table big (id bigint unsigned not null auto_increment primary key, note varchar(5) null) auto_increment = 18446744073709551610',
    'create table side_number (code varchar(5) not null primary key, n int not null auto_increment unique)',
    'create table plain_key (id int not null primary key, note varchar(5) null)',
    'create table decimal_key (amount decimal(10,2) not null primary key)'
  ],
  sqlite: [
    'create table no_key (a int null)',
    'create table big (id integer primary key autoincrement, note varchar(5) null)',
    "insert into sqlite_sequence values ('big', 9223372036854775800)",
    'create table plain_key (id int not null primary key, note varchar(5) null)',
    'create table decimal_key (amount decimal(10,2) not null primary key)'
  ]
}

const testKeys = sharedOnEachEngine(t, { schema: keys })

await testKeys('a 64-bit id is returned exactly', async (t, { post, engine }) => {
  const first = await post('big', { verb: 'insert', data: {} })
  t.equal(first.text, `{"success":true,"data":{"inserted":1,"id":${engine === 'sqlite' ? '9223372036854775801' : '18446744073709551610'}}}`)
  const given = engine === 'sqlite' ? '9223372036854775806' : '18446744073709551614'
  const second = await post('big', `{"verb":"insert","data":{"id":${given},"note":"x"}}`)
  t.equal(second.text, `{"success":true,"data":{"inserted":1,"id":${given}}}`)
  const row = await post('big', `{"verb":"select","filters":{"id":${given}}}`)
  t.equal(row.text, `{"success":true,"data":{"rows":[{"id":${given},"note":"x"}],"count":1}}`)
})

await testKeys('the id has the same form as in a select, whatever the type of the key', async (t, { post, engine }) => {
  t.same((await post('no_key', { verb: 'insert', data: { a: 5 } })).json.data, { inserted: 1, id: null })
  t.same((await post('plain_key', { verb: 'insert', data: { id: '42', note: null } })).json.data, { inserted: 1, id: 42 })
  t.same((await post('decimal_key', { verb: 'insert', data: { amount: 7.5 } })).json.data, { inserted: 1, id: '7.50' })
  if (engine === 'sqlite') return
  t.same((await post('side_number', { verb: 'insert', data: { code: 'a' } })).json.data, { inserted: 1, id: 1 }, 'an AUTO_INCREMENT column takes precedence over the primary key')
  t.same((await post('side_number', { verb: 'insert', data: { code: 'b', n: 9 } })).json.data, { inserted: 1, id: 9 })
})

const refusals: Array<[why: string, table: string, data: object, status: number, code: string, paths: string[]]> = [
  ['a column that is not there', 'customers', { email: 'a', name: 'b', nope: 1 }, 400, 'COLUMN_NOT_FOUND', ['/data/nope']],
  ['a column in another case', 'customers', { Email: 'a', name: 'b' }, 400, 'COLUMN_NOT_FOUND', ['/data/Email']],
  ['a generated column', 'customers', { email: 'a', name: 'b', login: 'A' }, 400, 'COLUMN_NOT_WRITABLE', ['/data/login']],
  ['null for a generated column', 'customers', { email: 'a', name: 'b', login: null }, 400, 'COLUMN_NOT_WRITABLE', ['/data/login']],
  ['columns without a default left out', 'customers', { note: 'x' }, 400, 'MISSING_COLUMN', ['/data/email', '/data/name']],
  ['nothing for a table that needs something', 'products', {}, 400, 'MISSING_COLUMN', ['/data/sku', '/data/name', '/data/price']],
  ['null for a column that must have a value', 'customers', { email: 'a', name: null }, 422, 'NOT_NULL_VIOLATION', ['/data/name']],
  ['null for a numbered column', 'customers', { id: null, email: 'a', name: 'b' }, 422, 'NOT_NULL_VIOLATION', ['/data/id']],
  ['null beside a value of another type', 'customers', { email: null, name: 5 }, 400, 'INVALID_VALUE', ['/data/name']],
  ['null beside a column that is missing', 'customers', { email: null }, 400, 'MISSING_COLUMN', ['/data/name']],
  ['null for a column with a default', 'settings', { level: null }, 422, 'NOT_NULL_VIOLATION', ['/data/level']],
  ['a value of another type', 'settings', { level: 'three' }, 400, 'INVALID_VALUE', ['/data/level']],
  ['a row of a view', 'order_lines', { order_id: 1, line: 1, product_sku: 'x' }, 403, 'PERMISSION_DENIED', []]
]

await testShop('an invalid insert is rejected before a statement is sent', async (t, { post, statements }) => {
  statements()
  for (const [why, table, data, status, code, paths] of refusals) {
    const answer = await post(table, { verb: 'insert', data })
    t.equal(answer.status, status, why)
    t.match(answer.json, { success: false, data: {}, error: { code } }, why)
    t.same(answer.json.error.details.map(({ path }: { path: string }) => path), paths, why)
  }
  t.same(statements(), [])
})

await testShop('every error about a missing column names it', async (t, { post }) => {
  const { json } = await post('products', { verb: 'insert', data: { name: 'Jug' } })
  t.equal(json.error.message, '"data" is missing columns that have no default: "sku", "price"')
})
