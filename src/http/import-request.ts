/** Which requests are imports, how their bodies are read, and what responses they get. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { createGunzip, type Gunzip } from 'node:zlib'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access/authorize.ts'
import { clientGone } from '../dialects/dialect.ts'
import {
  at, bodyIncomplete, type Committed, internal, invalidBody, isServiceError, type ServiceError, unsupportedMediaType
} from '../errors.ts'
import { readKey } from '../idempotency/run-once.ts'
import { readImportOptions, Import } from '../imports/run-import.ts'
import type { RequestLimits } from '../plan/limits.ts'
import { isReadType } from '../request/read-body.ts'
import type { StreamFormat } from '../response/csv-ndjson-rows.ts'
import { logEnd, RequestRecord } from '../telemetry/record.ts'
import { HttpClient } from './client-connections.ts'
import { FORMATS, mediaTypeOf, nameRequest, STREAM_FORMATS } from './stream.ts'

const IMPORT_TYPES = STREAM_FORMATS.map(mediaTypeOf)
export const TYPES_TEXT = `application/json, or for an import ${IMPORT_TYPES.join(' or ')}`

/** The setting `http.bodyTimeout` of the stand-alone server. */
export const BODY_TIMEOUT = 'rowQueryBodyTimeout'

declare module 'fastify' {
  interface FastifyContextConfig {
    rowQueryImports?: true
  }
  interface FastifyRequest {
    rowQueryCommitted?: Committed | undefined
  }
}

export function findImportFormat ({ 'content-type': type = '' }: IncomingMessage['headers']): StreamFormat | undefined {
  return FORMATS.get((type.split(';', 1)[0] as string).trim().toLowerCase())
}

/** The body of an import, which has not been read. */
export class ImportBody {
  readonly verb = 'insert'
  readonly format: StreamFormat
  readonly payload: Readable

  constructor (format: StreamFormat, payload: Readable) {
    this.format = format
    this.payload = payload
  }
}

export function describeTypes ({ routeOptions: { config } }: FastifyRequest): string {
  return config.rowQueryImports === true ? TYPES_TEXT : 'application/json'
}

/** No text begins so. */
export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f

/**
 * Unpacks a stream that a hook of the host app has put in the place of the body, unless the hook has done so: the
 * header says gzip in both cases.
 */
function unpackIfPacked (payload: Readable, gunzip: Gunzip): Readable {
  const unpacked = new PassThrough()
  payload.once('readable', () => {
    const first = payload.read() as Buffer | null
    if (first !== null) payload.unshift(first)
    if (first === null || !isGzip(first)) payload.pipe(unpacked)
    else payload.pipe(gunzip).pipe(unpacked)
  })
  return unpacked
}

const ENCODINGS: ReadonlySet<string> = new Set(['identity', 'gzip', 'x-gzip'])

/** Passes bodies of CSV and NDJSON on unread. Routes without imports refuse them with UNSUPPORTED_MEDIA_TYPE. */
export function acceptImports (app: FastifyInstance): void {
  app.addContentTypeParser(IMPORT_TYPES, (request: FastifyRequest, payload, done) => {
    const body = toImportBody(request, payload)
    if (body instanceof Error) done(body)
    else done(null, body)
  })
}

/** Returns the body of an import, or UNSUPPORTED_MEDIA_TYPE (not thrown). */
function toImportBody (request: FastifyRequest, payload: Readable): ImportBody | Error {
  const { headers, raw, routeOptions: { config } } = request
  // one of the host app may fail before it is read, which nobody listens for yet
  if (payload !== raw) payload.on('error', () => {})
  const format = findImportFormat(headers)
  const isAccepted =
    format !== undefined &&
    config.rowQueryImports === true &&
    isReadType(headers['content-type'] as string) &&
    ENCODINGS.has((headers['content-encoding'] ?? 'identity').toLowerCase())
  return isAccepted ? new ImportBody(format, payload) : unsupportedMediaType(describeTypes(request))
}

/** The options of an import. */
const queryOf = ({ raw: { url = '' } }: FastifyRequest): URLSearchParams => {
  const start = url.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1))
}

/** Options would have no effect for a body that is no import. @throws INVALID_BODY */
export function refuseQuery (request: FastifyRequest): void {
  if (request.body instanceof ImportBody) return
  const [name] = queryOf(request).keys()
  if (name !== undefined) {
    throw at('', invalidBody(`The option "${name}" is not allowed with a JSON body; the body has all fields`))
  }
}

/** The requests whose bodies may not go on: their clients wait for `100 Continue`, or they cannot be parsed. */
const waiting = new WeakSet<IncomingMessage>()

