/** Runs a plan: a plain one as a single statement, any other in a transaction. */
import type { Table } from '../catalog/catalog.ts'
import type { Database, PendingWrite } from '../databases/database.ts'
import type { Executor, ReadOptions, Transaction } from '../dialects/dialect.ts'
import { mustSettle, settleMoments } from '../plan/moments.ts'
import type { Plan, SelectPlan } from '../plan/plan.ts'
import { findUnexpected } from '../plan/row-range.ts'
import { AnswerSink } from '../response/answer-sink.ts'
import type { AnswerMemoryBudget } from '../response/budget.ts'
import { createSelectSink } from '../response/page-sink.ts'
import { respond, rowsOf } from '../response/respond.ts'
import type { Result } from '../response/result.ts'
import { compileClock, compileStatement } from '../sql/compile.ts'
import { settleCells } from '../sql/statement.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { type Clock, fromMicros, systemClock } from '../types/moment.ts'
import { checkForeignKeys, isCheckedAfterWrite, refuse, runWithCheck } from './after-write.ts'
import { runChange } from './change.ts'
import { insertReturning } from './insert-returning.ts'
import { executeInsert, runInsert, type WatchRow } from './execute-insert.ts'
import { readMembers } from './read-rows.ts'
import { Runner } from './runner.ts'

/** Reads the clock of the database in a transaction. SQLite uses the clock of this machine. */
async function readClock (runner: Runner, table: Table): Promise<Clock> {
  return runner.engine === 'sqlite' ? systemClock() : fromMicros(BigInt(await runner.number(compileClock(table))))
}

/** The arguments of running a plan, without a session. */
interface Execution {
  readonly plan: Plan
  readonly database: Database
  /** Takes the rows of the answer; undefined for an answer without rows. The creator must drop it. */
  readonly sink: AnswerSink | undefined
  readonly record?: RequestRecord | null | undefined
}

/** The sink for the rows of an answer; undefined if it has none. `maxBytes`: bytes that the answer may have. */
export function createSink (plan: Plan, budget: AnswerMemoryBudget, maxBytes: number): AnswerSink | undefined {
  if (plan.verb === 'select') return createSelectSink(plan, maxBytes, budget)
  return plan.returning === undefined ? undefined : new AnswerSink(plan.returning, maxBytes, budget)
}

/**
 * Runs a plan by itself. If the sink is full, it has the reason (`refusal`). @throws ServiceError, SchemaMoved; nothing
 * was changed, except with OUTCOME_UNKNOWN
 */
export function executePlan (execution: Execution, options: ReadOptions): Promise<Result> {
  const { plan, database, sink, record } = execution
  if (plan.inTransaction === true) return transact(execution, options)
  if (plan.verb === 'insert') {
    const runner = new Runner((statement) => database.dialect.write(statement, options), database)
    return executeInsert({ plan, runner }, { record, transact: () => transact(execution, options) })
  }
  const statement = compileStatement(plan, database.dialect.engine, database.statementCounts)
  record?.compiled()
  if (sink === undefined) return database.dialect.write(statement, options)
  const result = database.dialect.read(statement, sink, options)
  return plan.verb === 'select' && plan.expect !== undefined
    ? result.then((outcome) => requireExpected(plan, outcome, sink))
    : result
}

