// night: many random cases
/** Plans of one shape have one statement, and members of one shape are planned once. */
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { type Catalog, type Column, createCatalog, type Table, type TableFacts } from '../../src/catalog/catalog.ts'
import type { Engine } from '../../src/catalog/traits.ts'
import { type Cells, cellsOf } from '../../src/plan/members.ts'
import { createPlan } from '../../src/verbs/index.ts'
import type { CountPlan, ListMember, Plan, SelectPlan } from '../../src/plan/plan.ts'
import { buildStatement, compileStatement } from '../../src/sql/statement-cache.ts'
import { compileFirst, compileRelated, type OnValues } from '../../src/sql/related-rows.ts'
import type { Statement } from '../../src/sql/statement.ts'
import { buildInsert } from '../../src/sql/compile-insert.ts'
import { mysqlType } from '../../src/types/mysql.ts'
import { sqliteType } from '../../src/types/sqlite.ts'
import '../support/seed.ts'
import { compilePlan, LIMITS } from '../support/sql.ts'
import { mysqlColumn, sqliteColumn } from '../support/tables.ts'

const facts = { length: 20, bytes: null, scale: 2, charset: null, srid: null, json: false }
const column = (engine: Engine, name: string, type: string): Column => ({
  name,
  type: engine === 'mysql'
    ? mysqlType({ ...facts, name: type, declaration: type })
    : sqliteType({ ...facts, name: type, declaration: type }),
  declaration: type,
  nullable: true,
  generated: false,
  autoIncrement: name === 'id',
  optional: true,
  defaultText: null,
  comment: ''
})

/** The second one is that of related rows. */
const createTables = (engine: Engine): Table[] => [...createCatalog(['what?', 't1'].map((name): TableFacts => ({
  name,
  kind: 'table',
  comment: '',
  engine: '',
  transactional: true,
  triggers: { isComplete: true, list: [] },
  columns: [
    column(engine, 'id', 'bigint'), column(engine, 'a?b', 'varchar'), column(engine, 'price', 'decimal'),
    column(engine, 'ratio', engine === 'mysql' ? 'float' : 'real'), column(engine, 'doc', 'json'),
    column(engine, 'at', 'datetime')
  ],
  primaryKey: ['id'],
  uniqueKeys: [],
  indexes: [['PRIMARY', 'id'], ['by?price', 'price', 'id'], ['c1', 'a?b', 'price']].map(([name = '', ...parts]) => ({
    name,
    unique: name === 'PRIMARY',
    ordered: true,
    parts: parts.map((each) => ({ column: each, descending: false, prefix: false }))
  })),
  foreignKeys: [],
  checks: []
})), 0).tables.values()]

const limits = {
  depth: 100, conditions: 10_000, values: 10_000, pattern: 1000, offset: 100_000, include: { levels: 10, members: 10 }
}
const values: Record<string, Arbitrary<unknown>> = {
  id: fc.nat(99),
  'a?b': fc.constantFrom('x', '?', "'", '\\', ''),
  price: fc.constantFrom('1.50', 2),
  ratio: fc.constantFrom(0.5, -0, 1e300 / 1e290),
  doc: fc.constantFrom({ a: 1 }, [1], 'x', 5),
  at: fc.constantFrom('2026-11-20T10:15:00', '2026-11-21T00:00:00')
}
/** What a column of time is also compared with, and set to. */
const moments = fc.constantFrom({ $now: true }, { $now: { days: -7 } }, { $now: { months: 1, seconds: -5 } })
const names = Object.keys(values)
const valueOf = (name: string): Arbitrary<unknown> => values[name] as Arbitrary<unknown>

/** Paths with lists at different places have different statements on servers. */
const jsonPath = fc.constantFrom('$.a', '$.b', '$."?"', '$.a[0]', '$[0].a[0]', '$[0].b[0]')
const atPath = (filter: Arbitrary<unknown>): Arbitrary<object> =>
  fc.tuple(jsonPath, filter).map(([path, value]) => ({ $at: { [path]: value } }))
