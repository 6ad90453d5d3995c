/** Finds the id of the row of an upsert where neither the request nor the answer of the statement has it. */
import { mayFillColumns, mayFire, type Column } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import { givenValue } from '../plan/insert-key.ts'
import { settled } from '../plan/moments.ts'
import type { InsertPlan, PlannedRow, RowsPlan } from '../plan/plan.ts'
import { parseExactJson } from '../request/exact-json.ts'
import { AnswerSink } from '../response/answer-sink.ts'
import type { Engine } from '../sql/statement.ts'
import type { Parameter } from '../types/column-type.ts'
import { conditionOf } from './key-condition.ts'
import { withinRules } from './read-rows.ts'
import { runStatement } from './run-statement.ts'
import type { RowCounts } from '../response/result.ts'

/**
 * Whether the id may have to be read. MySQL reports that of an AUTO_INCREMENT column (src/sql/upsert.ts), except in tables with triggers of updates
 * that of a row that stays as it is. A value of the key is the id itself, unless the database may consider different values equal.
 */
export function mustReadId ({ table, rows: { isList, conflict } }: InsertPlan & { readonly rows: RowsPlan }, engine: Engine): boolean {
  const { identity } = table
  if (isList || conflict === undefined || identity === undefined) return false
  // a trigger of SQLite may leave the row out
  if (engine === 'sqlite' && mayFire(table, 'insert', 'before')) return true
  return engine === 'mysql' && identity.autoIncrement ? mayFire(table, 'update') : !conflict.key.includes(identity) || identity.type.exact !== undefined
}

/** Returns the id as JSON, null where the row is not found; undefined where it is reported, and where its key has been computed. @throws ServiceError */
export async function readId ({ table, rows: { rows, conflict } }: InsertPlan & { readonly rows: RowsPlan }, { inserted, insertId }: RowCounts, database: Database, run: Executor['run']): Promise<string | undefined> {
  const { identity } = table
  const row = rows[0] as PlannedRow
  if (conflict === undefined || identity === undefined) return undefined
  // a BEFORE INSERT trigger may have changed the key
  if (database.dialect.engine === 'mysql' && identity.autoIncrement && (insertId !== undefined || mayFillColumns(table))) return undefined
  const changes = inserted > 0 || conflict.set.kind !== 'assignments' ? [] : conflict.set.assignments
  const columns: Column[] = []
  const parameters: Parameter[] = []
  for (const column of conflict.key) {
    const change = changes.find((each) => each.column === column)
    const isGiven = change !== undefined || row.columns.includes(column)
    if (change?.form !== undefined || (!isGiven && (column.generated || column.autoIncrement || column.defaultComputed === true))) return undefined
    if (!isGiven) continue
    columns.push(column)
    parameters.push(settled(change === undefined ? givenValue(row, column) : change.parameter))
  }
  const condition = conditionOf(conflict.key, { columns, parameters })
  if (condition === undefined) return undefined
  const sink = new AnswerSink([identity], database.resultLimit, database.budget)
  try {
    await runStatement({ run }, database, { verb: 'select', table, columns: [identity], condition: withinRules(table, condition), order: [], limit: 1 }, sink)
    const { data } = parseExactJson(String(sink.finish())) as { data: { rows: Array<Record<string, unknown>> } }
    return JSON.stringify(data.rows[0]?.[identity.name] ?? null)
  } finally {
    sink.drop()
  }
}
