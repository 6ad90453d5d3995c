import type { Plan } from '../plan/plan.ts'
import { builderFor, type Engine, type Query } from './aliases.ts'
import { compileDelete } from './delete.ts'
import { compileInsert } from './insert.ts'
import { compileSelect } from './select.ts'
import { shapeOf } from './shape.ts'
import { compileUpdate } from './update.ts'

/** How many statements were there already, and how many were built. */
export interface StatementUse { kept: number, built: number }

/** The statement of a plan, counted in `use`. Cannot fail: what could be refused was refused before there was a plan. */
export function compileQuery (plan: Plan, engine: Engine, use: StatementUse = { kept: 0, built: 0 }): Query {
  const { mark, statements } = builderFor(engine, plan.table)
  const { key, parameters } = shapeOf(plan, engine, mark)
  const kept = statements.get(key)
  if (kept !== undefined) {
    use.kept++
    return { sql: kept.sql, pieces: kept.pieces, parameters }
  }
  use.built++
  const { sql, pieces } = compileAfresh(plan, engine)
  statements.set(key, { sql, pieces }) // without the parameters, which would be kept too
  return { sql, pieces, parameters }
}

/** The same by Kysely each time. */
export function compileAfresh (plan: Plan, engine: Engine): Query {
  switch (plan.verb) {
    case 'select': return compileSelect(plan, engine)
    case 'insert': return compileInsert(plan, engine)
    case 'update': return compileUpdate(plan, engine)
    case 'delete': return compileDelete(plan, engine)
  }
}