const inside = fc.constantFrom('x', '?', '', 5, -1, true, false, 2 ** 60, 2 ** 61)
const paths = [
  atPath(fc.option(inside)), atPath(
    fc.tuple(fc.constantFrom('$eq', '$ne', '$gt', '$is'), inside).map(([name, value]) => ({ [name]: value }))
  ), atPath(fc.tuple(fc.constantFrom('$in', '$nin'), fc.array(fc.option(inside), { maxLength: 4 })).map(
    ([name, list]) => ({ [name]: list })
  )),
  atPath(fc.tuple(fc.constantFrom('$startsWith', '$contains'), fc.constantFrom('x', '?', '')).map(
    ([name, text]) => ({ [name]: text })
  )), atPath(fc.tuple(fc.constantFrom('$exists', '$null'), fc.boolean()).map(([name, value]) => ({ [name]: value })))
]

const operation = (name: string): Arbitrary<object> => fc.oneof(
  valueOf(name).map((value) => ({ $eq: value })), valueOf(name).map((value) => ({ $ne: value })),
  fc.array(fc.option(valueOf(name)), { maxLength: 4 }).map((list) => ({ $in: list })),
  fc.array(valueOf(name), { maxLength: 3 }).map((list) => ({ $nin: list })),
  fc.boolean().map((value) => ({ $null: value })), fc.option(valueOf(name)).map((value) => ({ $is: value })),
  ...name === 'doc'
    ? paths
    : [
        fc.tuple(valueOf(name), valueOf(name)).map((pair) => ({ $between: pair })),
        valueOf(name).map((value) => ({ $gte: value, $lt: value }))
      ],
  ...name === 'at'
    ? [
        moments.map((now) => ({ $eq: now })), moments.map((now) => ({ $lt: now, $ne: now })),
        fc.tuple(moments, valueOf(name)).map((pair) => ({ $between: pair })), moments
      ]
    : [],
  ...name === 'a?b' ? [fc.constantFrom({ $like: 'a%' }, { $nlike: '?' }, { $startsWith: '%?' }, { $contains: '' })] : []
)
const leaf = fc.constantFrom(...names).chain((name) => operation(name).map((operators) => ({ [name]: operators })))
const { filters } = fc.letrec((tie) => ({
  filters: fc.oneof({ maxDepth: 3 }, leaf, fc.record({ $or: fc.array(tie('filters'), { maxLength: 3 }) }), fc.record({
    $and: fc.array(tie('filters'), { maxLength: 3 })
  }), fc.record({ $not: tie('filters') }), fc.constant({}),
  fc.tuple(fc.constantFrom('$some', '$none'), fc.constantFrom('id', 'price'), tie('filters')).map(
    ([key, column, filters]) => ({ [key]: { t1: { on: { [column]: column }, filters } } })
  ))
}))
const data = fc.subarray(names).chain((chosen) => fc.record(Object.fromEntries(
  chosen.map((name) => [name, fc.option(name === 'at' ? fc.oneof(moments, valueOf(name)) : valueOf(name))])
)))
const changes = fc.tuple(data, fc.subarray(['id', 'price', 'ratio', 'doc'])).map(([values, formed]) => ({
  ...values, ...Object.fromEntries(formed.map((name) => [name, name === 'doc' ? { $merge: { b: 2 } } : { $inc: 1 }]))
}))
const computed = fc.constantFrom(
  { $count: '*' }, { $count: 'doc' }, { $countDistinct: 'a?b' }, { $sum: 'price' }, { $avg: 'price' }, { $sum: 'id' },
  { $avg: 'ratio' }, { $min: 'a?b' }, { $max: 'id' }, { $min: 'ratio' }
)
const nameOf = (entry: string | object): string => typeof entry === 'string' ? entry : Object.keys(entry)[0] as string
/** Some of the names, so that a kept statement is found again, and found for another select. */
const parts = fc.constantFrom(
  { p: { $month: 'at' } }, { p: { $week: 'at' } }, { q: { $year: 'at' } }, { q: { $hour: 'at' } },
  { r: { same: 'price' } }, { s: { same: 'id' } }
)
const filtered = fc.tuple(computed, filters, fc.boolean()).map(
  ([call, filters, isFiltered]) => isFiltered ? { ...call, filters } : call
)
const groups = fc.tuple(
  fc.uniqueArray(fc.oneof(fc.constantFrom('id', 'a?b', 'ratio'), parts), { maxLength: 3, selector: nameOf }),
  fc.dictionary(fc.constantFrom('m', 'n', 'v0'), filtered, { minKeys: 1, maxKeys: 2 })
).chain(([groupBy, aggregates]) => {
  const names = [...groupBy.map(nameOf), ...Object.keys(aggregates)]
  const having = fc.subarray(names).chain((chosen) => fc.record(Object.fromEntries(chosen.map((name) => [
    name, values[name] !== undefined ? operation(name) : fc.constantFrom({ $null: true }, { $null: false }, { $in: [] })
  ]))))
  return fc.record({
    verb: fc.constant('select'),
    aggregates: fc.constant(aggregates),
    ...(groupBy.length > 0 && { groupBy: fc.constant(groupBy) }),
    ...(/"same"/.test(JSON.stringify(groupBy)) && {
      include: fc.record({ same: fc.record({ table: fc.constant('t1'), on: fc.constant({ id: 'id' }), filters }) })
    }),
    filters,
    having,
    limit: fc.integer({ min: 1, max: 9 }),
    orderBy: fc.constantFrom(...names).map((name) => [{ [name]: 'DESC' }])
  })
})
/** Pages by position; some of them have an index that is forced. */
const positions = fc.constantFrom(['id'], ['price', 'id'], ['a?b', 'price', 'id'], [
  'ratio', 'a?b', 'id'
]).chain((order) => fc.record({
  verb: fc.constant('select'),
  filters: fc.oneof(filters, fc.constantFrom({ 'a?b': 'x' }, { id: 5 }, { price: { $gt: '1.00' } })),
  columns: fc.shuffledSubarray(names, { minLength: 1 }),
  orderBy: fc.tuple(...order.map((name) => fc.constantFrom('ASC', 'DESC').map((direction) => ({ [name]: direction })))),
  limit: fc.integer({ min: 1, max: 9 }),
  after: fc.option(
    fc.record(Object.fromEntries(order.map((name) => [name, name === 'id' ? valueOf(name) : fc.option(valueOf(name))])))
  )
}, { requiredKeys: ['verb', 'orderBy', 'after'] }))
const offsets = fc.record(
  { verb: fc.constant('select'), filters, offset: fc.nat(9), orderBy: fc.constantFrom('price', 'id DESC') },
  { requiredKeys: ['verb', 'offset'] }
)
const body = fc.oneof(
  positions,
  offsets,
  fc.record({
    verb: fc.constant('select'),
    filters,
    columns: fc.shuffledSubarray(names, { minLength: 1 }),
    limit: fc.integer({ min: 1, max: 1000 }),
    orderBy: fc.constantFrom('id', 'price DESC, id', 'a?b')
  }, { requiredKeys: ['verb'] }),
  groups,
  fc.record({ verb: fc.constant('insert'), data }),
  fc.record({
    verb: fc.constant('update'),
    data: changes.filter((each) => Object.keys(each).length > 0),
    filters: fc.tuple(filters, fc.nat(9)).map(([each, id]) => ({ $and: [each, { id }] }))
  }),
  fc.record({
    verb: fc.constant('delete'), filters: fc.tuple(filters, fc.nat(9)).map(([each, id]) => ({ $and: [each, { id }] }))
  })
)

