import { sql, type AliasableExpression, type Expression, type SqlBool } from 'kysely'
import { baseTable, type Column, type Table } from '../catalog/catalog.ts'
import { isComputed, type ComputedColumn, type Groups, type SelectPlan } from '../plan/plan.ts'
import type { Parameter } from '../types/column-type.ts'
import type { BuiltStatement } from './kysely-builder.ts'
import { compileCondition, compileForm, wrap, type Operands } from './conditions.ts'
import { orderTerms } from './order.ts'
import { rowsOf } from './page.ts'
import type { TableTokens } from './placed-tables.ts'
import { statementBuilder } from './several-tables.ts'
import type { Engine } from './statement.ts'

/** `select <columns>, <aggregates> from <table> where … group by … having … order by … limit n` */
export function compileGroups (plan: SelectPlan, { by, aggregates, having }: Groups, engine: Engine): BuiltStatement {
  const { table, columns, condition, order, page } = plan
  const builder = statementBuilder(engine, table)
  const alias = createAlias(table)
  const column = (each: Column): AliasableExpression<Parameter> => sql.ref(`t.${builder.token(each)}`)
  const [only] = aggregates
  // with a condition on all rows, and not on those of the aggregate, SQLite finds `$max` by an index
  const ownRows = only === undefined || columns.length > 1 || only.condition !== undefined ? undefined : ownValues(only, builder)
  const computed = (each: ComputedColumn) => compute(each, engine, builder, { own: ownRows === undefined })
  const expressions = new Map([...by, ...aggregates].map((each) => [each as Column, isComputed(each) ? computed(each) : column(each)]))
  const selected = columns.map((each, index) => wrap(each.type.selected, expressions.get(each) as AliasableExpression<Parameter>).as(alias(index)))
  const operands: Operands = {
    // the alias, because an expression would be computed again and has parameters
    left: (each) => isComputed(each) ? sql.id(alias(columns.indexOf(each))) : wrap(each.type.grouped, column(each)),
    wrapping: ({ type }) => type.computed ?? type.compared
  }
  let query = builder.db.selectFrom('t').select(selected)
  if (condition.kind !== 'constant' || !condition.value) query = query.where(compileCondition(condition, builder))
  if (ownRows !== undefined) query = query.where(ownRows)
  if (by.length > 0) query = query.groupBy(by.map((each) => expressions.get(each) as AliasableExpression<Parameter>))
  if (having.kind !== 'constant' || !having.value) query = query.having(compileCondition(having, builder, operands))
  for (const term of orderTerms(order, ({ column: each }) => operands.left(each))) query = query.orderBy(term)
  query = query.limit(rowsOf(plan))
  return builder.build(page?.by === 'offset' ? query.offset(page.offset) : query)
}

/**
 * Compiles an aggregate or a part of time. The servers compute the aggregate of a CASE, which is NULL for the other rows. SQLite uses its FILTER clause,
 * because a CASE would lose the collation of the column.
 */
export function compute (computed: ComputedColumn, engine: Engine, builder: Pick<TableTokens, 'token'>, { named = ofTable, own = true }: HowToCompute = {}): AliasableExpression<Parameter> {
  const { sql: texts, source, condition } = computed
  const column: Expression<unknown> = source === undefined ? sql`*` : sql.ref(named(builder.token(source)))
  const passes = condition === undefined ? undefined : compileCondition(condition, builder)
  if (engine === 'sqlite') {
    const conditions = [own ? ownValues(computed, builder, named) : undefined, passes].filter((each) => each !== undefined)
    return compileForm(texts, { column, filter: conditions.length === 0 ? sql`` : sql` filter (where ${sql.join(conditions, sql` and `)})` })
  }
  if (passes === undefined) return compileForm(texts, { column })
  return compileForm(texts, { column: sql`case when ${passes} then ${source === undefined ? sql`1` : column} end` })
}

/** `own`: whether an aggregate of values must test which of them are `ColumnType.own`. */
interface HowToCompute { readonly named?: (token: string) => string, readonly own?: boolean }

const ofTable = (token: string): string => `t.${token}`

/** The functions that pass over values which are not `ColumnType.own`. */
const OF_VALUES = new Set(['$sum', '$avg', '$min', '$max'])

/** The condition that an aggregate of values has on SQLite; undefined if there is none. */
function ownValues ({ call, source }: ComputedColumn, { token }: Pick<TableTokens, 'token'>, named = ofTable): Expression<SqlBool> | undefined {
  const own = source?.type.own
  return own === undefined || !OF_VALUES.has(call) ? undefined : sql<SqlBool>`${compileForm(own, { column: sql.ref(named(token(source as Column))) })}`
}

/** Creates aliases that no column of the table has, because HAVING prefers columns to aliases: any on SQLite, those of GROUP BY on MySQL. */
function createAlias (table: Table): (index: number) => string {
  const { columnList } = baseTable(table)
  let prefix = 'v'
  while (columnList.some(({ name }) => name.toLowerCase().startsWith(prefix))) prefix += '_'
  return (index) => `${prefix}${index}`
}

/** A column without the condition of an aggregate: a statement that is kept must not keep the values of the request that it was first built for. */
export function withoutValues<C extends Column> (column: C): C {
  return isComputed(column) && column.condition !== undefined ? { ...column, condition: undefined } : column
}
