/** `returning`: the rows of a write in its answer. */
import t, { type Test } from 'tap'
import { runners } from '../support/connections.ts'
import { numberedId, trigger } from '../support/definitions.ts'
import { isRefusal } from '../support/refusals.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type Answer, onEachEngine, type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

useEachEngine(t)

const servers = ['mariadb', 'mysql'] as const

const sortById = (rows: Array<{ id: number }>): unknown => rows.toSorted((a, b) => a.id - b.id)

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('an insert returns the row as it is stored, with its defaults and ' +
  'generated columns', async (t, { post }) => {
  const { status, json } = await post('customers', {
    verb: 'insert',
    data: { email: 'new@example.com', name: 'New' },
    returning: ['login', 'id', 'status', 'credit', 'note']
  })
  t.equal(status, 200)
  t.strictSame(json, {
    success: true,
    data: { rows: [{ login: 'NEW@EXAMPLE.COM', id: 5, status: 'new', credit: '0.00', note: null }], inserted: 1, id: 5 }
  })
  const all = await post('products', { verb: 'insert', data: { sku: 'PEN-1', name: 'Pen', price: 1 }, returning: '*' })
  t.strictSame(all.json.data, {
    rows: [{ sku: 'PEN-1', name: 'Pen', price: '1.00', tags: null }], inserted: 1, id: 'PEN-1'
  })
  t.match((await post('order_items', {
    verb: 'insert', data: { order_id: 1, line: 3, product_sku: 'PEN-1', price: '2.00' }, returning: ['line', 'quantity']
  })).json.data, { rows: [{ line: 3, quantity: 1 }], inserted: 1, id: null })
  t.match((await post('customers', {
    verb: 'insert', data: { id: 100, email: 'given@example.com', name: 'Given' }, returning: ['id', 'email']
  })).json.data, { rows: [{ id: 100, email: 'given@example.com' }], id: 100 })
})

await testShop('an update returns the rows that the filters matched as they are afterwards, also those that had ' +
  'the values already', async (t, { post }) => {
  const { json } = await post('customers', {
    verb: 'update',
    data: { name: 'Ada', credit: '5.00' },
    filters: { status: 'new' },
    returning: ['id', 'name', 'credit', 'login']
  })
  t.equal(json.data.updated, 2)
  t.same(sortById(json.data.rows), [{ id: 1, name: 'Ada', credit: '5.00', login: 'ADA@EXAMPLE.COM' }, {
    id: 2, name: 'Ada', credit: '5.00', login: 'GRACE@EXAMPLE.COM'
  }])
  const again = (await post('customers', {
    verb: 'update', data: { name: 'Ada' }, filters: { id: [1, 3] }, returning: ['id', 'name']
  })).json
  t.equal(again.data.updated, 1, 'the row of id 1 has the name')
  t.same(sortById(again.data.rows), [{ id: 1, name: 'Ada' }, { id: 3, name: 'Ada' }])
  t.strictSame(
    (await post('customers', { verb: 'update', data: { name: 'x' }, filters: { id: 99 }, returning: '*' })).json.data,
    { rows: [], updated: 0 }
  )
  const summed = (await post('customers', {
    verb: 'update', data: { credit: { $inc: '0.50' } }, filters: { id: 4 }, returning: ['credit']
  })).json
  t.same(summed.data, { rows: [{ credit: '1000000.51' }], updated: 1 })
  const filtered = (await post('customers', {
    verb: 'update', data: { status: 'old' }, filters: { status: 'new', name: 'Ada' }, returning: ['id', 'status']
  })).json
  t.same(
    sortById(filtered.data.rows), [{ id: 1, status: 'old' }, { id: 2, status: 'old' }], 'rows that no longer match'
  )
})

