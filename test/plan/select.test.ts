/** Columns, values and groups in the plan of a select. */
import t from 'tap'
import { alone } from '../../src/catalog/catalog.ts'
import { at, invalidBody } from '../../src/errors.ts'
import { getColumn, readValue } from '../../src/plan/columns.ts'
import { createPlan } from '../../src/verbs/index.ts'
import type { SelectPlan } from '../../src/plan/plan.ts'
import { planSelect } from '../../src/verbs/select.ts'
import { conditionText, orderText } from '../support/condition-text.ts'
import { LIMITS, orders } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const table = tableOf({
  columns: [
    mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('status', 'varchar(20)'),
    mysqlColumn('total', 'decimal(10,2)'), mysqlColumn('at', 'datetime'), mysqlColumn('day', 'date'),
    mysqlColumn('tags', 'json')
  ],
  primaryKey: ['id']
})
const plan = (body: object): SelectPlan =>
  createPlan({ verb: 'select', ...body } as never, alone(table), LIMITS) as SelectPlan
const namesOf = ({ columns }: SelectPlan): string[] => columns.map(({ name }) => name)

t.test('a group has the columns of groupBy, then the aggregates, in the order asked for', async (t) => {
  const planned = plan({
    groupBy: ['status', { month: { $month: 'at' } }],
    aggregates: { sum: { $sum: 'total' }, n: { $count: '*' } },
    orderBy: 'n DESC, month',
    limit: 5
  })
  t.same(namesOf(planned), ['status', 'month', 'sum', 'n'])
  t.equal(orderText(planned.order), 'n desc, month asc')
  t.match(planned, {
    limit: 5,
    groups: {
      by: [{ name: 'status' }, { call: '$month', source: { name: 'at' } }],
      aggregates: [{ call: '$sum', source: { name: 'total' } }, { call: '$count', source: undefined }]
    }
  })
  t.ok(Object.isFrozen(planned))
})

t.test('the condition of an aggregate is its own, and one that is always true is none', async (t) => {
  const { groups } = plan({
    filters: { id: { $gt: 1 } },
    aggregates: {
      paid: { $sum: 'total', filters: { status: 'paid' } }, all: { $sum: 'total', filters: { status: { $nin: [] } } }
    }
  })
  const [paid, all] = groups?.aggregates ?? []
  t.equal(conditionText(paid?.condition as never), "status = 'paid'")
  t.notOk(all !== undefined && 'condition' in all)
})

t.test('having and orderBy know the columns of the result and no others', async (t) => {
  const planned = plan({
    groupBy: ['status'], aggregates: { n: { $count: '*' } }, having: { n: { $gt: 10 }, status: 'new' }
  })
  t.equal(conditionText(planned.groups?.having as never), "(n > 10 and status = 'new')")
  t.throws(() => plan({ groupBy: ['status'], having: { total: '1.00' } }), {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/having/total' }]
  })
  t.throws(() => plan({ groupBy: ['status'], orderBy: 'id' }), {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/orderBy' }]
  })
  t.throws(() => plan({ groupBy: ['at'], having: { at: { $gte: { $now: true } } } }), {
    code: 'INVALID_VALUE', details: [{ path: '/having/at/$gte' }]
  })
})

t.test('what a type has no function for is refused with its place', async (t) => {
  for (const [body, path] of [
    [{ aggregates: { s: { $sum: 'status' } } }, '/aggregates/s/$sum'],
    [{ aggregates: { s: { $max: 'tags' } } }, '/aggregates/s/$max'],
    [{ groupBy: ['tags'] }, '/groupBy/0'],
    [{ groupBy: [{ hour: { $hour: 'day' } }] }, '/groupBy/0/hour/$hour'],
    [{ groupBy: [{ year: { $year: 'total' } }] }, '/groupBy/0/year/$year']
  ] as const) t.throws(() => plan(body), { code: 'INVALID_VALUE', details: [{ path }] }, path)
  t.throws(() => plan({ aggregates: { s: { $sum: 'nope' } } }), {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/aggregates/s/$sum' }]
  })
})

t.test('the columns of groupBy are the key of its rows', async (t) => {
  t.equal(
    orderText(plan({ groupBy: ['status', 'day'], offset: 10, orderBy: 'day DESC' }).order), 'day desc, status desc'
  )
})

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

t.test('an unknown column is rejected with its path', async (t) => {
  t.throws(() => planOfSelect({ columns: ['id', 'nope'] }), {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/columns/1' }]
  })
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
