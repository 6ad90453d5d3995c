/** `x-request-id` on every answer: the caller's own where it is fit to be logged and sent back, else ours. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

const PRINTABLE = /^[\x20-\x7e]{1,128}$/

/** For Fastify's `genReqId`: 1 to 128 printable ASCII characters are kept. */
export function requestId (headers: IncomingMessage['headers']): string {
  return keptId(headers) ?? randomUUID()
}

function keptId (headers: IncomingMessage['headers']): string | undefined {
  const given = headers['x-request-id']
  return typeof given === 'string' && PRINTABLE.test(given) ? given : undefined
}

/** The id that an answer has and the log tells of: a host app may make its own for requests that bring one. */
export function shownId ({ headers, id }: FastifyRequest): string {
  return keptId(headers) ?? id
}

export default fp(async function requestIds (app: FastifyInstance) {
  // At the end: a host app's own hooks may refuse before any of ours runs.
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.header('x-request-id', shownId(request))
    done()
  })
}, { name: 'row-query-request-id' })
