import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import type { SelectPlan } from '../plan/plan.ts'
import { CountSink } from '../response/count-sink.ts'
import { compileStatement } from '../sql/compile.ts'

/** Counts the rows that the condition of a select selects; undefined if its answer has no total. */
export async function countRows (tx: Executor, { table, condition, total }: SelectPlan, { dialect, statements }: Database): Promise<string | undefined> {
  if (total === undefined) return undefined
  const sink = new CountSink()
  await tx.run(compileStatement({ verb: 'count', table, condition, limit: total.limit }, dialect.engine, statements), sink)
  return sink.digits
}
