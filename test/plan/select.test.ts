/** Columns, values and groups in the plan of a select. */
import t from 'tap'
import { alone } from '../../src/catalog/catalog.ts'
import { at, invalidBody } from '../../src/errors.ts'
import { getColumn, readValue } from '../../src/plan/columns.ts'
import { planSelect } from '../../src/verbs/select.ts'
import { LIMITS, orders } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const tableOfSelect = orders.mysql
const planOfSelect = (body: object) => planSelect({ verb: 'select', ...body }, alone(tableOfSelect), LIMITS)

t.test('a select without options returns every column of up to 100 rows', async (t) => {
  const { columns, condition, order, limit } = planOfSelect({})
  t.same(columns, [...tableOfSelect.columns.values()])
  t.same(condition, { kind: 'constant', value: true })
  t.same(order, [])
  t.equal(limit, 100)
})

t.test('a plan is frozen and keeps the requested order of columns', async (t) => {
  const asked = planOfSelect({ columns: ['total', 'id'], orderBy: 'name DESC', limit: 3 })
  t.ok(Object.isFrozen(asked))
  t.same(asked.columns.map(({ name }) => name), ['total', 'id'])
  t.match(asked.order, [{ column: { name: 'name' }, direction: 'desc' }])
  t.equal(asked.limit, 3)
})

const tableOfColumns = tableOf({ columns: [mysqlColumn('id', 'int')] })
const id = getColumn(tableOfColumns, 'id', [])

t.test('a column is found by its exact name', async (t) => {
  t.equal(id, tableOfColumns.columns.get('id'))
  for (const name of ['ID', 'id ', '', 'toString']) {
    t.throws(() => getColumn(tableOfColumns, name, ['columns', 3]), {
      code: 'COLUMN_NOT_FOUND', details: [{ path: '/columns/3' }]
    })
  }
})

t.test('a value that does not fit its column is rejected with its path; a bug is not ' +
  'reported as such a value', async (t) => {
  t.equal(readValue(id, 5, []), 5n)
  t.throws(() => readValue(id, 'x', ['filters', 'id', '$in', 0]), {
    code: 'INVALID_VALUE', message: /^Column "id": /, details: [{ path: '/filters/id/$in/0' }]
  })
  const broken = { ...id, type: { ...id.type, read: () => { throw new TypeError('a bug') } } }
  t.throws(() => readValue(broken, 5, []), { name: 'TypeError', message: 'a bug' })
})

t.test('a path is a JSON Pointer, with ~ and / in names escaped', async (t) => {
  const error = at(['filters', 'a/b', '~', 0], invalidBody('wrong'))
  t.same(error.details, [{ path: '/filters/a~1b/~0/0', message: 'wrong' }])
})
