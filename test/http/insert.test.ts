/** Inserts of one row and of lists of rows (docs/writes.md). */
import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type Schema, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

useEachEngine(t)

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('insert adds the row and returns its AUTO_INCREMENT value as the id', async (t, { post, sql }) => {
  const data = { email: 'new@example.com', name: 'New', credit: '5.00', note: null }
  const { status, text } = await post('customers', { verb: 'insert', data })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"inserted":1,"id":5}}')
  t.match(await sql('select id, email, name, status, note from customers where id = 5'), [
    { id: 5, email: 'new@example.com', name: 'New', status: 'new', note: null }
  ])
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
  t.match(await sql('select id, level, note from settings order by id'), [
    { id: 1, level: 3, note: null }, { id: 2, level: 3, note: null }
  ])
})

await testShop('the id is the value of a primary key of one column, and null for a key ' +
  'of several columns', async (t, { post }) => {
  const product = await post('products', { verb: 'insert', data: { name: 'Jug', sku: 'JUG "1"', price: '3.00' } })
  t.same(product.json.data, { inserted: 1, id: 'JUG "1"' })
  const item = await post('order_items', {
    verb: 'insert', data: { order_id: 2, line: 1, product_sku: 'MUG-1', price: 1 }
  })
  t.same(item.json.data, { inserted: 1, id: null })
})

/**
 * Each test has tables of its own. `filled`: on the servers a trigger fills in a required column and sets some ids; on
 * SQLite a trigger leaves rows out.
 */
const own: Schema = (engine) => {
  const wide = (id: string): string =>
    `create table wide (id ${id}, ${Array.from({ length: 101 }, (_, index) => `c${index} int null`).join(', ')})`
  const plain = [
    'create table no_key (a int null)',
    'create table plain_key (id int not null primary key, note varchar(5) null)',
    'create table decimal_key (amount decimal(10,2) not null primary key)'
  ]
  return engine === 'sqlite'
    ? [
        ...plain,
        'create table big (id integer primary key autoincrement, note varchar(5) null)',
        "insert into sqlite_sequence values ('big', 9223372036854775800)",
        wide('integer primary key'),
        'create table filled (id integer primary key, must int not null, n int null)',
        'create trigger skip before insert on filled when new.n = 13 begin select raise(ignore); end'
      ]
    : [
        ...plain,
        'create table big (id bigint unsigned not null auto_increment primary key, note varchar(5) null) ' +
          'auto_increment = 18446744073709551610',
        'create table side_number (code varchar(5) not null primary key, n int not null auto_increment unique)',
        wide('int not null auto_increment primary key'),
        'create table filled (id int not null auto_increment primary key, must int not null, n int null)',
        'create trigger fill before insert on filled for each row set new.must = coalesce(nullif(new.must, 0), new.n ' +
          '* 2), new.id = if(new.n = 7, 700, new.id)'
      ]
}

const testOwn = sharedOnEachEngine(t, { schema: own, keepsRows: true })

await testOwn('a 64-bit id is returned exactly', async (t, { post, engine }) => {
  const first = await post('big', { verb: 'insert', data: {} })
  const next = engine === 'sqlite' ? '9223372036854775801' : '18446744073709551610'
  t.equal(first.text, `{"success":true,"data":{"inserted":1,"id":${next}}}`)
  const given = engine === 'sqlite' ? '9223372036854775806' : '18446744073709551614'
  const second = await post('big', `{"verb":"insert","data":{"id":${given},"note":"x"}}`)
  t.equal(second.text, `{"success":true,"data":{"inserted":1,"id":${given}}}`)
  const row = await post('big', `{"verb":"select","filters":{"id":${given}}}`)
  t.equal(row.text, `{"success":true,"data":{"rows":[{"id":${given},"note":"x"}],"count":1}}`)
})

