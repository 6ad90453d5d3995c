import t from 'tap'
import { at, invalidBody } from '../../src/errors.ts'
import { getColumn, readValue } from '../../src/plan/columns.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const table = tableOf({ columns: [mysqlColumn('id', 'int')] })
const id = getColumn(table, 'id', [])

t.test('a column is found by its exact name', async (t) => {
  t.equal(id, table.columns.get('id'))
  for (const name of ['ID', 'id ', '', 'toString']) t.throws(() => getColumn(table, name, ['columns', 3]), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/columns/3' }] })
})

t.test('a value that does not fit its column is rejected with its path; a bug is not reported as such a value', async (t) => {
  t.equal(readValue(id, 5, []), 5n)
  t.throws(() => readValue(id, 'x', ['filters', 'id', '$in', 0]), { code: 'INVALID_VALUE', message: /^Column "id": /, details: [{ path: '/filters/id/$in/0' }] })
  const broken = { ...id, type: { ...id.type, read: () => { throw new TypeError('a bug') } } }
  t.throws(() => readValue(broken, 5, []), { name: 'TypeError', message: 'a bug' })
})

t.test('a path is a JSON Pointer, with ~ and / in names escaped', async (t) => {
  const error = at(['filters', 'a/b', '~', 0], invalidBody('wrong'))
  t.same(error.details, [{ path: '/filters/a~1b/~0/0', message: 'wrong' }])
})
