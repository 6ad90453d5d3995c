/** Reads the bytes of a request body, within limits. */
import type { IncomingHttpHeaders } from 'node:http'
import { bodyInPieces, bodyTooLarge, invalidRequest, overloaded, type ServiceError } from '../errors.ts'
import type { BodyPlace } from './body-memory.ts'
import { weighBody } from './body-weight.ts'
import { MAX_PADDING, paddingOf } from './chunks.ts'

/** The source of the body: the request, or a stream that a hook of the host app has put in its place, such as for decompression. */
export type Payload = NodeJS.ReadableStream & { readonly destroyed?: boolean, readonly receivedEncodedLength?: number }

export interface ReadBodyOptions {
  readonly headers: IncomingHttpHeaders
  /** Maximum size in bytes. */
  readonly limit: number
  readonly place: BodyPlace
}

/** Called at the end. `body` is undefined if there is an error. */
export type OnBody = (error: Error | undefined, body?: Buffer) => void

const FIRST_SIZE = 16_384
const NONE = Buffer.alloc(0)

/**
 * Reads a body into one buffer, because chunks of a few bytes each would take more memory than their content. A body that arrives at once is not copied.
 * Its place then holds the memory that the body will take when it is parsed.
 * @returns a function that ends the reading with an error
 */
export function readBody (payload: Payload, { headers, limit, place }: ReadBodyOptions, onBody: OnBody): (error: ServiceError) => void {
  const declared = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  let buffer: Buffer = NONE
  let length = 0
  let padding = 0

  const end = (error: Error | undefined, body?: Buffer): void => {
    payload.removeListener('data', onData)
    payload.removeListener('end', onEnd)
    payload.removeListener('error', onError)
    place.finish()
    onBody(error, body)
  }
  const onError = (error: Error): void => end(error)
  const onData = (data: Buffer | string): void => {
    const chunk = typeof data === 'string' ? Buffer.from(data) : data
    const before = length
    length += chunk.length
    padding += paddingOf(chunk)
    if (length > limit || (payload.receivedEncodedLength ?? 0) > limit) return end(bodyTooLarge())
    if (padding > Math.max(limit, MAX_PADDING)) return end(bodyInPieces())
    if (before === 0) {
      buffer = chunk
      if (!place.hold(length)) return end(overloaded())
      if (length !== declared) place.begin()
      return
    }
    if (length > buffer.length) {
      const size = Math.min(Math.max(FIRST_SIZE, length * 2), Math.max(length, declared ?? limit))
      if (!place.hold(size)) return end(overloaded())
      const larger = Buffer.allocUnsafeSlow(size)
      buffer.copy(larger, 0, 0, before)
      buffer = larger
    }
    chunk.copy(buffer, before)
    place.progress(length)
  }
  const onEnd = (): void => {
    if (declared !== undefined && (payload.receivedEncodedLength || length) !== declared) return end(invalidRequest('the length of the body differs from Content-Length'))
    const body = buffer.subarray(0, length)
    if (place.hold(weighBody(body))) end(undefined, body)
    else end(overloaded())
  }

  const refused = declared !== undefined && declared > limit ? bodyTooLarge() : payload.destroyed === true ? invalidRequest('the connection closed before the whole body arrived') : undefined
  if (refused !== undefined) {
    onBody(refused)
    return () => {}
  }
  payload.on('data', onData)
  payload.on('end', onEnd)
  payload.on('error', onError)
  payload.resume()
  return end
}
