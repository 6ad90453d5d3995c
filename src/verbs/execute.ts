/** A plain plan is a single statement, any other a transaction. */
import type { Database, PendingWrite } from '../databases/database.ts'
import type { ReadOptions, Transaction } from '../dialects/dialect.ts'
import { checkForeignKeys, findRepeat, refuse } from '../execute/after-write.ts'
import { insertAtOnce, mayNeedSeveral } from '../execute/execute-insert.ts'
import { Runner } from '../execute/runner.ts'
import { isolationOf, isOneStatement } from '../plan/write-options.ts'
import { cellsOf } from '../plan/members.ts'
import type { Plan } from '../plan/plan.ts'
import type { MemoryBudget } from '../response/budget.ts'
import { ResponseSink } from '../response/response-sink.ts'
import type { Result } from '../response/result.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { verbs } from './index.ts'

interface Execution {
  readonly plan: Plan
  readonly database: Database
  /** Undefined for a response without rows. The creator must drop it. */
  readonly sink: ResponseSink | undefined
  readonly record?: RequestRecord | null | undefined
}

export function createSink (plan: Plan, budget: MemoryBudget, maxBytes: number): ResponseSink | undefined {
  const isSelect = plan.verb === 'select'
  const rows = isSelect ? plan : plan.returning
  if (rows === undefined) return undefined
  return new ResponseSink(rows.columns, maxBytes, {
    budget,
    cells: rows.members && cellsOf(rows),
    page: isSelect && plan.page !== undefined ? plan : undefined
  })
}

/**
 * If the sink is full, it has the reason (`refusal`). @throws StaleCatalog; nothing was changed, except with
 * OUTCOME_UNKNOWN
 */
export function executePlan (execution: Execution, options: ReadOptions): Promise<Result> {
  const { plan, database, sink, record } = execution
  // one plain row has no decision, and one statement
  if (plan.inTransaction === true || (plan.verb === 'insert' && plan.decisions.size > 0 && mayNeedSeveral(plan))) {
    return transact(execution, options)
  }
  const runner = Runner.alone(database, options)
  record?.compiled()
  return plan.verb === 'insert'
    ? insertAtOnce(plan, runner, () => transact(execution, options))
    : verbs[plan.verb].run(runner, plan, { sink })
}

function transact (execution: Execution, { client, consistency }: ReadOptions): Promise<Result> {
  const { plan, database, record } = execution
  const readOnly = plan.verb === 'select'
  return database.dialect.transaction((tx) => {
    record?.attempted(tx.attempt)
    return runIn(tx, execution)
  }, { readOnly, isolation: isolationOf(plan), dryRun: readOnly ? undefined : plan.dryRun, client, consistency })
}

/** The caller commits or rolls back. Whatever is thrown must undo the transaction. */
async function runIn (tx: Transaction, { plan, database, sink, record }: Execution): Promise<Result> {
  const table = isOneStatement(plan) ? undefined : plan.table
  const repeat = plan.verb === 'select' || plan.table.granted === undefined ? undefined : findRepeat(tx, plan)
  const runner = new Runner(tx.run, database, table, repeat)
  record?.compiled()
  const running = verbs[plan.verb].run(runner, plan, { sink })
  const result = await (plan.foreignKeyChecks === undefined ? running : withForeignKeyChecks(runner, plan, running))
  if (sink?.refusal !== undefined) throw sink.refusal
  return result
}

/**
 * Checks the rows of tables with rules to which the write refers, even if it is refused for another reason. An update
 * of no row refers to nothing.
 */
async function withForeignKeyChecks (runner: Runner, plan: Plan, running: Promise<Result>): Promise<Result> {
  // rows that are not written in the order of `data` are all checked
  const isSorted = plan.verb === 'insert' && plan.rows.some(({ index }, position) => index !== position)
  const result = await running.catch((error: unknown) => refuse(error, (refused) =>
    checkForeignKeys(runner, plan, isSorted ? { ...refused, last: Infinity } : refused)))
  const isIdle = plan.verb === 'update' && (result.matched ?? result.changed) === 0
  if (!isIdle) await checkForeignKeys(runner, plan)
  return result
}

export interface PlanToRespond {
  readonly plan: Plan
  readonly database: Database
  /** Bytes that the response may have. */
  readonly maxBytes: number
  /** The memory of the database if omitted. */
  readonly budget?: MemoryBudget
  readonly record?: RequestRecord | null | undefined
  /** The hook for writes is not called without it. */
  readonly pendingWrite?: Pick<PendingWrite, 'grant' | 'body' | 'references' | 'dryRun' | 'named'>
}

/** Also calls the hook for writes. @throws the errors of runIn and of the hook */
export async function respondIn (
  tx: Transaction,
  { plan, database, maxBytes, budget = database.budget, record, pendingWrite }: PlanToRespond
): Promise<{
  readonly response: string | Buffer
  readonly rows: number
}> {
  const sink = createSink(plan, budget, maxBytes)
  try {
    const result = await runIn(tx, { plan, database, sink, record })
    const response = verbs[plan.verb].respond(plan, result, sink)
    if (pendingWrite !== undefined && plan.verb !== 'select') {
      await database.onWrite?.({ tx, plan, database, response, ...pendingWrite })
    }
    return { response, rows: result[verbs[plan.verb].counts] }
  } finally {
    sink?.drop()
  }
}
