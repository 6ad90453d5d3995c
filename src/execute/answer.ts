import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import type { Plan } from '../plan/plan.ts'
import { respond } from '../response/summary.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { createSink, runIn } from './execute.ts'

export interface PlanToAnswer {
  readonly plan: Plan
  readonly database: Database
  /** Bytes that the answer may have. */
  readonly limit: number
  readonly record?: RequestRecord | null | undefined
}

export interface Answered {
  readonly answer: string | Buffer
  /** Rows that were read or changed. */
  readonly rows: number
}

/** Runs a plan in a transaction and writes its answer. @throws as runIn */
export async function answerIn (tx: Executor, { plan, database, limit, record }: PlanToAnswer): Promise<Answered> {
  const sink = createSink(plan, limit)
  try {
    const result = await runIn(tx, { plan, database, sink, record })
    return { answer: respond(plan, result, sink), rows: result.rows + result.changed }
  } finally {
    sink?.drop()
  }
}
