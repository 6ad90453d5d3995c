import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { bodyIncomplete, bodyInPieces, bodyTooLarge, invalidRequest, overloaded } from '../errors.ts'

// Bounds the small parts in which a body arrives: each takes Node about a microsecond, and its client six bytes.

const LEAST = 256

/** How many bytes parts may count beyond their own, if nothing allows more: 4112 parts of one byte. */
const MAX_PADDING = 1_048_576

// The memory of request bodies that have been received, in part or in full, and have no response yet.

/**
 * A budget in bytes. One principal holds at most half of the memory that the others leave free, so that none can use up
 * the whole. A body that needs more than the budget is accepted while nothing else is held, so that it is not refused
 * forever.
 */
export class BodyMemory {
  readonly #total: number
  readonly #holders = new Map<string, number>()
  /** In bytes. */
  held = 0

  constructor (total: number) {
    this.#total = total
  }

  /** `ownBytes`: what the body holds already. False if the bytes do not fit. */
  take (owner: string, ownBytes: number, bytes: number): boolean {
    const before = this.#holders.get(owner) ?? 0
    if (this.held !== ownBytes && (before + bytes) * 2 > this.#total - (this.held - before)) return false
    this.held += bytes
    this.#holders.set(owner, before + bytes)
    return true
  }

  give (owner: string, bytes: number): void {
    const rest = (this.#holders.get(owner) as number) - bytes
    this.held -= bytes
    if (rest === 0) this.#holders.delete(owner)
    else this.#holders.set(owner, rest)
  }
}

export class BodyReservation {
  readonly #memory: BodyMemory
  readonly owner: string
  bytes = 0
  #hasLeft = false

  /** `owner`: the principal. */
  constructor (memory: BodyMemory, owner: string) {
    this.#memory = memory
    this.owner = owner
  }

  /** Increases the reservation to `bytes`. Returns false if they do not fit. */
  hold (bytes: number): boolean {
    const more = bytes - this.bytes
    if (more <= 0) return true
    if (this.#hasLeft || !this.#memory.take(this.owner, this.bytes, more)) return false
    this.bytes = bytes
    return true
  }

  /** The response has ended, or the client has gone. */
  get hasLeft (): boolean { return this.#hasLeft }

  /** Frees all memory. Idempotent. */
  leave (): void {
    if (!this.#hasLeft && this.bytes > 0) this.#memory.give(this.owner, this.bytes)
    this.#hasLeft = true
  }
}

/** Bytes for each byte of a body: itself, its text, the texts of its values, the statement and its packet. */
const PER_BYTE = 6
/**
 * Bytes for each item of a list or object, and for each list and object. Numbers with their text and empty objects are
 * the largest.
 */
const PER_ITEM = 72
/** Bytes of a body whose items are not counted, and which takes no turn of its own (turns.ts). */
export const SMALL = 16_384
/** Bytes for each byte of a small body; only `[` can take more. */
const PER_BYTE_OF_SMALL = 32

const weighBytes = (length: number): number => length * (length <= SMALL ? PER_BYTE_OF_SMALL : PER_BYTE)

/**
 * The memory that a body of so many bytes takes while its request runs, in bytes: an upper bound for ordinary bodies,
 * and about as much for the worst. `items`: commas and opening brackets.
 */
export const weighBody = (length: number, items: number): number =>
  weighBytes(length) + (length > SMALL ? items * PER_ITEM : 0)

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

// Reads on where a request is answered before its body has been read to its end.

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
  const answer = new Readable({ read () {} })
  answer.push(text)
  const end = (): void => {
    clearTimeout(whole)
    clearTimeout(pause)
    stop()
    answer.push(null)
  }
  const stop = discard(request, { onPart: () => { pause.refresh() }, onExcess: end }, bytes)
  const [whole, pause] = [setTimeout(end, time), setTimeout(end, longest)]
  request.unpipe() // a hook of the host app may have piped it into a stream that nobody reads
  request.once('end', end).once('error', end).once('close', end)
  if (request.destroyed) end() // the client has gone, and there is no further event
  return answer
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
