import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import type { SelectPlan } from '../plan/plan.ts'
import { CountSink } from '../response/count-sink.ts'
import { runStatement } from './run-statement.ts'

/** Counts the rows that the condition of a select selects; undefined if its answer has no total. */
export async function countRows (tx: Executor, { table, condition, total }: SelectPlan, database: Database): Promise<string | undefined> {
  if (total === undefined) return undefined
  const sink = new CountSink()
  await runStatement(tx, database, { verb: 'count', table, condition, limit: total.limit }, sink)
  return sink.digits
}
