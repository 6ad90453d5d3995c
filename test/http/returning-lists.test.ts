/** `returning` of lists of rows and of upserts. */
import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema } from '../support/service.ts'

const schema: Schema = {
  mysql: [
    `create table stock (id int not null auto_increment primary key, sku varchar(20) collate utf8mb4_general_ci null unique, price decimal(10,2) null default 1.50, note varchar(20) null,
      twice decimal(12,2) generated always as (price * 2) virtual)`,
    "insert into stock (id, sku, price) values (5, 'ACME', '9.00')",
    'create table pairs (a int not null, b varchar(5) not null, n int null, primary key (a, b))',
    'create table loose (a int null)',
    'create table spelled (id int not null auto_increment primary key, word varchar(10) null)',
    'create trigger spell before insert on spelled for each row set new.word = upper(new.word)',
    'create table moved (code varchar(10) not null primary key, n int null)',
    "insert into moved values ('x', 1)",
    "create trigger move before insert on moved for each row set new.code = concat(new.code, '!')"
  ],
  sqlite: [
    `create table stock (id integer primary key autoincrement, sku varchar(20) collate nocase null unique, price decimal(10,2) null default 1.50, note varchar(20) null,
      twice decimal(12,2) generated always as (price * 2) virtual)`,
    "insert into stock (id, sku, price) values (5, 'ACME', '9.00')",
    'create table pairs (a int not null, b varchar(5) not null, n int null, primary key (a, b))',
    'create table loose (a int null)',
    'create table spelled (id integer primary key, word varchar(10) null)',
    "create trigger spell after insert on spelled when new.word <> 'extra' begin update spelled set word = upper(new.word) where id = new.id; insert into spelled (word) values ('extra'); end",
    'create table moved (code varchar(10) not null primary key, n int null)',
    "insert into moved values ('x', 1)",
    "create trigger move after insert on moved begin update moved set code = new.code || '!' where code = new.code; end"
  ]
}
const many = Array.from({ length: 250 }, (_, index) => index)

await onEachEngine(t, 'a list returns its rows in the order of data, with the ids that they got', { schema }, async (t, { post }) => {
  const { status, text, json } = await post('stock', { verb: 'insert', data: [{ sku: 'A', price: '2.00' }, { sku: 'B' }, { note: 'none' }], returning: ['id', 'sku', 'price', 'note', 'twice'] })
  t.equal(status, 200, text)
  t.strictSame(json.data, {
    rows: [{ id: 6, sku: 'A', price: '2.00', note: null, twice: '4.00' }, { id: 7, sku: 'B', price: '1.50', note: null, twice: '3.00' }, { id: 8, sku: null, price: '1.50', note: 'none', twice: '3.00' }],
    inserted: 3,
    id: 6
  })
  const mixed = await post('stock', { verb: 'insert', data: [{ id: 100, sku: 'C' }, { sku: 'D' }, { id: 50, sku: 'E' }, { sku: 'F' }, { sku: 'G' }], returning: ['id', 'sku'] })
  t.same(mixed.json.data.rows.map(({ sku }: { sku: string }) => sku), ['C', 'D', 'E', 'F', 'G'])
  t.same([0, 2].map((index) => mixed.json.data.rows[index].id), [100, 50])
  const rows = (await post('stock', { verb: 'select', columns: ['id', 'sku'], filters: { sku: ['C', 'D', 'E', 'F', 'G'] }, orderBy: 'sku' })).json.data.rows
  t.same(mixed.json.data.rows, rows, 'each row is the one that is stored')
  const pairs = await post('pairs', { verb: 'insert', data: [{ a: 2, b: 'x', n: 1 }, { a: 1, b: 'y', n: 2 }, { a: 1, b: 'x' }], returning: '*' })
  t.same(pairs.json.data.rows, [{ a: 2, b: 'x', n: 1 }, { a: 1, b: 'y', n: 2 }, { a: 1, b: 'x', n: null }])
})

await onEachEngine(t, 'long lists come whole and in order', { schema }, async (t, { post }) => {
  const numbered = await post('stock', { verb: 'insert', data: many.map((index) => ({ note: `n${index}` })), returning: ['id', 'note'] })
  t.same(numbered.json.data.rows.map(({ note }: { note: string }) => note), many.map((index) => `n${index}`))
  const keyed = await post('pairs', { verb: 'insert', data: many.map((index) => ({ a: -index, b: 'b', n: index })), returning: ['n'] })
  t.same(keyed.json.data.rows, many.map((n) => ({ n })))
})

