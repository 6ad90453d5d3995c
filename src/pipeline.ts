/**
 * The pipeline of a request: authorize, plan, execute, respond. This is the only place where a request runs again
 * because the tables of its database have changed.
 */
import type { Body, SelectBody } from '../schemas/body.ts'
import { type Access, authorize } from './access/authorize.ts'
import { principalOf } from './access/grant.ts'
import { orUnavailable } from './access/granted-table.ts'
import type { Table, TableSource } from './catalog/catalog.ts'
import { toUnresolved } from './databases/broken-definitions.ts'
import type { Database } from './databases/database.ts'
import { type Client, type ReadOptions, StaleCatalog, type Transaction } from './dialects/dialect.ts'
import { brokenDefinition, databaseUnavailable, type ServiceError, withReason } from './errors.ts'
import { type Keyed, transactOnce } from './idempotency/run-once.ts'
import { tablesOf } from './plan/filters/scope.ts'
import type { Plan, SelectPlan } from './plan/plan.ts'
import type { PlanLimits } from './plan/terms.ts'
import type { StreamFormat } from './response/stream-rows.ts'
import { RowStream } from './response/row-stream.ts'
import { createStreamRows } from './response/stream-rows.ts'
import { compileStatement } from './sql/compile.ts'
import type { RequestRecord } from './telemetry/record.ts'
import { answerIn, createSink, executePlan } from './verbs/execute.ts'
import { createPlan, handlerOf } from './verbs/index.ts'
import { planStream } from './verbs/select.ts'

export interface PipelineRequest extends ReadOptions, Keyed {
  readonly access: Access
  readonly body: Body
  readonly limits: PlanLimits
  /** Bytes that the response may have, if they are fewer than the setting of the database allows. */
  readonly resultLimit?: number | undefined
  /** Collects telemetry. */
  readonly record?: RequestRecord | null | undefined
}

/** An attempt that failed because the tables of the database differ from those of its plans. */
export class StaleAttempt extends Error {
  readonly stale: StaleCatalog
  /** The tables of the plan, as the grant sees them. */
  readonly tables: readonly Table[]
  /** Whether the attempt has changed nothing for certain, so that the request can run again. */
  readonly isUndone: boolean

  constructor (stale: StaleCatalog, tables: readonly Table[], isUndone = true) {
    super(stale.message)
    this.stale = stale
    this.tables = tables
    this.isUndone = isUndone || stale.isUndone
  }
}

/** Converts the error of an attempt. */
export const toStale = (error: unknown, tables: readonly Table[], isUndone = true): unknown =>
  error instanceof StaleCatalog ? new StaleAttempt(error, tables, isUndone) : error

/**
 * Runs an attempt and, if it is stale, reads the catalog and runs it once more. The second attempt gets the error of
 * the first one. @throws ServiceError: BROKEN_DEFINITION or DATABASE_UNAVAILABLE if the second attempt is also stale
 */
export async function withFreshCatalog<T> (
  database: Database,
  attempt: (stale?: StaleAttempt) => Promise<T>
): Promise<T> {
  database.running.begin()
  try {
    return await attempt()
  } catch (error) {
    if (!(error instanceof StaleAttempt)) throw error
    requireUnknown(database, error)
    await database.refresh()
    return await attempt(error).catch((again: unknown) => {
      throw again instanceof StaleAttempt ? toError(database, again, error) : again
    })
  } finally {
    database.running.end()
  }
}

/** @throws BROKEN_DEFINITION if another request has shown a moment ago that reading the catalog does not help */
export function requireUnknown ({ broken }: Database, { stale: { reason }, tables }: StaleAttempt): void {
  if (broken.has(tables, reason)) throw withReason(brokenDefinition(), reason)
}

/** The error for a request whose second attempt was stale, too. */
export const toError = (database: Database, { stale, tables }: StaleAttempt, first: StaleAttempt): ServiceError =>
  toUnresolved(database, { stale, before: first.tables, tables })

/** The response to a request, and its plan. */
export interface Handled { readonly plan: Plan, readonly response: string | Buffer }

/** Handles a request with one body: plans, executes and responds. @throws ServiceError */
export function handle (request: PipelineRequest): Promise<Handled> {
  const { access, record } = request
  const { database } = access
  return withFreshCatalog(database, async (stale) => {
    const plan = await planRequest(request, (source) => createPlan(request.body, source, request.limits))
    const tables = tablesOf(plan)
    if (stale?.isUndone === false) throw refusalOfWrite(stale, tables)
    const isShared = request.key !== undefined || (database.onWrite !== undefined && plan.verb !== 'select')
    const sink = isShared ? undefined : createSink(plan, database.budget, maxBytesOf(request))
    try {
      if (isShared) return { plan, response: await respondInTransaction(request, plan) }
      const result = await executePlan({ plan, database, sink, record }, request)
      if (sink?.refusal !== undefined) throw sink.refusal
      const { rowsOf, respond } = handlerOf(plan.verb)
      record?.executed(rowsOf(plan, result))
      return { plan, response: respond(plan, result, sink) }
    } catch (error) {
      const isUndone = isShared || plan.verb === 'select' || plan.inTransaction === true
      throw toStale(error, tables, isUndone)
    } finally {
      sink?.drop()
    }
  })
}

