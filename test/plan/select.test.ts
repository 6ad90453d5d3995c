import t from 'tap'
import { alone } from '../../src/catalog/table-source.ts'
import { planSelect } from '../../src/plan/select.ts'
import { LIMITS, orders } from '../support/sql.ts'

const table = orders.mysql
const plan = (body: object) => planSelect({ verb: 'select', ...body }, alone(table), LIMITS)

t.test('a select without options returns every column of up to 100 rows', async (t) => {
  const { columns, condition, order, limit } = plan({})
  t.same(columns, [...table.columns.values()])
  t.same(condition, { kind: 'constant', value: true })
  t.same(order, [])
  t.equal(limit, 100)
})

t.test('a plan is frozen and keeps the requested order of columns', async (t) => {
  const asked = plan({ columns: ['total', 'id'], orderBy: 'name DESC', limit: 3 })
  t.ok(Object.isFrozen(asked))
  t.same(asked.columns.map(({ name }) => name), ['total', 'id'])
  t.match(asked.order, [{ column: { name: 'name' }, direction: 'desc' }])
  t.equal(asked.limit, 3)
})

t.test('an unknown column is rejected with its path', async (t) => {
  t.throws(() => plan({ columns: ['id', 'nope'] }), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/columns/1' }] })
})
