import type { Database, PendingWrite } from '../databases/database.ts'
import type { Transaction } from '../dialects/dialect.ts'
import type { Plan } from '../plan/plan.ts'
import type { AnswerMemoryBudget } from '../response/budget.ts'
import { respond, rowsOf } from '../response/respond.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { createSink, runIn } from './execute.ts'

export interface PlanToAnswer {
  readonly plan: Plan
  readonly database: Database
  /** Bytes that the answer may have. */
  readonly maxBytes: number
  /** The memory for it; that of the database if omitted. */
  readonly budget?: AnswerMemoryBudget
  readonly record?: RequestRecord | null | undefined
  /** The arguments of the hook for writes, which is not called if they are omitted. */
  readonly pendingWrite?: Pick<PendingWrite, 'grant' | 'body' | 'dryRun'>
}

export interface Answered {
  readonly answer: string | Buffer
  /** Rows that a select returned, or that a write changed. */
  readonly rows: number
}

/** Runs a plan in a transaction, writes its answer and calls the hook for writes. @throws as runIn; what the hook throws */
export async function answerIn (tx: Transaction, { plan, database, maxBytes, budget = database.budget, record, pendingWrite }: PlanToAnswer): Promise<Answered> {
  const sink = createSink(plan, budget, maxBytes)
  try {
    const result = await runIn(tx, { plan, database, sink, record })
    const answer = respond(plan, result, sink)
    if (pendingWrite !== undefined && plan.verb !== 'select') await database.onWrite?.({ tx, plan, database, answer, ...pendingWrite })
    return { answer, rows: rowsOf(plan, result) }
  } finally {
    sink?.drop()
  }
}
