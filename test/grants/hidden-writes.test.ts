/** Writes to columns that a grant does not see: the answer does not tell what was stored. */
import t from 'tap'
import { onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { outcomeOf, tokenFor } from './support.ts'

const schema: Schema = (engine) => [
  `create table people (${engine === 'sqlite' ? 'id integer primary key autoincrement' : 'id int auto_increment primary key'}, tenant int not null default 7, code varchar(20) unique, note varchar(20),
    secret varchar(20), pin int default 5${engine === 'sqlite' ? '' : ', stamp timestamp(6) not null default current_timestamp(6) on update current_timestamp(6)'})`,
  "insert into people (id, code, note, secret, pin) values (1, 'a', 'x', 'red', null), (2, 'b', 'x', 'blue', 6), (3, 'c', 'y', 'red', 7)",
  ...engine === 'sqlite' ? [] : ["update people set stamp = '2020-01-01'"]
]

const seen = ['id', 'code', 'note']
const columns = { select: seen, insert: [...seen, 'secret', 'pin'], update: [...seen, 'secret', 'pin'] }
const tokens = [
  tokenFor('plain', { people: { columns } }),
  tokenFor('tenant', { people: { columns: { ...columns, insert: [...columns.insert, 'tenant'], update: [...columns.update, 'tenant'] }, rows: { tenant: 7 } } }),
  tokenFor('stamped', { people: { columns: { ...columns, select: [...seen, 'stamp'] } } })
]
const byCode = { key: ['code'] }

const test = sharedOnEachEngine(t, { schema, tokens })

await test('the counts of an update do not tell whether a column that is only written had the value', async (t, { post, operate, sql }) => {
  for (const token of ['plain', 'tenant']) {
    const update = async (data: object, rest: object = {}) => outcomeOf(await post('people', { verb: 'update', filters: { note: 'x' }, data, ...rest }, { token }))
    const before = await sql('select * from people order by id')
    for (const secret of ['red', 'blue', 'other', null]) {
      for (const rest of [{}, { expect: 2 }, { expect: { $gte: 1 } }]) t.same(await update({ secret }, { ...rest, dryRun: true }), { updated: 2, dryRun: true }, `${secret} ${JSON.stringify(rest)}`)
      t.same((await update({ secret }, { returning: ['id'], dryRun: true })).updated, 2)
      const operations = [{ table: 'people', verb: 'update', filters: { id: 1 }, data: { secret } }, { table: 'people', verb: 'select', columns: ['id'], filters: { id: { $ref: '/0/updated' } } }]
      t.same(outcomeOf(await operate({ dryRun: true, operations }, { token })), { dryRun: true, results: [{ updated: 1 }, { rows: [{ id: 1 }], count: 1 }] }, 'a reference to the count')
    }
    t.same(await sql('select * from people order by id'), before)
    t.same(await update({ note: 'x' }), { updated: 0 }, 'the count of columns that are seen is as before')
    t.same(await update({ note: 'x', secret: 'red' }, { filters: { id: 1 } }), { updated: 1 })
    t.same(await update({ pin: null }, { filters: { id: [1, 99] } }), { updated: 1 })
    t.same(await update({ secret: 'red' }, { filters: { id: 99 } }), { updated: 0 })
    if (token === 'tenant') t.same(await update({ tenant: 7 }), { updated: 0 }, 'the value of a column with an equality rule is known')
  }
})

await test('the counts of an upsert do not tell whether a column that is only written had the value', async (t, { post, sql }) => {
  for (const token of ['plain', 'tenant']) {
    const upsert = async (data: object, set?: unknown, rest: object = {}) => outcomeOf(await post('people', { verb: 'insert', data, onConflict: { ...byCode, ...set !== undefined && { set } }, ...rest }, { token }))
    const before = await sql('select * from people order by id')
    const updated = { inserted: 0, updated: 1, unchanged: 0, id: 1, dryRun: true }
    for (const secret of ['red', 'other', null]) {
      t.same(await upsert({ code: 'a', secret }, undefined, { dryRun: true }), updated, 'every given column')
      t.same(await upsert({ code: 'a', secret }, ['secret'], { dryRun: true }), updated, 'columns')
      t.same(await upsert({ code: 'a' }, { secret }, { dryRun: true }), updated, 'values')
      t.same(await upsert({ code: 'a', secret }, undefined, { returning: ['id'], dryRun: true }), { ...updated, rows: [{ id: 1 }] })
      t.same(await upsert([{ code: 'a', secret }, { code: 'new', secret }, { code: 'b', secret: 'blue' }, { code: 'c' }], undefined, { dryRun: true }),
        { inserted: 1, updated: 2, unchanged: 1, id: null, dryRun: true }, 'a row that gives the key alone writes nothing')
      t.same(await upsert([{ code: 'a', secret }, { code: 'b' }], { note: 'x', secret }, { dryRun: true }), { inserted: 0, updated: 2, unchanged: 0, id: null, dryRun: true })
    }
    for (const pin of [null, 5, 6]) t.same(await upsert({ code: 'a', pin }, undefined, { dryRun: true }), updated, 'null over null in a column with a default')
    t.same(await sql('select * from people order by id'), before)
    t.same(await upsert({ code: 'a', note: 'x' }), { inserted: 0, updated: 0, unchanged: 1, id: 1 }, 'the counts of columns that are seen are as before')
    t.same(await upsert({ code: 'a', secret: 'green' }, []), { inserted: 0, updated: 0, unchanged: 1, id: 1 }, 'nothing is written')
    t.same(await upsert([{ code: 'a', secret: 'red' }, { code: 'b', secret: 'blue' }]), { inserted: 0, updated: 2, unchanged: 0, id: null })
  }
})

await onEachEngine(t, 'a column with ON UPDATE does not tell whether a column that is only written had the value', { schema, tokens, only: ['mariadb', 'mysql'] }, async (t, { post, sql }) => {
  const send = async (body: object) => outcomeOf(await post('people', { dryRun: true, returning: ['stamp'], ...body }, { token: 'stamped' }))
  const isKept = async (body: object): Promise<boolean> => (await send(body)).rows[0].stamp < '2021'
  for (const secret of ['red', 'other']) {
    t.equal(await isKept({ verb: 'update', filters: { id: 1 }, data: { secret } }), false)
    for (const onConflict of [byCode, { ...byCode, set: ['secret'] }, { ...byCode, set: { secret } }]) t.equal(await isKept({ verb: 'insert', data: { code: 'a', secret }, onConflict }), false)
    t.equal(await isKept({ verb: 'insert', data: [{ code: 'a', secret }], onConflict: byCode }), false)
  }
  t.equal(await isKept({ verb: 'update', filters: { id: 1 }, data: { note: 'x' } }), true, 'not for columns that are seen')
  t.equal(await isKept({ verb: 'insert', data: { code: 'a', note: 'x' }, onConflict: byCode }), true)
  t.same(await sql("select count(*) as n from people where stamp > '2021-01-01'"), [{ n: 0 }])
})
