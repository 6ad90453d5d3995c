/** Plans with holes: a value that is not known while a body is planned moves nothing but its own holes. */
import t from 'tap'
import type { Body } from '../../schemas/body.ts'
import { createGrant } from '../../src/access/grant.ts'
import { findGrantedTable } from '../../src/access/granted-table.ts'
import { alone, type Table, type TableSource } from '../../src/catalog/catalog.ts'
import { bind } from '../../src/plan/bind.ts'
import { Holes, StandIn, type StandIns } from '../../src/plan/holes.ts'
import type { InsertPlan, SelectPlan } from '../../src/plan/plan.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { countOutcomes } from '../fuzz/holes.ts'
import { describeTables, schema } from '../fuzz/tables.ts'
import { describedCatalog } from '../support/described-tables.ts'
import { planWithHoles, requireSame } from '../support/holes.ts'
import '../support/seed.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine } from '../support/service.ts'
import { LIMITS } from '../support/sql.ts'

await onEachEngine(t, 'a plan with holes that is bound equals the plan with the values, and binding refuses ' +
  'what planning refuses', { schema, only: await anyEngine(t) }, async (t, service) => {
  const outcomes = countOutcomes(await describeTables(service), service.engine === 'sqlite' ? 300 : 60)
  t.comment([...outcomes].join(' '))
  t.ok((outcomes.get('bound') ?? 0) > 100 && (outcomes.get('refused') ?? 0) > 20)
})

const catalog = describedCatalog(`
table customers
  id int primary key
  tenant int not null
table orders
  id int primary key
  tenant int not null
  status varchar(20)
  customer int references customers (id)
  flags set('a','b','c')
  doc json`, 'mysql')
const see = (name: string): Table => catalog.tables.get(name) as Table
const all: TableSource = { table: see('orders'), see }
const limits = { ...LIMITS, include: { levels: 3, members: 10 } }

/** The tables as a grant sees them whose rows are those of tenant 7. */
function asTenant (tables: Record<string, object>): TableSource {
  const grant = createGrant('test', {
    permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: tables }, claims: { tenant: 7 }
  })
  return alone(findGrantedTable({ grant, database: 'shop', catalog }, see('orders')) as Table)
}
const OF_TENANT = { rows: { tenant: { $claim: '/tenant' } } }

const outcome = (source: TableSource, body: object, other: object): string => {
  const planning = { source, limits }
  return requireSame(planWithHoles(body as Body, planning), other as Body, planning)
}

t.test('values have their holes wherever a plan has values', async (t) => {
  const cases: ReadonlyArray<readonly [body: object, other: object]> = [
    [{ verb: 'select', filters: { id: 5, customer: { $ne: 5 } } }, {
      verb: 'select', filters: { id: 6, customer: { $ne: 5 } }
    }],
    [{ verb: 'update', filters: { id: 5 }, data: { customer: 5 } }, {
      verb: 'update', filters: { id: 9 }, data: { customer: 7 }
    }],
    [{ verb: 'select', filters: { $or: [{ status: { $like: 'a\\%_' } }, { $not: { flags: { $has: 'a' } } }] } }, {
      verb: 'select', filters: { $or: [{ status: { $like: '!%' } }, { $not: { flags: { $has: 'c' } } }] }
    }],
    [{
      verb: 'select',
      filters: { $some: { customers: { filters: { tenant: 1 } } } },
      include: { customers: { filters: { tenant: 2 } } }
    }, {
      verb: 'select',
      filters: { $some: { customers: { filters: { tenant: 3 } } } },
      include: { customers: { filters: { tenant: 4 } } }
    }],
    [
      {
        verb: 'select', filters: { id: { $in: [1, 2] } }, aggregates: { n: { $count: '*', filters: { status: 'new' } } }
      },
      {
        verb: 'select', filters: { id: { $in: [3, 1] } }, aggregates: { n: { $count: '*', filters: { status: 'old' } } }
      }
    ],
    [{ verb: 'update', filters: {}, key: ['id'], data: [{ id: 1, status: 'a' }] }, {
      verb: 'update', filters: {}, key: ['id'], data: [{ id: 2, status: 'b' }]
    }],
    [{ verb: 'insert', data: { id: 1, tenant: 2, doc: 'x' }, onConflict: { key: ['id'] }, returning: ['id'] }, {
      verb: 'insert', data: { id: 2, tenant: 3, doc: 'y' }, onConflict: { key: ['id'] }, returning: ['id']
    }]
  ]
  for (const [body, other] of cases) {
    t.equal(outcome(all, body, body), 'bound', JSON.stringify(body))
    t.equal(outcome(all, body, other), 'bound', JSON.stringify(other))
  }
})