await testOwn('the id has the same form as in a select, whatever the type of the key', async (t, { post, engine }) => {
  t.same((await post('no_key', { verb: 'insert', data: { a: 5 } })).json.data, { inserted: 1, id: null })
  t.same((await post('plain_key', { verb: 'insert', data: { id: '42', note: null } })).json.data, {
    inserted: 1, id: 42
  })
  t.same((await post('decimal_key', { verb: 'insert', data: { amount: 7.5 } })).json.data, { inserted: 1, id: '7.50' })
  if (engine === 'sqlite') return
  t.same(
    (await post('side_number', { verb: 'insert', data: { code: 'a' } })).json.data, { inserted: 1, id: 1 },
    'an AUTO_INCREMENT column takes precedence over the primary key'
  )
  t.same((await post('side_number', { verb: 'insert', data: { code: 'b', n: 9 } })).json.data, { inserted: 1, id: 9 })
})

await testShop('a list is inserted in its order, and the id is that of its first row', async (t, { post, sql }) => {
  const { status, text } = await post('customers', {
    verb: 'insert', data: [{ email: 'a', name: 'A' }, { email: 'b', name: 'B' }, { email: 'c', name: 'C' }]
  })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"inserted":3,"id":5}}')
  t.match(await sql('select id, email from customers where id > 4 order by id'), [
    { id: 5, email: 'a' }, { id: 6, email: 'b' }, { id: 7, email: 'c' }
  ])
  const { json } = await post('products', {
    verb: 'insert', data: [{ sku: 'P1', name: 'x', price: 1 }, { sku: 'P0', name: 'x', price: 1 }]
  })
  t.same(json.data, { inserted: 2, id: 'P1' }, 'the value of the primary key')
  t.same((await post('order_items', {
    verb: 'insert', data: [{ order_id: 2, line: 1, product_sku: 'P1', price: 1 }]
  })).json.data, { inserted: 1, id: null }, 'a key of two columns')
})

await testShop('rows of a list may have different columns, and get the defaults of those ' +
  'that they leave out', async (t, { post, sql }) => {
  const data = [
    { email: 'a', name: 'A', credit: '2.00' }, { email: 'b', name: 'B', status: 'old' },
    { id: 40, name: 'C', email: 'c', note: null }, { email: 'd', name: 'D' }
  ]
  t.same((await post('customers', { verb: 'insert', data })).json.data, { inserted: 4, id: 5 })
  const rows = await sql('select id, email, status, credit, note from customers where id > 4 order by email')
  t.same(rows.map(({ id, email, status, credit }) => [Number(id), email, status, Number(credit)]), [
    [5, 'a', 'new', 2], [6, 'b', 'old', 0], [40, 'c', 'new', 0], [41, 'd', 'new', 0]
  ])
  t.same(
    (await post('settings', { verb: 'insert', data: [{}, {}, { level: 5 }] })).json.data, { inserted: 3, id: 1 },
    'rows of defaults alone'
  )
  t.same((await post('settings', { verb: 'insert', data: [{}, {}] })).json.data, { inserted: 2, id: 4 })
  t.same((await post('settings', { verb: 'insert', data: [{ id: 9 }, {}, { id: 0 }] })).json.data, {
    inserted: 3, id: 9
  })
  t.same((await sql('select id, level from settings order by id')).map(({ id, level }) => [id, level]), [
    [0, 3], [1, 3], [2, 3], [3, 5], [4, 3], [5, 3], [9, 3], [10, 3]
  ])
})

