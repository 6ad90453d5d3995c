import type { Database } from '../databases/database.ts'
import type { Executor, Outcome, RowSink } from '../dialects/dialect.ts'
import type { CountPlan, Plan } from '../plan/plan.ts'
import { AnswerSink } from '../response/answer-sink.ts'
import { compileStatement } from '../sql/compile.ts'

/** Runs one statement of a plan. `sink`: for a select. @throws what the executor throws; why the sink of an answer takes no more rows */
export function runStatement (tx: Executor, database: Database, plan: Plan | CountPlan, sink?: RowSink): Promise<Outcome> {
  const running = tx.run(compileStatement(plan, database.dialect.engine, database.statements), sink)
  return sink instanceof AnswerSink ? running.then((outcome) => requireRoom(sink, outcome)) : running
}

function requireRoom ({ refusal }: AnswerSink, outcome: Outcome): Outcome {
  if (refusal !== undefined) throw refusal
  return outcome
}
