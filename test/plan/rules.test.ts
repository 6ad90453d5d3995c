/** Rules of grants, apart from what bodies show of them (test/plan/bodies/grants.txt). */
import t from 'tap'
import { createGrant, type TableGrantOptions } from '../../src/access/grant.ts'
import { findGrantedTable } from '../../src/access/granted-table.ts'
import { alone, type Column, type GrantedAccess, type Parent, type RuleTest, type Table } from
  '../../src/catalog/catalog.ts'
import { permissionDenied } from '../../src/errors.ts'
import { createPlan } from '../../src/verbs/index.ts'
import type { Plan, UpdatePlan } from '../../src/plan/plan.ts'
import { restrictUpdate } from '../../src/plan/row-rules.ts'
import { onlyValueOf } from '../../src/plan/rule.ts'
import { describedCatalog } from '../support/described-tables.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn } from '../support/tables.ts'

const catalog = describedCatalog(`
table customers
  id int primary key
  tenant int not null
table orders
  id int primary key
  tenant int not null
  status varchar(20)
  customer int references customers (id)`, 'mysql')

const OF_TENANT: TableGrantOptions = { rows: { tenant: { $claim: '/tenant' } } }

/** The plan of a body for a grant with these tables, whose claims are those of tenant 7. */
function planFor (tables: Record<string, TableGrantOptions>, body: object): Plan {
  const grant = createGrant('test', {
    permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: tables }, claims: { tenant: 7 }
  })
  return createPlan(body as never, alone(
    findGrantedTable({ grant, database: 'shop', catalog }, catalog.tables.get('orders') as Table) as Table
  ), LIMITS)
}
const plan = (body: object): Plan => planFor({ orders: OF_TENANT }, body)

t.test('a plan under rules is frozen', async (t) => {
  for (const body of [
    { verb: 'select' }, { verb: 'insert', data: { id: 1 } },
    { verb: 'update', filters: { id: 1 }, data: { status: 'x' } }, { verb: 'delete', filters: { id: 1 } }
  ]) {
    t.ok(Object.isFrozen(plan(body)))
  }
})

t.test('the only value of a rule is that of an equality, as it is stored, and no other test has one', async (t) => {
  const status = catalog.tables.get('orders')?.columns.get('status') as Column
  const ratio = mysqlColumn('ratio', 'float(8,2)')
  const one = { kind: 'in', values: ['new'] } as const
  const cases: Array<[tests: RuleTest[], value: unknown, column?: Column]> = [
    [[one], 'new'], [[{ kind: 'in', values: [null] }], null], [[{ kind: 'notNull' }, one], 'new'],
    [[{ kind: 'in', values: ['new', 'old'] }], undefined], [[{ kind: 'in', values: [] }], undefined],
    [[{ kind: 'in', values: ['new', null] }, one], 'new'],
    [[{ kind: 'order', operator: '>=', value: 'new' }, { kind: 'order', operator: '<=', value: 'new' }], undefined],
    [[{ kind: 'notNull' }], undefined], [[], undefined],
    [[{ kind: 'in', values: [1_000_000] }], 999_999.99, ratio]
  ]
  for (const [tests, value, column = status] of cases) t.same(onlyValueOf({ column, tests }), value)
})

t.test('values that are not known before the write leave the check to the written rows, a bug does not', async (t) => {
  const base = planFor({ orders: {}, customers: OF_TENANT }, {
    verb: 'update', filters: { id: 1 }, data: { customer: 1 }
  }) as UpdatePlan
  const granted = base.table.granted as GrantedAccess
  const [parent] = granted.parents as [Parent]
  let calls = 0
  // a trigger may change the customer
  const triggers: Table['triggers'] = { isComplete: true, list: [{ timing: 'before', event: 'update' }] }
  const shown: Table = { ...granted.base, triggers }
  const restrict = (rules: Parent['rules']): UpdatePlan => {
    const access = { ...granted, base: shown, shape: shown, parents: [{ ...parent, rules }] }
    return restrictUpdate({ ...base, table: { ...shown, granted: access } }, access)
  }
  t.match(restrict(() => []).afterWrite, { foreignKeys: [{ key: { name: 'orders_customer' } }], ofRequest: [{}] })
  t.throws(() => restrict(() => {
    if (calls++ > 0) throw new TypeError('a bug')
    return []
  }), { name: 'TypeError', message: 'a bug' })
  t.same(restrict(() => {
    if (calls++ > 2) throw permissionDenied('not known')
    return []
  }).afterWrite?.ofRequest, [])
})
