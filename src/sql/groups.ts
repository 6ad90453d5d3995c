import { sql, type AliasableExpression } from 'kysely'
import type { Column, Table } from '../catalog/catalog.ts'
import type { Groups, SelectPlan } from '../plan/plan.ts'
import type { Parameter } from '../types/column-type.ts'
import { builderFor, type BuiltStatement } from './aliases.ts'
import { compileCondition, compileForm, wrap, type Operands } from './conditions.ts'
import type { Engine } from './statement.ts'

/**
 * `select <columns>, <aggregates> from <table> where … group by … having … order by … limit n`. HAVING and ORDER BY name an aggregate by its
 * alias, so that the database computes it once.
 */
export function compileGroups ({ table, columns, condition, order, limit }: SelectPlan, { by, aggregates, having }: Groups, engine: Engine): BuiltStatement {
  const builder = builderFor(engine, table)
  const alias = createAlias(table)
  const column = (each: Column): AliasableExpression<Parameter> => sql.ref(`t.${builder.token(each)}`)
  const aliases = new Map<Column, AliasableExpression<Parameter>>(aggregates.map((each, index) => [each, sql.id(alias(by.length + index))]))
  const operands: Operands = {
    left: (each) => aliases.get(each) ?? column(each),
    wrapping: ({ type }) => type.computed ?? type.compared
  }
  const selected = [...by.map(column), ...aggregates.map(({ sql: texts, source }) => compileForm(texts, source === undefined ? undefined : column(source)))]
  let query = builder.db.selectFrom('t').select(selected.map((expression, index) => wrap((columns[index] as Column).type.selected, expression).as(alias(index))))
  if (condition.kind !== 'constant' || !condition.value) query = query.where(compileCondition(condition, builder))
  if (by.length > 0) query = query.groupBy(by.map(column))
  if (having.kind !== 'constant' || !having.value) query = query.having(compileCondition(having, builder, operands))
  for (const { column: each, direction } of order) query = query.orderBy(operands.left(each), direction)
  return builder.build(query.limit(limit))
}

/** Creates aliases that no column of the table has: in HAVING, SQLite prefers a column to an alias. */
function createAlias ({ columnList }: Table): (index: number) => string {
  let prefix = 'v'
  while (columnList.some(({ name }) => name.toLowerCase().startsWith(prefix))) prefix += '_'
  return (index) => `${prefix}${index}`
}
