import {
  type AliasableExpression, type AliasedExpression, type Expression, type OperationNodeSource, sql, type SqlBool
} from 'kysely'
import { baseTable, type Column, type Table } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import { getOrCreate } from '../bounded-map.ts'
import { matchesIn } from '../plan/filters/match.ts'
import { existsIn } from '../plan/filters/scope.ts'
import { joinsOf } from '../plan/members.ts'
import {
  type ComputedColumn, type Condition, type CountPlan, type Groups, isComputed, isRelated, type Order, type SelectPlan
} from '../plan/plan.ts'
import { COUNT_VALUES } from '../types/aggregates.ts'
import type { Parameter, SqlTemplate } from '../types/column-type.ts'
import { build, type BuiltStatement, EVERY_ROW, reference, type Select, selectFrom } from './builder.ts'
import { type AggregateScope, compute, locksOf, ownValues, selectRows, withLock } from './compile-select.ts'
import { compileCondition, compileForm, isTrue, type Operands, orderTerms, wrap } from './conditions.ts'
import { statementTables, type TableScope, unlike } from './table-scope.ts'

/**
 * `select <columns>, <aggregates> from <table> [left join <table> on …] where … group by … having … order by … limit
 * n`. The columns of the table are named with it, because the joined tables may have the same names. Where subqueries
 * do not belong into aggregates, a derived table has their values and the columns.
 */
export function compileGroups (plan: SelectPlan, groups: Groups, engine: Engine): BuiltStatement {
  const { by, aggregates, having, members = [] } = groups
  const { table, columns, condition, order, page, isSecondForm } = plan
  const joined = joinsOf(members)
  const all = [table, ...joined.map(({ member }) => member.table)]
  const tables = statementTables(engine, all, { isSecondForm })
  const column: TableScope['column'] = (each) => isRelated(each)
    ? tables.at(joined.findIndex(({ member }) => member === each.member) + 1).column(each.origin)
    : tables.at(0).qualified(each)
  const source: TableScope = { ...tables.at(0), column }
  const alias = createAlias(all)
  const rows = selectRows(tables, { joined }, { table, conditions: [condition], own: source, engine })
  const isDerived = table.traits?.nestsInAggregates === false && aggregates.some(
    (each) => each.condition !== undefined && existsIn(each.condition).length > 0
  )
  const derived = isDerived ? deriveRows(source, (index) => alias(columns.length + index)) : undefined
  const passes = (condition: Condition) => compileCondition(condition, { ...source, isInner: true, usesLists: true })
  const own = derived?.own ?? { ...source, ...table.traits?.nestsInAggregates === true && { passes } }
  const [only] = aggregates
  // with a condition on all rows, and not on the rows of the aggregate, SQLite finds `$max` by an index
  const ownRows =
    only === undefined || columns.length > 1 || only.condition !== undefined ? undefined : ownValues(only, own)
  const computed = (each: ComputedColumn) =>
    compute(countingVisible(each, condition), engine, own, ownRows === undefined)
  const expressions = new Map(
    [...by, ...aggregates].map((each) => [each as Column, isComputed(each) ? computed(each) : own.column(each)])
  )
  const selected = columns.map((each, index) =>
    wrap(each.type.selected, expressions.get(each) as AliasableExpression<Parameter>).as(alias(index))
  )
  const operands: Operands = {
    // the alias, because an expression would be computed again and has parameters
    left: (each) => isComputed(each) ? sql.id(alias(columns.indexOf(each))) : wrap(each.type.grouped, own.column(each)),
    wrapping: ({ type }) => type.computed ?? type.compared
  }
  let query = (derived === undefined ? rows : selectFrom(derived.from(rows))).select(selected)
  if (ownRows !== undefined) query = query.where(ownRows)
  if (by.length > 0) query = query.groupBy(by.map((each) => expressions.get(each) as AliasableExpression<Parameter>))
  if (!isTrue(having)) query = query.having(compileCondition(having, own, operands))
  // MariaDB has no alias of an aggregate within an expression of ORDER BY
  const sorted = ({ column: each, isNullGreatest }: Order): AliasableExpression<Parameter> =>
    isNullGreatest === true && aggregates.some((aggregate) => aggregate === each)
      ? expressions.get(each) as AliasableExpression<Parameter>
      : operands.left(each)
  for (const term of orderTerms(order, sorted)) query = query.orderBy(term)
  query = query.limit(plan.read ?? plan.limit)
  return build(page?.by === 'offset' ? query.offset(page.offset) : query, engine)
}

/** With the columns and conditions that are asked for before `from`. */
function deriveRows (source: TableScope, alias: (index: number) => string): {
  readonly own: AggregateScope
  readonly from: (rows: Select) => OperationNodeSource
} {
  const cells: Array<AliasedExpression<unknown, string>> = []
  const added = new Map<Column, AliasableExpression<Parameter>>()
  const add = (value: AliasableExpression<unknown>): AliasableExpression<Parameter> => {
    const name = alias(cells.length)
    cells.push(value.as(name))
    return reference(name, 'r')
  }
  const column: TableScope['column'] = (each) => getOrCreate(added, each, () => add(source.column(each)))
  const passes = (condition: Condition): Expression<SqlBool> =>
    sql`${add(sql`${compileCondition(condition, { ...source, isInner: true })}`)}`
  return {
    own: { ...source, name: 'r', column, qualified: column, passes },
    from: (rows) => sql`${rows.select(cells).limit(EVERY_ROW)}`.as(sql.id('r'))
  }
}

/** `$count` of all rows, also by a column that is not NULL in any. */
const countingVisible = (each: ComputedColumn, condition: Condition): ComputedColumn =>
  each.call !== '$count' || each.condition !== undefined || each.source?.nullable === true
    ? each
    : { ...each, sql: countedRows(condition, each.sql) }

/**
 * No column of the tables has them, because HAVING prefers columns to aliases: any on SQLite, aliases of GROUP BY on
 * MySQL.
 */
function createAlias (tables: readonly Table[]): (index: number) => string {
  const columns = tables.flatMap((table) => baseTable(table).columnList)
  const prefix = unlike(columns.map(({ name }) => name), 'v')
  return (index) => `${prefix}${index}`
}

const countRows = (condition: Condition): AliasableExpression<Parameter> =>
  compileForm(countedRows(condition, COUNT_VALUES.sql), { column: sql`*` })

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
export function compileCount (
  { table, condition, limit, lock, isSecondForm }: CountPlan,
  engine: Engine
): BuiltStatement {
  const locks = locksOf(table, lock, engine)
  const tables = statementTables(engine, [table], { lock: locks?.inner, isSecondForm })
  const rows = selectRows(tables, { joined: [] }, { table, conditions: [condition], engine })
  const count = countRows(condition).as('v0')
  if (limit === undefined && locks === undefined) return build(rows.select(count), engine)
  const ones = rows.select(sql<number>`1`.as('v0'))
  const limited = limit === undefined ? ones : ones.limit(limit)
  return build(selectFrom(withLock(limited, locks).as('matching')).select(count), engine)
}
