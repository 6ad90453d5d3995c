import type { InsertPlan } from '../plan/plan.ts'
import { builderFor, type BuiltStatement } from './aliases.ts'
import { bind } from './conditions.ts'
import type { Engine } from './statement.ts'

/** `insert into <table> (…) values (…)`. A row of defaults alone has a form of its own in each engine. */
export function compileInsert ({ table, assignments }: InsertPlan, engine: Engine): BuiltStatement {
  const { db, build, token } = builderFor(engine, table)
  const insert = db.insertInto('t')
  if (assignments.length === 0) return build(engine === 'mysql' ? insert.values({}) : insert.defaultValues())
  const row = Object.fromEntries(assignments.map(({ column, parameter }) => [token(column), bind(parameter)]))
  return build(insert.values(row))
}
