/** Runs an insert that returns the row, or is undone. */
import { mayFillColumns, type Column } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor, Outcome } from '../dialects/dialect.ts'
import { notSupported, withDetails, type ServiceError } from '../errors.ts'
import type { InsertPlan } from '../plan/plan.ts'
import type { AnswerSink } from '../response/sink.ts'
import type { Value } from '../types/column-type.ts'
import { insertsRows, runRows } from './insert-rows.ts'
import { KeyList } from './key-list.ts'
import { hasKey, readRows } from './read-rows.ts'
import { runStatement } from './run-statement.ts'

export interface InsertExecution {
  readonly plan: InsertPlan
  readonly database: Database
  /** For `returning`. */
  readonly sink: AnswerSink | undefined
}

export async function runInsert (tx: Executor, { plan, database, sink }: InsertExecution): Promise<Outcome> {
  if (insertsRows(plan)) return await runRows({ plan, database }, (statement, rows) => tx.run(statement, rows))
  if (sink === undefined) return await runStatement(tx, database, plan)
  const { table, returning, key } = plan as InsertPlan & { readonly returning: readonly Column[], readonly key: readonly Column[] }
  const wasTaken = mayFillColumns(table) && await isTaken(tx, database, plan, key)
  const outcome = await runStatement(tx, database, plan)
  if (wasTaken) throw keyChanged()
  await readRows(tx, database, sink, { table, columns: returning, key, keys: [key.map((column) => keyValue(plan, column, outcome))] })
  return { ...outcome, rows: sink.count, changed: outcome.changed, insertId: outcome.insertId }
}

/**
 * Whether there is a row with the key that the insert gives. If it succeeds all the same, a BEFORE INSERT trigger has changed the key, and the row
 * with this key is another one.
 */
export async function isTaken (tx: Executor, database: Database, { table, assignments }: InsertPlan, key: readonly Column[]): Promise<boolean> {
  const given = key.map((column) => assignments.find((assignment) => assignment.column === column)?.parameter ?? null)
  if (given.includes(null)) return false
  const list = new KeyList(key)
  await runStatement(tx, database, { verb: 'select', table, columns: key, condition: hasKey(key, given as Value[]), order: [], limit: 1 }, list)
  return list.count > 0
}

const keyChanged = (): ServiceError => withDetails(notSupported(), { path: '/returning', message: 'a trigger has changed the key of the row, or left it out' })

/** The value of a column of the key in the new row. @throws NOT_SUPPORTED if a trigger of SQLite has changed it, or has left out the row */
export function keyValue ({ table, assignments }: InsertPlan, column: Column, { insertId }: Outcome): Value {
  const given = assignments.find((assignment) => assignment.column === column)?.parameter ?? null
  // a BEFORE INSERT trigger may number the row in another way
  if (given !== null && !(column.autoIncrement && mayFillColumns(table))) return given
  if (insertId === undefined) throw keyChanged()
  return numberOf(column, insertId)
}

/** The number as the column has it: the database does not report whether it is signed. */
function numberOf ({ type }: Column, insertId: string): Value {
  try {
    return type.read(insertId)
  } catch {
    return BigInt.asIntN(64, BigInt(insertId))
  }
}
