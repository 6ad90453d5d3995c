import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import type { CountPlan, SelectPlan } from '../plan/plan.ts'
import { CountSink } from '../response/count-sink.ts'
import { runStatement } from './run-statement.ts'

/** Counts the rows that the condition of a select selects; undefined if its answer has no total. */
export async function countRows (tx: Executor, { table, condition, total }: SelectPlan, database: Database): Promise<string | undefined> {
  return total === undefined ? undefined : await countMatches(tx, database, { table, condition, limit: total.limit })
}

/** Counts the rows that a condition selects, up to a limit. Returns the number as digits. */
export async function countMatches (tx: Executor, database: Database, plan: Omit<CountPlan, 'verb'>): Promise<string> {
  const sink = new CountSink()
  await runStatement(tx, database, { verb: 'count', ...plan }, sink)
  return sink.digits
}