/**
 * The error for a plain write that may have run. It was planned again, so that a dropped column is refused by name. The
 * client can send it again, unless something outside of the table is missing: then it would fail each time.
 */
const refusalOfWrite = ({ stale }: StaleAttempt, tables: readonly Table[]): Error =>
  stale.isElsewhere ? new StaleAttempt(stale, tables) : databaseUnavailable()

/** Authorizes a request and plans it. @throws ServiceError */
async function planRequest<P extends Plan> (
  { access, body, record }: Pick<PipelineRequest, 'access' | 'record'> & { readonly body: Body },
  plan: (source: TableSource) => P
): Promise<P> {
  const found = authorize(access, body)
  const source = found instanceof Promise ? await found : found
  record?.begin(source.table)
  const planned = orUnavailable(access, source, plan)
  record?.planned()
  return planned
}

const maxBytesOf = ({ access: { database }, resultLimit = Infinity }: PipelineRequest): number =>
  Math.min(database.resultLimit, resultLimit)

/** Runs a write with an idempotency key or a hook in a transaction. */
async function respondInTransaction (request: PipelineRequest, plan: Plan): Promise<string | Buffer> {
  const { access: { grant, database, tableName }, body, record, client } = request
  const dryRun = plan.verb !== 'select' && plan.dryRun === true
  let rows = 0
  const work = async (tx: Transaction): Promise<string | Buffer> => {
    record?.attempted(tx.attempt)
    const result = await answerIn(tx, {
      plan,
      database,
      maxBytes: maxBytesOf(request),
      pendingWrite: { grant, body, dryRun }
    })
    rows = result.rows
    return result.answer
  }
  record?.compiled()
  const response = await transactOnce(
    {
      ...request,
      grant,
      database,
      path: tableName,
      tables: tablesOf(plan),
      transaction: {
        readOnly: false,
        isolation: 'repeatableRead',
        dryRun,
        client,
        isShared: database.onWrite !== undefined
      }
    },
    work
  )
  record?.executed(rows)
  return response
}

// Streams, which run until their last row has been taken.

export interface StreamRequest extends ReadOptions, Pick<PipelineRequest, 'access' | 'record'> {
  /** Without `limit`. */
  readonly body: Omit<SelectBody, 'limit'>
  /** Maximum number of rows; undefined for all rows. */
  readonly limit: number | undefined
  readonly format: StreamFormat
  /** `streamRows`: maximum number of rows of a stream without `limit`. */
  readonly limits: PlanLimits & { readonly streamRows?: number | undefined }
}

/** A stream whose first row has been read, or that has none, and its plan. */
interface OpenStream { readonly plan: SelectPlan, readonly stream: RowStream }

/** Plans a select and starts to read its rows. @throws ServiceError if no row has been read */
export function openStream (request: StreamRequest): Promise<OpenStream> {
  const { access: { database }, limit, limits, body } = request
  // one additional row shows that there are more
  const most = limit ?? (limits.streamRows === undefined ? undefined : limits.streamRows + 1)
  return withFreshCatalog(database, async () => {
    const plan = await planRequest(request as StreamRequest & { readonly body: SelectBody }, (source) =>
      planStream(body, source, { limit: most, limits })
    )
    const { stream, ended } = startStream(request, plan)
    try {
      await Promise.race([stream.started, ended])
      return { plan, stream }
    } catch (error) {
      throw toStale(stream.failure ?? error, tablesOf(plan))
    }
  })
}

/** Starts the statement. `ended`: settles when it has ended. @throws OVERLOADED if the caller has too many streams */
function startStream (
  { access: { database, grant }, limit, limits, format, record, client, consistency }: StreamRequest,
  plan: SelectPlan
): { readonly stream: RowStream, readonly ended: Promise<unknown> } {
  const { dialect, running, streams } = database
  const statement = compileStatement(plan, dialect.engine, database.statementCounts)
  record?.compiled()
  const stream = new RowStream({
    rows: createStreamRows(plan, format),
    maxBytes: database.resultLimit,
    most: limit === undefined ? limits.streamRows : undefined,
    budget: database.budget
  })
  try {
    streams.add(stream, principalOf(grant))
  } catch (error) {
    stream.drop()
    throw error
  }
  running.begin()
  const ended = dialect.stream(statement, stream, { client: clientOf(stream, client), consistency }).finally(() => {
    streams.remove(stream)
    running.end()
    // an iterator that the host app has dropped is never closed; a response always is
    if (client === undefined) stream.releaseMemory()
  })
  ended.then(() => stream.end(), (error: Error) => stream.fail(error))
  return { stream, ended }
}

/** The client that waits for the rows: the reader of the stream, or the response before it is read. */
const clientOf = ({ readable }: RowStream, client: Client | undefined): Client => ({
  caller: client?.caller,
  get destroyed () {
    return readable.destroyed || client?.destroyed === true
  }
})