await testShop('a delete returns the rows as they were', async (t, { post, sql }) => {
  const { json } = await post('order_items', {
    verb: 'delete', filters: { order_id: 1 }, returning: ['line', 'product_sku']
  })
  t.equal(json.data.deleted, 2)
  t.same(json.data.rows.toSorted((a: { line: number }, b: { line: number }) => a.line - b.line), [
    { line: 1, product_sku: 'MUG-1' }, { line: 2, product_sku: 'CUP-1' }
  ])
  t.strictSame((await post('order_items', { verb: 'delete', filters: { order_id: 1 }, returning: '*' })).json.data, {
    rows: [], deleted: 0
  })
  t.equal((await sql('select * from order_items')).length, 0)
})

const keys: Schema = (engine) => {
  const isSqlite = engine === 'sqlite'
  const coarse = isSqlite ? 'collate nocase' : 'collate utf8mb4_general_ci'
  return [
    'create table places (list int not null, place int not null, word varchar(10) null, primary key (list, place))' +
      (isSqlite ? ' without rowid' : ''),
    "insert into places values (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'c')",
    `create table codes (code varchar(10) ${coarse} not null primary key, email varchar(20) null unique, n int null)`,
    "insert into codes values ('ACME', 'a@x', 1), ('Beta', null, 2)",
    'create table loose (a int null, b int null)',
    'insert into loose values (1, 1), (1, 1), (2, 2)',
    `create table logged (at datetime null, word varchar(20) null, doc json null,
      n int not null default (${isSqlite ? 'abs(random() % 1000000000)' : 'floor(rand() * 1000000000)'}))`,
    'create table maybe (email varchar(20) null unique, n int null)',
    "insert into maybe values ('a@x', 1), (null, 2)",
    `create table binaries (id ${isSqlite ? 'blob' : 'binary(4)'} not null primary key,
      at datetime${isSqlite ? '' : '(3)'} null, word varchar(1) null)`,
    "insert into binaries values (x'00ff0000', '2026-01-02 03:04:05.678', 'x')",
    // MariaDB has no NOT NULL for a computed column
    `create table computed (a int not null,
      g int generated always as (a * 2) stored ${engine === 'mariadb' ? '' : 'not null'}, unique (g))`,
    'insert into computed (a) values (1)',
    'create table many (id int not null primary key, n int not null)',
    `insert into many values ${Array.from({ length: 1001 }, (_, id) => `(${id}, ${id % 7})`).join()}`,
    `create table stock (${isSqlite ? 'id integer primary key autoincrement' : numberedId(engine)},
      sku varchar(20) ${coarse} null unique, price decimal(10,2) null default 1.50, note varchar(20) null,
      twice decimal(12,2) generated always as (price * 2) virtual)`,
    "insert into stock (id, sku, price) values (5, 'ACME', '9.00')",
    'create table pairs (a int not null, b varchar(5) not null, n int null, primary key (a, b))',
    ...isSqlite
      ? []
      : [
          `create table padded (k char(5) collate ${
            engine === 'mysql' ? 'utf8mb4_0900_ai_ci' : 'utf8mb4_unicode_nopad_ci'} not null primary key, n int null)`,
          `create table stampkey (id int not null primary key, n int null, at timestamp(6) not null
            default current_timestamp(6) on update current_timestamp(6), unique key (at))`,
          'insert into stampkey (id) values (1)'
        ]
  ]
}

const testKeys = sharedOnEachEngine(t, { schema: keys })

await testKeys('an update that changes the key returns the rows under their new keys', async (t, { post, sql }) => {
  const moved = await post('places', { verb: 'update', data: { list: 3 }, filters: { list: 1 }, returning: '*' })
  t.equal(moved.status, 200, moved.text)
  t.same(moved.json.data.rows.toSorted((a: any, b: any) => a.place - b.place), [
    { list: 3, place: 1, word: 'a' }, { list: 3, place: 2, word: 'b' }
  ])
  const raised = await post('places', {
    verb: 'update', data: { place: { $inc: 10 }, word: 'z' }, filters: { list: 3 }, returning: '*'
  })
  t.same(raised.json.data.rows.toSorted((a: any, b: any) => a.place - b.place), [
    { list: 3, place: 11, word: 'z' }, { list: 3, place: 12, word: 'z' }
  ])
  t.same((await post('codes', {
    verb: 'update', data: { code: 'new' }, filters: { code: 'acme' }, returning: ['code', 'n']
  })).json.data, { rows: [{ code: 'new', n: 1 }], updated: 1 })
  t.same((await post('codes', {
    verb: 'update', data: { code: 'NEW' }, filters: { code: 'new' }, returning: ['code']
  })).json.data, { rows: [{ code: 'NEW' }], updated: 1 }, 'another case of the same key')
  t.same((await post('binaries', {
    verb: 'update', data: { word: 'y' }, filters: { at: '2026-01-02T03:04:05.678' }, returning: '*'
  })).json.data, { rows: [{ id: 'AP8AAA==', at: '2026-01-02T03:04:05.678', word: 'y' }], updated: 1 })
  t.equal((await sql('select * from codes')).length, 2)
})

