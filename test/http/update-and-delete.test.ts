/** Updates, also with `{"$inc": n}`, `{"$now": true}` and `{"$merge": {…}}`, and deletes. */
import t from 'tap'
import { numberedId } from '../support/definitions.ts'
import { isRefusal } from '../support/refusals.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type Schema, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

useEachEngine(t)

const NUMBERS = ['tiny', 'flag', 'n', 'u', 'big', 'huge', 'price', 'wide', 'ratio', 'fixed', 'amount', 'born']
const tables: Schema = (engine) => {
  const isSqlite = engine === 'sqlite'
  const types = isSqlite
    ? ['tinyint(1)', 'tinyint(1)', 'int', 'int', 'bigint', 'bigint', 'decimal(10,2)', 'decimal(15,2)', 'real', 'real',
        'double', 'year']
    : ['tinyint', 'tinyint(1)', 'int', 'int unsigned', 'bigint', 'bigint unsigned', 'decimal(10,2)', 'decimal(65,30)',
        'float', 'double(5,2)', 'double', 'year']
  const [huge, wide] = isSqlite
    ? ['9223372036854775800', '9999999999999.5']
    : ['18446744073709551610', '99999999999999999999999999999999999.5']
  return [
    `create table counters (id int not null primary key,
      ${NUMBERS.map((name, index) => `${name} ${types[index]} null`).join()}, word varchar(10) null)`,
    `insert into counters values
      (1, 126, 1, 5, 5, 9223372036854775800, ${huge}, 0.10, ${wide}, 0.5, 1.25, 1.7e308, 2154, 'x')`,
    'insert into counters (id) values (2)',
    `create table moments (id int not null primary key, d date null, t time null, t3 time(3) null, dt datetime null,
      dt6 datetime(6) null, ts timestamp null, ts2 timestamp(2) null, word varchar(10) null)`,
    'insert into moments (id) values (1), (2)',
    `create table documents (${numberedId(engine)}, doc json null, kept json not null)`,
    "insert into documents values (1, null, '[1,2]')",
    `create table words (id int not null primary key, ${isSqlite
      ? 'word varchar(10) collate nocase null, trimmed varchar(10) collate rtrim null'
      : 'word varchar(10) collate utf8mb4_general_ci null'})`,
    `insert into words values (1, 'ada'${isSqlite ? ", 'x'" : ''})`
  ]
}

const test = sharedOnEachEngine(t, { schema: tables })

await test('$inc adds to the stored number exactly, and counts the rows that changed', async (t, { post, engine }) => {
  const update = (data: object, filters: object = { id: 1 }) => post('counters', { verb: 'update', data, filters })
  t.same((await update({
    tiny: { $inc: 1 },
    n: { $inc: -8 },
    u: { $inc: -5 },
    big: { $inc: 7 },
    price: { $inc: '0.20' },
    ratio: { $inc: 0.25 },
    fixed: { $inc: 0.5 },
    born: { $inc: 1 }
  })).json.data, { updated: 1 })
  const { text } = await post('counters', {
    verb: 'select', columns: ['tiny', 'n', 'u', 'big', 'price', 'ratio', 'fixed', 'born'], filters: { id: 1 }
  })
  t.equal(
    text,
    '{"success":true,"data":{"rows":[{"tiny":127,"n":-3,"u":0,"big":9223372036854775807,"price":"0.30","ratio":0.75,' +
      '"fixed":1.75,"born":2155}],"count":1}}'
  )
  t.same((await update({ n: { $inc: 0 } })).json.data, { updated: 0 }, 'nothing changed')
  t.same(
    (await update({ n: { $inc: 1 }, word: 'y' }, { word: 'x' })).json.data, { updated: 1 },
    'beside a value, and a filter on what is changed'
  )
  t.same((await update({ big: { $inc: '-9223372036854775807' } })).json.data, { updated: 1 }, 'a string of digits')
  t.match((await post('counters', { verb: 'select', columns: ['n', 'big'], filters: { word: 'y' } })).json.data.rows, [
    { n: -2, big: 0 }
  ])
  if (engine === 'sqlite') return
  for (const born of [0, 2026, 1901, 0]) {
    const { rows: [before] } = (await post('counters', {
      verb: 'select', columns: ['born'], filters: { id: 1 }
    })).json.data
    t.match(
      await update({ born: { $inc: born - before.born } }), { status: 200 }, `a YEAR from ${before.born} to ${born}`
    )
    t.match((await post('counters', { verb: 'select', columns: ['born'], filters: { id: 1 } })).json.data.rows, [
      { born }
    ])
  }
  await update({ wide: { $inc: '0.000000000000000000000000000001' } })
  t.match((await post('counters', { verb: 'select', columns: ['wide'], filters: { id: 1 } })).json.data.rows, [
    { wide: '99999999999999999999999999999999999.500000000000000000000000000001' }
  ])
})

