/** The pipeline of a stream after authorization: plan, compile, and read rows as they are taken. */
import type { SelectBody } from '../schemas/body.ts'
import { authorize, type Access } from './access/authorize.ts'
import { callerOf } from './access/caller.ts'
import { orUnavailable } from './access/granted-table.ts'
import type { Table } from './catalog/catalog.ts'
import { toUnresolved } from './databases/broken-definitions.ts'
import { SchemaMoved, type Client, type ReadOptions } from './dialects/dialect.ts'
import { brokenDefinition, withReason } from './errors.ts'
import type { PlanLimits } from './plan/terms.ts'
import { tablesOf } from './plan/filters/scope.ts'
import type { SelectPlan } from './plan/plan.ts'
import { planStream } from './plan/create-plan.ts'
import type { StreamFormat } from './request/stream-formats.ts'
import { RowStream } from './response/row-stream.ts'
import { createStreamRows } from './response/stream-rows.ts'
import { compileStatement } from './sql/compile.ts'
import type { RequestRecord } from './telemetry/record.ts'

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
 * Returns the stream when its first row has been read, or there is none. If the tables of the database have changed, it reads the catalog again and
 * tries once more, with the tables of the first attempt as `before`. @throws ServiceError
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
    const stream = new RowStream({ rows: createStreamRows(plan, format), maxBytes: database.resultLimit, most: limit === undefined ? streamRows : undefined, budget: database.budget })
    try {
      streams.add(stream, callerOf(access.grant))
    } catch (error) {
      stream.drop()
      throw error
    }
    isRunning = true
    const run = database.dialect.stream(statement, stream, { client: clientOf(stream, request.client), consistency: request.consistency })
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
const clientOf = ({ readable }: RowStream, client: Client | undefined): Client => ({ caller: client?.caller, get destroyed () { return readable.destroyed || client?.destroyed === true } })