await testKeys('rows are found by keys that are stored otherwise than they were given', async (t, { post }) => {
  t.same((await post('padded', { verb: 'insert', data: { k: 'a ' }, returning: '*' })).json.data, {
    rows: [{ k: 'a', n: null }], inserted: 1, id: 'a'
  })
  t.same((await post('padded', {
    verb: 'insert', data: [{ k: 'c ', n: 1 }, { k: 'b  ', n: 2 }], returning: '*'
  })).json.data?.rows, [{ k: 'c', n: 1 }, { k: 'b', n: 2 }])
  t.same(
    (await post('padded', { verb: 'update', data: { k: 'd  ' }, filters: { k: 'a' }, returning: ['k'] })).json.data,
    { rows: [{ k: 'd' }], updated: 1 }
  )
  t.same((await post('stampkey', {
    verb: 'update', data: { id: { $inc: 1 } }, filters: { n: null }, returning: ['id']
  })).json.data, { rows: [{ id: 2 }], updated: 1 }, 'not by a column that the update sets by itself')
}, servers)

await testKeys('an insert without a known key cannot return its row, and is ' +
  'refused before the write', async (t, { post, statements }) => {
  for (const [table, data] of [['loose', { a: 5 }], ['logged', { at: '2026-01-02 03:04:05', word: 'a' }]] as const) {
    statements()
    const refused = await post(table, { verb: 'insert', data, returning: '*' })
    isRefusal(t, refused, { status: 422, code: 'NOT_SUPPORTED', why: 'no unique key' })
    t.equal(refused.json.error.details[0].path, '/returning')
    t.same(statements(), [])
    t.equal((await post(table, { verb: 'insert', data })).status, 200)
  }
})

await testKeys('an update of a table without a unique key is not ' +
  'supported, a delete is', async (t, { post, sql, statements }) => {
  statements()
  const refused = await post('loose', { verb: 'update', data: { b: 5 }, filters: { a: 1 }, returning: '*' })
  isRefusal(t, refused, { status: 422, code: 'NOT_SUPPORTED', why: 'no unique key' })
  t.equal(refused.json.error.details[0].path, '/returning')
  t.same(statements(), [])
  t.same((await post('loose', { verb: 'delete', filters: { a: 1 }, returning: '*' })).json.data, {
    rows: [{ a: 1, b: 1 }, { a: 1, b: 1 }], deleted: 2
  })
  t.same(
    (await post('maybe', { verb: 'update', data: { n: 5 }, filters: { n: 1 }, returning: '*' })).json.data,
    { rows: [{ email: 'a@x', n: 5 }], updated: 1 }, 'a key that may be NULL'
  )
  isRefusal(t, await post('maybe', { verb: 'update', data: { n: 5 }, filters: { n: { $gte: 1 } }, returning: '*' }), {
    status: 422, code: 'NOT_SUPPORTED', why: 'a row whose key is NULL'
  })
  t.same((await sql('select n from maybe order by n')).map(({ n }) => n), [2, 5], 'and it is not changed')
})

