/** Runs an insert in a transaction. */
import { mayFillColumns, type Column } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor, Outcome } from '../dialects/dialect.ts'
import type { InsertPlan } from '../plan/plan.ts'
import { settled } from '../plan/moments.ts'
import { storedKey } from '../plan/row-keys.ts'
import type { RowsResult } from '../response/result.ts'
import { numberOf } from '../response/insert-id.ts'
import type { AnswerSink } from '../response/answer-sink.ts'
import type { Value } from '../types/column-type.ts'
import { insertReturning, type ReturningPlan } from './insert-returning.ts'
import { insertsRows, runRows, type WatchRow } from './insert-rows.ts'
import { insertUnkeyed } from './insert-unkeyed.ts'
import { areTaken, keyChanged } from './inserted-keys.ts'
import { readRows } from './read-rows.ts'
import { runStatement } from './run-statement.ts'

export interface InsertExecution {
  readonly plan: InsertPlan
  readonly database: Database
  /** For `returning`. */
  readonly sink: AnswerSink | undefined
  readonly watchRow?: WatchRow | undefined
}

/** @throws ServiceError, which must undo the transaction */
export function runInsert (tx: Executor, { plan, database, sink, watchRow }: InsertExecution): Promise<Outcome & RowsResult> {
  if (insertsRows(plan)) {
    if (sink !== undefined) return insertReturning(tx, { plan: plan as ReturningPlan, database, sink, watchRow })
    return runRows({ plan, database, watchRow }, (statement, rows) => tx.run(statement, rows))
  }
  return sink === undefined ? runStatement(tx, database, plan) : insertRowReturning(tx, database, plan, sink)
}

async function insertRowReturning (tx: Executor, database: Database, plan: InsertPlan, sink: AnswerSink): Promise<Outcome & RowsResult> {
  const { table, returning, key } = plan as InsertPlan & { readonly returning: readonly Column[] }
  if (key === undefined) return await insertUnkeyed(tx, { plan: { ...plan, returning }, database, sink })
  const wasTaken = mayFillColumns(table) && await isTaken(tx, database, plan, key)
  const outcome = await runStatement(tx, database, plan)
  if (outcome.changed === 0) return outcome
  if (wasTaken) throw keyChanged()
  await readRows(tx, database, sink, { table, columns: returning, key, keys: [key.map((column) => keyValue(plan, column, outcome))] })
  return { ...outcome, rows: sink.count, changed: outcome.changed, insertId: outcome.insertId }
}

/** Whether there is a row with the key that the insert gives (inserted-keys.ts). */
export async function isTaken (tx: Executor, database: Database, plan: InsertPlan, key: readonly Column[]): Promise<boolean> {
  const given = key.map((column) => givenTo(plan, column))
  return !given.includes(null) && await areTaken(tx, database, { table: plan.table, key, keys: [given as Value[]] })
}

const givenTo = ({ assignments }: InsertPlan, column: Column): Value | null => settled(assignments.find((assignment) => assignment.column === column)?.parameter ?? null)

/** The value of a column of the key in the new row. @throws NOT_SUPPORTED if a trigger of SQLite has changed it, or has left out the row */
export function keyValue (plan: InsertPlan, column: Column, { insertId }: Pick<Outcome, 'insertId'>): Value {
  const given = givenTo(plan, column)
  // a BEFORE INSERT trigger may number the row in another way
  if (given !== null && !(column.autoIncrement && mayFillColumns(plan.table))) return storedKey(column, given)
  if (insertId === undefined) throw keyChanged()
  return numberOf(column, insertId)
}