for (const engine of ['mysql', 'sqlite'] as const) {
  t.test(`a cached statement equals a freshly compiled one (${engine})`, async () => {
    const [table, other] = createTables(engine) as [Table, Table]
    const source = { table, see: () => other }
    fc.assert(fc.property(body as Arbitrary<any>, (request) => {
      for (const plan of plansOf(createPlan(request, source, limits))) requireSame(plan, engine)
      return true
    }), { numRuns: 3000 })
  })
}

/** The plan, and for a select its stream and those that count its rows. */
function plansOf (plan: Plan): Array<Plan | CountPlan> {
  if (plan.verb !== 'select' || plan.groups !== undefined) return [plan]
  const { table, condition, page } = plan
  const stream: Plan[] = page?.by === 'position' ? [{ ...plan, page: { ...page, orderOnly: [] } }] : []
  return [plan, ...stream, ...[undefined, 5].map((limit): CountPlan => ({ verb: 'count', table, condition, limit }))]
}

function buildFresh (plan: Plan | CountPlan, engine: Engine): Pick<Statement, 'sql' | 'parameters'> {
  if (plan.verb !== 'insert') {
    const { sql, slots } = buildStatement(plan, engine)
    return { sql, parameters: slots as Statement['parameters'] }
  }
  const { table, rows: [row = { index: 0, columns: [], parameters: [] }] } = plan
  return {
    ...buildInsert({ table, columns: row.columns, rows: plan.rows, hasRowIndexes: false }, engine),
    parameters: row.parameters as Statement['parameters']
  }
}