await test('NULL stays NULL', async (t, { post, sql }) => {
  const data = Object.fromEntries(NUMBERS.map((column) => [column, { $inc: 1 }]))
  t.same((await post('counters', { verb: 'update', data, filters: { id: 2 } })).json.data, { updated: 0 })
  t.same(
    Object.values((await sql('select * from counters where id = 2'))[0]).slice(1).filter((value) => value !== null), []
  )
})

await test('an overflow is VALUE_OUT_OF_RANGE and changes nothing; it ' +
  'never makes a float', async (t, { post, engine }) => {
  const select = async () => (await post('counters', { verb: 'select', orderBy: 'id' })).text
  const before = await select()
  const overflows: object[] = [
    { tiny: { $inc: 2 } }, { tiny: { $inc: -255 } }, { flag: { $inc: 127 } }, { big: { $inc: 8 } },
    { huge: { $inc: 8 } }, { big: { $inc: '9223372036854775807' } }, { price: { $inc: '99999999.90' } },
    { amount: { $inc: 1e308 } }, ...engine === 'sqlite'
      ? [{ wide: { $inc: '9999999999999' } }]
      : [
          { born: { $inc: 2 } }, { born: { $inc: -2100 } }, { n: { $inc: 2147483643 } }, { u: { $inc: -6 } },
          { fixed: { $inc: 999 } }, { ratio: { $inc: 3.5e38 } }
        ]
  ]
  for (const data of overflows) {
    isRefusal(
      t, await post('counters', { verb: 'update', data: { word: 'z', ...data }, filters: { id: { $gte: 1 } } }),
      { status: 422, code: 'VALUE_OUT_OF_RANGE', why: JSON.stringify(data) }
    )
  }
  t.equal(await select(), before)
})

await test('$now is the present time in UTC, with the digits of the column, and the ' +
  'same for all rows', async (t, { post }) => {
  const names = ['d', 't', 't3', 'dt', 'dt6', 'ts', 'ts2']
  const before = Date.now()
  t.same((await post('moments', {
    verb: 'update', data: Object.fromEntries(names.map((name) => [name, { $now: true }])), filters: { id: [1, 2] }
  })).json.data, { updated: 2 })
  const { rows } = (await post('moments', { verb: 'select', columns: names, orderBy: 'id' })).json.data
  t.same(rows[0], rows[1])
  const [{ d, t: time, t3, dt, dt6, ts, ts2 }] = rows
  for (const [name, moment] of Object.entries({ dt: `${dt}Z`, dt6: `${dt6}Z`, ts, ts2 })) {
    const at = Date.parse(moment as string)
    t.ok(at > before - 2000 && at < Date.now() + 1000, `${name}: ${moment}`)
  }
  t.match(dt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
  t.match(ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  t.match(dt6, /^[^.]+(\.\d{1,6})?$/)
  t.match(ts2, /^[^.]+(\.\d{1,2})?Z$/)
  t.match(t3, /^\d\d:\d\d:\d\d(\.\d{1,3})?$/)
  t.match(time, /^\d\d:\d\d:\d\d$/)
  t.equal(d, dt.slice(0, 10))
  t.equal(
    (await post('moments', { verb: 'select', filters: rows[0] })).json.data.count, 2,
    'a filter of the stored values finds the rows'
  )
})

await test('$merge is a JSON Merge Patch over the stored object, and over an empty one ' +
  'where there is none', async (t, { post }) => {
  const merge = async (patch: string, column = 'doc') => {
    const answer = await post(
      'documents', `{"verb": "update", "data": {"${column}": {"$merge": ${patch}}}, "filters": {"id": 1}}`
    )
    t.equal(answer.status, 200, answer.text)
    return (await post('documents', {
      verb: 'select', columns: [column], filters: { id: 1 }
    })).json.data.rows[0][column]
  }
  t.same(await merge('{"a": 1, "b": {"c": 2, "d": null}}'), { a: 1, b: { c: 2 } }, 'over NULL')
  t.same(await merge('{"a": null, "b": {"e": [1, null]}}'), { b: { c: 2, e: [1, null] } })
  t.same(await merge('{"b": 5, "$inc": 1}'), { b: 5, $inc: 1 }, 'keys that begin with $ are keys of the patch')
  t.same(await merge('{}'), { b: 5, $inc: 1 })
  t.same(await merge('{"x": 1}', 'kept'), { x: 1 }, 'a list is replaced')
  t.same(await merge('{"x": "q\\"\\\\ é 😀 \\n"}', 'kept'), { x: 'q"\\ é 😀 \n' })
})

await test('numbers in the patch and in the stored document stay as they were written', async (t, { post, engine }) => {
  const numbers = engine === 'mysql'
    ? '"a":52.0,"b":18446744073709551615,"c":-9223372036854775808'
    : '"a":52.0,"b":18446744073709551615,"c":1e2,"d":0.10,"e":12345678901234567890123'
  const more = numbers.replaceAll(/"(\w)"/g, '"x$1"')
  await post('documents', `{"verb":"update","data":{"doc":{${numbers}}},"filters":{"id":1}}`)
  await post('documents', `{"verb":"update","data":{"doc":{"$merge":{${more}}}},"filters":{"id":1}}`)
  const { text } = await post('documents', { verb: 'select', columns: ['doc'], filters: { id: 1 } })
  for (const number of [...numbers.split(','), ...more.split(',')]) {
    t.ok(text.replaceAll(' ', '').includes(number), number)
  }
})

await test('$merge removes and replaces members in any order (MariaDB keeps some after a ' +
  'removed first member)', async (t, { post }) => {
  const merge = async (target: object, patch: object) => {
    await post('documents', { verb: 'update', data: { doc: { $eq: target } }, filters: { id: 1 } })
    await post('documents', { verb: 'update', data: { doc: { $merge: patch } }, filters: { id: 1 } })
    return (await post('documents', { verb: 'select', columns: ['doc'], filters: { id: 1 } })).json.data.rows[0].doc
  }
  t.same(await merge({ b: 1, a: 0 }, { a: 5, b: null }), { a: 5 })
  t.same(await merge({ b: 1, a: 0 }, { a: null, b: null }), {})
  t.same(await merge({
    d: 1, c: 1, b: 1, a: 1, e: { z: 1, y: 1 }
  }, { 1: 2, a: null, b: null, c: null, d: null, e: { y: null, z: null } }), { 1: 2, e: {} })
  t.same(await merge({
    x: { b: 1, a: { d: 1, c: 2 } }
  }, { x: { a: { c: null, d: null, e: [null, { f: null }] }, b: null } }), { x: { a: { e: [null, { f: null }] } } })
})

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('update changes exactly the rows that the filters select', async (t, { post, sql }) => {
  const { status, text } = await post('customers', {
    verb: 'update', data: { status: 'old', note: 'gone' }, filters: { status: 'new' }
  })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"updated":2}}')
  t.match(await sql('select id, status, note from customers order by id'), [
    { id: 1, status: 'old', note: 'gone' },
    { id: 2, status: 'old', note: 'gone' },
    { id: 3, status: 'old', note: null },
    { id: 4, status: 'old', note: 'rush it' }
  ])
})

