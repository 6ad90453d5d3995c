import t from 'tap'
import { createGrant, type TableGrantOptions } from '../../src/access/grant.ts'
import { findGrantedTable } from '../../src/access/granted-table.ts'
import {
  alone, createCatalog, type Catalog, type Column, type GrantedAccess, type Parent, type RuleTest, type Table
} from '../../src/catalog/catalog.ts'
import { permissionDenied } from '../../src/errors.ts'
import { createPlan } from '../../src/verbs/index.ts'
import type { InsertPlan, Plan, SelectPlan, UpdatePlan } from '../../src/plan/plan.ts'
import { restrictUpdate } from '../../src/plan/row-rules.ts'
import { onlyValueOf } from '../../src/plan/rule.ts'
import { conditionText } from '../support/condition-text.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const notNull = { nullable: false, optional: false }
const key = { name: 'PRIMARY', columns: ['id'] }
const index = {
  name: 'PRIMARY', unique: true, ordered: true, parts: [{ column: 'id', descending: false, prefix: false }]
}

const customers = tableOf({
  name: 'customers',
  columns: [mysqlColumn('id', 'int', notNull), mysqlColumn('tenant', 'int', notNull)],
  primaryKey: ['id'],
  uniqueKeys: [key],
  indexes: [index]
})
const orders = tableOf({
  name: 'orders',
  columns: [
    mysqlColumn('id', 'int', notNull), mysqlColumn('tenant', 'int', notNull), mysqlColumn('status', 'varchar(20)'),
    mysqlColumn('customer', 'int'), mysqlColumn('twin', 'int', { generated: true })
  ],
  primaryKey: ['id'],
  uniqueKeys: [key],
  indexes: [index],
  foreignKeys: [{ name: 'of_customer', columns: ['customer'], referencedTable: 'customers', referencedColumns: ['id'] }]
})
const catalog: Catalog = createCatalog(
  [customers, orders].map(({ columnList, ...facts }) => ({ ...facts, columns: columnList })) as never, 0
)

const OF_TENANT: TableGrantOptions = { rows: { tenant: { $claim: '/tenant' } } }

/** The plan of a body for a grant with these tables, whose claims are those of tenant 7. */
function planFor (tables: Record<string, TableGrantOptions>, body: object): Plan {
  const grant = createGrant('test', {
    permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: tables }, claims: { tenant: 7 }
  })
  return createPlan(body as never, alone(
    findGrantedTable(grant, 'shop', catalog, catalog.tables.get('orders') as Table) as Table
  ), LIMITS)
}
const plan = (body: object): Plan => planFor({ orders: OF_TENANT }, body)
const conditionOf = (planned: Plan): string => conditionText((planned as SelectPlan).condition)
const rowOf = (planned: Plan): Record<string, unknown> => {
  const [{ columns, parameters }] = (planned as InsertPlan).rows as [InsertPlan['rows'][number]]
  return Object.fromEntries(columns.map(({ name }, place) => [name, parameters[place]]))
}
const DENIED = { code: 'PERMISSION_DENIED' }

t.test('every verb that finds rows is under the rules, before its filters', async (t) => {
  t.equal(conditionOf(plan({ verb: 'select' })), 'tenant = 7')
  t.equal(
    conditionOf(plan({ verb: 'select', filters: { $or: [{ id: 1 }, { id: 2 }] } })),
    '(tenant = 7 and (id = 1 or id = 2))'
  )
  t.equal(conditionOf(plan({ verb: 'update', filters: { id: 1 }, data: { status: 'x' } })), '(tenant = 7 and id = 1)')
  t.equal(conditionOf(plan({ verb: 'delete', filters: { id: 1 } })), '(tenant = 7 and id = 1)')
  t.equal(conditionOf(plan({ verb: 'select', aggregates: { n: { $count: '*' } } })), 'tenant = 7')
  t.equal(conditionOf(plan({ verb: 'select', filters: { id: { $in: [] } } })), 'false', 'no rule makes it true')
})

t.test('a rule is no filter', async (t) => {
  for (const verb of ['update', 'delete']) {
    t.throws(
      () => plan({ verb, filters: {}, ...verb === 'update' && { data: { status: 'x' } } }), { code: 'FILTERS_REQUIRED' }
    )
  }
})

t.test('rules of every kind are conditions and tests of written values', async (t) => {
  for (const [rows, condition, allowed, refused] of [
    [
      { status: ['new', null] }, "((status = 'new' and status == 'new' and status is not null) or status is null)",
      ['new', null], ['NEW', 'old']
    ],
    [{ status: { $null: false } }, 'status is not null', ['x'], [null]],
    [{ customer: { $gte: 5 } }, 'customer >= 5', [5, 6], [4, null]],
    [{ customer: { $gt: 5, $lt: 9 } }, '(customer > 5 and customer < 9)', [6, 8], [5, 9, null]]
  ] as const) {
    const tables = { orders: { rows } } as unknown as Record<string, TableGrantOptions>
    t.equal(conditionOf(planFor(tables, { verb: 'select' })), condition)
    const [column] = Object.keys(rows) as [string]
    for (const value of allowed) {
      t.equal(rowOf(
        planFor(tables, { verb: 'insert', data: { id: 1, tenant: 1, [column]: value } })
      )[column], typeof value === 'number' ? BigInt(value) : value)
    }
    for (const value of refused) {
      t.throws(
        () => planFor(tables, { verb: 'insert', data: { id: 1, tenant: 1, [column]: value } }), DENIED,
        `${condition}: ${value}`
      )
      t.throws(
        () => planFor(tables, { verb: 'update', filters: { id: 1 }, data: { [column]: value } }), DENIED,
        `${condition}: ${value}`
      )
    }
  }
})

