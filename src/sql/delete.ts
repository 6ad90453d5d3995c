import type { DeletePlan } from '../plan/plan.ts'
import { builderFor, type BuiltStatement } from './aliases.ts'
import { compileCondition } from './conditions.ts'
import type { Engine } from './statement.ts'

/** `delete from <table> where …` */
export function compileDelete ({ table, condition }: DeletePlan, engine: Engine): BuiltStatement {
  const builder = builderFor(engine, table)
  return builder.build(builder.db.deleteFrom('t').where(compileCondition(condition, builder)))
}
