import type { AliasedExpression } from 'kysely'
import type { SelectPlan } from '../plan/plan.ts'
import { builderFor, type Engine, type Query } from './builder.ts'
import { compileCondition, wrap } from './conditions.ts'

/** `select <columns> from <table> where … order by … limit n`; columns come in the plan's order and are read by place. */
export function compileSelect (plan: SelectPlan, engine: Engine): Query {
  const builder = builderFor(engine, plan.table)
  let query = builder.db.selectFrom('t')
  for (const column of plan.columns) {
    const token = builder.token(column)
    query = column.type.selected === undefined
      ? query.select(token)
      : query.select(({ ref }) => wrap(column.type.selected, ref(token)) as unknown as AliasedExpression<never, never>)
  }
  if (plan.condition.kind !== 'constant' || !plan.condition.value) query = query.where(compileCondition(plan.condition, builder))
  for (const { column, direction } of plan.order) query = query.orderBy(builder.token(column), direction)
  return query.limit(plan.limit).compile() as Query
}
