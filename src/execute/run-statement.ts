import type { Database } from '../databases/database.ts'
import type { Executor, Outcome, RowSink } from '../dialects/dialect.ts'
import type { CountPlan, Plan } from '../plan/plan.ts'
import { AnswerSink } from '../response/sink.ts'
import { compileStatement } from '../sql/compile.ts'

/** Runs one statement of a plan. `sink`: for a select. @throws what the executor throws; why the sink of an answer takes no more rows */
export async function runStatement (tx: Executor, database: Database, plan: Plan | CountPlan, sink?: RowSink): Promise<Outcome> {
  const outcome = await tx.run(compileStatement(plan, database.dialect.engine, database.statements), sink)
  if (sink instanceof AnswerSink && sink.refusal !== undefined) throw sink.refusal
  return outcome
}
