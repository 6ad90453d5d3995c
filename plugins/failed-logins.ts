/** Temporarily blocks addresses that send too many invalid tokens: 429, before the next token is looked up. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { clientAddress } from '../src/http/client-connections.ts'
import { rateLimited } from '../src/errors.ts'
import type { RateLimit } from './rate-limit.ts'

/** Maximum number of counted addresses. Beyond it, the address with the oldest last failure is dropped. */
const MAX_ADDRESSES = 5000

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Counts a request with invalid credentials. Must be called in the same turn of the event loop as the look-up, so
     * that pipelined requests cannot exceed the limit.
     */
    rowQueryLoginFailed?: (request: FastifyRequest) => void
  }
}

export default fp(async function failedLogins (app: FastifyInstance, { max, window }: RateLimit) {
  if (max === 0) return
  const failures = new Map<string, { count: number, readonly until: number }>()
  // the end of the last window in which an address is blocked; 0 (the common case) if none is
  let latest = 0

  /** Milliseconds for which the address stays blocked. */
  const blockedFor = (request: FastifyRequest): number => {
    if (latest === 0) return 0
    const now = Date.now()
    if (latest <= now) latest = 0
    const found = failures.get(clientAddress(request.ip))
    return found === undefined || found.count < max ? 0 : found.until - now
  }

  app.decorate('rowQueryLoginFailed', (request: FastifyRequest): void => {
    if (!hasCredentials(request)) return
    const now = Date.now()
    const address = clientAddress(request.ip)
    const found = failures.get(address)
    const counted = found === undefined || found.until <= now ? { count: 0, until: now + window } : found
    counted.count++
    failures.delete(address)
    failures.set(address, counted)
    if (failures.size > MAX_ADDRESSES) failures.delete(failures.keys().next().value as string)
    if (counted.count < max) return
    latest = Math.max(latest, counted.until)
    request.log.warn(
      { address, seconds: Math.ceil((counted.until - now) / 1000) },
      'too many failed logins: the address is blocked temporarily'
    )
  })

  app.addHook('onRequest', (request, reply, done) => {
    const left = hasCredentials(request) ? blockedFor(request) : 0
    done(left > 0 ? refuse(reply, max, Math.ceil(left / 1000)) : undefined)
  })
}, { name: 'row-query-failed-logins' })

/** Requests without credentials are not counted: a load balancer may send them as health checks. */
function hasCredentials ({ headers }: FastifyRequest): boolean {
  return headers.authorization !== undefined
}

function refuse (reply: FastifyReply, max: number, seconds: number): Error {
  reply.headers({
    'ratelimit-limit': max,
    'ratelimit-remaining': 0,
    'ratelimit-reset': seconds,
    'retry-after': seconds
  })
  return rateLimited()
}
