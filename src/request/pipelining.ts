/** Requests that a client sends before it has the answer to the one before (RFC 9112, section 9.3.2). */
import type { Socket } from 'node:net'
import type { onRequestHookHandler } from 'fastify'

/** Requests that may wait on one connection before no more are read from it. What was read together with the last one is beside them. */
const MAX_WAITING = 16

interface Waiting { count: number }
const waitingOn = new WeakMap<Socket, Waiting>()

/**
 * Begins a request when the answer before has been taken: else a client that reads nothing has as many answers in memory as it asks for.
 * Node gives a response its socket when those before it have gone, and says so by the event `socket`.
 */
export const waitForAnswerBefore: onRequestHookHandler = ({ raw: { socket } }, { raw: response }, done) => {
  if (response.socket !== null) {
    done()
    return
  }
  const waiting = obtainWaiting(socket)
  if (++waiting.count > MAX_WAITING) socket.pause()
  response.once('socket', () => {
    if (--waiting.count === MAX_WAITING) socket.resume()
    done()
  })
}

function obtainWaiting (socket: Socket): Waiting {
  const known = waitingOn.get(socket)
  if (known !== undefined) return known
  const waiting = { count: 0 }
  waitingOn.set(socket, waiting)
  // reading the body of a request that begins resumes the socket
  socket.on('resume', () => { if (waiting.count > MAX_WAITING) socket.pause() })
  return waiting
}
