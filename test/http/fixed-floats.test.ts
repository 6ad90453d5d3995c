/** FLOAT(M,D) and DOUBLE(M,D) at the ends of their ranges. */
import t from 'tap'
import { get } from '../support/documents.ts'
import { onEachEngine } from '../support/service.ts'

/** A declaration, a value that the server stores as the largest one, a larger one that it refuses, and whether it can be negative. */
const columns: Array<[declaration: string, largest: number, tooLarge: number]> = [
  ['float(8,2)', 999999.99, 1000000.1], ['float(8,2)', 999999.97, 1000001], ['float(8,2) unsigned', 999999.99, 1000000.1], ['float(7,3)', 9999.999, 10000], ['float(10,0)', 9999999999, 10000000001],
  ['float(20,2)', 1e18, 1.1e18], ['float(5,5)', 0.99999, 1], ['double(8,2)', 999999.99, 1000000], ['double(17,2)', 1e15, 1000000000000001], ['double(20,2) unsigned', 1e18, 1.1e18]
]

await onEachEngine(t, 'the largest number of a FLOAT(M,D) or DOUBLE(M,D) that a select shows is taken everywhere, and so is what the server stores as this number', {
  schema: () => columns.map(([declaration], index) => `create table f${index} (id int not null auto_increment primary key, k ${declaration} not null${index % 2 === 0 ? ', index (k)' : ''})`),
  only: ['mariadb', 'mysql']
}, async (t, { post, sql, server }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  for (const [index, [declaration, largest, tooLarge]] of columns.entries()) {
    for (const sign of declaration.endsWith('unsigned') ? [1] : [1, -1]) {
      const table = `f${index}`
      await sql(`truncate table ${table}`)
      await sql(`insert into ${table} (k) values (0), (${largest * sign})`)
      t.match(await post(table, { verb: 'insert', data: { k: largest * sign } }), { status: 200 }, `${declaration}: ${largest * sign}`)
      const { rows } = (await post(table, { verb: 'select', orderBy: 'id' })).json.data
      const shown = rows[1].k
      t.match(await post(table, { verb: 'insert', data: { k: shown } }), { status: 200 }, `${declaration}: ${shown}`)
      t.match(await post(table, { verb: 'update', data: { k: shown }, filters: { id: 1 } }), { json: { data: { updated: 1 } } })
      t.match((await post(table, { verb: 'select', filters: { k: shown } })).json.data, { count: 4, rows: [{ k: shown }, { k: shown }, { k: shown }, { k: shown }] })
      const { next } = (await post(table, { verb: 'select', orderBy: 'k', after: null, limit: 3 })).json.data
      t.match((await post(table, { verb: 'select', orderBy: 'k', after: next })).json.data, { count: 1, rows: [{ id: 4 }] })
      t.same(await sql(`select distinct cast(k as double) as k from ${table}`).then(({ length }) => length), 1)
      for (const body of [{ verb: 'insert', data: { k: tooLarge * sign } }, { verb: 'select', filters: { k: tooLarge * sign } }]) t.match((await post(table, body)).json.error, { code: 'INVALID_VALUE' }, `${declaration}: ${tooLarge * sign}`)
      for (const name of [`F${index}Row`, `F${index}Insert`]) {
        const { minimum, maximum } = schemas[name].properties.k
        t.ok(minimum <= Math.min(shown, largest * sign) && maximum >= Math.max(shown, largest * sign) && (tooLarge > maximum) && (minimum === 0 || -tooLarge < minimum), `${name}: from ${minimum} to ${maximum}`)
      }
    }
  }
})

await onEachEngine(t, 'a number of a view is shown with all digits that it is compared with, and a filter finds it', {
  schema: () => [
    'create table sizes (id int not null primary key, d double(8,2) not null, f float(8,2) not null)', 'insert into sizes values (1, 1.1, 1.1), (2, 0.07, 0.07), (3, 99999.99, 99999.99)',
    'create view computed as select id, pi() as p, pi() * id as more, d, d * 3 as treble, d / 3 as third, f from sizes',
    'create view averages as select f, sum(d) as sum, max(d) as d from sizes group by f'
  ],
  only: ['mariadb', 'mysql']
}, async (t, { post }) => {
  const { rows } = (await post('computed', { verb: 'select', orderBy: 'id' })).json.data
  t.match(rows[0], { p: Math.PI, more: Math.PI, d: 1.1, treble: 3.3000000000000003, third: 1.1 / 3, f: 1.1 })
  for (const view of ['computed', 'averages']) {
    const columns = view === 'computed' ? ['p', 'more', 'd', 'treble', 'third', 'f'] : ['f', 'sum', 'd']
    const { rows } = (await post(view, { verb: 'select' })).json.data as { rows: Array<Record<string, number>> }
    for (const row of rows) {
      for (const column of columns) {
        const value = row[column] as number
        for (const filter of [value, { $is: value }, { $in: [value] }, { $gte: value, $lte: value }]) {
          const found = (await post(view, { verb: 'select', columns, filters: { [column]: filter } })).json.data.rows
          t.ok(found.some((each: object) => JSON.stringify(each) === JSON.stringify(Object.fromEntries(columns.map((name) => [name, row[name]])))), `${view}.${column} ${JSON.stringify(filter)}`)
        }
      }
    }
  }
  const { json } = await post('computed', { verb: 'select', groupBy: ['p'], aggregates: { most: { $max: 'p' }, n: { $count: '*' } }, having: { most: Math.PI } })
  t.match(json.data.rows, [{ p: Math.PI, most: Math.PI, n: 3 }])
})
