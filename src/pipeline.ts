/** The pipeline of a request: authorize, plan, execute, respond. */
import type { Body, SelectBody } from '../schemas/body.ts'
import { type Access, authorize } from './access/authorize.ts'
import { callerOf } from './access/caller.ts'
import { orUnavailable } from './access/granted-table.ts'
import type { Table } from './catalog/catalog.ts'
import { toUnresolved } from './databases/broken-definitions.ts'
import { type Client, type ReadOptions, SchemaMoved, type Transaction } from './dialects/dialect.ts'
import { brokenDefinition, databaseUnavailable, withReason } from './errors.ts'
import { answerIn, createSink, executePlan } from './execute/execute.ts'
import { type Keyed, runWithKey } from './idempotency/run-once.ts'
import { createPlan, planStream } from './plan/create-plan.ts'
import { tablesOf } from './plan/filters/scope.ts'
import type { Plan, SelectPlan } from './plan/plan.ts'
import type { PlanLimits } from './plan/terms.ts'
import type { StreamFormat } from './request/stream-request.ts'
import type { AnswerSink } from './response/answer-sink.ts'
import { respond, rowsOf } from './response/respond.ts'
import { RowStream } from './response/row-stream.ts'
import { createStreamRows } from './response/stream-rows.ts'
import { compileStatement } from './sql/compile.ts'
import type { RequestRecord } from './telemetry/record.ts'

export interface PipelineRequest extends ReadOptions, Keyed {
  readonly access: Access
  readonly body: Body
  readonly limits: PlanLimits
  /** Bytes that the answer may have, if they are fewer than the setting of the database allows. */
  readonly resultLimit?: number | undefined
  /** Collects telemetry. */
  readonly record?: RequestRecord | null | undefined
  /** Called with the plan of each attempt; the last one is that of the answer. */
  readonly onPlan?: (plan: Plan) => void
}

/**
 * Returns the body of the answer. If the tables of the database have changed, it reads the catalog again, and runs once
 * more what has only read or was rolled back, with the tables of the first attempt as `before`.
 * @throws ServiceError
 */
export async function runPipeline (request: PipelineRequest, before?: readonly Table[]): Promise<string | Buffer> {
  const { access, body, limits, record } = request
  const { database } = access
  let sink: AnswerSink | undefined
  database.running.begin()
  try {
    const found = authorize(access, body)
    const source = found instanceof Promise ? await found : found
    record?.begin(source.table)
    const plan = orUnavailable(access, source, (source) => createPlan(body, source, limits))
    request.onPlan?.(plan)
    record?.planned()
    const inTransaction = request.key !== undefined || (database.onWrite !== undefined && plan.verb !== 'select')
    sink = inTransaction ? undefined : createSink(plan, database.budget, maxBytesOf(request))
    try {
      if (inTransaction) return await runAndAnswer(request, plan)
      const result = await executePlan({ plan, database, sink, record }, request)
      if (sink?.refusal !== undefined) throw sink.refusal
      record?.executed(rowsOf(plan, result))
      return respond(plan, result, sink)
    } catch (error) {
      if (!(error instanceof SchemaMoved)) throw error
      if (before !== undefined) throw toUnresolved(database, { moved: error, before, tables: tablesOf(plan) })
      const isUndone = inTransaction || plan.inTransaction === true || error.isUndone
      return await runAgain({ request, plan, moved: error, isUndone })
    }
  } finally {
    sink?.drop()
    database.running.end()
  }
}

const maxBytesOf = ({ access: { database }, resultLimit = Infinity }: PipelineRequest): number =>
  Math.min(database.resultLimit, resultLimit)

/** Runs a write with an idempotency key or a hook in a transaction, which is rolled back if the tables have changed. */
async function runAndAnswer (request: PipelineRequest, plan: Plan): Promise<string | Buffer> {
  const { access: { grant, database, tableName }, body, record, client, key } = request
  const dryRun = plan.verb !== 'select' && plan.dryRun === true
  const isolation = 'repeatableRead'
  const isShared = database.onWrite !== undefined
  let rows = 0
  const work = async (tx: Transaction): Promise<string | Buffer> => {
    record?.attempted(tx.attempt)
    const answered = await answerIn(tx, {
      plan,
      database,
      maxBytes: maxBytesOf(request),
      pendingWrite: { grant, body, dryRun }
    })
    rows = answered.rows
    return answered.answer
  }
  record?.compiled()
  const answer =
    key === undefined
      ? await database.dialect.transaction(work, { readOnly: false, isolation, dryRun, client, isShared })
      : await runWithKey(
        { ...request, grant, database, path: tableName, tables: tablesOf(plan), client, isolation, isShared },
        work
      )
  record?.executed(rows)
  return answer
}

