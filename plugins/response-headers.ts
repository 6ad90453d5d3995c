/** The headers of every response. `x-request-id`: the client's id if it is valid, otherwise a generated one. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { getOrCreate } from '../src/bounded-map.ts'
import { OWN_APP } from '../src/telemetry/record.ts'

const PRINTABLE = /^[\x20-\x7e]{1,128}$/

/** The next 256 ids: so an id costs a fifth of `randomUUID`. */
let ids = ''
let used = 0
/** The length of an id: 128 bits in hexadecimal digits. */
const LENGTH = 32

/**
 * For Fastify's `genReqId`: keeps ids of 1 to 128 printable ASCII characters. An id of the service is 128 random bits,
 * because a counter would show how many requests others send.
 */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => keptId(headers) ?? newId()

function newId (): string {
  if (used === ids.length) {
    ids = randomBytes(256 * LENGTH / 2).toString('hex')
    used = 0
  }
  const begin = used
  used += LENGTH
  return ids.slice(begin, used)
}

function keptId (headers: IncomingMessage['headers']): string | undefined {
  const sentId = headers['x-request-id']
  return typeof sentId === 'string' && PRINTABLE.test(sentId) ? sentId : undefined
}

/** Ids of a host app that a header can carry, except those that Fastify counts by default (`req-1z`). */
const SHOWABLE = /^(?!req-[\da-z]{1,6}$)[\x20-\x7e]+$/

/** The ids of requests whose id in the app is not shown. */
const replaced = new WeakMap<FastifyRequest, string>()

/** The id in the response and in the log. A host app may generate its own `request.id` for requests with a valid id. */
export function shownId (request: FastifyRequest): string {
  const appId: unknown = request.id
  const shown = typeof appId === 'string' && SHOWABLE.test(appId) ? appId : undefined
  return keptId(request.headers) ?? shown ?? getOrCreate(replaced, request, newId)
}

export default fp(async function responseHeaders (app: FastifyInstance) {
  const isOwnApp = app.hasDecorator(OWN_APP) // the stand-alone server sets the id of every request, once
  // no cache keeps a response, and no browser guesses its type; the log of an import needs the id before the response
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff')
    if (!isOwnApp) reply.header('x-request-id', shownId(request))
    done()
  })
  if (isOwnApp) return
  // also in onSend, because a hook of the host app may refuse before our onRequest hooks run
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.header('x-request-id', shownId(request))
    done()
  })
}, { name: 'row-query-response-headers' })
