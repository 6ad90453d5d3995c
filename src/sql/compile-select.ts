import {
  type AliasableExpression, type AliasedExpression, type Expression, type JoinNode, type RawBuilder, SelectionNode,
  sql, type SqlBool
} from 'kysely'
import { baseTable, type Index, partsOf, statementTable, type Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { getOrCreate } from '../bounded-map.ts'
import { matchesIn } from '../plan/filters/match.ts'
import { type Cells, cellsOf, haveView, tablesIn, tablesRead } from '../plan/members.ts'
import type { ComputedColumn, ComputedMember, Condition, OneMember, Order, RowLock, SelectPlan } from '../plan/plan.ts'
import { haveOrder } from '../plan/relation.ts'
import type { Parameter } from '../types/column-type.ts'
import { build, type BuiltStatement, join, type Select, selectFrom, selection, tableNamed } from './builder.ts'
import { compileCondition, compileForm, findFirst, isTrue, orderTerms, relatedRows, wrap } from './conditions.ts'
import { needSecondForm } from '../plan/second-form.ts'
import type { Statement, Template } from './statement.ts'
import { type StatementTables, statementTables, type TableScope } from './table-scope.ts'

/**
 * `select <cells> from <table> [left join <table> on …] where … order by … limit n [lock in share mode]`. Columns are
 * in the order of the plan and read by position.
 */
export function compileSelect (plan: SelectPlan, engine: Engine): BuiltStatement {
  const { table, condition, page, order, sequence, isSecondForm } = plan
  const cells = cellsOf(plan)
  const locks = locksOf(table, plan.lock, engine)
  const tables = statementTables(engine, tablesIn(table, cells), { lock: locks?.inner, isSecondForm })
  const forced = findIndex(plan, engine)
  const conditions = [condition, ...page?.by === 'position' ? [page.after] : []]
  const rows = selectRows(tables, cells, {
    table,
    index: forced?.index,
    order: forced?.order ?? order,
    sequence,
    conditions,
    engine
  })
  let query = rows.select(selectCells(tables, cells)).limit(plan.read ?? plan.limit)
  if (page?.by === 'offset') query = query.offset(page.offset)
  return build(withLock(query, locks), engine)
}

/**
 * Selects the cells as `v0`, `v1`, …, or from a later number if other cells precede them (`from`). They have aliases
 * because mysql2 cannot read rows with a column called `__proto__`.
 */
export const selectCells = (
  tables: StatementTables,
  { cells }: Cells,
  from = 0
): Array<AliasedExpression<Parameter, string>> =>
  cells.map(({ column, table }, index) =>
    wrap(column.type.selected, tables.at(table).column(column)).as(`v${from + index}`)
  )

export function selectRows (
  tables: StatementTables,
  { joined }: Pick<Cells, 'joined'>,
  { table, index, order = [], sequence, conditions, related = [], beside, own = tables.at(0), engine }: {
    readonly table: Table
    readonly index?: Index | undefined
    readonly order?: readonly Order[]
    readonly sequence?: SelectPlan['sequence']
    readonly engine: Engine
    readonly conditions: readonly Condition[]
    /** They relate the rows to others, and decide by which index they are found. */
    readonly related?: readonly Condition[]
    /** Joined to the table before its members. */
    readonly beside?: JoinNode
    readonly own?: TableScope
  }
): Select {
  const { first, left } = findFirst(own, table, [...related, ...conditions])
  const members = joined.map(({ member, parent }, each) => {
    const other = tables.at(each + 1)
    const { first, left } = findFirst(other, member.table, [member.condition])
    return join('LeftJoin', tables.from(each + 1, undefined, first), compileOn(member, left, other, tables.at(parent)))
  })
  const joins = beside === undefined ? members : [beside, ...members]
  let query = selectFrom(tables.from(0, index, first), { joins })
  for (const condition of left) {
    if (related.includes(condition)) query = query.where(tables.relate(compileCondition(condition, own)))
    else if (!isTrue(condition)) query = query.where(compileCondition(condition, own))
  }
  for (const term of termsOf(order, tables, { joined }, engine)) query = query.orderBy(term)
  return sequence === undefined ? query : query.orderBy(positionIn(sequence, own))
}

/** `conditions`: its filters and rules. `outer`: the table whose rows have it. */
function compileOn (
  { on }: OneMember,
  conditions: readonly Condition[],
  other: TableScope,
  outer: TableScope
): Expression<SqlBool> {
  // the column on the left decides the collation on SQLite
  const pairs: Array<Expression<unknown>> = on.map(
    (pair) => sql`${other.column(pair.other)} = ${outer.column(pair.column)}`
  )
  for (const condition of conditions) if (!isTrue(condition)) pairs.push(compileCondition(condition, other))
  return sql<SqlBool>`${sql.join(pairs, sql` and `)}`
}

/** `case when … then 0 when … then 1 end` */
function positionIn (conditions: readonly Condition[], scope: TableScope): Expression<number> {
  return sql`case ${sql.join(
    conditions.map((condition, index) => sql`when ${compileCondition(condition, scope)} then ${sql.lit(index)}`),
    sql` `
  )} end`
}

/** They name the table, because aliases take precedence over columns. */
export function termsOf (
  order: readonly Order[],
  tables: StatementTables,
  { joined }: Pick<Cells, 'joined'>,
  engine: Engine
): Array<RawBuilder<unknown>> {
  const own = tables.at(0)
  return orderTerms(order, ({ of, column }) => {
    if (of?.kind === 'computed') return computeRelated(column as ComputedColumn, of, own, engine)
    const scope = of === undefined ? own : tables.at(joined.findIndex(({ member }) => member === of) + 1)
    return scope.qualified(column)
  }, own)
}

/** `(select <aggregate> from <table> where <on> and …)` */
function computeRelated (
  column: ComputedColumn,
  member: ComputedMember,
  own: TableScope,
  engine: Engine
): RawBuilder<unknown> {
  const { rows, other } = relatedRows(member, member.index?.index, own)
  return sql`(select ${compute(column, engine, other)} ${rows})`
}

/** `passes`: whether a row satisfies its condition, if that is computed elsewhere. */
export interface AggregateScope extends TableScope {
  readonly passes?: (condition: Condition) => Expression<SqlBool>
}

/**
 * The servers compute the aggregate of a CASE, which is NULL for the other rows. SQLite uses its FILTER clause, because
 * a CASE would lose the collation of the column.
 */
export function compute (
  computed: ComputedColumn,
  engine: Engine,
  scope: AggregateScope,
  onlyOwnClass = true
): AliasableExpression<Parameter> {
  const { sql: texts, source, condition } = computed
  const column: Expression<unknown> = source === undefined ? sql`*` : scope.column(source)
  // as in a subquery: a view is read once, by a derived table
  const compilePasses = scope.passes ?? ((given) => compileCondition(given, { ...scope, isInner: true }))
  const passes = condition && compilePasses(condition)
  if (TRAITS[engine].filtersAggregates) {
    const conditions = [onlyOwnClass ? ownValues(computed, scope) : undefined, passes].filter(
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

/** The functions that pass over values which are not `ColumnType.ownClassSql`. */
const OF_VALUES = new Set(['$sum', '$avg', '$min', '$max'])

export function ownValues (
  { call, source }: ComputedColumn,
  { column }: TableScope
): Expression<SqlBool> | undefined {
  const own = source?.type.ownClassSql
  return source === undefined || own === undefined || !OF_VALUES.has(call)
    ? undefined
    : sql<SqlBool>`${compileForm(own, { column: column(source) })}`
}

/**
 * It begins with the columns that the filters hold equal, followed by the columns of the order, all in the same or all
 * in the opposite direction. Undefined if there is none, or if the filters name other columns, so that another index
 * may find fewer rows.
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
    return parts.length >= equal.size && haveOrder(parts.slice(equal.size), open)
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
    case 'columns':
      others.add(condition.column.name).add(condition.other.name)
      return true
    default: {
      const { name } = condition.column
      if (isEquality(condition)) equal.add(name)
      else others.add(name)
      return true
    }
  }
}

/** Whether a condition holds its column equal to a value, or NULL. */
export function isEquality (
  condition: Condition
): condition is Extract<Condition, { readonly kind: 'compare' | 'default' | 'in' | 'null' }> {
  return (
    (condition.kind === 'compare' && condition.operator === '=') ||
    condition.kind === 'default' ||
    (condition.kind === 'in' && !condition.negated && condition.parameters.length === 1) ||
    (condition.kind === 'null' && !condition.negated)
  )
}

interface Locks { readonly rows: RawBuilder<unknown>, readonly inner: RawBuilder<unknown> }

const SHARE = sql`lock in share mode`
const UPDATE = sql`for update`

/**
 * On its rows, and on the rows of its subqueries, which would otherwise read older ones than the select. MariaDB has no
 * FOR SHARE.
 */
export function locksOf (
  { traits }: Table,
  lock: RowLock,
  engine: Engine
): Locks | undefined {
  if (lock === undefined || !TRAITS[engine].locksRows) return undefined
  const shared = traits?.sharesLocks === false ? UPDATE : SHARE
  return { rows: lock === 'share' ? shared : UPDATE, inner: sql` ${shared}` }
}

export const withLock = <Q extends { modifyEnd (clause: RawBuilder<unknown>): Q }> (
  query: Q,
  locks: Locks | undefined
): Q => locks === undefined ? query : query.modifyEnd(locks.rows)

export function describeCells (
  { table, cells, conditions, order = [], engine, isSecondForm }: {
    readonly table: Table
    readonly cells: Cells
    readonly isSecondForm: true | undefined
    /** The order of the rows, whose aggregates need the tables of their members. */
    readonly order?: readonly Order[]
    readonly conditions: readonly Condition[]
    readonly engine: Engine
  },
  built: BuiltStatement
): Template {
  const tables = tablesIn(table, cells)
  const { columns: shown } = cells.row
  const read = tablesRead(table, cells, conditions, order)
  return {
    verb: 'select',
    table: statementTable(table),
    ...built,
    // the list of the table, if they are all of it: layouts of rows are kept by it
    columns: cells.cells.length > shown.length ? cells.cells.map(({ column }) => column) : shown,
    sources: cells.cells.map((cell) => statementTable(tables[cell.table] as Table)),
    assigned: [],
    isSearch: conditions.some((condition) => matchesIn(condition).length > 0),
    readsView: haveView(read),
    hasSecondForm: isSecondForm !== true && needSecondForm(read),
    confirmations: confirmationsOf(engine, read)
  }
}

const confirmations = new WeakMap<Table, Statement>()

/**
 * One for each table. If the type of a column has changed since the catalog was read, a condition on it may match the
 * wrong rows: MariaDB finds the text `abc` equal to the number 0, so that a delete would delete that row.
 */
export function confirmationsOf (engine: Engine, tables: readonly Table[]): readonly Statement[] {
  if (!TRAITS[engine].convertsCompared) return []
  return [...new Set(tables.map(baseTable))]
    .filter(({ shownBy }) => shownBy === undefined || shownBy.all || shownBy.names.length > 0)
    .map((table) => getOrCreate(confirmations, table, () => compileConfirmation(table)))
}

/**
 * `select * from <table> force index (<its unique ones>) limit 0` shows the present definitions of the columns by name,
 * and is refused if one of the indexes is gone.
 */
function compileConfirmation (table: Table): Statement {
  const { all, names } = table.shownBy ?? { all: true, names: [] }
  const shown = names.map((name) => selection(name))
  const unique = table.indexes.filter((index) => index.unique && index.ordered).map(({ name }) => sql.id(name))
  // Kysely has no hints
  const hint = unique.length === 0 ? sql`` : sql` force index (${sql.join(unique)})`
  const selections = all ? [SelectionNode.createSelectAll(), ...shown] : shown
  const query = selectFrom(sql`${tableNamed(table.name)}${hint}`, { selections }).limit(sql.lit(0))
  return {
    verb: 'select',
    table,
    ...build(query, 'mysql'),
    parameters: [],
    columns: [],
    assigned: [],
    confirmations: [],
    readsView: table.kind === 'view'
  }
}
