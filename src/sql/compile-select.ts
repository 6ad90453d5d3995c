import { type AliasableExpression, type Expression, type RawBuilder, sql, type SqlBool } from 'kysely'
import { baseTable, type Column, type Index, partsOf, type Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import {
  type ComputedColumn, type Condition, type CountPlan, type Groups, isComputed, isRelated, type OneMember, type Order,
  type RowLock, type SelectPlan
} from '../plan/plan.ts'
import { getOrCreate } from '../get-or-create.ts'
import { matchesIn } from '../plan/filters/match.ts'
import { groupMembers } from '../plan/filters/scope.ts'
import { COUNT_ROWS } from '../types/aggregates.ts'
import type { Parameter, SqlTemplate } from '../types/column-type.ts'
import {
  compileCondition, compileForm, isTrue, type Operands, orderTerms, selectedColumns, wrap
} from './conditions.ts'
import {
  builderFor, type BuiltStatement, type Rows, type TableBuilder, statementBuilder, type TableTokens
} from './builder.ts'
import type { Statement } from './statement.ts'

/**
 * `select <columns>, <aggregates> from <table> [left join <table> on …] where … group by … having … order by … limit
 * n`. The columns of the table are named with it, because the joined tables may have the same names.
 */
function compileGroups (plan: SelectPlan, groups: Groups, engine: Engine): BuiltStatement {
  const { by, aggregates, having } = groups
  const { table, columns, condition, order, page } = plan
  const builder = statementBuilder(engine, table)
  const own: TableTokens = { ...builder, token: builder.outer }
  const joined = new Map(groupMembers(groups).map((member) => [member, builder.add(member.table, undefined)]))
  const alias = createAlias([table, ...Array.from(joined.keys(), (member) => member.table)])
  const column = (each: Column): AliasableExpression<Parameter> =>
    sql.ref(isRelated(each) ? (joined.get(each.member) as TableTokens).token(each.origin) : own.token(each))
  const [only] = aggregates
  // with a condition on all rows, and not on those of the aggregate, SQLite finds `$max` by an index
  const ownRows =
    only === undefined || columns.length > 1 || only.condition !== undefined ? undefined : ownValues(only, own)
  const computed = (each: ComputedColumn) =>
    compute(countingVisible(each, condition), engine, own, ownRows === undefined)
  const expressions = new Map(
    [...by, ...aggregates].map((each) => [each as Column, isComputed(each) ? computed(each) : column(each)])
  )
  const selected = columns.map((each, index) =>
    wrap(each.type.selected, expressions.get(each) as AliasableExpression<Parameter>).as(alias(index))
  )
  const operands: Operands = {
    // the alias, because an expression would be computed again and has parameters
    left: (each) => isComputed(each) ? sql.id(alias(columns.indexOf(each))) : wrap(each.type.grouped, column(each)),
    wrapping: ({ type }) => type.computed ?? type.compared
  }
  const joins = Array.from(joined, ([member, other]) => leftJoin(member, { other, from: other.from, outer: own }))
  let query = from(builder, joins).select(selected)
  if (!isTrue(condition)) query = query.where(compileCondition(condition, own))
  if (ownRows !== undefined) query = query.where(ownRows)
  if (by.length > 0) query = query.groupBy(by.map((each) => expressions.get(each) as AliasableExpression<Parameter>))
  if (!isTrue(having)) query = query.having(compileCondition(having, own, operands))
  for (const term of orderTerms(order, ({ column: each }) => operands.left(each))) query = query.orderBy(term)
  query = query.limit(plan.read ?? plan.limit)
  return builder.build(page?.by === 'offset' ? query.offset(page.offset) : query)
}

/** `$count` of all rows, also by a column that is not NULL in any. */
const countingVisible = (each: ComputedColumn, condition: Condition): ComputedColumn =>
  each.call !== '$count' || each.condition !== undefined || each.source?.nullable === true
    ? each
    : { ...each, sql: countedRows(condition, each.sql) }

/**
 * Compiles an aggregate or a part of time. The servers compute the aggregate of a CASE, which is NULL for the other
 * rows. SQLite uses its FILTER clause, because a CASE would lose the collation of the column.
 */
export function compute (
  computed: ComputedColumn,
  engine: Engine,
  builder: Pick<TableTokens, 'token'>,
  own = true
): AliasableExpression<Parameter> {
  const { sql: texts, source, condition } = computed
  const column: Expression<unknown> = source === undefined ? sql`*` : sql.ref(builder.token(source))
  // as in a subquery: a view is read once, by a derived table
  const passes = condition === undefined ? undefined : compileCondition(condition, { ...builder, isInner: true })
  if (TRAITS[engine].filtersAggregates) {
    const conditions = [own ? ownValues(computed, builder) : undefined, passes].filter(
      (each) => each !== undefined
    )
    return compileForm(texts, {
      column,
      filter: conditions.length === 0 ? sql`` : sql` filter (where ${sql.join(conditions, sql` and `)})`
    })
  }
  if (passes === undefined) return compileForm(texts, { column })
  return compileForm(texts, { column: sql`case when ${passes} then ${source === undefined ? sql`1` : column} end` })
}

/** The functions that pass over values which are not `ColumnType.own`. */
const OF_VALUES = new Set(['$sum', '$avg', '$min', '$max'])

/** The condition that an aggregate of values has on SQLite; undefined if there is none. */
function ownValues (
  { call, source }: ComputedColumn,
  { token }: Pick<TableTokens, 'token'>
): Expression<SqlBool> | undefined {
  const own = source?.type.own
  return own === undefined || !OF_VALUES.has(call)
    ? undefined
    : sql<SqlBool>`${compileForm(own, { column: sql.ref(token(source as Column)) })}`
}

/**
 * Creates aliases that no column of the tables has, because HAVING prefers columns to aliases: any on SQLite, those of
 * GROUP BY on MySQL.
 */
function createAlias (tables: readonly Table[]): (index: number) => string {
  const columns = tables.flatMap((table) => baseTable(table).columnList)
  let prefix = 'v'
  while (columns.some(({ name }) => name.toLowerCase().startsWith(prefix))) prefix += '_'
  return (index) => `${prefix}${index}`
}

/**
 * The index that begins with the columns that the filters hold equal, followed by those of the order, all in the same
 * or all in the opposite direction. Undefined if there is none, or if the filters name other columns, so that another
 * index may find fewer rows.
 */
export function findIndex (
  { table, page, condition, order }: SelectPlan,
  engine: Engine
): { readonly index: Index, readonly order: readonly Order[] } | undefined {
  if (!TRAITS[engine].namesIndexes || page?.by !== 'position') return undefined
  const equal = new Set<string>()
  const others = new Set<string>()
  if (!collect(condition, equal, others)) return undefined
  const open = order.filter(({ column }) => !equal.has(column.name))
  for (const name of others) if (!equal.has(name) && name !== open[0]?.column.name) return undefined
  // rules can be on columns that the grant does not see
  const base = baseTable(table)
  const found = base.indexes.find((index) => {
    const parts = index.ordered ? partsOf(index, base) : []
    // an expression can be a list of values (MySQL), for which the index has no entry if it is empty, or several
    // entries
    if (parts.some(({ column }) => column === null)) return false
    if (parts.slice(0, equal.size).some(({ column, prefix }) => prefix || !equal.has(column as string))) return false
    const rest = parts.slice(equal.size)
    const reversed = rest[0]?.descending !== (open[0]?.direction === 'desc')
    return parts.length >= equal.size && open.every(({ column, direction }, index) => {
      const part = rest[index]
      return part?.column === column.name && !part.prefix && (part.descending !== (direction === 'desc')) === reversed
    })
  })
  return found === undefined ? undefined : { index: found, order: open }
}

/**
 * Collects the columns that a condition holds equal, and the others that it names. Returns false if it is more than an
 * AND of single columns: a search uses the index of its words, and the servers refuse another one beside it.
 */
function collect (condition: Condition, equal: Set<string>, others: Set<string>): boolean {
  switch (condition.kind) {
    case 'and': return condition.conditions.every((each) => collect(each, equal, others))
    case 'or':
    case 'not':
    case 'match': return false
    case 'constant': return condition.value
    // a subquery uses no index of this table
    case 'exists': return true
    default: {
      const { name } = condition.column
      if (isEquality(condition)) equal.add(name)
      else others.add(name)
      return true
    }
  }
}

function isEquality (condition: Condition): boolean {
  return (
    (condition.kind === 'compare' && condition.operator === '=') ||
    condition.kind === 'default' ||
    (condition.kind === 'in' && !condition.negated && condition.parameters.length === 1) ||
    (condition.kind === 'null' && !condition.negated)
  )
}

/**
 * `select <columns> from <table> where … order by … limit n`. Columns are in the order of the plan and read by
 * position. They have aliases because mysql2 cannot read rows with a column called `__proto__`. The order names the
 * table because aliases take precedence over columns there.
 */
export function compileSelect (plan: SelectPlan, engine: Engine): BuiltStatement {
  if (plan.groups !== undefined) return compileGroups(plan, plan.groups, engine)
  const lock = plan.lock && lockOf(plan.table, plan.lock, engine)
  const builder = statementBuilder(engine, plan.table, lock && lockedIn(plan.table))
  const forced = findIndex(plan, engine)
  // one call for all columns, because each call copies the query
  const hint = forced && [sql`force index (${sql.id(builder.indexToken(forced.index))})`]
  let query = from(builder, hint).select(({ ref }) =>
    selectedColumns(plan).map((column, index) => wrap(column.type.selected, ref(builder.token(column))).as(`v${index}`))
  )
  for (const condition of [plan.condition, ...plan.page?.by === 'position' ? [plan.page.after] : []]) {
    if (!isTrue(condition)) query = query.where(compileCondition(condition, builder))
  }
  const columnOf = ({ column }: Order): Expression<unknown> => sql.ref(`t.${builder.token(column)}`)
  for (const term of orderTerms(forced?.order ?? plan.order, columnOf, builder)) query = query.orderBy(term)
  if (plan.sequence !== undefined) query = query.orderBy(positionIn(plan.sequence, builder))
  query = query.limit(plan.read ?? plan.limit)
  if (plan.page?.by === 'offset') query = query.offset(plan.page.offset)
  return builder.build(lock === undefined ? query : query.modifyEnd(lock))
}

/** `case when … then 0 when … then 1 end` */
export function positionIn (conditions: readonly Condition[], builder: TableTokens): Expression<number> {
  return sql`case ${sql.join(
    conditions.map((condition, index) => sql`when ${compileCondition(condition, builder)} then ${sql.lit(index)}`),
    sql` `
  )} end`
}

/**
 * `from <table>`, or `from <table> as <table> force index (<index>)` and the like: Kysely has no hints, but accepts any
 * expression as an alias.
 */
function from ({ db }: TableBuilder, behind: ReadonlyArray<RawBuilder<unknown>> = []) {
  if (behind.length === 0) return db.selectFrom('t')
  return db.selectFrom(sql<Rows['t']>`${sql.table('t')}`.as<'t'>(sql`${sql.id('t')} ${sql.join(behind, sql` `)}`))
}

/** `left join <table> on …`, with the filters and rules of a member. `outer`: the table whose rows have it. */
export function leftJoin (
  { on, condition }: OneMember,
  { other, from, outer }: {
    readonly other: TableTokens
    readonly from: RawBuilder<unknown>
    readonly outer: Pick<TableTokens, 'token'>
  }
): RawBuilder<unknown> {
  // the column on the left decides the collation on SQLite
  const pairs: Array<Expression<unknown>> = on.map(
    (pair) => sql`${sql.ref(other.token(pair.other))} = ${sql.ref(outer.token(pair.column))}`
  )
  if (!isTrue(condition)) pairs.push(compileCondition(condition, other))
  return sql`left join ${from} on ${sql.join(pairs, sql` and `)}`
}

/** The number of rows. */
const countRows = (condition: Condition): AliasableExpression<Parameter> =>
  compileForm(countedRows(condition, COUNT_ROWS.sql), { column: sql`*` })

/**
 * MySQL answers `count(*)` with only a search from the index of words, which also has rows that the transaction has
 * deleted or does not see.
 */
const countedRows = (condition: Condition, usual: SqlTemplate): SqlTemplate =>
  matchesIn(condition).length === 0 ? usual : ['cast(coalesce(sum(1), 0) as signed)']

/**
 * `select count(*) from <table> where …`. With a limit or a lock it counts the rows of a subquery, which stops at the
 * limit.
 */
export function compileCount ({ table, condition, limit, lock }: CountPlan, engine: Engine): BuiltStatement {
  const locks = lock && lockOf(table, lock, engine)
  const builder = statementBuilder(engine, table, locks && lockedIn(table))
  const rows = isTrue(condition)
    ? builder.db.selectFrom('t')
    : builder.db.selectFrom('t').where(compileCondition(condition, builder))
  if (limit === undefined && locks === undefined) return builder.build(rows.select(countRows(condition).as('v0')))
  const ones = rows.select(sql<number>`1`.as('v0'))
  const limited = limit === undefined ? ones : ones.limit(limit)
  return builder.build(
    builder.db
      .selectFrom((locks === undefined ? limited : limited.modifyEnd(locks)).as('matching'))
      .select(countRows(condition).as('v0'))
  )
}

const SHARE = sql`lock in share mode`
const UPDATE = sql`for update`

/** The lock. MariaDB has no FOR SHARE. */
function lockOf ({ traits }: Table, lock: NonNullable<RowLock>, engine: Engine): RawBuilder<unknown> | undefined {
  if (!TRAITS[engine].locksRows) return undefined
  return lock === 'share' && traits?.sharesLocks !== false ? SHARE : UPDATE
}

/** The clause that locks the rows of a select on several tables, with a space before it; empty without a lock. */
export function lockClause (table: Table, lock: RowLock, engine: Engine): RawBuilder<unknown> {
  const clause = lock && lockOf(table, lock, engine)
  return clause === undefined ? sql`` : sql` ${clause}`
}

/** The lock of subqueries in a select that locks its rows; without it they would read older rows than the select. */
const lockedIn = ({ traits }: Table): RawBuilder<unknown> => sql` ${traits?.sharesLocks === false ? UPDATE : SHARE}`

const confirmations = new WeakMap<Table, Statement>()

/**
 * The statements that confirm the types of the columns of these tables, one for each table. If the type of a column has
 * changed since the catalog was read, a condition on it may match the wrong rows: MariaDB finds the text `abc` equal to
 * the number 0, so that a delete would delete that row.
 */
export function confirmationsOf (engine: Engine, tables: readonly Table[]): readonly Statement[] {
  if (!TRAITS[engine].convertsCompared) return []
  return [...new Set(tables.map(baseTable))]
    .filter(({ shownBy }) => shownBy === undefined || shownBy.all || shownBy.names.length > 0)
    .map((table) => getOrCreate(confirmations, table, () => compileConfirmation(table)))
}

/** `select * from <table> limit 0`, whose result shows the present definitions of the columns by name. */
function compileConfirmation (table: Table): Statement {
  const { build, db, token } = builderFor('mysql', table)
  const { all, names } = table.shownBy ?? { all: true, names: [] }
  const rows = all ? db.selectFrom('t').selectAll() : db.selectFrom('t')
  const built = build(rows.select(names.map((name) => token(table.columns.get(name) as Column))).limit(0))
  const readsView = table.kind === 'view'
  return { verb: 'select', table, ...built, parameters: [0], columns: [], assigned: [], confirmations: [], readsView }
}