function requireSame (plan: Plan | CountPlan, engine: Engine): void {
  const fresh = buildFresh(plan, engine)
  for (const kept of [compilePlan(plan, engine), compilePlan(plan, engine)]) {
    if (kept.sql !== fresh.sql || kept.pieces.join('?') !== fresh.sql) throw new Error(`${kept.sql}\n${fresh.sql}`)
    if (kept.verb === 'select' && plan.verb === 'select' && kept.columns.map(({ name }) => name).join() !== [
      ...plan.columns, ...plan.page?.by === 'position' ? plan.page.orderOnly : []
    ].map(({ name }) => name).join()) {
      throw new Error(`the columns of another select: ${kept.columns.map(({ name }) => name).join()}`)
    }
    if (kept.pieces.length !== kept.parameters.length + 1) throw new Error('a piece for each parameter and one more')
    if (kept.parameters.length !== fresh.parameters.length || !kept.parameters.every(
      (each, index) => Object.is(each, fresh.parameters[index])
    )) throw new Error(`${String(kept.parameters)}\n${String(fresh.parameters)}`)
  }
}

// The statements of rows with members are kept by their shapes too: the kept ones equal those that are compiled for
// tables that have none yet.

const NAMES = ['t?', 't0', 'c1.x']

/** Three tables with the same columns, of which each index of the last one begins with. */
function createTablesOfMembersCache (engine: Engine): Catalog {
  const column = engine === 'mysql' ? mysqlColumn : sqliteColumn
  const index = (name: string, unique: boolean, ...columns: string[]) => ({
    name, unique, ordered: true, parts: columns.map((each) => ({ column: each, descending: false, prefix: false }))
  })
  return createCatalog(NAMES.map((name) => ({
    name,
    kind: 'table' as const,
    comment: '',
    engine: '',
    transactional: true,
    triggers: { isComplete: true, list: [] },
    columns: [
      column('id', 'bigint', { nullable: false }), column('p', 'int'), column('s', 'varchar(20)'),
      column('d', 'decimal(10,2)')
    ],
    primaryKey: ['id'],
    uniqueKeys: [],
    indexes: [
      index('PRIMARY', true, 'id'), index('by?p', false, 'p', 's'), index('by s', false, 's'),
      index('both', true, 'p', 's')
    ],
    foreignKeys: [],
    checks: []
  })), 0)
}

const filtersOfMembersCache = fc.constantFrom<object>(
  {}, {}, { d: '1.50' }, { d: { $gt: 2 } }, { p: 1 }, { s: 'x' }, { s: { $in: ['a', 'b'] } },
  { s: { $in: ['c', 'd'] } }, { $or: [{ id: 1 }, { d: null }] }, { id: { $in: [] } }
)
const columns = fc.shuffledSubarray(['id', 'p', 's', 'd'], { minLength: 1 })
const aggregates = fc.constantFrom<object>(
  { n: { $count: '*' } }, { n: { $max: 'd' }, m: { $count: 'p', filters: { s: 'x' } } },
  { n: { $max: 'd' }, m: { $count: 'p', filters: { s: 'y' } } }
)
const on = fc.constantFrom<object>({ id: 'id' }, { p: 'id' }, { id: 'p' }, { p: 'p' }, { s: 's' }, { p: 'p', s: 's' }, {
  s: 's', id: 'p'
})