await onEachEngine(t, 'lists that several clients insert at the same time do not mix', { schema }, async (t, { post }) => {
  const answers = await Promise.all(Array.from({ length: 8 }, async (_, client) => ({ client, answer: await post('stock', { verb: 'insert', data: many.slice(0, 30).map((index) => ({ note: `${client}-${index}` })), returning: ['note', 'id'] }) })))
  for (const { client, answer } of answers) t.same(answer.json.data.rows.map(({ note }: { note: string }) => note), many.slice(0, 30).map((index) => `${client}-${index}`))
  t.equal(new Set(answers.flatMap(({ answer }) => answer.json.data.rows.map(({ id }: { id: number }) => id))).size, 240)
})

await onEachEngine(t, 'an upsert returns the rows that were there and the new ones, in the order of data', { schema }, async (t, { post }) => {
  const { text, json } = await post('stock', { verb: 'insert', data: [{ sku: 'zeta', price: '1.00' }, { sku: 'acme', price: '2.00' }, { sku: 'beta', price: '3.00' }], onConflict: { key: ['sku'], set: ['price'] }, returning: ['sku', 'price'] })
  t.same(json.data, { rows: [{ sku: 'zeta', price: '1.00' }, { sku: 'ACME', price: '2.00' }, { sku: 'beta', price: '3.00' }], inserted: 2, updated: 1, unchanged: 0, id: null }, text)
  const same = await post('stock', { verb: 'insert', data: [{ sku: 'ACME', price: '5.00' }, { sku: 'acme', price: '6.00' }], onConflict: { key: ['sku'], set: ['price'] }, returning: ['id', 'sku', 'price'] })
  t.same(same.json.data.rows, [{ id: 5, sku: 'ACME', price: '6.00' }, { id: 5, sku: 'ACME', price: '6.00' }], 'a row that is in the list twice comes twice, as it is in the end')
  const kept = await post('stock', { verb: 'insert', data: { sku: 'acme', price: '7.00' }, onConflict: { key: ['sku'], set: [] }, returning: ['id', 'price'] })
  t.same(kept.json.data, { rows: [{ id: 5, price: '6.00' }], inserted: 0, updated: 0, unchanged: 1, id: 5 })
  const summed = await post('stock', { verb: 'insert', data: { sku: 'acme' }, onConflict: { key: ['sku'], set: { price: { $inc: '0.50' } } }, returning: ['price', 'twice'] })
  t.same(summed.json.data?.rows ?? summed.text, [{ price: '6.50', twice: '13.00' }])
  const byId = await post('stock', { verb: 'insert', data: [{ id: 5, note: 'old' }, { note: 'new' }], onConflict: { key: ['id'], set: ['note'] }, returning: ['id', 'sku', 'note'] })
  t.match(byId.json.data.rows, [{ id: 5, sku: 'ACME', note: 'old' }, { sku: null, note: 'new' }], byId.text)
})

await onEachEngine(t, 'rows of an upsert that have no value in the named key, or get another one, are returned by their number', { schema }, async (t, { post, engine }) => {
  const upsert = (data: unknown, set: unknown) => post('stock', { verb: 'insert', data, onConflict: { key: ['sku'], set }, returning: ['id', 'sku', 'note'] })
  const { json, text } = await upsert([{ note: 'b' }, { sku: 'acme', note: 'a' }, { sku: null, note: 'c' }, { sku: 'new', note: 'd', id: 90 }, { sku: 'ACME', note: 'e' }], ['note'])
  t.match(json.data, { inserted: 3, updated: 2, unchanged: 0 }, text)
  t.match(json.data.rows, [{ sku: null, note: 'b' }, { id: 5, sku: 'ACME', note: 'e' }, { sku: null, note: 'c' }, { id: 90, sku: 'new', note: 'd' }, { id: 5, sku: 'ACME', note: 'e' }])
  t.same((await upsert([{ sku: 'acme', id: 91 }, { note: 'f' }], [])).json.data.rows[0], { id: 5, sku: 'ACME', note: 'e' }, 'not the number that was sent')
  t.match((await upsert({ note: 'g' }, undefined)).json.data, { rows: [{ sku: null, note: 'g' }], inserted: 1 })
  const renamed = await upsert([{ sku: 'acme' }, { sku: 'other' }], { sku: 'emca' })
  if (engine === 'sqlite') isRefusal(t, renamed, { status: 422, code: 'NOT_SUPPORTED', why: 'the row that existed has another key' })
  else t.same(renamed.json.data.rows, [{ id: 5, sku: 'emca', note: 'e' }, { id: renamed.json.data.rows[1].id, sku: 'other', note: null }], renamed.text)
})