t.test('a value is tested by the rules of a grant when it is bound', async (t) => {
  const source = asTenant({ orders: OF_TENANT })
  const insert = (tenant: number): object => ({ verb: 'insert', data: { id: 1, tenant } })
  const update = (tenant: number): object => ({ verb: 'update', filters: { id: 1 }, data: { tenant } })
  for (const write of [insert, update]) {
    t.equal(outcome(source, write(7), write(7)), 'bound')
    t.equal(outcome(source, write(7), write(8)), 'refused')
    t.equal(outcome(source, write(8), write(7)), 'bound', 'whatever value it was planned beside')
  }
})

t.test('a body whose plan depends on more than the place of a value is planned with the values', async (t) => {
  const upsert = (...ids: number[]): object => ({
    verb: 'insert', data: ids.map((id) => ({ id, tenant: 1 })), onConflict: { key: ['id'] }
  })
  t.equal(outcome(all, upsert(1, 2), upsert(3, 2)), 'needs values', 'the order of the rows of an upsert')
  const having = (...flags: string[]): object => ({ verb: 'select', filters: { flags: { $has: flags } } })
  t.equal(outcome(all, having('a', 'b'), having('a', 'c')), 'needs values', 'the bits of several members are one value')
  const referring = (customer: number): object => ({ verb: 'insert', data: { id: 1, tenant: 7, customer } })
  t.equal(
    outcome(asTenant({ orders: {}, customers: OF_TENANT }), referring(1), referring(2)), 'needs values',
    'rows of other tables that are looked up'
  )
  const called = (status: string): object => ({ verb: 'select', filters: { status } })
  t.equal(
    outcome(all, called('new'), called('x'.repeat(21))), 'needs values', 'a text longer than its column is in no row'
  )
  t.equal(outcome(all, called('x'.repeat(21)), called('new')), 'bound')
})

const NEEDS_VALUES = { name: 'NeedsValues' }

/** Values by name: `{"$value": "x"}` in a body. */
class Named implements StandIns {
  readonly holes = new Holes()
  readonly #lists: readonly string[]

  constructor (...lists: string[]) {
    this.#lists = lists
  }

  replace (given: unknown): unknown {
    const name = (given as { $value?: string } | null)?.$value
    if (name === undefined) return given
    const isList = this.#lists.includes(name)
    return isList ? [StandIn.unknown(this.holes, name, true)] : StandIn.unknown(this.holes, name)
  }
}

function plan<P> (body: object, standIns = new Named()): (values: Readonly<Record<string, unknown>>) => P {
  const made = createPlan(body as Body, all, { ...limits, standIns })
  return (values) => bind(made, standIns.holes, (name) => values[name as string]) as P
}

t.test('a plan is bound any number of times, and stays as it is', async (t) => {
  const binding = plan<InsertPlan>({
    verb: 'insert', data: { id: { $value: 'id' }, tenant: 1, doc: { $value: 'doc' }, customer: { $value: 'id' } }
  })
  const values = (id: number, doc: unknown): unknown => binding({ id, doc }).rows[0]?.parameters
  t.same(values(5, { $gt: 0 }), [5n, 1n, '{"$gt":0}', 5n], 'a value is never an operator')
  t.same(values(6, [1]), [6n, 1n, '[1]', 6n])
  t.same(values(5, { $gt: 0 }), [5n, 1n, '{"$gt":0}', 5n])
})

t.test('a list takes the places of its values', async (t) => {
  const binding = plan<SelectPlan>({ verb: 'select', filters: { id: { $in: { $value: 'ids' } } } }, new Named('ids'))
  const { condition } = binding({ ids: [3, 1, 2] })
  t.match(condition, { kind: 'in', parameters: [3n, 1n, 2n] })
  for (const ids of [[], [1, null], [1, 'x'], 1, undefined]) t.throws(() => binding({ ids }), NEEDS_VALUES)
})

t.test('a value that is null, missing or refused is for the planner', async (t) => {
  const binding = plan({
    verb: 'update',
    filters: { id: { $value: 'id' }, $and: [{ id: { $in: [] } }, { customer: { $value: 'folded' } }] },
    data: { status: { $value: 'status' } }
  })
  const good = { id: 1, folded: 1, status: 'x' }
  t.ok(binding(good))
  for (const bad of [
    { id: null }, { id: undefined }, { id: 'x' }, { id: {} }, { status: null }, { status: 'x'.repeat(21) }
  ]) t.throws(() => binding({ ...good, ...bad }), NEEDS_VALUES, JSON.stringify(bad))
  t.throws(() => binding({ ...good, folded: 'x' }), NEEDS_VALUES, 'also one that the plan does not need')
})
