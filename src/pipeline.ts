/**
 * The pipeline of a request: authorize, plan, execute, respond. An attempt that fails because the tables of its
 * database have changed runs again (src/databases/stale-catalog.ts).
 */
import type { Body, SelectBody } from '../schemas/body.ts'
import { type Access, authorize } from './access/authorize.ts'
import { nameTables } from './access/violated-keys.ts'
import { principalOf } from './access/grant.ts'
import type { TableSource } from './catalog/catalog.ts'
import { lookAgain, StaleAttempt, toStale, withFreshCatalog } from './databases/stale-catalog.ts'
import type { Client, ReadOptions, Transaction } from './dialects/dialect.ts'
import { databaseUnavailable } from './errors.ts'
import { type Keyed, pathOfNamed, transactOnce } from './idempotency/run-once.ts'
import { tablesOf } from './plan/filters/scope.ts'
import type { Plan, SelectPlan } from './plan/plan.ts'
import type { PlanLimits } from './plan/limits.ts'
import { isolationOf } from './plan/write-options.ts'
import { RowStream } from './response/row-stream.ts'
import { createStreamRows, type StreamFormat } from './response/csv-ndjson-rows.ts'
import { compileStatement } from './sql/statement-cache.ts'
import type { RequestRecord } from './telemetry/record.ts'
import { respondIn, createSink, executePlan } from './verbs/execute.ts'
import { createPlan, verbs } from './verbs/index.ts'
import type { NamedPlans } from './verbs/operations.ts'
import { planStream } from './verbs/select.ts'

export interface PipelineRequest extends ReadOptions, Keyed {
  readonly access: Access
  readonly body: Body
  readonly limits: PlanLimits
  readonly named?: NamedPlans | undefined
  /** Bytes that the response may have, if they are fewer than the setting of the database allows. */
  readonly resultLimit?: number | undefined
  readonly record?: RequestRecord | null | undefined
}

export interface Handled { readonly plan: Plan, readonly response: string | Buffer }

/** Never throws. */
export function handle (request: PipelineRequest): Promise<Handled> {
  return withFreshCatalog(request.access.database, (stale) => {
    const planned = planRequest(request, planBody)
    return planned instanceof Promise
      ? planned.then((plan) => runPlan(request, plan, stale))
      : runPlan(request, planned, stale)
  })
}

/** `stale`: the attempt before. @throws StaleAttempt, or rejects with it */
function runPlan (request: PipelineRequest, plan: Plan, stale: StaleAttempt | undefined): Promise<Handled> {
  const { access: { grant, database }, record } = request
  if (stale?.isUndone === false) throw refusalOfWrite(stale, plan)
  const needsTransaction = request.key !== undefined || (database.onWrite !== undefined && plan.verb !== 'select')
  const sink = needsTransaction ? undefined : createSink(plan, database.budget, maxBytesOf(request))
  const fail = (error: unknown): never => {
    sink?.drop()
    const isUndone = needsTransaction || plan.verb === 'select' || plan.inTransaction === true
    throw toStale(nameTables(error, grant, database), plan, isUndone)
  }
  if (needsTransaction) return respondInTransaction(request, plan).then((response) => ({ plan, response }), fail)
  return executePlan({ plan, database, sink, record }, request).then((result) => {
    try {
      if (sink?.refusal !== undefined) throw sink.refusal
      const { counts, respond } = verbs[plan.verb]
      record?.executed(result[counts])
      return { plan, response: respond(plan, result, sink) }
    } catch (error) {
      return fail(error)
    }
  }, fail)
}

/**
 * The error for a plain write that may have run. The second planning has already refused a dropped column by its name.
 * The client can send the write again, unless something outside of the table is missing: then it would fail each time.
 */
const refusalOfWrite = ({ stale }: StaleAttempt, plan: Plan): Error =>
  stale.isElsewhere === true ? new StaleAttempt(stale, plan, false) : databaseUnavailable()

function planRequest<
  Request extends Pick<PipelineRequest, 'access' | 'limits' | 'record'> & { readonly body: Body },
  P extends Plan
> (request: Request, plan: (request: Request, source: TableSource) => P): P | Promise<P> {
  return authorizeAndPlan(request.access, request, (source) => {
    request.record?.begin(source.table)
    const planned = plan(request, source)
    request.record?.planned()
    return planned
  })
}