await onEachEngine(t, 'rows that cannot be found again are not supported, and nothing is changed', { schema }, async (t, { post, sql, statements, engine }) => {
  statements()
  const refuse = async (table: string, body: object) => {
    const answer = await post(table, { verb: 'insert', ...body, returning: '*' })
    isRefusal(t, answer, { status: 422, code: 'NOT_SUPPORTED', why: JSON.stringify(body) })
    t.equal(answer.json.error.details[0].path, '/returning')
  }
  await refuse('loose', { data: [{ a: 1 }] })
  await refuse('stock', { data: { sku: 'n' }, onConflict: { key: ['sku'], set: { sku: 'm', id: 70 } } })
  await refuse('stock', { data: [{ sku: 'n' }, { sku: null, id: 70 }], onConflict: { key: ['sku'] } })
  await refuse('moved', { data: { code: 'x' }, onConflict: { key: ['code'], set: { code: 'm' } } })
  t.same(statements(), [])
  await refuse('moved', { data: [{ code: engine === 'sqlite' ? 'z' : 'x', n: 5 }, { code: 'y' }] })
  t.match(await sql('select * from moved'), [{ code: 'x', n: 1 }])
})

await onEachEngine(t, 'rows that a trigger changes or adds to are returned as they are', { schema }, async (t, { post }) => {
  const { json } = await post('spelled', { verb: 'insert', data: [{ word: 'a' }, { word: 'b' }, { word: 'c' }], returning: ['id', 'word'] })
  t.same(json.data.rows.map(({ word }: { word: string }) => word), ['A', 'B', 'C'])
  t.equal(json.data.inserted, 3)
})

const numbering: Schema = {
  mysql: [
    'create table counted (id int not null auto_increment primary key, word varchar(10) null)',
    'create trigger number before insert on counted for each row set new.id = if(new.id > 0, new.id + 100, new.id)'
  ],
  sqlite: ['create table counted (id integer primary key autoincrement, word varchar(10) null)']
}

await onEachEngine(t, 'rows whose given numbers a trigger changes are returned, one by one and as a list', { schema: numbering }, async (t, { engine, post }) => {
  const added = engine === 'sqlite' ? 0 : 100
  for (const [data, ids] of [[{ id: 1, word: 'a' }, [1]], [[{ id: 2, word: 'b' }, { id: 3, word: 'c' }], [2, 3]], [[{ id: 4, word: 'd' }], [4]]] as const) {
    const { json } = await post('counted', { verb: 'insert', data, returning: ['id', 'word'] })
    t.same(json.data?.rows.map(({ id }: { id: number }) => id), ids.map((id) => id + added), json.error)
  }
})

await onEachEngine(t, 'a list that is refused or only tried changes nothing', { schema }, async (t, { post, sql }) => {
  const answer = await post('stock', { verb: 'insert', data: [{ sku: 'A' }, { sku: 'B' }, { sku: 'acme' }], returning: ['id'] })
  isRefusal(t, answer, { status: 409, code: 'UNIQUE_VIOLATION', why: 'the third row' })
  t.equal(answer.json.error.details[0].path, '/data/2/sku')
  const tried = await post('stock', { verb: 'insert', data: [{ sku: 'A' }, { sku: 'acme', price: '1.00' }], onConflict: { key: ['sku'] }, returning: ['sku', 'price'], dryRun: true })
  t.same(tried.json.data, { rows: [{ sku: 'A', price: '1.50' }, { sku: 'ACME', price: '1.00' }], inserted: 1, updated: 1, unchanged: 0, id: null, dryRun: true })
  t.same((await post('stock', { verb: 'insert', data: [{ sku: 'A' }, { sku: 'B' }], dryRun: true })).json.data.inserted, 2)
  t.equal((await sql('select * from stock')).length, 1)
})
