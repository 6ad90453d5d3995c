import t from 'tap'
import { alone } from '../../src/catalog/table-source.ts'
import { createPlan } from '../../src/plan/create-plan.ts'
import type { SelectPlan } from '../../src/plan/plan.ts'
import { conditionText, orderText } from '../support/condition-text.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const table = tableOf({
  columns: [mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('status', 'varchar(20)'), mysqlColumn('total', 'decimal(10,2)'), mysqlColumn('at', 'datetime'), mysqlColumn('day', 'date'), mysqlColumn('tags', 'json')],
  primaryKey: ['id']
})
const plan = (body: object): SelectPlan => createPlan({ verb: 'select', ...body } as never, alone(table), LIMITS) as SelectPlan
const namesOf = ({ columns }: SelectPlan): string[] => columns.map(({ name }) => name)

t.test('a group has the columns of groupBy, then the aggregates, in the order asked for', async (t) => {
  const planned = plan({ groupBy: ['status', { month: { $month: 'at' } }], aggregates: { sum: { $sum: 'total' }, n: { $count: '*' } }, orderBy: 'n DESC, month', limit: 5 })
  t.same(namesOf(planned), ['status', 'month', 'sum', 'n'])
  t.equal(orderText(planned.order), 'n desc, month asc')
  t.match(planned, { limit: 5, groups: { by: [{ name: 'status' }, { call: '$month', source: { name: 'at' } }], aggregates: [{ call: '$sum', source: { name: 'total' } }, { call: '$count', source: undefined }] } })
  t.ok(Object.isFrozen(planned))
})

t.test('the condition of an aggregate is its own, and one that is always true is none', async (t) => {
  const { groups } = plan({ filters: { id: { $gt: 1 } }, aggregates: { paid: { $sum: 'total', filters: { status: 'paid' } }, all: { $sum: 'total', filters: { status: { $nin: [] } } } } })
  const [paid, all] = groups?.aggregates ?? []
  t.equal(conditionText(paid?.condition as never), "status = 'paid'")
  t.notOk(all !== undefined && 'condition' in all)
})

t.test('having and orderBy know the columns of the result and no others', async (t) => {
  const planned = plan({ groupBy: ['status'], aggregates: { n: { $count: '*' } }, having: { n: { $gt: 10 }, status: 'new' } })
  t.equal(conditionText(planned.groups?.having as never), "(n > 10 and status = 'new')")
  t.throws(() => plan({ groupBy: ['status'], having: { total: '1.00' } }), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/having/total' }] })
  t.throws(() => plan({ groupBy: ['status'], orderBy: 'id' }), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/orderBy' }] })
  t.throws(() => plan({ groupBy: ['at'], having: { at: { $gte: { $now: true } } } }), { code: 'INVALID_VALUE', details: [{ path: '/having/at/$gte' }] })
})

t.test('what a type has no function for is refused with its place', async (t) => {
  for (const [body, path] of [
    [{ aggregates: { s: { $sum: 'status' } } }, '/aggregates/s/$sum'],
    [{ aggregates: { s: { $max: 'tags' } } }, '/aggregates/s/$max'],
    [{ groupBy: ['tags'] }, '/groupBy/0'],
    [{ groupBy: [{ hour: { $hour: 'day' } }] }, '/groupBy/0/hour/$hour'],
    [{ groupBy: [{ year: { $year: 'total' } }] }, '/groupBy/0/year/$year']
  ] as const) t.throws(() => plan(body), { code: 'INVALID_VALUE', details: [{ path }] }, path)
  t.throws(() => plan({ aggregates: { s: { $sum: 'nope' } } }), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/aggregates/s/$sum' }] })
})

t.test('the columns of groupBy are the key of its rows', async (t) => {
  t.equal(orderText(plan({ groupBy: ['status', 'day'], offset: 10, orderBy: 'day DESC' }).order), 'day desc, status desc')
})