/** Sends no `100 Continue` any more, because there is another response. Returns whether the body may not go on. */
export const stopWaiting = (request: IncomingMessage): boolean => waiting.delete(request)

const prefixesOf = new WeakMap<Server, string[]>()

/**
 * Sends `100 Continue` for a request below the prefix only when its body is read, so that a refusal comes before.
 * Node's own response comes before everything else.
 */
export function delayContinue (app: FastifyInstance): void {
  const server = app.server as Server
  const prefixes = prefixesOf.get(server)
  if (prefixes !== undefined) {
    prefixes.push(app.prefix)
    return
  }
  if (server.listenerCount('checkContinue') > 0) return
  const served = [app.prefix]
  prefixesOf.set(server, served)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const isOwn = served.some((prefix) => request.url?.startsWith(`${prefix}/`) === true)
    if (isOwn && request.httpVersionMajor === 1) continueWhenRead(request, response)
    else response.writeContinue()
    server.emit('request', request, response)
  })
}

function continueWhenRead (request: IncomingMessage, response: ServerResponse): void {
  const { _read: read } = request
  waiting.add(request)
  request._read = function (size) {
    request._read = read
    if (waiting.delete(request) && !response.headersSent) response.writeContinue()
    read.call(request, size)
  }
}

/**
 * The connections on which the body of an import arrives, to which Node's time limit of requests does not apply, and
 * what ends an import whose body cannot be parsed.
 */
const importing = new WeakMap<object, (error: ServiceError) => void>()
export const isImporting = (socket: object): boolean => importing.has(socket)
/** Called for a connection that is closed when the rest of an import has arrived. */
export const keepImporting = (socket: object): void => { importing.set(socket, () => {}) }
/** The import gets its response as ever. Returns whether there is one. */
export function failImport (socket: object, error: ServiceError): boolean {
  importing.get(socket)?.(error)
  return importing.has(socket)
}

/** The body of the response. */
export async function handleImport (
  request: FastifyRequest,
  reply: FastifyReply,
  { onReplay, toRefusal, ...settings }: {
    /** The response is that to an earlier request. */
    readonly onReplay: () => void
    readonly access: Access
    readonly limits: RequestLimits
    readonly bodyTimeout: number
    /** Converts an error of a stream that a hook of the host app has put in place of the body. */
    readonly toRefusal: (error: FastifyError, reply: FastifyReply) => ServiceError
  }
): Promise<string | Buffer> {
  const { raw } = request
  const record = request.rowQueryRecord ??= new RequestRecord(false, false)
  const { format, payload } = request.body as ImportBody
  const options = readImportOptions(format, queryOf(request))
  const header = raw.headers['idempotency-key']
  const key = header === undefined ? undefined : readKey({ header, bodyHash: '', dryRun: options.dryRun })
  if (key !== undefined && options.transaction === 'batch') {
    throw at('', invalidBody('transaction=batch is not allowed with the header Idempotency-Key'))
  }
  const client = new HttpClient(reply.raw, settings.access.grant)
  const running = await Import.begin({ ...settings, options, key, onReplay, client, record })
  importing.set(raw.socket, (error) => {
    waiting.add(raw)
    running.fail(error)
  })
  let gunzip: Gunzip | undefined
  try {
    return await running.run(() => {
      raw.once('close', () => { if (!raw.complete) running.fail(clientGone()) })
      const fail = (error: Error | null): void => {
        if (payload === raw || (raw.destroyed && !raw.complete)) return running.fail(clientGone())
        running.fail(error === null
          ? bodyIncomplete()
          : Object.assign(toRefusal(error as FastifyError, reply), { cause: error }))
      }
      payload.on('error', fail)
      if (payload !== raw) {
        const end = (): void => { if (payload.readableEnded === false) fail(payload.errored) }
        if (payload.destroyed) end()
        else payload.on('close', end)
      }
      if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity') return payload
      gunzip = createGunzip({ chunkSize: 65_536 })
      gunzip.on('error', () => running.fail(at('', invalidBody('The body is not valid gzip'))))
      if (payload !== raw) return unpackIfPacked(payload, gunzip)
      payload.on('data', () => running.noteProgress())
      return payload.pipe(gunzip)
    })
  } catch (error) {
    record.refusal = isServiceError(error) ? error : internal()
    throw error
  } finally {
    // for errors that come later, or that the import does not know
    if (options.transaction === 'batch') request.rowQueryCommitted = running.committed
    nameRequest(record, 'insert', settings.access, reply)
    record.importedBytes = running.bytes
    record.status = record.refusal?.statusCode ?? reply.statusCode
    record.end()
    logEnd(request.log, record)
    importing.delete(raw.socket)
    if (gunzip !== undefined) {
      payload.unpipe(gunzip)
      gunzip.destroy()
    }
  }
}