await testShop('a list is inserted completely or not at all, and details name the row that ' +
  'the database refused', async (t, { post, sql, engine }) => {
  const customer = (index: number): object => ({ email: `e${index}`, name: 'x' })
  const bad: Array<[row: object, status: number, code: string, path: string]> = [
    [{ email: 'ada@example.com', name: 'x' }, 409, 'UNIQUE_VIOLATION', '/email'],
    [{ email: 'e0', name: 'x' }, 409, 'UNIQUE_VIOLATION', '/email'],
    [{ email: 'x', name: 'x', id: 2 }, 409, 'UNIQUE_VIOLATION', '/id'],
    [{ email: 'x', name: 'x', credit: '-100.01' }, 422, 'CHECK_VIOLATION', engine === 'sqlite' ? '' : '/credit']
  ]
  for (const [row, status, code, path] of bad) {
    for (const [size, index] of [[2, 1], [7, 1], [7, 6], [300, 255]] as const) {
      const data = Array.from({ length: size }, (_, each) => each === index ? row : customer(each))
      const answer = await post('customers', { verb: 'insert', data })
      isRefusal(t, answer, { status, code, why: `${code} in row ${index} of ${size}` })
      t.equal(answer.json.error.details[0]?.path, `/data/${index}${path}`)
      t.equal(Number((await sql('select count(*) as n from customers'))[0].n), 4)
    }
  }
  const order = await post('orders', { verb: 'insert', data: [{ customer_id: 1 }, { customer_id: 99 }] })
  isRefusal(t, order, { status: 409, code: 'FOREIGN_KEY_VIOLATION', why: 'a foreign key' })
  t.equal(order.json.error.details[0]?.path, '/data/1/customer_id')
  t.equal((await post('customers', {
    verb: 'insert', data: [customer(1), bad[0]?.[0], bad[2]?.[0]]
  })).json.error.details[0]?.path, '/data/1/email', 'the first of several')
  t.equal(
    (await post('customers', { verb: 'insert', data: [bad[0]?.[0]] })).json.error.details[0]?.path, '/data/0/email',
    'the only row'
  )
})

await testOwn('a list has at most 1000 rows and 100,000 values', async (t, { post, sql }) => {
  const insert = async (data: unknown) => (await post('wide', { verb: 'insert', data })).json
  const rows = (count: number, make: (index: number) => object): object[] =>
    Array.from({ length: count }, (_, index) => make(index))
  t.match(
    await insert(rows(1000, (index) => ({ [`c${index % 101}`]: 1 }))),
    { error: { code: 'INVALID_BODY', details: [{ path: '/data' }] } }, '1000 rows times 101 columns'
  )
  t.match(
    await insert(rows(1000, (index) => ({ [`c${index % 100}`]: 1 }))), { data: { inserted: 1000, id: 1 } },
    '1000 rows times 100 columns'
  )
  t.match(await insert(rows(1000, () => ({ c0: 1 }))), { data: { inserted: 1000, id: 1001 } })
  t.equal(Number((await sql('select count(*) as n from wide'))[0].n), 2000)
})

await testOwn('triggers fill in columns and ids of the rows of a list', async (t, { post, sql }) => {
  t.same((await post('filled', { verb: 'insert', data: [{ n: 1 }, { n: 2, must: 5 }, { n: 3 }] })).json.data, {
    inserted: 3, id: 1
  })
  t.same((await sql('select must from filled order by id')).map(({ must }) => must), [2, 5, 6])
  t.same(
    (await post('filled', { verb: 'insert', data: [{ n: 7 }, { n: 1 }] })).json.data, { inserted: 2, id: 700 },
    'the number that the trigger gave the first row'
  )
  const answer = await post('filled', { verb: 'insert', data: [{ n: 1 }, {}] })
  t.match(answer.json.error.details, [{ path: /^\/data\/1/ }], 'nothing fills it in')
}, ['mariadb', 'mysql'])

await testOwn('rows that a trigger leaves out are not counted', async (t, { post }) => {
  t.same((await post('filled', { verb: 'insert', data: [{ must: 1, n: 13 }, { must: 1 }] })).json.data, {
    inserted: 1, id: null
  })
  t.same((await post('filled', { verb: 'insert', data: [{ must: 1 }, { must: 1, n: 13 }] })).json.data, {
    inserted: 1, id: 2
  })
}, ['sqlite'])