await testKeys('a write that would return more than 1000 rows is refused ' +
  'and changes nothing', async (t, { post, sql }) => {
  for (const body of [{ verb: 'update', data: { n: 9 } }, { verb: 'delete' }]) {
    isRefusal(t, await post('many', { ...body, filters: { id: { $gte: 0 } }, returning: ['id'] }), {
      status: 422, code: 'RESULT_TOO_LARGE', why: body.verb
    })
  }
  t.equal((await sql('select count(*) as n from many where n < 7'))[0].n, 1001)
  const thousand = (await post('many', {
    verb: 'update', data: { n: { $inc: 10 } }, filters: { id: { $gte: 1 } }, returning: ['id', 'n']
  })).json.data
  t.equal(thousand.updated, 1000)
  t.equal(thousand.rows.length, 1000)
  t.same(thousand.rows.filter(({ id, n }: { id: number, n: number }) => n !== id % 7 + 10), [], 'each as it is now')
  t.same(new Set(thousand.rows.map(({ id }: { id: number }) => id)).size, 1000)
  t.equal(
    (await post('many', { verb: 'delete', filters: { id: { $gte: 1 } }, returning: ['id'] })).json.data.rows.length,
    1000
  )
})

await onEachEngine(t, 'rows that are larger than resultLimit are refused, and ' +
  'the write is undone', { schema: shop, database: { resultLimit: 2000 } }, async (t, { post, sql }) => {
  const note = 'x'.repeat(3000)
  const read = async () => (await sql('select note from customers order by id')).map((row) => row.note)
  const before = await read()
  for (const body of [
    { verb: 'insert', data: { email: 'n@example.com', name: 'N', note } },
    { verb: 'update', data: { note }, filters: { id: 1 } }
  ]) {
    isRefusal(t, await post('customers', { ...body, returning: ['note'] }), {
      status: 422, code: 'RESULT_TOO_LARGE', why: body.verb
    })
  }
  t.same(await read(), before)
  t.equal((await post('customers', { verb: 'update', data: { note }, filters: { id: 3 } })).status, 200)
  isRefusal(t, await post('customers', { verb: 'delete', filters: { id: 3 }, returning: ['note'] }), {
    status: 422, code: 'RESULT_TOO_LARGE', why: 'delete'
  })
  t.equal((await read()).length, 4)
})

/** Each test has tables of its own. */
const triggers: Schema = (engine) => [
  `create table tagged (${numberedId(engine)}, word varchar(20) null, tag varchar(20) null)`,
  'create table renamed (code varchar(20) not null primary key, word varchar(20) null)',
  `create table stamped (id int not null primary key, word varchar(20) null, at timestamp${
    engine === 'sqlite'
      ? ' not null'
      : '(6) not null default current_timestamp(6) on update current_timestamp(6)'})`,
  "insert into stamped values (1, 'a', '2026-01-02 03:04:05')",
  `create table spelled (${numberedId(engine)}, word varchar(10) null)`,
  'create table moved (code varchar(10) not null primary key, n int null)',
  "insert into moved values ('x', 1)",
  `create table counted (${numberedId(engine)}, word varchar(10) null)`,
  ...engine === 'sqlite'
    ? [
        trigger('tag_insert', 'after insert on tagged', "update tagged set tag = 'new ' || new.word where id = new.id"),
        trigger('tag_update', 'after update of word on tagged',
          "update tagged set tag = 'old ' || new.word where id = new.id"),
        trigger('rename_insert', 'after insert on renamed',
          "update renamed set code = new.code || '!' where code = new.code"),
        trigger('rename_update', 'after update of word on renamed',
          "update renamed set code = new.code || '?' where code = new.code"),
        `create trigger spell after insert on spelled when new.word <> 'extra' begin
          update spelled set word = upper(new.word) where id = new.id;
          insert into spelled (word) values ('extra'); end`,
        trigger('move', 'after insert on moved', "update moved set code = new.code || '!' where code = new.code")
      ]
    : [
        trigger('tag_insert', 'before insert on tagged', "set new.tag = concat('new ', new.word)"),
        trigger('tag_update', 'before update on tagged', "set new.tag = concat('old ', new.word)"),
        trigger('rename_insert', 'before insert on renamed', "set new.code = concat(new.code, '!')"),
        trigger('rename_update', 'before update on renamed', "set new.code = concat(new.code, '?')"),
        trigger('spell', 'before insert on spelled', 'set new.word = upper(new.word)'),
        trigger('move', 'before insert on moved', "set new.code = concat(new.code, '!')"),
        'create table taken (code varchar(20) not null primary key, word varchar(20) null)',
        "insert into taken values ('a', 'of another')",
        trigger('take_insert', 'before insert on taken', "set new.code = concat(new.code, '!')"),
        'create table bumped (id int not null primary key, n int null)',
        'insert into bumped values (1, 0), (5, 0)',
        trigger('bump', 'before update on bumped', 'set new.id = if(new.n = 1, new.id + 100, new.id)'),
        trigger('number', 'before insert on counted', 'set new.id = if(new.id > 0, new.id + 100, new.id)'),
        `create table t (${numberedId(engine)}, code varchar(10) not null unique,
          status varchar(10) not null default 'new')`,
        trigger('t_updated', 'before update on t', 'set new.status = new.status'),
        "insert into t values (5, 'a', 'new')"
      ]
]