const member = (level: number): Arbitrary<object> => fc.oneof(
  fc.record({ table: fc.constantFrom(...NAMES), on, filters: filtersOfMembersCache, aggregates }),
  fc.record({
    table: fc.constantFrom(...NAMES),
    on,
    filters: filtersOfMembersCache,
    columns,
    limit: fc.constantFrom(1, 5),
    orderBy: fc.constantFrom('s', 'd DESC', 's DESC, id'),
    ...level < 3 && { include: members(level + 1) }
  }, { requiredKeys: ['table', 'on'] })
)
const members = (level: number): Arbitrary<object> =>
  fc.dictionary(fc.constantFrom('one', 'm0', 'm1'), fc.memo(member)(level), { minKeys: 1, maxKeys: 2 })

const bodyOfMembersCache = fc.record({
  verb: fc.constant('select'),
  filters: filtersOfMembersCache,
  columns,
  limit: fc.constantFrom(2, 100),
  orderBy: fc.constantFrom('id', 's DESC, id'),
  include: members(1),
  after: fc.constantFrom(null),
  offset: fc.constant(3)
}, { requiredKeys: ['verb', 'include'] })

/** All statements of a plan, for the values of so many rows. */
function statementsOf (plan: SelectPlan, engine: Engine, counts: { cached: number, built: number }): Statement[] {
  const rows = [1, 3].map((count) => Array.from({ length: count }, (_, id) => id))
  const ofMember = (each: ListMember): Statement[] => {
    const statements = rows.flatMap((ids) => [undefined, 'share' as const].flatMap((lock) => {
      const onValues = ids.map((id): OnValues => ({
        id, values: each.on.map(({ other }) => other.type.read(other.name === 's' ? `x${id}` : id))
      }))
      const first = engine === 'mysql' && each.kind === 'many' && each.on.length === 1
        ? [compileFirst(each, onValues, 7, { counts, lock })]
        : []
      return [...first, ...compileRelated(each, onValues, { engine, counts, lock })]
    }))
    return [...statements, ...each.kind === 'many' ? ofLinks(cellsOf(each)) : []]
  }
  const ofLinks = ({ links }: Cells): Statement[] => links.flatMap(({ member }) => ofMember(member))
  return [compileStatement(plan, engine, counts), ...ofLinks(cellsOf(plan))]
}

const shown = ({ sql, pieces, parameters, columns, sources, confirmations }: Statement): unknown[] =>
  [
    sql, pieces, parameters.map(String), columns.map(({ name, declaration }) => [name, declaration]),
    sources?.map(({ name }) => name), confirmations.map(({ sql }) => sql)
  ]

for (const engine of ['mysql', 'sqlite'] as const) {
  t.test(`kept statements of rows with members equal freshly compiled ones (${engine})`, async (t) => {
    const kept = createTablesOfMembersCache(engine)
    const counts = { cached: 0, built: 0 }
    let refused = 0
    fc.assert(fc.property(fc.constantFrom(...NAMES), bodyOfMembersCache as Arbitrary<any>, (name, request) => {
      const plan = (catalog: Catalog): SelectPlan => createPlan(
        request, { table: catalog.tables.get(name) as never, see: (other) => catalog.tables.get(other) as never },
        { ...LIMITS, include: { levels: 3, members: 10 } }
      ) as SelectPlan
      let mine: SelectPlan
      try {
        mine = plan(kept)
      } catch {
        refused++
        return
      }
      const fresh = statementsOf(plan(createTablesOfMembersCache(engine)), engine, { cached: 0, built: 0 }).map(shown)
      for (let time = 0; time < 2; time++) {
        const found = statementsOf(mine, engine, counts).map(shown)
        if (JSON.stringify(found) !== JSON.stringify(fresh)) {
          throw new Error(`${JSON.stringify(found)}\n${JSON.stringify(fresh)}`)
        }
      }
    }), { numRuns: 1000 })
    t.comment(JSON.stringify({ ...counts, refused }))
    t.ok(counts.cached > counts.built && refused < 700, JSON.stringify({ ...counts, refused }))
  })
}
