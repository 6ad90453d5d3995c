/** AUTO_INCREMENT columns whose last number is used. */
import t from 'tap'
import { outcomeOf } from '../grants/support.ts'
import { sharedOnEachEngine } from '../support/service.ts'

const test = sharedOnEachEngine(t, {
  schema: () => ['tinyint', 'tinyint unsigned', 'bigint', 'bigint unsigned'].flatMap((type, index) => {
    const last = ['127', '255', '9223372036854775807', '18446744073709551615'][index]
    return [
      `create table t${index} (id ${type} auto_increment primary key, code varchar(5) unique, n int)`,
      `insert into t${index} values (${last}, 'a', 1)`
    ]
  }),
  only: ['mariadb', 'mysql']
})

const REFUSED = [422, 'VALUE_OUT_OF_RANGE', '']

await test('an insert for which the table has no number left is not a conflict of a ' +
  'value that was sent', async (t, { post, sql }) => {
  for (const table of ['t0', 't1', 't2', 't3']) {
    const send = async (data: object, rest: object = {}) =>
      outcomeOf(await post(table, { verb: 'insert', data, ...rest }))
    t.same(await send({ code: 'b', n: 2 }), REFUSED, table)
    t.same(await send({ code: 'b', n: 2 }, { returning: ['id'] }), REFUSED, `${table} returning`)
    t.same(
      await send([{ code: 'b', n: 2 }, { code: 'c', n: 3 }]), [422, 'VALUE_OUT_OF_RANGE', '/data/0'], `${table}: a list`
    )
    t.same(
      await send({ code: 'b', n: 2 }, { onConflict: { key: ['code'] } }), REFUSED, `${table}: an upsert of another key`
    )
    t.same(
      await send({ code: 'b', n: 2 }, { onConflict: { key: ['id'] } }), REFUSED, `${table}: an upsert of the number`
    )
    for (const set of [undefined, ['n'], { n: { $inc: 1 } }]) {
      t.same(
        await send([{ code: 'b', n: 2 }, { id: 5, code: 'c', n: 3 }], { onConflict: { key: ['id'], set } }),
        [422, 'VALUE_OUT_OF_RANGE', '/data/0'], `${table}: an upsert beside a number that was sent`
      )
    }
    const last = (await sql(`select cast(id as char) as id from ${table}`))[0].id
    t.same((await post(table, `{"verb":"insert","data":{"id":${last},"code":"b"}}`)).json.error, {
      code: 'UNIQUE_VIOLATION',
      message: 'A row with the same unique value already exists',
      details: [{ path: '/data/id', message: 'unique key "PRIMARY" on "id"' }]
    }, `${table}: a number that was sent`)
    t.same(
      (await sql(`select code, n from ${table}`)).map((row) => ({ ...row })), [{ code: 'a', n: 1 }],
      `${table} is as it was`
    )
  }
})

await test('an upsert of a row that exists needs no number', async (t, { post, sql }) => {
  await sql("insert into t0 (id, code, n) values (5, 'x', 1)")
  let n = 10
  for (const [set, counts] of [
    [undefined, { updated: 1 }], [[], { unchanged: 1 }], [{ n: { $inc: 1 } }, { updated: 1 }]
  ] as const) {
    const send = async (data: object, rest = {}) => outcomeOf(await post('t0', {
      verb: 'insert', data, onConflict: { key: ['code'], ...set !== undefined && { set } }, ...rest
    }))
    t.match(await send({ code: 'x', n: n++ }), { inserted: 0, id: 5, ...counts }, `set ${JSON.stringify(set)}`)
    t.match(await send({ code: 'x', n: n++ }, { returning: ['id', 'code'] }), {
      inserted: 0, id: 5, rows: [{ id: 5, code: 'x' }]
    })
    t.match(await send([{ code: 'x', n: n++ }, { code: 'a', n: n++ }], { returning: ['id'] }), {
      inserted: 0, rows: [{ id: 5 }, { id: 127 }]
    }, 'a list')
    t.same(
      await send([{ code: 'x', n: n++ }, { code: 'b', n: n++ }]), [422, 'VALUE_OUT_OF_RANGE', '/data/1'],
      'a new row needs one'
    )
  }
})