const testOwn = sharedOnEachEngine(t, { schema: triggers, keepsRows: true })

await testOwn('rows are returned as triggers and ON UPDATE have left them', async (t, { post, engine }) => {
  t.same((await post('tagged', { verb: 'insert', data: { word: 'a' }, returning: '*' })).json.data, {
    rows: [{ id: 1, word: 'a', tag: 'new a' }], inserted: 1, id: 1
  })
  t.same(
    (await post('tagged', { verb: 'update', data: { word: 'b' }, filters: { id: 1 }, returning: '*' })).json.data,
    { rows: [{ id: 1, word: 'b', tag: 'old b' }], updated: 1 }
  )
  const { at } = (await post('stamped', {
    verb: 'update', data: { word: 'b' }, filters: { id: 1 }, returning: ['at']
  })).json.data.rows[0]
  if (engine !== 'sqlite') t.ok(at > '2026-01-03', at)
})

await testOwn('a write whose rows a trigger gives another key is undone, for ' +
  'they cannot be found', async (t, { post, sql }) => {
  isRefusal(t, await post('renamed', { verb: 'insert', data: { code: 'a', word: 'x' }, returning: '*' }), {
    status: 422, code: 'NOT_SUPPORTED', why: 'insert'
  })
  t.equal((await sql('select * from renamed')).length, 0)
  t.equal((await post('renamed', { verb: 'insert', data: { code: 'a', word: 'x' } })).status, 200)
  const before = await sql('select * from renamed')
  isRefusal(t, await post('renamed', { verb: 'update', data: { word: 'y' }, filters: { word: 'x' }, returning: '*' }), {
    status: 422, code: 'NOT_SUPPORTED', why: 'update'
  })
  t.same(await sql('select * from renamed'), before)
})

await testOwn('an insert whose key a trigger has changed does not return the ' +
  'row that has the key', async (t, { post, sql }) => {
  isRefusal(t, await post('taken', { verb: 'insert', data: { code: 'a', word: 'x' }, returning: '*' }), {
    status: 422, code: 'NOT_SUPPORTED', why: 'the row is called a!'
  })
  t.match(await sql('select * from taken'), [{ code: 'a', word: 'of another' }])
}, servers)

await testOwn('an update whose key a trigger has changed does not return the ' +
  'row that has the key', async (t, { post, sql }) => {
  const before = await sql('select * from bumped')
  isRefusal(t, await post('bumped', { verb: 'update', filters: { id: 1 }, data: { id: 5, n: 1 }, returning: '*' }), {
    status: 422, code: 'NOT_SUPPORTED', why: 'the row has the number 105'
  })
  t.same(await sql('select * from bumped'), before)
  t.match(await post('bumped', { verb: 'update', filters: { id: 1 }, data: { id: 2, n: 0 }, returning: '*' }), {
    json: { data: { updated: 1, rows: [{ id: 2, n: 0 }] } }
  })
}, servers)

