import { sql, type AliasableExpression, type Expression } from 'kysely'
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
  const expressions = new Map([...by, ...aggregates].map((each) => [each as Column, isComputed(each) ? compute(each, engine, builder) : column(each)]))
  const selected = columns.map((each, index) => wrap(each.type.selected, expressions.get(each) as AliasableExpression<Parameter>).as(alias(index)))
  const operands: Operands = {
    // the alias, because an expression would be computed again and has parameters
    left: (each) => isComputed(each) ? sql.id(alias(columns.indexOf(each))) : wrap(each.type.grouped, column(each)),
    wrapping: ({ type }) => type.computed ?? type.compared
  }
  let query = builder.db.selectFrom('t').select(selected)
  if (condition.kind !== 'constant' || !condition.value) query = query.where(compileCondition(condition, builder))
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
export function compute ({ sql: texts, source, condition }: ComputedColumn, engine: Engine, builder: Pick<TableTokens, 'token'>, named = (token: string) => `t.${token}`): AliasableExpression<Parameter> {
  const column: Expression<unknown> = source === undefined ? sql`*` : sql.ref(named(builder.token(source)))
  if (condition === undefined) return compileForm(texts, { column })
  const passes = compileCondition(condition, builder)
  if (engine === 'sqlite') return compileForm(texts, { column, filter: sql` filter (where ${passes})` })
  return compileForm(texts, { column: sql`case when ${passes} then ${source === undefined ? sql`1` : column} end` })
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