t.test('an insert gets the only value of a rule, and must give any other', async (t) => {
  t.same(rowOf(plan({ verb: 'insert', data: { id: 1 } })), { id: 1n, tenant: 7n })
  t.same(rowOf(plan({ verb: 'insert', data: { id: 1, tenant: 7 } })), { id: 1n, tenant: 7n })
  t.throws(() => plan({ verb: 'insert', data: { id: 1, tenant: 8 } }), DENIED)
  t.throws(() => planFor({ orders: { rows: { status: ['new', 'paid'] } } }, {
    verb: 'insert', data: { id: 1, tenant: 1 }
  }), DENIED)
  t.throws(
    () => plan({ verb: 'insert', data: [{ id: 1 }, { id: 2, tenant: 8 }, { id: 3, tenant: 9 }] }),
    { ...DENIED, details: [{ path: '/data/1' }] }, 'the first row that is refused'
  )
})

t.test('the result of a form is not known, so it is refused under a rule', async (t) => {
  t.throws(() => plan({ verb: 'update', filters: { id: 1 }, data: { tenant: { $inc: 0 } } }), DENIED)
  t.throws(
    () => plan({ verb: 'insert', data: { id: 1 }, onConflict: { key: ['id'], set: { tenant: { $inc: 1 } } } }), DENIED
  )
})

t.test('an upsert changes no row outside of the rules', async (t) => {
  const { conflict } = plan({ verb: 'insert', data: { id: 1, status: 'x' }, onConflict: { key: ['id'] } }) as InsertPlan
  t.equal(conditionText(conflict?.condition as never), 'tenant = 7')
})

t.test('a rule on a column that the database computes is looked up after the write', async (t) => {
  const tables: Record<string, TableGrantOptions> = { orders: { rows: { twin: 7 } } }
  const { afterWrite, inTransaction, key } = planFor(tables, {
    verb: 'update', filters: { id: 1 }, data: { customer: 1 }
  }) as UpdatePlan
  t.equal(inTransaction, true)
  t.equal(conditionText(afterWrite?.rules as never), '(twin = 7 and twin is not null)')
  t.same(key?.map(({ name }) => name), ['id'])
  t.notOk('afterWrite' in plan({ verb: 'update', filters: { id: 1 }, data: { customer: 1 } }))
})

t.test('a foreign key to a table with rules is looked up under them', async (t) => {
  const tables = { orders: {}, customers: OF_TENANT }
  const { foreignKeyChecks, inTransaction } = planFor(tables, {
    verb: 'insert',
    data: [{
      id: 1, tenant: 7, customer: 5
    }, { id: 2, tenant: 7, customer: 6 }, { id: 3, tenant: 7, customer: 5 }, { id: 4, tenant: 7 }]
  }) as InsertPlan
  t.equal(inTransaction, true)
  t.same(foreignKeyChecks?.map(({ key: { name }, lookups, all }) => [
    name, lookups.map(({ condition, index }) => [index, conditionText(condition)]), conditionText(all as never)
  ]), [
    ['of_customer', [[0, '(id = 5 and tenant = 7)'], [1, '(id = 6 and tenant = 7)']], '(id in (5, 6) and tenant = 7)']
  ])
  for (const data of [{ status: 'x' }, { customer: null }]) {
    t.notOk(
      'foreignKeyChecks' in planFor(tables, { verb: 'update', filters: { id: 1 }, data }), 'nothing is referred to'
    )
  }
  t.throws(
    () => planFor(tables, { verb: 'update', filters: { id: 1 }, data: { customer: { $inc: 1 } } }), DENIED,
    'the value is not known'
  )
})

t.test('a plan under rules is frozen, and one of a grant without rules has none', async (t) => {
  for (const body of [
    { verb: 'select' }, { verb: 'insert', data: { id: 1 } },
    { verb: 'update', filters: { id: 1 }, data: { status: 'x' } }, { verb: 'delete', filters: { id: 1 } }
  ]) {
    t.ok(Object.isFrozen(plan(body)))
  }
  t.equal(conditionOf(planFor({ orders: {} }, { verb: 'select' })), 'true')
})

t.test('the only value of a rule is that of an equality, as it is stored, and no other test has one', async (t) => {
  const status = orders.columns.get('status') as Column
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
  t.match(restrict(() => []).afterWrite, { foreignKeys: [{ key: { name: 'of_customer' } }], ofRequest: [{}] })
  t.throws(() => restrict(() => {
    if (calls++ > 0) throw new TypeError('a bug')
    return []
  }), { name: 'TypeError', message: 'a bug' })
  t.same(restrict(() => {
    if (calls++ > 2) throw permissionDenied('not known')
    return []
  }).afterWrite?.ofRequest, [])
})