await testShop('errors of the database are those of a plain write, and ' +
  'nothing is changed', async (t, { post, sql }) => {
  const before = await sql('select * from customers order by id')
  const cases: Array<[body: object, status: number, code: string]> = [
    [{ verb: 'insert', data: { email: 'ada@example.com', name: 'x' } }, 409, 'UNIQUE_VIOLATION'],
    [{ verb: 'update', data: { email: 'ada@example.com' }, filters: { id: [2, 3] } }, 409, 'UNIQUE_VIOLATION'],
    [{ verb: 'update', data: { credit: -200 }, filters: { id: { $gte: 1 } } }, 422, 'CHECK_VIOLATION'],
    [{ verb: 'delete', filters: { id: { $gte: 1 } } }, 409, 'FOREIGN_KEY_VIOLATION']
  ]
  for (const [body, status, code] of cases) {
    isRefusal(t, await post('customers', { ...body, returning: '*' }), { status, code, why: JSON.stringify(body) })
  }
  t.same(await sql('select * from customers order by id'), before)
})

await testKeys('a row whose only key is computed from what the update changes is ' +
  'refused before the write', async (t, { post, statements }) => {
  statements()
  t.match(await post('computed', { verb: 'update', data: { a: 5 }, filters: { a: 1 }, returning: '*' }), {
    status: 422, json: { error: { code: 'NOT_SUPPORTED' } }
  })
  t.same(statements().filter((each) => /^update/i.test(each)), [])
  t.match(await post('computed', { verb: 'update', data: { a: 5 }, filters: { a: 1 } }), {
    status: 200, json: { data: { updated: 1 } }
  })
})

const waits = (service: Service, start: string) =>
  until(`"${start}" waits`, async () => (await runners(service, start)).length > 0)

await testOwn('a row that another client has written meanwhile is returned as it is now', async (t, service) => {
  const { post, operate, sql } = service
  const set = async (statement: string, request: () => Promise<Answer>, start: string): Promise<any> => {
    await sql('begin')
    await sql(statement)
    const answer = request()
    await waits(service, start)
    await sql('commit')
    return (await answer).json
  }
  const orCreate = {
    verb: 'insert', data: { code: 'x' }, onConflict: { key: ['code'], set: [] }, returning: ['code', 'status']
  }
  const created = await set("insert into t (code) values ('x')", async () => await post('t', orCreate), 'insert into')
  t.match(created.data, { inserted: 0, updated: 0, unchanged: 1, rows: [{ code: 'x', status: 'new' }] }, JSON.stringify(
    created.error
  ))
  const update = {
    table: 't', verb: 'update', filters: { id: 5 }, data: { status: 'paid' }, returning: ['id', 'status']
  }
  const updated = await set("update t set status = 'paid' where id = 5", async () =>
    await operate([{ table: 't', verb: 'select', filters: { id: 5 } }, update]), 'select `id`')
  // with innodb_snapshot_isolation, the default since MariaDB 11.6, the write is refused and repeated
  t.match(updated.data?.results[1], { updated: 0, rows: [{ id: 5, status: 'paid' }] }, JSON.stringify(updated.error))
}, servers)

await testOwn('the total of a select with a lock is that of the moment of its rows', async (t, service) => {
  const { operate, sql } = service
  await sql('begin')
  await sql("insert into t (code) values ('y')")
  const answer = operate([{ table: 't', verb: 'select', lock: true, total: true, filters: { code: { $gte: 'y' } } }])
  await waits(service, 'select')
  await sql('commit')
  t.match((await answer).json.data?.results, [{ rows: [{ code: 'y' }], total: 1 }])
}, servers)

const many = Array.from({ length: 250 }, (_, index) => index)

