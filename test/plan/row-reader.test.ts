import t from 'tap'
import { findReader, MAX_READERS, readRow, type Data } from '../../src/plan/row-reader.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const names = Array.from({ length: MAX_READERS + 5 }, (_, index) => `c${index}`)
const createTable = () => tableOf({ columns: names.map((name) => mysqlColumn(name, 'int')) })
const parse = (json: string): Data => JSON.parse(json) as Data

t.test('rows with the same columns share a reader, and a table keeps those that were used last', async (t) => {
  const table = createTable()
  const find = (name: string) => findReader(table, { [name]: 1 }, ['data'])
  const first = find('c0')
  t.equal(find('c0'), first)
  for (const name of names) {
    find(name)
    t.equal(find('c0'), first, 'it is used all the time')
  }
  const second = find('c1')
  for (const name of names.slice(2, MAX_READERS + 1)) find(name)
  t.equal(find('c1'), second)
  for (const name of names.slice(2, MAX_READERS + 2)) find(name)
  t.not(find('c1'), second, 'it was dropped')
  t.not(findReader(createTable(), { c0: 1 }, ['data']), first)
})

t.test('a reader takes no row with other columns, in another order, or with a value that is refused', async (t) => {
  const { read, columns } = findReader(createTable(), { c1: 1, c0: 1 }, ['data'])
  t.same(read(parse('{"c1":5,"c0":null}')), [5n, null])
  for (const json of ['{}', '{"c1":1}', '{"c0":1,"c1":1}', '{"c1":1,"c0":1,"c2":1}', '{"c1":1,"c2":1}', '{"c1":"x","c0":1}']) t.equal(read(parse(json)), undefined, json)
  t.throws(() => readRow(columns, { c1: 1, c0: 'x' }, ['data', 3]), { code: 'INVALID_VALUE', details: [{ path: '/data/3/c0' }] })
})

t.test('inherited properties are no values of a row', async (t) => {
  const table = createTable()
  const { read, columns } = findReader(table, { c0: 1 }, ['data'])
  const shared: { c2?: number } = Object.prototype
  Object.defineProperty(shared, 'c2', { value: 1, enumerable: true, configurable: true })
  t.teardown(() => { delete shared.c2 })
  t.equal(read({ c0: 1 }), undefined)
  t.equal(findReader(table, { c0: 1 }, ['data']).columns, columns)
  t.same(readRow(columns, { c0: 1 }, ['data']), [1n])
})
