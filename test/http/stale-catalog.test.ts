/** Columns that have become other types since the catalog was read. The catalog of these services is not read again by itself meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { onEachEngine, type EngineName } from '../support/service.ts'

const only: EngineName[] = ['mariadb', 'mysql']
const INJECTED = '1,"admin":true'
const numbers = ['create table things (id int not null primary key, n int null, m int null)', 'insert into things values (1, 1, 1), (2, 2, 2)']
const becomesText = ['alter table things modify n varchar(100) null', `insert into things values (3, '${INJECTED}', 3), (4, 'abc', 4)`]
const expected = [{ id: 1, n: '1' }, { id: 2, n: '2' }, { id: 3, n: INJECTED }, { id: 4, n: 'abc' }]

for (const ranBefore of [false, true]) {
  await onEachEngine(t, `a text in what was a number column came out as keys of the row (the statement ran before: ${ranBefore})`, { schema: () => numbers, only }, async (t, { post, sql }) => {
    const select = { verb: 'select', columns: ['id', 'n'], orderBy: 'id' }
    if (ranBefore) for (let times = 0; times < 3; times++) t.same((await post('things', select)).json.data.rows, [{ id: 1, n: 1 }, { id: 2, n: 2 }])
    for (const statement of becomesText) await sql(statement)
    const { status, json } = await post('things', select)
    t.equal(status, 200)
    t.strictSame(json.data.rows, expected)
  })
}

await onEachEngine(t, 'a number was compared with what had become text: a write found the text abc equal to 0', { schema: () => numbers, only }, async (t, { post, sql, server }) => {
  const bodies = [
    { verb: 'delete', filters: { n: 0 } },
    { verb: 'update', data: { m: 9 }, filters: { n: 0 } },
    { verb: 'delete', filters: { $or: [{ id: 99 }, { $not: { n: { $ne: 0 } } }] } },
    { verb: 'select', columns: ['id'], filters: { n: 0 } }
  ]
  for (const body of bodies) {
    await sql('delete from things where id > 2')
    await sql('alter table things modify n int null')
    await server.rows.refresh()
    for (const statement of becomesText) await sql(statement)
    const { status, json } = await post('things', body)
    t.equal(status, 400, JSON.stringify(body))
    t.match(json.error, { code: 'INVALID_VALUE', message: /"n": expected a string/ })
    t.same(await sql('select id, n, m from things order by id'), expected.map((row) => ({ ...row, m: row.id })), 'nothing was changed')
  }
})

await onEachEngine(t, 'columns are asked for once a second at most, before a write that compares them', { schema: () => numbers, only }, async (t, { post, statements }) => {
  const update = (id: number) => post('things', { verb: 'update', data: { m: id }, filters: { id } })
  statements()
  t.same((await update(1)).json.data, { updated: 0 })
  t.same(statements().map((sql) => sql.replaceAll('`', '')), ['select id as v0 from things limit 0', 'update things set m = 1 where id = 1'])
  await update(2)
  t.equal(statements().length, 1, 'it is known for a second')
  await post('things', { verb: 'select', filters: { n: 1 } })
  t.equal(statements().length, 1, 'a select shows what its columns are')
  await post('things', { verb: 'select', columns: ['id'], filters: { n: 1 } })
  t.equal(statements().length, 2, 'if it selects them')
  await post('things', { verb: 'insert', data: { id: 3 } })
  t.equal(statements().length, 1, 'an insert compares nothing')
  await sleep(1000)
  await update(1)
  t.equal(statements().length, 2)
})
