/** Runs a plan: a plain one as a single statement, any other in a transaction. */
import type { Database } from '../databases/database.ts'
import { keepsTransaction, type Executor, type ReadOptions } from '../dialects/dialect.ts'
import { mustSettle, settleMoments } from '../plan/moments.ts'
import type { Plan, SelectPlan } from '../plan/plan.ts'
import { findUnexpected } from '../plan/row-range.ts'
import { createSelectSink } from '../response/page-sink.ts'
import type { Result } from '../response/result.ts'
import { AnswerSink } from '../response/answer-sink.ts'
import { compileStatement } from '../sql/compile.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { runChange } from './change.ts'
import { readClock } from './clock.ts'
import { countRows } from './count-rows.ts'
import { runInsert } from './insert.ts'
import { executeRows, insertsRows, type WatchRow } from './insert-rows.ts'
import { checkReferences } from './references.ts'
import { runStatement } from './run-statement.ts'
import { runWritten } from './written.ts'

/** What running a plan takes besides a session. */
export interface Execution {
  readonly plan: Plan
  readonly database: Database
  /** Takes the rows of the answer; undefined for an answer without rows. To be dropped by who made it. */
  readonly sink: AnswerSink | undefined
  readonly record?: RequestRecord | null | undefined
}

/** The sink for the rows of an answer; undefined where it has none. `limit`: bytes that the answer may have. */
export function createSink (plan: Plan, { budget }: Pick<Database, 'budget'>, limit: number): AnswerSink | undefined {
  if (plan.verb === 'select') return createSelectSink(plan, limit, budget)
  return plan.returning === undefined ? undefined : new AnswerSink(plan.returning, limit, budget)
}

/** Whether one statement is all that a plan takes: if it fails, the database undoes it. */
export const isOneStatement = (plan: Plan): boolean => plan.inTransaction !== true && !insertsRows(plan)

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
  if (sink === undefined) return database.dialect.write(statement, options)
  const result = database.dialect.read(statement, sink, options)
  return plan.verb === 'select' && plan.expect !== undefined ? result.then((outcome) => requireExpected(plan, outcome, sink)) : result
}

/** @throws EXPECTATION_FAILED if a select has another number of rows */
function requireExpected ({ expect }: SelectPlan, outcome: Result, sink: AnswerSink): Result {
  const unexpected = expect === undefined || sink.refusal !== undefined ? undefined : findUnexpected(expect, sink.count)
  if (unexpected !== undefined) throw unexpected
  return outcome
}

function transact (execution: Execution, { client, consistency }: ReadOptions): Promise<Result> {
  const { plan, database, record } = execution
  const readOnly = plan.verb === 'select'
  return database.dialect.transaction((tx) => {
    record?.attempted(tx.attempt)
    return runIn(tx, execution)
  }, { readOnly, isolation: 'repeatableRead', dryRun: readOnly ? undefined : plan.dryRun, client, consistency })
}

/** Runs a plan in a transaction, which its caller commits or rolls back. Whatever is thrown must undo the transaction. */
export async function runIn (tx: Executor, execution: Execution): Promise<Result> {
  const { plan, database, sink } = execution
  const isSettled = !mustSettle(plan)
  const settled = isSettled ? plan : settleMoments(plan, await readClock(tx, plan.table, database))
  const run = isSettled ? execution : { ...execution, plan: settled }
  const result = settled.references === undefined ? await runOne(tx, run) : await runReferring(tx, run)
  if (sink?.refusal !== undefined) throw sink.refusal
  return isSettled || settled.verb !== 'insert' ? result : { ...result, settled }
}

function runOne (tx: Executor, execution: Execution): Promise<Result> {
  execution.record?.compiled()
  const { plan } = execution
  const isLookedUp = plan.verb !== 'select' && plan.written !== undefined
  return isLookedUp ? runWritten(tx, execution, (watchRow) => runPlan(tx, execution, watchRow)) : runPlan(tx, execution)
}

function runPlan (tx: Executor, { plan, database, sink }: Execution, watchRow?: WatchRow): Promise<Result> {
  switch (plan.verb) {
    case 'select': return runSelect(tx, plan, database, sink as AnswerSink)
    case 'insert': return runInsert(tx, { plan, database, sink, watchRow })
    default: return runChange(tx, { plan, database, sink })
  }
}

async function runSelect (tx: Executor, plan: SelectPlan, database: Database, sink: AnswerSink): Promise<Result> {
  const total = await countRows(tx, plan, database)
  const outcome = requireExpected(plan, await runStatement(tx, database, plan, sink), sink)
  return total === undefined ? outcome : { ...outcome, total }
}

/**
 * Runs a write that refers to rows of a table with rules. If another constraint refuses the write, the references are checked all the same: the
 * database may check a missing row before that constraint, and a row that the grant does not see must have the same answer. An update of no row
 * refers to nothing.
 */
async function runReferring (tx: Executor, execution: Execution): Promise<Result> {
  const result = await runOne(tx, execution).catch(async (error: unknown) => {
    if (keepsTransaction(error)) await checkReferences(tx, execution, true)
    throw error
  })
  const isIdle = execution.plan.verb === 'update' && (result.matched ?? result.changed) === 0
  if (!isIdle) await checkReferences(tx, execution)
  return result
}
