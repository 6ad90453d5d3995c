import { sql } from 'kysely'
import type { Column, Table } from '../catalog/catalog.ts'
import type { SelectPlan } from '../plan/plan.ts'
import { builderFor, type BuiltStatement } from './aliases.ts'
import { compileCondition, wrap } from './conditions.ts'
import { compileGroups } from './groups.ts'
import type { Engine } from './statement.ts'

/**
 * `select <columns> from <table> where … order by … limit n`. Columns are in the order of the plan and read by position. They have
 * aliases because mysql2 cannot read rows with a column called `__proto__`. The order names the table because aliases take precedence
 * over columns there.
 */
export function compileSelect (plan: SelectPlan, engine: Engine): BuiltStatement {
  if (plan.groups !== undefined) return compileGroups(plan, plan.groups, engine)
  const builder = builderFor(engine, plan.table)
  let query = builder.db.selectFrom('t')
  for (const [index, column] of plan.columns.entries()) {
    query = query.select(({ ref }) => wrap(column.type.selected, ref(builder.token(column))).as(`v${index}`))
  }
  if (plan.condition.kind !== 'constant' || !plan.condition.value) query = query.where(compileCondition(plan.condition, builder))
  for (const { column, direction } of plan.order) query = query.orderBy(`t.${builder.token(column)}`, direction)
  query = query.limit(plan.limit)
  return builder.build(plan.lock === undefined || engine === 'sqlite' ? query : query.modifyEnd(LOCKS[plan.lock]))
}

/** MariaDB has no FOR SHARE. */
const LOCKS = { share: sql`lock in share mode`, update: sql`for update` }

/** Selects no rows: the result shows the present definitions of the columns. */
export function compileDefinitions (table: Table, columns: readonly Column[]): BuiltStatement {
  const builder = builderFor('mysql', table)
  let query = builder.db.selectFrom('t')
  for (const [index, column] of columns.entries()) query = query.select(({ ref }) => ref(builder.token(column)).as(`v${index}`))
  return builder.build(query.limit(0))
}
