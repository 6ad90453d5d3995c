import type { DeletePlan } from '../plan/plan.ts'
import { builderFor, type Engine, type Query } from './aliases.ts'
import { compileCondition } from './conditions.ts'

/** `delete from <table> where …` */
export function compileDelete ({ table, condition }: DeletePlan, engine: Engine): Query {
  const builder = builderFor(engine, table)
  return builder.toQuery(builder.db.deleteFrom('t').where(compileCondition(condition, builder)))
}
