/** Runs a plan: a plain one as a single statement, any other in a transaction. */
import type { Database } from '../databases/database.ts'
import { keepsTransaction, type Executor, type Outcome, type ReadOptions } from '../dialects/dialect.ts'
import type { Plan } from '../plan/plan.ts'
import { createSelectSink } from '../response/page-sink.ts'
import type { AnswerSink } from '../response/sink.ts'
import { compileStatement } from '../sql/compile.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { countRows, type CountResult } from './count-rows.ts'
import { executeRows, insertsRows, runRows } from './insert-rows.ts'
import { checkReferences } from './references.ts'
import type { RowsResult } from './row-counts.ts'

/** What a plan did: the outcome of its statement, and what else its answer tells. src/response writes it. */
export interface Result extends Outcome, RowsResult, CountResult {}

/** What running a plan takes besides a session. */
export interface Execution {
  readonly plan: Plan
  readonly database: Database
  /** Takes the rows of the answer; undefined for an answer without rows. To be dropped by who made it. */
  readonly sink: AnswerSink | undefined
  readonly record?: RequestRecord | null | undefined
}

/** The sink for the rows of an answer; undefined where it has none. `limit`: bytes that the answer may have. */
export function createSink (plan: Plan, limit: number): AnswerSink | undefined {
  return plan.verb === 'select' ? createSelectSink(plan, limit) : undefined
}

/**
 * Runs a plan by itself. @throws ServiceError, SchemaMoved; nothing was changed, except with OUTCOME_UNKNOWN. If the sink is full, it
 * has the reason (`refusal`).
 */
export function executePlan (execution: Execution, options: ReadOptions): Promise<Result> {
  const { plan, database, sink, record } = execution
  if (plan.inTransaction === true) return transact(execution, options)
  if (insertsRows(plan)) return executeRows({ plan, database, record }, (statement) => database.dialect.write(statement, options), () => transact(execution, options))
  const statement = compileStatement(plan, database.dialect.engine, database.statements)
  record?.compiled()
  return sink === undefined ? database.dialect.write(statement, options) : database.dialect.read(statement, sink, options)
}

function transact (execution: Execution, { client, consistency }: ReadOptions): Promise<Result> {
  const { plan, database } = execution
  return database.dialect.transaction((tx) => runIn(tx, execution), { readOnly: plan.verb === 'select', isolation: 'repeatableRead', client, consistency })
}

/** Runs a plan in a transaction, which its caller commits or rolls back. Whatever is thrown must undo the transaction. */
export async function runIn (tx: Executor, execution: Execution): Promise<Result> {
  const { plan, sink } = execution
  const result = plan.references === undefined ? await runOne(tx, execution) : await runReferring(tx, execution)
  if (sink?.refusal !== undefined) throw sink.refusal
  return result
}

/** Runs the statement of a plan, or those of its rows. */
async function runOne (tx: Executor, { plan, database, sink, record }: Execution): Promise<Result> {
  if (insertsRows(plan)) return await runRows({ plan, database, record }, (statement, sink) => tx.run(statement, sink))
  const statement = compileStatement(plan, database.dialect.engine, database.statements)
  record?.compiled()
  const total = plan.verb === 'select' ? await countRows(tx, plan, database) : undefined
  const outcome = await tx.run(statement, sink)
  return total === undefined ? outcome : { ...outcome, total }
}

/**
 * Runs a write that refers to rows of a table with rules. If another constraint refuses the write, the references are checked all the same: the
 * database may check a missing row before that constraint, and a row that the grant does not see must have the same answer.
 */
async function runReferring (tx: Executor, execution: Execution): Promise<Result> {
  const result = await runOne(tx, execution).catch(async (error: unknown) => {
    if (keepsTransaction(error)) await checkReferences(tx, execution, true)
    throw error
  })
  await checkReferences(tx, execution)
  return result
}