/** @throws EXPECTATION_FAILED if a select has another number of rows */
function requireExpected ({ expect, table }: SelectPlan, outcome: Result, sink: AnswerSink): Result {
  const unexpected =
    expect === undefined || sink.refusal !== undefined ? undefined : findUnexpected(expect, sink.count, table.name)
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

/**
 * Runs a plan in a transaction, which its caller commits or rolls back. Whatever is thrown must undo the transaction.
 */
async function runIn (tx: Executor, execution: Execution): Promise<Result> {
  const { plan, database, sink } = execution
  const runner = new Runner((statement, rows) => tx.run(statement, rows), database)
  const result = await (mustSettle(plan) ? runAtMoment(tx, runner, execution) : runAll(runner, execution))
  if (sink?.refusal !== undefined) throw sink.refusal
  return result
}

/**
 * Runs a plan whose statements all see one moment: those of a select get its value as they run, a write is settled
 * before.
 */
async function runAtMoment (tx: Executor, runner: Runner, execution: Execution): Promise<Result> {
  const { plan, database } = execution
  const clock = await readClock(runner, plan.table)
  if (plan.verb === 'select') {
    return await runAll(
      new Runner(
        (statement, rows) =>
          tx.run({ ...statement, parameters: settleCells(statement.parameters, () => clock) }, rows),
        database
      ),
      execution
    )
  }
  const settled = settleMoments(plan, clock)
  const result = await runAll(runner, { ...execution, plan: settled })
  return settled.verb === 'insert' ? { ...result, settled } : result
}

const runAll = (runner: Runner, execution: Execution): Promise<Result> =>
  execution.plan.foreignKeyChecks === undefined
    ? runOne(runner, execution)
    : runWithForeignKeyChecks(runner, execution)

function runOne (runner: Runner, { plan, sink, record }: Execution): Promise<Result> {
  record?.compiled()
  const run = (watchRow?: WatchRow): Promise<Result> => runPlan(runner, plan, { sink, watchRow })
  return (plan.verb === 'insert' || plan.verb === 'update') && isCheckedAfterWrite(plan)
    ? runWithCheck(runner, plan, { sink, run })
    : run()
}

function runPlan (
  runner: Runner,
  plan: Plan,
  { sink, watchRow }: { readonly sink: AnswerSink | undefined; readonly watchRow: WatchRow | undefined }
): Promise<Result> {
  switch (plan.verb) {
    case 'select':
      return runSelect(runner, plan, sink as AnswerSink)
    case 'insert':
      return sink === undefined
        ? runInsert({ plan, runner, watchRow })
        : insertReturning({ plan, runner, watchRow }, sink)
    default:
      return runChange(runner, plan, sink)
  }
}

async function runSelect (runner: Runner, plan: SelectPlan, sink: AnswerSink): Promise<Result> {
  const total = plan.total && await runner.count(plan.table, plan.condition, plan.total.limit, plan.lock)
  const outcome = requireExpected(plan, await runner.run(plan, sink), sink)
  if (plan.members === undefined) return total === undefined ? outcome : { ...outcome, total }
  return { ...outcome, rows: outcome.rows + await readMembers(runner, sink), total }
}

/**
 * Runs a write that refers to rows of a table with rules, and checks them even if the write is refused for another
 * reason. An update of no row refers to nothing.
 */
async function runWithForeignKeyChecks (runner: Runner, execution: Execution): Promise<Result> {
  const { plan } = execution
  const result = await runOne(runner, execution).catch(
    async (error: unknown) => await refuse(runner, plan, { error, checks: plan.foreignKeyChecks })
  )
  const isIdle = execution.plan.verb === 'update' && (result.matched ?? result.changed) === 0
  if (!isIdle) await checkForeignKeys(runner, execution.plan)
  return result
}

export interface PlanToAnswer {
  readonly plan: Plan
  readonly database: Database
  /** Bytes that the answer may have. */
  readonly maxBytes: number
  /** The memory for it; that of the database if omitted. */
  readonly budget?: AnswerMemoryBudget
  readonly record?: RequestRecord | null | undefined
  /** The arguments of the hook for writes, which is not called if they are omitted. */
  readonly pendingWrite?: Pick<PendingWrite, 'grant' | 'body' | 'references' | 'dryRun'>
}

interface Answered {
  readonly answer: string | Buffer
  /** Rows that a select returned, or that a write changed. */
  readonly rows: number
}

/**
 * Runs a plan in a transaction, writes its answer and calls the hook for writes. @throws as runIn; what the hook throws
 */
export async function answerIn (
  tx: Transaction,
  { plan, database, maxBytes, budget = database.budget, record, pendingWrite }: PlanToAnswer
): Promise<Answered> {
  const sink = createSink(plan, budget, maxBytes)
  try {
    const result = await runIn(tx, { plan, database, sink, record })
    const answer = respond(plan, result, sink)
    if (pendingWrite !== undefined && plan.verb !== 'select') {
      await database.onWrite?.({ tx, plan, database, answer, ...pendingWrite })
    }
    return { answer, rows: rowsOf(plan, result) }
  } finally {
    sink?.drop()
  }
}
