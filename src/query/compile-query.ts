import type { Plan } from '../plan/plan.ts'
import { builderFor, type Engine, type Query, type Statement } from './builder.ts'
import { compileDelete } from './delete.ts'
import { compileInsert } from './insert.ts'
import { compileSelect } from './select.ts'
import { shapeOf } from './shape.ts'
import { compileUpdate } from './update.ts'

/** Texts longer than this are not kept: a list of ten thousand values is rarely sent twice in the same length. */
const MAX_KEPT_LENGTH = 10_000
/** Statements kept for each table; the one that was not used for longest goes first. */
const MAX_KEPT = 100

/** With so many there is no need yet to note which was used last. */
const IN_NO_DANGER = MAX_KEPT / 2

/** How many statements were there already, and how many were built. */
export interface StatementUse { kept: number, built: number }

/** The statement of a plan, counted in `use`. Cannot fail: what could be refused was refused before there was a plan. */
export function compileQuery (plan: Plan, engine: Engine, use: StatementUse = { kept: 0, built: 0 }): Query {
  const { mark, statements } = builderFor(engine, plan.table)
  const { key, parameters } = shapeOf(plan, engine, mark)
  const kept = statements.get(key)
  const statement = kept ?? compileAfresh(plan, engine)
  if (kept === undefined) use.built++
  else use.kept++
  if (kept === undefined || statements.size > IN_NO_DANGER) keep(statements, key, statement)
  return { sql: statement.sql, pieces: statement.pieces, parameters }
}

/** Puts a statement at the end, and the first one out where there are too many. */
function keep (statements: Map<string, Statement>, key: string, statement: Statement): void {
  statements.delete(key)
  if (statement.sql.length <= MAX_KEPT_LENGTH) statements.set(key, statement)
  if (statements.size > MAX_KEPT) statements.delete(statements.keys().next().value as string)
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
