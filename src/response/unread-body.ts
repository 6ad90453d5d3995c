/** Answers requests whose body has not been read to its end. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

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
  let discarded = 0
  const end = (): void => {
    clearTimeout(whole)
    clearTimeout(pause)
    request.removeListener('data', onData)
    answer.push(null)
  }
  const onData = ({ length }: Buffer): void => {
    discarded += length
    pause.refresh()
    if (discarded > MAX_BYTES) end()
  }
  const [whole, pause] = [setTimeout(end, MAX_TIME), setTimeout(end, MAX_PAUSE)]
  request.unpipe() // a hook of the host app may have piped it into a stream that nobody reads
  request.on('data', onData).once('end', end).once('error', end).once('close', end)
  request.resume()
  return answer
}