/** What the catalog lacks is looked for before it is refused. @throws as `authorize`, `lookAgain` and `plan` */
export function authorizeAndPlan<T> (
  access: Access,
  { body, limits }: { readonly body: Body, readonly limits: { readonly depth: number } },
  plan: (source: TableSource) => T
): T | Promise<T> {
  return lookAgain(access.database, (database) => {
    const found = authorize({ ...access, database }, body, limits)
    return found instanceof Promise ? found.then(plan) : plan(found)
  })
}

function planBody ({ body, limits, named }: PipelineRequest, source: TableSource): Plan {
  if (named === undefined) return createPlan(body, source, limits)
  const found = named.find([source])?.[0]
  if (found !== undefined) return found.plan
  const plan = createPlan(body, source, { ...limits, standIns: named.standIns })
  named.requireForm([source])
  return plan
}

const maxBytesOf = ({ access: { database }, resultLimit = Infinity }: PipelineRequest): number =>
  Math.min(database.resultLimit, resultLimit)

/** Runs a write with an idempotency key or a hook in a transaction. */
async function respondInTransaction (request: PipelineRequest, plan: Plan): Promise<string | Buffer> {
  const { access: { grant, database, tableName }, body, record, client, named } = request
  const dryRun = plan.verb !== 'select' && plan.dryRun === true
  let rows = 0
  const work = async (tx: Transaction): Promise<string | Buffer> => {
    record?.attempted(tx.attempt)
    const result = await respondIn(tx, {
      plan,
      database,
      maxBytes: maxBytesOf(request),
      pendingWrite: { grant, body, references: named?.standIns.values, dryRun, named: named?.name }
    })
    rows = result.rows
    return result.response
  }
  record?.compiled()
  const response = await transactOnce(
    {
      ...request,
      grant,
      database,
      path: named === undefined ? tableName : pathOfNamed(named.name),
      tables: tablesOf(plan),
      transaction: {
        readOnly: false,
        isolation: database.onWrite === undefined ? isolationOf(plan) : 'repeatableRead',
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
  /** `streamRows`: of a stream without `limit`. */
  readonly limits: PlanLimits & { readonly streamRows?: number | undefined }
}

/** @throws ServiceError if no row has been read */
export function openStream (
  request: StreamRequest
): Promise<{ readonly plan: SelectPlan, readonly stream: RowStream }> {
  const { access: { database }, limit, limits, body } = request
  // one additional row shows that there are more
  const most = limit ?? (limits.streamRows === undefined ? undefined : limits.streamRows + 1)
  return withFreshCatalog(database, async () => {
    const plan = await planRequest(request as StreamRequest & { readonly body: SelectBody }, (_request, source) =>
      planStream(body, source, { limit: most, limits })
    )
    const { stream, ended } = startStream(request, plan)
    try {
      await Promise.race([stream.started, ended])
      return { plan, stream }
    } catch (error) {
      throw toStale(stream.failure ?? error, plan)
    }
  })
}

/** Starts the statement. `ended`: settles when it has ended. @throws OVERLOADED if the caller has too many streams */
function startStream (
  { access: { database, grant }, limit, limits, format, record, client, consistency }: StreamRequest,
  plan: SelectPlan
): { readonly stream: RowStream, readonly ended: Promise<unknown> } {
  const { dialect, running, streams } = database
  // rows that have been sent cannot be taken back
  const compiled = compileStatement(plan, dialect.engine, database.statementCounts)
  const statement = compiled.secondForm?.() ?? compiled
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
  const reader = new StreamClient(stream, client)
  const ended = dialect.stream(statement, stream, { client: reader, consistency }).finally(() => {
    streams.remove(stream)
    running.delete(ended)
    // an iterator that the host app has dropped is never closed; a response always is
    if (client === undefined) stream.releaseMemory()
  })
  running.add(ended)
  ended.then(() => stream.end(), (error: Error) => stream.fail(error))
  return { stream, ended }
}

/**
 * The client that waits for the rows: the reader of the stream, or the response before it is read. A class, because of
 * an object with a getter V8 keeps what that refers to until the next full collection.
 */
class StreamClient implements Client {
  readonly caller: string | undefined
  readonly #readable: RowStream['readable']
  readonly #client: Client | undefined

  constructor ({ readable }: RowStream, client: Client | undefined) {
    this.caller = client?.caller
    this.#readable = readable
    this.#client = client
  }

  get destroyed (): boolean { return this.#readable.destroyed || this.#client?.destroyed === true }
}
