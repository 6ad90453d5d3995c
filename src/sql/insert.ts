import type { InsertPlan } from '../plan/plan.ts'
import { builderFor, type BuiltStatement } from './aliases.ts'
import { bind } from './conditions.ts'
import type { Engine } from './statement.ts'

/** `insert into <table> (…) values (…)`. Each engine has its own syntax for a row of defaults only. */
export function compileInsert ({ table, assignments }: InsertPlan, engine: Engine): BuiltStatement {
  const { db, build, token } = builderFor(engine, table)
  const insert = db.insertInto('t')
  if (assignments.length === 0) return build(engine === 'mysql' ? insert.values({}) : insert.defaultValues())
  const row = Object.fromEntries(assignments.map(({ column, parameter }) => [token(column), bind(parameter)]))
  return build(insert.values(row))
}
