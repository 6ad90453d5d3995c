/** Tables of MariaDB with history (`with system versioning`). */
import t from 'tap'
import { outcomeOf } from '../grants/support.ts'
import { type Schema, sharedOnEachEngine } from '../support/service.ts'

const versioned: Schema = () => [
  'create table kept (id int auto_increment primary key, code varchar(10) not null unique, v int null, x int without ' +
    'system versioning) with system versioning',
  "insert into kept values (1, 'a', 1, 1), (2, 'b', 2, 2)",
  'create table computed_keys (id int primary key, k int generated always as (id + 1) stored, v int, unique key by_k ' +
    '(k)) with system versioning',
  'insert into computed_keys (id, v) values (1, 1), (2, 2)',
  `create table periods (id int primary key, v int, s timestamp(6) generated always as row start,
    e timestamp(6) generated always as row end, period for system_time (s, e)) with system versioning`
]
const test = sharedOnEachEngine(t, { schema: versioned, only: ['mariadb'], keepsRows: true })

await test('an upsert of rows in a table with history counts each row once, and writes no history ' +
  'where nothing is set', async (t, { post, sql }) => {
  const send = async (table: string, data: object, onConflict: object) =>
    outcomeOf(await post(table, { verb: 'insert', data, onConflict }))
  const history = async (table: string) => (await sql(`select count(*) as n from ${table} for system_time all`))[0].n
  const code = { key: ['code'] }
  t.match(await send('kept', { code: 'a', v: 9 }, { ...code, set: [] }), {
    inserted: 0, updated: 0, unchanged: 1, id: 1
  })
  t.match(await send('kept', [{ code: 'b' }, { code: 'a', v: 9 }], { ...code, set: [] }), {
    inserted: 0, updated: 0, unchanged: 2
  })
  t.equal(await history('kept'), 2)
  t.match(await send('kept', { code: 'a', v: 3 }, code), { inserted: 0, updated: 1, unchanged: 0, id: 1 })
  t.match(await send('kept', [{ code: 'a', v: 4 }, { code: 'c', v: 5 }, { code: 'b', v: 6 }], code), {
    inserted: 1, updated: 2, unchanged: 0
  })
  t.match(
    await send('kept', { code: 'a', x: 7 }, code), { inserted: 0, updated: 1, unchanged: 0, id: 1 },
    'a column without history'
  )
  t.match(await send('kept', [{ code: 'a', v: 1 }, { code: 'd', v: 2 }], { ...code, set: { v: { $inc: 1 } } }), {
    inserted: 1, updated: 1, unchanged: 0
  })
  t.match(
    await post('kept', { verb: 'update', data: { v: 6 }, filters: { code: 'b' } }), { json: { data: { updated: 1 } } },
    'as an update, which writes history although the value is there'
  )
  t.same(await sql('select code, v, x from kept order by code'), [
    { code: 'a', v: 5, x: 7 }, { code: 'b', v: 6, x: 2 }, { code: 'c', v: 5, x: null }, { code: 'd', v: 2, x: null }
  ])
  t.match(
    await send('computed_keys', { id: 1, v: 5 }, { key: ['k'] }), { inserted: 0, updated: 1, unchanged: 0 },
    'a key that only the database computes'
  )
  t.match(await send('computed_keys', [{ id: 2, v: 5 }, { id: 3, v: 5 }, { id: 1, v: 6 }], { key: ['k'] }), {
    inserted: 1, updated: 2, unchanged: 0
  })
  t.same(await sql('select id, v from computed_keys order by id'), [{ id: 1, v: 6 }, { id: 2, v: 5 }, { id: 3, v: 5 }])
})

await test('a table with explicit columns of its history has the key that the documents say', async (t, { post }) => {
  t.match(outcomeOf(await post('periods', { verb: 'insert', data: { id: 1, v: 1 } })), { inserted: 1, id: null })
  t.same(outcomeOf(await post('periods', { verb: 'insert', data: { id: 1, v: 2 }, onConflict: { key: ['id'] } })), [
    400, 'INVALID_BODY', '/onConflict/key'
  ])
  t.match(outcomeOf(await post('periods', { verb: 'update', data: { v: 2 }, filters: { id: 1 }, expect: 1 })), {
    updated: 1
  })
  t.match(outcomeOf(await post('periods', { verb: 'select', after: null, filters: { id: 1 } })), {
    count: 1, next: null, rows: [{ id: 1, v: 2 }]
  })
})