/** A request that is to run again. `isUndone`: whether a write was rolled back. */
interface ToRunAgain {
  readonly request: PipelineRequest
  readonly plan: Plan
  readonly moved: SchemaMoved
  readonly isUndone: boolean
}

/**
 * Plans again, so that a dropped column is refused by name. The client must send a plain write again that is still
 * possible, unless something outside of the table is missing: then it would fail each time.
 */
async function runAgain ({ request, plan, moved, isUndone }: ToRunAgain): Promise<string | Buffer> {
  const { access, body, limits } = request
  const { database } = access
  const before = tablesOf(plan)
  if (database.broken.has(before, moved.reason)) throw withReason(brokenDefinition(), moved.reason)
  await database.refresh()
  if (plan.verb === 'select' || isUndone) return await runPipeline(request, before)
  const planned = orUnavailable(access, await authorize(access, body), (source) => createPlan(body, source, limits))
  throw moved.isElsewhere ? toUnresolved(database, { moved, before, tables: tablesOf(planned) }) : databaseUnavailable()
}

// The pipeline of a stream after authorization: plan, compile, and read rows as they are taken.

export interface StreamRequest extends ReadOptions {
  readonly access: Access
  /** Without `limit`. */
  readonly body: Omit<SelectBody, 'limit'>
  /** Maximum number of rows; undefined for all rows. */
  readonly limit: number | undefined
  readonly format: StreamFormat
  /** `streamRows`: maximum number of rows of a stream without `limit`. */
  readonly limits: PlanLimits & { readonly streamRows?: number | undefined }
  readonly record?: RequestRecord | null | undefined
  /** Called with the plan of each attempt; the last one is that of the stream. */
  readonly onPlan?: (plan: SelectPlan) => void
}

/**
 * Returns the stream when its first row has been read, or there is none. If the tables of the database have changed, it
 * reads the catalog again and tries once more, with the tables of the first attempt as `before`. @throws ServiceError
 */
export async function openStream (request: StreamRequest, before?: readonly Table[]): Promise<RowStream> {
  const { access, body, limit, limits, record, format } = request
  const { database } = access
  const { running, streams } = database
  running.begin()
  let isRunning = false
  try {
    const source = await authorize(access, body as SelectBody)
    record?.begin(source.table)
    const { streamRows } = limits
    // one additional row shows that there are more
    const most = limit ?? (streamRows === undefined ? undefined : streamRows + 1)
    const plan = orUnavailable(access, source, (source) => planStream(body, source, { limit: most, limits }))
    request.onPlan?.(plan)
    record?.planned()
    const statement = compileStatement(plan, database.dialect.engine, database.statementCounts)
    record?.compiled()
    const stream = new RowStream({
      rows: createStreamRows(plan, format),
      maxBytes: database.resultLimit,
      most: limit === undefined ? streamRows : undefined,
      budget: database.budget
    })
    try {
      streams.add(stream, callerOf(access.grant))
    } catch (error) {
      stream.drop()
      throw error
    }
    isRunning = true
    const run = database.dialect.stream(statement, stream, {
      client: clientOf(stream, request.client),
      consistency: request.consistency
    })
    const ended = run.finally(() => {
      streams.remove(stream)
      running.end()
      // an iterator that the host app has dropped is never closed; a response always is
      if (request.client === undefined) stream.releaseMemory()
    })
    ended.then(() => stream.end(), (error: Error) => stream.fail(error))
    try {
      await Promise.race([stream.started, ended])
      return stream
    } catch (thrown) {
      const error = stream.failure ?? thrown
      if (!(error instanceof SchemaMoved)) throw error
      const tables = tablesOf(plan)
      if (before !== undefined) throw toUnresolved(database, { moved: error, before, tables })
      if (database.broken.has(tables, error.reason)) throw withReason(brokenDefinition(), error.reason)
      await database.refresh()
      return await openStream(request, tables)
    }
  } finally {
    if (!isRunning) running.end()
  }
}

/** The client that waits for the rows: the reader of the stream, or the response before it is read. */
const clientOf = ({ readable }: RowStream, client: Client | undefined): Client => ({
  caller: client?.caller,
  get destroyed () {
    return readable.destroyed || client?.destroyed === true
  }
})
