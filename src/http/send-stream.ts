/** Answers a select with a stream of rows, and reports how it ended to the log and the metrics. */
import { constants, Http2ServerResponse } from 'node:http2'
import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SelectBody } from '../../schemas/body.ts'
import { HttpClient } from './connections.ts'
import { internal, isBug, isServiceError } from '../errors.ts'
import { openStream, type StreamRequest } from '../pipeline.ts'
import { isClosed } from '../response/budget.ts'
import { GRACE, type RowStream } from '../response/row-stream.ts'
import { type Collector, RequestRecord, slowClients } from '../telemetry/record.ts'
import { CONTENT_TYPES, findFormat, isSelect, takeLimit } from '../request/stream-request.ts'

/** The format and the limit that the header Accept and the body ask for. */
export type WantedStream = Pick<StreamRequest, 'format' | 'limit'>

/**
 * Finds out whether the request is answered with a stream, and takes `limit` out of its body, because the schema bounds
 * it for other answers. Clients of HTTP/1.0 get no stream, because they could not see that it was cut off. Returns the
 * refusal instead of throwing it.
 */
export function findWantedStream (request: FastifyRequest, most: number | undefined): WantedStream | Error | null {
  const format = findFormat(request.headers.accept)
  if (format === undefined || request.raw.httpVersion === '1.0' || !isSelect(request.body)) return null
  const taken = takeLimit(request.body, most)
  if (taken instanceof Error) return taken
  request.body = taken.body
  return { format, limit: taken.limit }
}

interface StreamToSend extends WantedStream, Pick<StreamRequest, 'access' | 'limits' | 'consistency'> {
  readonly collectors: readonly Collector[]
  /** Whether the app is that of the stand-alone server, which has no hooks of others. */
  readonly isOwnApp: boolean
}

/** Sends the stream. @throws ServiceError if no row has been read */
export async function sendStream (
  request: FastifyRequest,
  reply: FastifyReply,
  { collectors, isOwnApp, ...wanted }: StreamToSend
): Promise<FastifyReply> {
  const { raw: response } = reply
  const record = request.rowQueryRecord ?? new RequestRecord(false, false)
  const { stream } = await openStream({
    ...wanted,
    body: request.body as SelectBody,
    client: new HttpClient(response, wanted.access.grant),
    record
  })
  if (isOwnApp) stream.reuseMemory()
  stream.onCut = createCut(stream, response)
  stream.onFailure = () => {
    setTimeout(() => cut(stream, response), GRACE).unref()
  }
  // closing the app waits for the record
  const { running } = wanted.access.database
  running.begin()
  // the response may already be closed
  finished(response, (error) => {
    running.end()
    record.status = reply.statusCode
    describe(record, stream, { request, reply, isWhole: error == null && stream.failure === undefined })
    const { database, grant } = wanted.access
    Object.assign(record, {
      verb: 'select',
      database: database.name,
      token: grant.name,
      requestId: reply.getHeader('x-request-id') ?? ''
    })
    for (const collector of collectors) if (collector.accepts(record.refusal)) collector.collect(record)
  })
  record.isDeferred = true
  return reply.type(CONTENT_TYPES[wanted.format]).send(stream.readable)
}

/** Closes the connection instead of ending the answer, once the client has the rows that were read before the error. */
const createCut = (stream: RowStream, response: FastifyReply['raw']) => (): void => {
  if (isClosed(response)) cut(stream, response)
  else response.write('', () => { cut(stream, response) })
}

/** Fastify destroys the response. Without its own error, a stream of HTTP/2 would look whole then. */
function cut ({ readable }: RowStream, response: FastifyReply['raw'] | Http2ServerResponse): void {
  if (response instanceof Http2ServerResponse && !response.stream.closed) {
    response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
  readable.destroy()
}

/** Records how a stream ended. */
function describe (
  record: RequestRecord,
  { passed, bytes, failure }: RowStream,
  { request, isWhole }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly isWhole: boolean }
): void {
  const refusal = failure === undefined || isServiceError(failure) ? failure : internal()
  if (refusal !== undefined && isBug(refusal)) request.log.error({ err: failure }, 'unexpected error')
  record.refusal = refusal
  // the execution of one that was cut off has failed
  if (isWhole) record.executed(passed)
  record.rows = passed
  record.end()
  const gone = slowClients.has(request.raw.socket) ? 'CLIENT_SLOW' : 'CLIENT_GONE'
  record.stream = {
    bytes,
    complete: isWhole,
    reason: isWhole ? undefined : (refusal?.reason ?? refusal?.code ?? gone)
  }
}
