/** Update and delete reject filters that fold to the constant true. */
import t from 'tap'
import { sharedOnEachEngine } from '../support/service.ts'

const schema = {
  mysql: ["create table bits (id int not null primary key, a tinyint unsigned not null, b tinyint null, name varchar(10) not null, kind enum('x', 'y') not null, doc json null, mark int null)", "insert into bits values (1, 1, 1, 'x', 'x', null, 0)"],
  sqlite: ['create table bits (id integer not null primary key, a int not null, b int null, name varchar(10) not null, kind text not null, doc json null, mark int null)', "insert into bits values (1, 1, 1, 'x', 'x', null, 0)"]
}

const sayNothing: object[] = [
  {}, { $and: [] }, { $not: { $or: [] } }, { $or: [{}, { id: 1 }] }, { $or: [{ id: 1 }, {}] }, { $and: [{}, { $and: [] }] }, { $is: {} }, { $or: [{ id: 1 }, { $is: {} }] },
  { id: { $nin: [] } }, { $not: { id: { $in: [] } } }, { id: { $nin: [], $null: false } }, { $or: [{ b: 1 }, { id: { $nin: [] } }] }, { $not: { $and: [{ b: 1 }, { id: { $in: [] } }] } },
  { id: { $null: false } }, { $not: { id: { $null: true } } }, { id: { $ne: null } }, { $not: { id: null } }, { $not: { id: { $is: null } } }, { id: { $nin: [null] } }, { $not: { $not: { id: { $null: false } } } },
  { $not: { id: null, b: 1 } }, { $not: { b: 1, $or: [] } }
]

/** Only constants are folded: with these filters a client selects every row, or almost every row, on purpose. */
const saySomething: object[] = [
  { id: { $gte: 0 } }, { a: { $gte: 0 } }, { a: { $between: [0, 255] } }, { $or: [{ id: 1 }, { id: { $ne: 1 } }] }, { $or: [{ id: { $gt: 3 } }, { id: { $lt: 7 } }] }, { name: { $like: '%' } }, { name: { $startsWith: '' } },
  { kind: ['x', 'y'] }, { $or: [{ b: { $null: true } }, { b: { $null: false } }] }, { $not: { b: null } }, { b: { $ne: null } }, { doc: { $null: true } }, { $is: { b: 1 } }, { b: { $is: 1 } }
]

/** Filters that fold to false select no row and are accepted. */
const never: object[] = [{ $or: [] }, { id: null }, { id: { $in: [] } }, { id: { $null: true } }, { $is: { id: null } }, { id: { $in: [null] } }, { b: 1, $or: [] }, { $not: {} }, { $not: { $or: [{ b: 1 }, {}] } }]

const test = sharedOnEachEngine(t, { schema })

await test('filters that fold to true are rejected', async (t, { post, sql, statements }) => {
  statements()
  for (const filters of sayNothing) {
    for (const body of [{ verb: 'delete', filters }, { verb: 'update', data: { mark: 1 }, filters }]) {
      t.match((await post('bits', body)).json, { error: { code: 'FILTERS_REQUIRED', details: [{ path: '/filters' }] } }, JSON.stringify(body))
    }
    t.match((await post('bits', { verb: 'select', filters })).json, { data: { count: 1 } }, `select by ${JSON.stringify(filters)}`)
  }
  t.same(statements().filter((statement) => !statement.startsWith('select')), [], 'no write was sent')
  t.same((await sql('select mark from bits')).map(({ mark }) => Number(mark)), [0])
})

await test('other filters are accepted, however many rows they match', async (t, { post }) => {
  for (const filters of saySomething) t.match(await post('bits', { verb: 'update', data: { mark: 1 }, filters }), { status: 200 }, JSON.stringify(filters))
  for (const filters of never) {
    t.match(await post('bits', { verb: 'delete', filters }), { status: 200, json: { data: { deleted: 0 } } }, JSON.stringify(filters))
    t.match(await post('bits', { verb: 'update', data: { mark: 1 }, filters }), { status: 200, json: { data: { updated: 0 } } }, JSON.stringify(filters))
  }
})
