import { type AliasableExpression, type AliasedExpression, type Expression, sql, type SqlBool } from 'kysely'
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
import { type BuiltStatement, EVERY_ROW, type Rows, statementBuilder, type TableTokens } from './builder.ts'
import { type AggregateTokens, compute, locksOf, ownValues, selectRows, withLock } from './compile-select.ts'
import { compileCondition, compileForm, isTrue, type Operands, orderTerms, wrap } from './conditions.ts'

/**
 * `select <columns>, <aggregates> from <table> [left join <table> on …] where … group by … having … order by … limit
 * n`. The columns of the table are named with it, because the joined tables may have the same names. Where subqueries
 * do not belong into aggregates, a derived table has their values and the columns.
 */
export function compileGroups (plan: SelectPlan, groups: Groups, engine: Engine): BuiltStatement {
  const { by, aggregates, having, members = [] } = groups
  const { table, columns, condition, order, page, isGuarded } = plan
  const joined = joinsOf(members)
  const all = [table, ...joined.map(({ member }) => member.table)]
  const tables = statementBuilder(engine, all, { isGuarded })
  const token = (each: Column): string => isRelated(each)
    ? tables.at(joined.findIndex(({ member }) => member === each.member) + 1).token(each.origin)
    : tables.at(0).outer(each)
  const source: TableTokens = { ...tables.at(0), token }
  const alias = createAlias(all)
  const rows = selectRows(tables, { joined }, { table, conditions: [condition], own: source, engine })
  const isDerived = table.traits?.nestsInAggregates === false && aggregates.some(
    (each) => each.condition !== undefined && existsIn(each.condition).length > 0
  )
  const derived = isDerived ? deriveRows(source, (index) => alias(columns.length + index)) : undefined
  const passes = (condition: Condition) => compileCondition(condition, { ...source, isInner: true, usesLists: true })
  const own = derived?.own ?? { ...source, ...table.traits?.nestsInAggregates === true && { passes } }
  const column = (each: Column): AliasableExpression<Parameter> => sql.ref(own.token(each))
  const [only] = aggregates
  // with a condition on all rows, and not on the rows of the aggregate, SQLite finds `$max` by an index
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
  let query = (derived === undefined ? rows : tables.db.selectFrom(derived.from(rows))).select(selected)
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
  return tables.build(page?.by === 'offset' ? query.offset(page.offset) : query)
}

/** With the columns and conditions that are asked for before `from`. */
function deriveRows (source: TableTokens, alias: (index: number) => string): {
  readonly own: TableTokens & Pick<AggregateTokens, 'passes'>
  readonly from: (rows: ReturnType<typeof selectRows>) => AliasedExpression<Rows['t'], 't'>
} {
  const cells: Array<AliasedExpression<Parameter, string>> = []
  const tokens = new Map<string, string>()
  const add = (value: AliasableExpression<Parameter>): string => {
    const name = alias(cells.length)
    cells.push(value.as(name))
    return `r.${name}`
  }
  const token = (column: Column): string =>
    getOrCreate(tokens, source.token(column), () => add(sql.ref(source.token(column))))
  const passes = (condition: Condition): Expression<SqlBool> =>
    sql.ref(add(sql`${compileCondition(condition, { ...source, isInner: true })}`))
  return {
    own: { ...source, token, outer: token, passes },
    from: (rows) => sql<Rows['t']>`${rows.select(cells).limit(EVERY_ROW)}`.as<'t'>(sql.id('r'))
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
  let prefix = 'v'
  while (columns.some(({ name }) => name.toLowerCase().startsWith(prefix))) prefix += '_'
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
export function compileCount ({ table, condition, limit, lock, isGuarded }: CountPlan, engine: Engine): BuiltStatement {
  const locks = locksOf(table, lock, engine)
  const tables = statementBuilder(engine, [table], { lock: locks?.inner, isGuarded })
  const rows = selectRows(tables, { joined: [] }, { table, conditions: [condition], engine })
  const count = countRows(condition).as('v0')
  if (limit === undefined && locks === undefined) return tables.build(rows.select(count))
  const ones = rows.select(sql<number>`1`.as('v0'))
  const limited = limit === undefined ? ones : ones.limit(limit)
  return tables.build(tables.db.selectFrom(withLock(limited, locks).as('matching')).select(count))
}