await testShop('"updated" counts the rows that changed, not the rows that matched', async (t, { post }) => {
  const update = async (data: object, filters: object) =>
    (await post('customers', { verb: 'update', data, filters })).json.data.updated
  t.equal(await update({ name: 'Ada' }, { id: 1 }), 0, 'the row already has the value')
  t.equal(await update({ note: null }, { id: [1, 2, 3] }), 1, 'two rows already have no note')
  t.equal(await update({ note: 'n', status: 'new' }, { id: [1, 2] }), 2, 'one of two columns changes')
  t.equal(
    await update({ credit: 12.5, created_at: '2026-01-02 03:04:05' }, { id: 1 }), 0,
    'the same values written differently'
  )
  t.equal(await update({ name: 'Nobody' }, { id: 99 }), 0, 'no row matches')
  t.equal(await update({ note: 'ä' }, { id: { $gte: 3 } }), 2)
  t.equal(await update({ note: 'a' }, { id: { $gte: 3 } }), 2, 'letters that a collation may treat as equal')
  t.equal(await update({ note: 'A' }, { id: { $gte: 3 } }), 2, 'another case')
  t.equal(await update({ note: 'A ' }, { id: 3 }), 1, 'a trailing space')
})

await test('a column with a case-insensitive collation can be updated to the same ' +
  'word in another case', async (t, { post, sql, engine }) => {
  const { json } = await post('words', { verb: 'update', data: { word: 'ADA' }, filters: { id: 1 } })
  t.same(json.data, { updated: 1 })
  t.match(await sql('select word from words'), [{ word: 'ADA' }])
  if (engine !== 'sqlite') return
  t.same((await post('words', { verb: 'update', data: { trimmed: 'x  ' }, filters: { id: 1 } })).json.data, {
    updated: 1
  })
  t.match(await sql('select trimmed from words'), [{ trimmed: 'x  ' }])
})

await testShop('update can change the filtered column and a key', async (t, { post, sql }) => {
  t.same((await post('customers', { verb: 'update', data: { id: 30 }, filters: { id: 3 } })).json.data, { updated: 1 })
  t.equal((await sql('select name from customers where id = 30'))[0].name, 'Linus')
})

const ids = (rows: Array<{ id: number }>) => rows.map(({ id }) => id)

await testShop('delete removes exactly the rows that the filters select', async (t, { post, sql }) => {
  const { status, text } = await post('customers', { verb: 'delete', filters: { status: 'old' } })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"deleted":2}}')
  t.same(ids(await sql('select id from customers order by id')), [1, 2])
})

await testShop('a row with a key of several columns is deleted by all of them', async (t, { post, sql }) => {
  t.same((await post('order_items', { verb: 'delete', filters: { order_id: 1, line: 2 } })).json.data, { deleted: 1 })
  t.match(await sql('select line from order_items'), [{ line: 1 }])
})
