/** `x-request-id` on every response: the client's id if it is valid, otherwise a generated one. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { getOrCreate } from '../src/get-or-create.ts'

const PRINTABLE = /^[\x20-\x7e]{1,128}$/

/** The UUID of the process. One for each request would take one hundredth of the CPU time of a short request, because V8 assembles it from twenty pieces. */
const PROCESS = randomUUID()
let count = 0

/** For Fastify's `genReqId`: keeps ids of 1 to 128 printable ASCII characters. An id of the service is the UUID of its process and a number. */
export function requestId (headers: IncomingMessage['headers']): string {
  return keptId(headers) ?? newId()
}

const newId = (): string => `${PROCESS}-${++count}`

function keptId (headers: IncomingMessage['headers']): string | undefined {
  const given = headers['x-request-id']
  return typeof given === 'string' && PRINTABLE.test(given) ? given : undefined
}

/** Texts that a header can carry. */
const SENDABLE = /^[\x20-\x7e]+$/

/** The ids of requests for which the app has generated an id that a header cannot carry. */
const replaced = new WeakMap<FastifyRequest, string>()

/** The id in the response and in the log. A host app may generate its own `request.id` for requests with a valid id. */
export function shownId (request: FastifyRequest): string {
  const own: unknown = request.id
  return keptId(request.headers) ?? (typeof own === 'string' && (own.startsWith(PROCESS) || SENDABLE.test(own)) ? own : getOrCreate(replaced, request, newId))
}

export default fp(async function requestIds (app: FastifyInstance) {
  // in onSend, because a hook of the host app may refuse before our onRequest hooks run
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.header('x-request-id', shownId(request))
    done()
  })
}, { name: 'row-query-request-id' })
