/** Reads on where a request is answered before its body has been read to its end. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { MAX_PADDING, paddingOf } from '../request/chunks.ts'

/** Limits for discarding the rest of a body: its size in bytes, and the total time and the time without a byte in milliseconds. */
const [MAX_BYTES, MAX_TIME, MAX_PAUSE] = [16_777_216, 5000, 1000] as const

/**
 * Returns the answer as a stream that ends when the client has sent its body. Otherwise Node would close the connection after the answer while bytes
 * arrive, and the system would reset it, so that the client would get an error in place of the answer. Because the headers have the length, the client
 * has the answer at once.
 */
export function answerBeforeEnd (request: IncomingMessage, text: string): Readable {
  const answer = new Readable({ read () {} })
  answer.push(text)
  const end = (): void => {
    clearTimeout(whole)
    clearTimeout(pause)
    stop()
    answer.push(null)
  }
  const stop = discard(request, { onPart: () => { pause.refresh() }, onExcess: end })
  const [whole, pause] = [setTimeout(end, MAX_TIME), setTimeout(end, MAX_PAUSE)]
  request.unpipe() // a hook of the host app may have piped it into a stream that nobody reads
  request.once('end', end).once('error', end).once('close', end)
  return answer
}

/**
 * Closes the connection of a client that goes on sending a body in small chunks after its answer. On a connection that is
 * kept, Node reads the rest of a body by itself, without a limit: chunks of one byte would take all of the time of the process.
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

interface Discarding {
  readonly onPart?: () => void
  /** Called when there is too much of it. */
  readonly onExcess: () => void
}

/** Reads the rest of a body. Returns a function that ends this. */
function discard (request: IncomingMessage, { onPart = () => {}, onExcess }: Discarding): () => void {
  let bytes = 0
  let padding = 0
  const onData = (part: Buffer): void => {
    bytes += part.length
    padding += paddingOf(part)
    onPart()
    if (bytes > MAX_BYTES || padding > MAX_PADDING) onExcess()
  }
  request.on('data', onData).resume()
  return () => { request.removeListener('data', onData) }
}
