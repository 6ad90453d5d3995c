import { sql, type AliasableExpression } from 'kysely'
import type { Column } from '../catalog/catalog.ts'
import type { Groups, SelectPlan } from '../plan/plan.ts'
import type { Parameter } from '../types/column-type.ts'
import { builderFor, type BuiltStatement } from './aliases.ts'
import { compileCondition, compileForm, wrap, type Operands } from './conditions.ts'
import { rowsOf } from './page.ts'
import type { Engine } from './statement.ts'

/** `select <columns>, <aggregates> from <table> where … group by … having … order by … limit n` */
export function compileGroups (plan: SelectPlan, { by, aggregates, having }: Groups, engine: Engine): BuiltStatement {
  const { table, columns, condition, order, page } = plan
  const builder = builderFor(engine, table)
  const alias = createAlias(by)
  const column = (each: Column): AliasableExpression<Parameter> => sql.ref(`t.${builder.token(each)}`)
  const expressions = new Map<Column, AliasableExpression<Parameter>>([
    ...by.map((each) => [each, column(each)] as const),
    ...aggregates.map((each) => [each, compileForm(each.sql, each.source === undefined ? undefined : column(each.source))] as const)
  ])
  const selected = columns.map((each, index) => wrap(each.type.selected, expressions.get(each) as AliasableExpression<Parameter>).as(alias(index)))
  const operands: Operands = {
    // MySQL would compute an expression again. SQLite does not, and in HAVING it prefers any column of the table to an alias.
    left: (each) => {
      if (by.includes(each)) return wrap(each.type.grouped, column(each))
      return engine === 'mysql' ? sql.id(alias(columns.indexOf(each))) : expressions.get(each) as AliasableExpression<Parameter>
    },
    wrapping: ({ type }) => type.computed ?? type.compared
  }
  let query = builder.db.selectFrom('t').select(selected)
  if (condition.kind !== 'constant' || !condition.value) query = query.where(compileCondition(condition, builder))
  if (by.length > 0) query = query.groupBy(by.map(column))
  if (having.kind !== 'constant' || !having.value) query = query.having(compileCondition(having, builder, operands))
  for (const { column: each, direction } of order) query = query.orderBy(operands.left(each), direction)
  query = query.limit(rowsOf(plan))
  return builder.build(page?.by === 'offset' ? query.offset(page.offset) : query)
}

/** Creates aliases that no column of GROUP BY has: in HAVING, MySQL prefers those to an alias. */
function createAlias (by: readonly Column[]): (index: number) => string {
  let prefix = 'v'
  while (by.some(({ name }) => name.toLowerCase().startsWith(prefix))) prefix += '_'
  return (index) => `${prefix}${index}`
}
