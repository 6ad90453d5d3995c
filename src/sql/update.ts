import { sql } from 'kysely'
import type { UpdatePlan } from '../plan/plan.ts'
import { builderFor, type BuiltStatement } from './aliases.ts'
import { bind, compileCondition } from './conditions.ts'
import type { Engine } from './statement.ts'

/**
 * `update <table> set … where …`. MySQL counts the changed rows. SQLite counts the matched rows, so the statement skips those that have
 * the values already; it compares texts byte by byte, as different texts may be equal in the collation of the column.
 */
export function compileUpdate ({ table, assignments, condition }: UpdatePlan, engine: Engine): BuiltStatement {
  const builder = builderFor(engine, table)
  const { db, build, token } = builder
  const row = Object.fromEntries(assignments.map(({ column, parameter }) => [token(column), bind(parameter)]))
  const update = db.updateTable('t').set(row).where(compileCondition(condition, builder))
  if (engine === 'mysql') return build(update)
  return build(update.where(({ or, ref }) => or(assignments.map(({ column, parameter }) => sql<boolean>`${ref(token(column))} is not ${bind(parameter)} collate binary`))))
}
