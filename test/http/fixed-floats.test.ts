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
