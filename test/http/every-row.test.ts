/** Update and delete refuse filters that match every row whatever is in the table. */
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const schema = {
  mysql: ['create table bits (id int not null primary key, a tinyint unsigned not null, b tinyint null, name varchar(10) not null, d decimal(4,1) not null, flag bit(1) not null, mark int null)', "insert into bits values (1, 1, 1, 'x', '1.5', true, 0)"],
  sqlite: ['create table bits (id integer not null primary key, a int not null, b int null, name varchar(10) not null, d decimal(4,1) not null, flag int not null, mark int null)', "insert into bits values (1, 1, 1, 'x', 1.5, true, 0)"]
}

/** On every engine. */
const everyRow: object[] = [
  {}, { $and: [] }, { $not: { $or: [] } }, { $or: [{}, { id: 1 }] }, { $not: { id: { $in: [] } } }, { id: { $nin: [] } }, { $and: [{}, { $and: [] }] },
  { $or: [{ id: 1 }, { id: { $ne: 1 } }] }, { $or: [{ b: 1 }, { $not: { b: 1 } }, { b: null }] }, { $or: [{ b: null }, { b: { $ne: null } }] }, { id: { $ne: null } }, { id: { $null: false } },
  { $or: [{ id: { $gt: 5 } }, { id: { $lte: 5 } }] }, { $or: [{ id: { $gt: 3 } }, { id: { $lt: 7 } }] }, { $or: [{ id: { $lte: 5 } }, { id: { $gte: 6 } }] }, { $or: [{ d: { $gt: '9.0' } }, { d: { $lt: '10.0' } }] },
  { $or: [{ id: { $ne: 1 } }, { id: { $ne: 2 } }] }, { name: { $like: '%' } }, { name: { $startsWith: '' } }, { name: { $contains: '' } }, { $not: { name: { $nlike: '%%' } } },
  { $or: [{ name: { $like: 'a%' } }, { name: { $nlike: 'a%' } }] }, { $or: [{ name: { $gte: 'm' } }, { name: { $lt: 'm' } }] }, { $or: [{ name: { $between: ['a', 'b'] } }, { $not: { name: { $between: ['a', 'b'] } } }] },
  { $or: [{ id: 1, name: 'x' }, { id: { $ne: 1 } }, { name: { $ne: 'x' } }] }, { $not: { id: { $gt: 1, $lt: 1 } } }, { $or: [{ b: { $gte: 3 } }, { b: { $lt: 3 } }, { b: { $null: true } }] }
]
/** Where MySQL's types say more. */
const everyRowMysql: object[] = [{ a: { $gte: 0 } }, { a: { $lte: 255 } }, { a: { $between: [0, 255] } }, { flag: [true, false] }, { $or: [{ flag: true }, { flag: false }] }, { id: { $gte: -2147483648 } }]
/** SQLite's whole numbers have 64 bits, whatever they are called. */
const everyRowSqlite: object[] = [{ id: { $gte: '-9223372036854775808' } }]
/** These look wide and can still miss a row. */
const someRows: object[] = [
  { b: { $ne: null } }, { $or: [{ b: 1 }, { b: { $ne: 1 } }] }, { id: { $gt: -1 } }, { name: { $like: '%a%' } }, { name: { $like: '_%' } }, { name: { $ne: '' } }, { $or: [{ d: { $lt: '9.0' } }, { d: { $gt: '10.0' } }] },
  { $or: [{ d: { $lt: '1.5' } }, { d: { $gt: '1.5' } }] }, { $or: [{ id: { $lt: 5 } }, { id: { $gt: 5 } }] }, { $or: [{ id: { $lt: 5 } }, { name: { $gte: 'a' } }] }, { id: [1, 2, 3] }, { id: { $nin: [2, 3] } }, { $not: { id: 2 } }
]

await onEachEngine(t, 'filters that match every row are no filters', { schema }, async (t, { engine, post, sql, statements }) => {
  statements()
  for (const filters of [...everyRow, ...engine === 'sqlite' ? everyRowSqlite : everyRowMysql]) {
    for (const body of [{ verb: 'delete', filters }, { verb: 'update', data: { mark: 1 }, filters }]) {
      t.match((await post('bits', body)).json, { error: { code: 'FILTERS_REQUIRED', details: [{ path: '/filters' }] } }, JSON.stringify(body))
    }
  }
  t.same(statements(), [], 'no statement was sent')
  t.same((await sql('select mark from bits')).map(({ mark }) => Number(mark)), [0])
  for (const filters of someRows) {
    t.equal((await post('bits', { verb: 'update', data: { mark: 0 }, filters })).status, 200, JSON.stringify(filters))
  }
})

/** Filters on two whole-number columns whose named values are 0 to 3. */
const value = fc.nat(3)
const leaf: Arbitrary<object> = fc.record({
  column: fc.constantFrom('a', 'b'),
  operator: fc.oneof(
    fc.tuple(fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte'), value),
    fc.tuple(fc.constantFrom('$in', '$nin'), fc.array(fc.option(value, { freq: 5 }), { maxLength: 4 })),
    fc.tuple(fc.constant('$between'), fc.tuple(value, value)), fc.tuple(fc.constant('$null'), fc.boolean())
  )
}).map(({ column, operator: [name, operand] }) => ({ [column]: { [name]: operand } }))
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, fc.record({ $or: fc.array(tie('tree'), { maxLength: 4 }) }), fc.record({ $and: fc.array(tie('tree'), { maxLength: 3 }) }), fc.record({ $not: tie('tree') }))
}))

/** Every row that such filters can tell apart: each column below, at, between and above the named values, and without one. */
const all = [-1, 0, 1, 2, 3, 4].flatMap((a) => [null, -1, 0, 1, 2, 3, 4].map((b) => [a, b] as const))
const cells = all.map(([a, b], index) => `(${index + 1}, ${a}, ${b ?? 'null'}, 0)`).join(', ')
const exhaustive = ['create table pairs (id integer not null primary key, a int not null, b int null, mark int not null)', `insert into pairs values ${cells}`]

await onEachEngine(t, 'exactly the filters that match every possible row are refused', { schema: () => exhaustive, only: ['sqlite'] }, async (t, { post }) => {
  let refused = 0
  await fc.assert(fc.asyncProperty(tree as Arbitrary<object>, async (filters) => {
    const { json: { data: { count } } } = await post('pairs', { verb: 'select', filters, limit: 1000 })
    const { status, json } = await post('pairs', { verb: 'update', data: { mark: 0 }, filters })
    if (status !== 200) refused++
    return count === all.length ? json.error?.code === 'FILTERS_REQUIRED' : status === 200
  }), { numRuns: 1500 })
  t.ok(refused > 20, `${refused} of them were refused`)
})
