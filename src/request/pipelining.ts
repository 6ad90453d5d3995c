/** HTTP pipelining: requests that a client sends before it has received the previous response (RFC 9112, section 9.3.2). */
import type { Socket } from 'node:net'
import type { onRequestHookHandler } from 'fastify'
import { getOrCreate } from '../get-or-create.ts'

/** Number of waiting requests at which a connection is paused. Requests that have already been read are not counted. */
const MAX_WAITING = 16

interface Waiting { count: number }
const waitingOn = new WeakMap<Socket, Waiting>()

/**
 * Delays a request until the previous response has been sent. Otherwise a client that does not read could fill the memory with
 * responses. Node assigns the socket to a response, and emits `socket`, when the responses before it are finished.
 */
export const waitForAnswerBefore: onRequestHookHandler = ({ raw: { socket } }, { raw: response }, done) => {
  if (response.socket !== null) {
    done()
    return
  }
  const waiting = getOrCreate(waitingOn, socket, () => createWaiting(socket))
  if (++waiting.count > MAX_WAITING) socket.pause()
  response.once('socket', () => {
    if (--waiting.count === MAX_WAITING) socket.resume()
    done()
  })
}

function createWaiting (socket: Socket): Waiting {
  const waiting = { count: 0 }
  // Node resumes the socket when it reads the body of the next request
  socket.on('resume', () => { if (waiting.count > MAX_WAITING) socket.pause() })
  return waiting
}
