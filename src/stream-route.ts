/** Answers a select with a stream of rows, and tells the log and the metrics how it has ended. */
import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SelectBody } from '../schemas/body.ts'
import { internal, isBug, isServiceError } from './errors.ts'
import { openStream, type StreamRequest } from './open-stream.ts'
import { CONTENT_TYPES } from './response/stream-rows.ts'
import type { RowStream } from './response/row-stream.ts'
import { findFormat, isSelect, takeLimit } from './request/stream-request.ts'
import { RequestRecord, type Collector } from './telemetry/record.ts'
import { slowClients } from './telemetry/slow-clients.ts'

/** How long what was read before an error waits for a client that does not take it, in milliseconds. */
const GRACE = 500

/** What the header Accept and the body ask for. */
export type WantedStream = Pick<StreamRequest, 'format' | 'limit'>

/**
 * Finds out whether the request is answered with a stream, and takes `limit` out of its body, as the schema of other answers bounds it. A client of
 * HTTP/1.0 could not see that an answer was cut off. Returns the refusal, not thrown.
 */
export function findWantedStream (request: FastifyRequest, most: number | undefined): WantedStream | Error | null {
  const format = findFormat(request.headers.accept)
  if (format === undefined || request.raw.httpVersion === '1.0' || !isSelect(request.body)) return null
  const taken = takeLimit(request.body, most)
  if (taken instanceof Error) return taken
  request.body = taken.body
  return { format, limit: taken.limit }
}

export interface StreamToSend extends WantedStream, Pick<StreamRequest, 'access' | 'limits' | 'consistency'> {
  readonly collectors: readonly Collector[]
}

/** @throws ServiceError where no row has been read */
export async function sendStream (request: FastifyRequest, reply: FastifyReply, { collectors, ...wanted }: StreamToSend): Promise<FastifyReply> {
  const { raw: response } = reply
  const record = request.rowQueryRecord ?? new RequestRecord(false, false)
  const stream = await openStream({ ...wanted, body: request.body as SelectBody, client: response, record })
  stream.onCut = createCut(stream, response)
  stream.onFailure = () => { setTimeout(() => stream.readable.destroy(), GRACE).unref() }
  // the response may have been closed before
  finished(response, (error) => {
    record.status = reply.statusCode
    describe(record, stream, { request, reply, isWhole: error == null && stream.failure === undefined })
    const { database, grant } = wanted.access
    Object.assign(record, { verb: 'select', database: database.name, token: grant.name, requestId: reply.getHeader('x-request-id') ?? '' })
    for (const collector of collectors) if (collector.accepts(record.refusal)) collector.collect(record)
  })
  record.isDeferred = true
  return reply.type(CONTENT_TYPES[wanted.format]).send(stream.readable)
}

/** Closes the connection in place of the end of the answer, once the client has what was read before the error. */
const createCut = ({ readable }: RowStream, response: FastifyReply['raw']) => (): void => {
  if (response.destroyed) readable.destroy()
  else response.write('', () => { readable.destroy() })
}

interface Ended { readonly request: FastifyRequest, readonly reply: FastifyReply, readonly isWhole: boolean }

/** Notes how a stream has ended. */
function describe (record: RequestRecord, { passed, bytes, failure }: RowStream, { request, isWhole }: Ended): void {
  const refusal = failure === undefined || isServiceError(failure) ? failure : internal()
  if (refusal !== undefined && isBug(refusal)) request.log.error({ err: failure }, 'unexpected error')
  record.refusal = refusal
  record.executed({ rows: passed, changed: 0 })
  record.end()
  const gone = slowClients.has(request.raw.socket) ? 'CLIENT_SLOW' : 'CLIENT_GONE'
  record.stream = { bytes, complete: isWhole, reason: isWhole ? undefined : refusal?.reason ?? refusal?.code ?? gone }
}