await testKeys('a list returns its rows in the order of data, with the ids that they got', async (t, { post }) => {
  const { status, text, json } = await post('stock', {
    verb: 'insert',
    data: [{ sku: 'A', price: '2.00' }, { sku: 'B' }, { note: 'none' }],
    returning: ['id', 'sku', 'price', 'note', 'twice']
  })
  t.equal(status, 200, text)
  t.strictSame(json.data, {
    rows: [
      { id: 6, sku: 'A', price: '2.00', note: null, twice: '4.00' },
      { id: 7, sku: 'B', price: '1.50', note: null, twice: '3.00' },
      { id: 8, sku: null, price: '1.50', note: 'none', twice: '3.00' }
    ],
    inserted: 3,
    id: 6
  })
  const mixed = await post('stock', {
    verb: 'insert',
    data: [{ id: 100, sku: 'C' }, { sku: 'D' }, { id: 50, sku: 'E' }, { sku: 'F' }, { sku: 'G' }],
    returning: ['id', 'sku']
  })
  t.same(mixed.json.data.rows.map(({ sku }: { sku: string }) => sku), ['C', 'D', 'E', 'F', 'G'])
  t.same([0, 2].map((index) => mixed.json.data.rows[index].id), [100, 50])
  const rows = (await post('stock', {
    verb: 'select', columns: ['id', 'sku'], filters: { sku: ['C', 'D', 'E', 'F', 'G'] }, orderBy: 'sku'
  })).json.data.rows
  t.same(mixed.json.data.rows, rows, 'each row is the one that is stored')
  const pairs = await post('pairs', {
    verb: 'insert', data: [{ a: 2, b: 'x', n: 1 }, { a: 1, b: 'y', n: 2 }, { a: 1, b: 'x' }], returning: '*'
  })
  t.same(pairs.json.data.rows, [{ a: 2, b: 'x', n: 1 }, { a: 1, b: 'y', n: 2 }, { a: 1, b: 'x', n: null }])
})

await testKeys('long lists come whole and in order', async (t, { post }) => {
  const numbered = await post('stock', {
    verb: 'insert', data: many.map((index) => ({ note: `n${index}` })), returning: ['id', 'note']
  })
  t.same(numbered.json.data.rows.map(({ note }: { note: string }) => note), many.map((index) => `n${index}`))
  const keyed = await post('pairs', {
    verb: 'insert', data: many.map((index) => ({ a: -index, b: 'b', n: index })), returning: ['n']
  })
  t.same(keyed.json.data.rows, many.map((n) => ({ n })))
})

await testKeys('lists that several clients insert at the same time do not mix', async (t, { post }) => {
  const answers = await Promise.all(Array.from({ length: 8 }, async (_, client) =>
    ({
      client,
      answer: await post('stock', {
        verb: 'insert',
        data: many.slice(0, 30).map((index) => ({ note: `${client}-${index}` })),
        returning: ['note', 'id']
      })
    })))
  for (const { client, answer } of answers) {
    t.same(
      answer.json.data.rows.map(({ note }: { note: string }) => note),
      many.slice(0, 30).map((index) => `${client}-${index}`)
    )
  }
  t.equal(new Set(answers.flatMap(({ answer }) => answer.json.data.rows.map(({ id }: { id: number }) => id))).size, 240)
})

await testKeys('an upsert returns the rows as they are in the end, with what the database computes', async (
  t, { post }
) => {
  const upsert = async (data: unknown, set: unknown, returning: string[]): Promise<any> => (await post('stock', {
    verb: 'insert', data, onConflict: { key: ['sku'], set }, returning
  })).json.data?.rows
  t.same(await upsert([{ sku: 'ACME', price: '5.00' }, { sku: 'acme', price: '6.00' }], ['price'], ['id', 'price']), [
    { id: 5, price: '6.00' }, { id: 5, price: '6.00' }
  ], 'a row that is in the list twice comes twice')
  t.same(await upsert({ sku: 'acme' }, { price: { $inc: '0.50' } }, ['price', 'twice']), [
    { price: '6.50', twice: '13.00' }
  ])
})

