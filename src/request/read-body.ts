import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { bodyIncomplete, bodyInPieces, bodyTooLarge, invalidRequest, overloaded } from '../errors.ts'
import { type BodyReservation, weighBytes } from './body-budget.ts'

// Bounds the small parts in which a body arrives: each takes Node about a microsecond, and its client six bytes.

const LEAST = 256

/** How many bytes parts may count beyond their own, if nothing allows more: 4112 parts of one byte. */
const MAX_PADDING = 1_048_576

const PARAMETERS = /;\s*([^\s;="]+)\s*=\s*"?([^\s;"]*)/g

/** What the parameters of a media type must say, if they are there. */
const SAYS: Readonly<Record<string, RegExp>> = { charset: /^utf-?8$/i, header: /^present$/i }

/** Whether the parameters of a header Content-Type say nothing else than how the body is read. */
export function isReadType (type: string): boolean {
  if (type === 'application/json') return true // the common case, without the regular expression
  const parameters = Array.from(type.matchAll(PARAMETERS))
  return parameters.every(([, name = '', value = '']) => SAYS[name.toLowerCase()]?.test(value) ?? true)
}

/**
 * The source of the body: the request, or a stream that a hook of the host app has put in its place, such as for
 * decompression.
 */
export type Payload = NodeJS.ReadableStream & { readonly destroyed?: boolean, readonly receivedEncodedLength?: number }

const FIRST_SIZE = 16_384
const NONE = Buffer.alloc(0)

/**
 * Reads a body into one buffer, because chunks of a few bytes each would take more memory than their content. A body
 * that arrives at once is not copied. Memory is reserved for the declared length before anything is read, or as bytes
 * arrive.
 */
export function readBody (payload: Payload, { headers, limit, reservation }: {
  readonly headers: IncomingHttpHeaders
  /** In bytes. */
  readonly limit: number
  readonly reservation: BodyReservation
}, onBody: (error: Error | undefined, body?: Buffer) => void): void {
  const declared = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  let buffer: Buffer = NONE
  let length = 0
  /** Memory is reserved for it. */
  let held = declared ?? 0
  let padding = 0

  const end = (error: Error | undefined, body?: Buffer): void => {
    payload.removeListener('data', onData)
    payload.removeListener('end', onEnd)
    payload.removeListener('error', onError)
    onBody(error, body)
  }
  const onError = (error: Error): void => end(error)
  const onData = (data: Buffer | string): void => {
    const chunk = typeof data === 'string' ? Buffer.from(data) : data
    const before = length
    length += chunk.length
    padding += Math.max(0, LEAST - chunk.length)
    if (length > limit || (payload.receivedEncodedLength ?? 0) > limit) return end(bodyTooLarge())
    if (padding > Math.max(limit, MAX_PADDING)) return end(bodyInPieces())
    if (length > held) {
      if (!reservation.hold(weighBytes(length))) return end(overloaded())
      held = length
    }
    if (before === 0) {
      buffer = chunk
      return
    }
    if (length > buffer.length) {
      const size = Math.min(Math.max(FIRST_SIZE, length * 2), Math.max(length, declared ?? limit))
      const larger = Buffer.allocUnsafeSlow(size)
      buffer.copy(larger, 0, 0, before)
      buffer = larger
    }
    chunk.copy(buffer, before)
  }
  const onEnd = (): void => {
    if (declared !== undefined && (payload.receivedEncodedLength || length) !== declared) {
      return end(invalidRequest('the length of the body differs from Content-Length'))
    }
    end(undefined, buffer.subarray(0, length))
  }

  if (declared !== undefined && declared > limit) return onBody(bodyTooLarge())
  if (payload.destroyed === true) return onBody(bodyIncomplete())
  if (!reservation.hold(weighBytes(held))) return onBody(overloaded())
  payload.on('data', onData)
  payload.on('end', onEnd)
  payload.on('error', onError)
  payload.resume()
}

// Reads on where a response is sent before the body has been read to its end.

/**
 * Limits for discarding the rest of a body: its size in bytes, and the total time and the time without a byte in
 * milliseconds.
 */
const MAX_BYTES = 16_777_216
const OF_BODY = { bytes: MAX_BYTES, time: 5000, pause: 1000 } as const

/** The limits for an import, whose client may not look for a response before it has sent everything. */
export const OF_IMPORT = { bytes: Infinity, time: 30_000, pause: 30_000 } as const

/** The limits for an import whose client waits for `100 Continue`, without which it may send its body nevertheless. */
export const OF_WAITING_IMPORT = { ...OF_IMPORT, pause: OF_BODY.pause } as const

/**
 * Returns the response as a stream that ends when the client has sent its body. Otherwise Node would close the
 * connection after the response while bytes arrive, and the system would reset it, so that the client would get an
 * error in its place. Because the headers have the length, the client has the response at once.
 */
export function respondBeforeEnd (
  request: IncomingMessage,
  text: string,
  { bytes, time, pause: longest }: { readonly bytes: number, readonly time: number, readonly pause: number } = OF_BODY
): Readable {
  const response = new Readable({ read () {} })
  response.push(text)
  const end = (): void => {
    clearTimeout(whole)
    clearTimeout(pause)
    stop()
    response.push(null)
  }
  const stop = discard(request, { onPart: () => { pause.refresh() }, onExcess: end }, bytes)
  const [whole, pause] = [setTimeout(end, time), setTimeout(end, longest)]
  request.unpipe() // a hook of the host app may have piped it into a stream that nobody reads
  request.once('end', end).once('error', end).once('close', end)
  if (request.destroyed) end() // the client has gone, and there is no further event
  return response
}

/**
 * Closes the connection of a client that goes on sending a body in small chunks after its response. On a connection
 * that is kept, Node reads the rest of a body by itself, without a limit: chunks of one byte would take all of the time
 * of the process.
 */
export function limitUnreadBody (request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['transfer-encoding'] === undefined) return // parts of other bodies are those of the network
  // before Node's own listener, which would drop the body without passing it on
  response.prependOnceListener('finish', () => {
    if (request.complete || !response.shouldKeepAlive) return
    const stop = discard(request, {
      onExcess: () => {
        stop()
        request.socket.destroySoon()
      }
    })
    request.read(0) // Node notices a reader by this
  })
}

/** Returns a function that ends this. */
function discard (
  request: IncomingMessage,
  { onPart = () => {}, onExcess }: {
    readonly onPart?: () => void
    /** Called when there is too much of it. */
    readonly onExcess: () => void
  },
  most = MAX_BYTES
): () => void {
  let bytes = 0
  let padding = 0
  const onData = (part: Buffer): void => {
    bytes += part.length
    padding += Math.max(0, LEAST - part.length)
    onPart()
    if (bytes > most || (padding > MAX_PADDING && most < Infinity)) onExcess()
  }
  request.on('data', onData).resume()
  return () => { request.removeListener('data', onData) }
}
