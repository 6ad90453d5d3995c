/**
 * The stdio transport, in which a message is a line of JSON. Unlike that of the implementation, it keeps numbers exact
 * and limits its memory.
 */
import { isUtf8 } from 'node:buffer'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { ServiceError } from '../errors.ts'
import { onOneLine } from '../json/exact-json.ts'
import { parseBody } from '../request/check-body.ts'
import { errorText, INVALID_REQUEST, PARSE_ERROR, readMessage } from './message.ts'

interface LineTransportOptions {
  readonly input: Readable
  readonly output: Writable
  /** Maximum size of a message, in bytes. */
  readonly maxLength: number
  /** @throws if the value is not a message */
  readonly parse: (value: unknown) => JSONRPCMessage
}

/** The number of unanswered requests at which no more input is read. */
export const MAX_PENDING = 32

const LINE_FEED = 0x0a

export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** Resolves when the input has ended and all requests have their responses, or when nobody reads the output. */
  readonly closed: Promise<void>
  readonly #options: LineTransportOptions
  readonly #end = Promise.withResolvers<void>()
  /** The parts of the line that is being read. */
  #parts: Buffer[] = []
  #length = 0
  /** Input that has been read but not parsed, because too many requests are pending. */
  #rest: Buffer | undefined
  readonly #pending = new Map<unknown, number>()
  #count = 0
  #hasEnded = false
  #isClosed = false

  constructor (options: LineTransportOptions) {
    this.#options = options
    this.closed = this.#end.promise
  }

  async start (): Promise<void> {
    const { input, output } = this.#options
    input.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onLost).on('close', this.#onEnd)
    output.on('error', this.#onLost).on('drain', this.#onDrain)
  }

  send (message: JSONRPCMessage): Promise<void> {
    return this.#write(JSON.stringify(message)).finally(() => {
      this.#settle(respondedId(message), 1)
    })
  }

  async close (): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const { input, output } = this.#options
    input.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onEnd).destroy()
    output.off('drain', this.#onDrain)
    this.#parts = []
    this.#rest = undefined
    this.onclose?.()
    this.#end.resolve()
  }

  #write (text: string): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise((resolve) => { this.#options.output.write(`${onOneLine(text)}\n`, () => resolve()) })
  }

  readonly #onDrain = (): void => { this.#read() }

  readonly #onLost = (): void => { this.close() }

  readonly #onEnd = (): void => {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#read()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#read()
  }

  /** Takes lines of the input as long as not too many requests are pending, and the responses are read. */
  #read (): void {
    const { input, output } = this.#options
    while (this.#rest !== undefined && this.#count < MAX_PENDING && !output.writableNeedDrain) {
      const end = this.#rest.indexOf(LINE_FEED)
      this.#add(end === -1 ? this.#rest : this.#rest.subarray(0, end))
      this.#rest = end === -1 || end === this.#rest.length - 1 ? undefined : this.#rest.subarray(end + 1)
      if (end !== -1) this.#endLine()
    }
    if (this.#isClosed) return
    if (this.#rest !== undefined) input.pause()
    else if (!this.#hasEnded) input.resume()
    else {
      this.#endLine() // the last line may lack its line feed
      if (this.#count === 0) this.close()
    }
  }

  /** Adds a part of a line; nothing is kept of a line that is too long. */
  #add (part: Buffer): void {
    this.#length += part.length
    if (this.#length <= this.#options.maxLength) this.#parts.push(part)
    else this.#parts = []
  }

  #endLine (): void {
    const [line, length] = [Buffer.concat(this.#parts), this.#length]
    this.#parts = []
    this.#length = 0
    const { maxLength } = this.#options
    if (length > maxLength) {
      this.#write(errorText(INVALID_REQUEST, `Invalid Request: a message may have at most ${maxLength} bytes`))
    } else if (line.length > 0 && String(line).trim() !== '') this.#receive(line)
  }

  #receive (line: Buffer): void {
    const message = this.#parse(line)
    if (typeof message === 'string') {
      this.#write(message)
      return
    }
    if ('method' in message && 'id' in message) {
      this.#pending.set(message.id, (this.#pending.get(message.id) ?? 0) + 1)
      this.#count++
    }
    this.onmessage?.(message)
    // a cancelled request gets no response
    if ('method' in message && message.method === 'notifications/cancelled') {
      this.#settle((message.params as { requestId?: unknown } | undefined)?.requestId, Infinity)
    }
  }

  /** Returns a message, or the text of a response if the line is not a message. */
  #parse (line: Buffer): JSONRPCMessage | string {
    const value = isUtf8(line) ? parseBody(String(line)) : undefined
    if (value === undefined || value instanceof ServiceError) {
      return errorText(PARSE_ERROR, `Parse error: ${value?.message ?? 'the message is not UTF-8'}`)
    }
    const read = readMessage(value)
    if (read.refused !== undefined) return read.refused
    try {
      return this.#options.parse(read.message)
    } catch {
      return errorText(INVALID_REQUEST, 'Invalid Request: the line is not a JSON-RPC message')
    }
  }

  /** Removes pending requests with this id. `most`: how many at most. */
  #settle (id: unknown, most: number): void {
    const pending = this.#pending.get(id) ?? 0
    const settled = Math.min(most, pending)
    if (settled === 0) return
    if (settled === pending) this.#pending.delete(id)
    else this.#pending.set(id, pending - settled)
    this.#count -= settled
    // later, because a line may be being processed
    if (this.#count < MAX_PENDING) setImmediate(() => this.#read())
  }
}

/**
 * The id of the request to which the message is the response. For a subscription it is the acknowledgement, because it
 * ends only with the connection.
 */
function respondedId (message: JSONRPCMessage): unknown {
  if (!('method' in message)) return message.id
  return message.method === 'notifications/subscriptions/acknowledged'
    ? message.params?._meta?.['io.modelcontextprotocol/subscriptionId']
    : undefined
}