await testKeys('rows of an upsert that have no value in the named key, or get another one, are ' +
  'returned by their number', async (t, { post, engine }) => {
  const upsert = (data: unknown, set: unknown) => post('stock', {
    verb: 'insert', data, onConflict: { key: ['sku'], set }, returning: ['id', 'sku', 'note']
  })
  const { json, text } = await upsert([
    { note: 'b' }, { sku: 'acme', note: 'a' }, { sku: null, note: 'c' }, { sku: 'new', note: 'd', id: 90 },
    { sku: 'ACME', note: 'e' }
  ], ['note'])
  t.match(json.data, { inserted: 3, updated: 2, unchanged: 0 }, text)
  t.match(json.data.rows, [
    { sku: null, note: 'b' }, { id: 5, sku: 'ACME', note: 'e' }, { sku: null, note: 'c' },
    { id: 90, sku: 'new', note: 'd' }, { id: 5, sku: 'ACME', note: 'e' }
  ])
  t.same(
    (await upsert([{ sku: 'acme', id: 91 }, { note: 'f' }], [])).json.data.rows[0], { id: 5, sku: 'ACME', note: 'e' },
    'not the number that was sent'
  )
  t.match((await upsert({ note: 'g' }, undefined)).json.data, { rows: [{ sku: null, note: 'g' }], inserted: 1 })
  const renamed = await upsert([{ sku: 'acme' }, { sku: 'other' }], { sku: 'emca' })
  if (engine === 'sqlite') {
    isRefusal(t, renamed, { status: 422, code: 'NOT_SUPPORTED', why: 'the row that existed has another key' })
  } else {
    t.same(
      renamed.json.data.rows,
      [{ id: 5, sku: 'emca', note: 'e' }, { id: renamed.json.data.rows[1].id, sku: 'other', note: null }], renamed.text
    )
  }
})

const refuseToReturn = async (t: Test, { post }: Service, table: string, body: object): Promise<void> => {
  const answer = await post(table, { verb: 'insert', ...body, returning: '*' })
  isRefusal(t, answer, { status: 422, code: 'NOT_SUPPORTED', why: JSON.stringify(body) })
  t.equal(answer.json.error.details[0].path, '/returning')
}

await testKeys('rows that cannot be found again are not supported, and no statement is sent', async (t, service) => {
  service.statements()
  await refuseToReturn(t, service, 'loose', { data: [{ a: 1 }] })
  await refuseToReturn(t, service, 'stock', {
    data: { sku: 'n' }, onConflict: { key: ['sku'], set: { sku: 'm', id: 70 } }
  })
  await refuseToReturn(t, service, 'stock', {
    data: [{ sku: 'n' }, { sku: null, id: 70 }], onConflict: { key: ['sku'] }
  })
  t.same(service.statements(), [])
})

await testOwn('rows whose keys a trigger changes are not found again, and nothing is changed', async (t, service) => {
  const { engine, sql, statements } = service
  statements()
  await refuseToReturn(t, service, 'moved', { data: { code: 'x' }, onConflict: { key: ['code'], set: { code: 'm' } } })
  t.same(statements(), [])
  await refuseToReturn(t, service, 'moved', { data: [{ code: engine === 'sqlite' ? 'z' : 'x', n: 5 }, { code: 'y' }] })
  t.match(await sql('select * from moved'), [{ code: 'x', n: 1 }])
})

await testOwn('rows that a trigger changes or adds to are returned as they are', async (t, { post }) => {
  const { json } = await post('spelled', {
    verb: 'insert', data: [{ word: 'a' }, { word: 'b' }, { word: 'c' }], returning: ['id', 'word']
  })
  t.same(json.data.rows.map(({ word }: { word: string }) => word), ['A', 'B', 'C'])
  t.equal(json.data.inserted, 3)
})

await testOwn('rows whose given numbers a trigger changes are returned, one by ' +
  'one and as a list', async (t, { engine, post }) => {
  const added = engine === 'sqlite' ? 0 : 100
  for (const [data, ids] of [
    [{ id: 1, word: 'a' }, [1]], [[{ id: 2, word: 'b' }, { id: 3, word: 'c' }], [2, 3]], [[{ id: 4, word: 'd' }], [4]]
  ] as const) {
    const { json } = await post('counted', { verb: 'insert', data, returning: ['id', 'word'] })
    t.same(json.data?.rows.map(({ id }: { id: number }) => id), ids.map((id) => id + added), json.error)
  }
})
