/** Which requests ask for a stream, how it is sent, and how it ends in the log. */
import { constants, Http2ServerResponse } from 'node:http2'
import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SelectBody } from '../../schemas/body.ts'
import { fieldsWith } from '../../schemas/fields.ts'
import type { Verb } from '../../schemas/grants.ts'
import type { Access } from '../access/authorize.ts'
import { at, internal, invalidBody, isBug, isServiceError, limitOutOfRange, ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { openStream, type StreamRequest } from '../pipeline.ts'
import { createBodyCheck } from '../request/check-body.ts'
import type { BodyLimits } from '../request/check-members.ts'
import type { StreamFormat } from '../response/csv-ndjson-rows.ts'
import { GRACE, type RowStream } from '../response/row-stream.ts'
import { collect, type Collector, logEnd, RequestRecord, slowClients } from '../telemetry/record.ts'
import { HttpClient, isClosed } from './client-connections.ts'

/** Content-Type. */
const CONTENT_TYPES: Readonly<Record<StreamFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson'
}

export const STREAM_FORMATS = Object.keys(CONTENT_TYPES) as readonly StreamFormat[]

export const mediaTypeOf = (format: StreamFormat): string => CONTENT_TYPES[format].split(';')[0] as string

/** Media type -> format; undefined for JSON, which is no stream. */
export const FORMATS: ReadonlyMap<string, StreamFormat | undefined> = new Map([
  ...STREAM_FORMATS.map((format) => [mediaTypeOf(format), format] as const),
  ['application/json', undefined]
])

/** Whether a header Accept may prefer a format: the name of each is a part of its media type. */
export const NAMES_FORMAT = new RegExp(STREAM_FORMATS.join('|'), 'i')

/** Outside of quoted strings (RFC 9110, 5.6.4). In one pass, as anybody may send one of any form. */
function split (text: string, separator: string): string[] {
  const parts: string[] = []
  let from = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted && character === '\\') at++
    else if (!isQuoted && character === separator) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  parts.push(text.slice(from))
  return parts
}

/** 1 without the parameter. */
function qualityOf (parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name = '', value = ''] = split(parameter, '=')
    if (name.trim().toLowerCase() === 'q') return Number(value.replaceAll('"', ''))
  }
  return 1
}

/** Undefined if the header prefers JSON. Types with `*` name none. */
export function findFormat (accept: string): StreamFormat | undefined {
  let best: { readonly format: StreamFormat | undefined, readonly quality: number } = { format: undefined, quality: 0 }
  for (const entry of split(accept, ',')) {
    const [type = '', ...parameters] = split(entry, ';')
    const name = type.trim().toLowerCase()
    if (!FORMATS.has(name)) continue
    const quality = qualityOf(parameters)
    if (quality > best.quality && quality <= 1) best = { format: FORMATS.get(name), quality }
  }
  return best.format
}

const NOT_OF_STREAMS = fieldsWith('needsAllRows')

/** `limit` of a select may be any number of rows up to `most`. Returns the refusal, not thrown. */
function takeLimit (
  sent: object,
  most: number | undefined
): { readonly body: Readonly<Record<string, unknown>>, readonly limit: number | undefined } | ServiceError {
  const field = NOT_OF_STREAMS.find((each) => Object.hasOwn(sent, each))
  if (field !== undefined) return at([field], invalidBody(`"${field}" is not allowed in a stream`))
  const { limit, ...body } = sent as { limit?: unknown }
  if (limit === undefined && !Object.hasOwn(sent, 'limit')) return { body, limit: undefined }
  if (typeof limit !== 'number' || !Number.isInteger(limit)) {
    return at(['limit'], invalidBody('"limit" must be a whole number'))
  }
  if (limit < 1 || limit > (most ?? Infinity)) return at(['limit'], limitOutOfRange(most ?? Number.MAX_SAFE_INTEGER))
  return { body, limit }
}

/** Whether a parsed body is one of a select. */
const isSelect = (body: unknown): body is object =>
  isObject(body) && (body as { verb?: unknown }).verb === 'select'

/** The limit of the select is `streamRows` at most. @throws INVALID_BODY, LIMIT_OUT_OF_RANGE, and as other bodies */
export function checkStreamBody (
  parsed: unknown,
  limits: BodyLimits & { readonly streamRows?: number | undefined }
): { readonly body: SelectBody; readonly limit: number | undefined } {
  const findBodyError = createBodyCheck(limits)
  if (!isSelect(parsed)) throw findBodyError(parsed) ?? at(['verb'], invalidBody('"verb" must be select'))
  const taken = takeLimit(parsed, limits.streamRows)
  if (taken instanceof ServiceError) throw taken
  const error = findBodyError(taken.body)
  if (error !== undefined) throw error
  return { body: taken.body as SelectBody, limit: taken.limit }
}

// Reads whether a select may use a replica, which may lag behind the primary.

export type Consistency = 'primary'

/**
 * Writes always go to the primary. Unknown values are refused, because ignoring them could return stale rows. `source`
 * names the header or field in messages. @throws INVALID_BODY
 */
export function readConsistency (
  isRead: boolean,
  asked: unknown,
  source = 'The header "Row-Query-Consistency"'
): Consistency | undefined {
  if (asked === undefined || !isRead) return undefined
  if (String(asked).toLowerCase() !== 'primary') throw invalidBody(`${source} must be "primary"`)
  return 'primary'
}

export type WantedStream = Pick<StreamRequest, 'format' | 'limit'>

/**
 * Finds out whether the response is a stream, for a header Accept that may prefer one (`NAMES_FORMAT`), and takes
 * `limit` out of the body, because the schema bounds it for other responses. Clients of HTTP/1.0 get no stream, because
 * they could not see that it was cut off. Returns the refusal, not thrown.
 */
export function findWantedStream (request: FastifyRequest, most: number | undefined): WantedStream | Error | null {
  const format = findFormat(request.headers.accept as string)
  if (format === undefined || request.raw.httpVersion === '1.0' || !isSelect(request.body)) return null
  const taken = takeLimit(request.body, most)
  if (taken instanceof Error) return taken
  request.body = taken.body
  return { format, limit: taken.limit }
}

/** @throws ServiceError if no row has been read */
export async function sendStream (
  request: FastifyRequest,
  reply: FastifyReply,
  { collectors, isOwnApp, ...wanted }: WantedStream & Pick<StreamRequest, 'access' | 'limits' | 'consistency'> & {
    readonly collectors: readonly Collector[]
    /** The app of the stand-alone server has no hooks of others. */
    readonly isOwnApp: boolean
  }
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
  const ended = new Promise<void>((resolve) => {
    // the response may already be closed
    finished(response, (error) => {
      running.delete(ended)
      resolve()
      record.status = reply.statusCode
      describe(record, stream, { request, reply, isWhole: error == null && stream.failure === undefined })
      nameRequest(record, 'select', wanted.access, reply)
      collect(collectors, record)
      logEnd(request.log, record)
    })
  })
  running.add(ended)
  record.isDeferred = true
  return reply.type(CONTENT_TYPES[wanted.format]).send(stream.readable)
}

/** For a record that ends after the hook which names other requests. */
export function nameRequest (
  record: RequestRecord,
  verb: Verb,
  { database, grant }: Access,
  reply: FastifyReply
): void {
  const requestId = reply.getHeader('x-request-id') ?? ''
  Object.assign(record, { verb, database: database.name, token: grant.name, requestId })
}

/**
 * Closes the connection instead of ending the response, once the client has the rows that were read before the error.
 */
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
