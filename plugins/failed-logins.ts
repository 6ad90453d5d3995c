/** Temporarily refuses addresses that send too many invalid tokens, with 429 and before the next token is looked up. */
import { isIP } from 'node:net'
import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { rateLimited } from '../src/errors.ts'
import type { RateLimit } from './rate-limit.ts'

/** Addresses that are counted; of more, the one whose last failure is the oldest is forgotten. */
const MAX_ADDRESSES = 5000

/** What an address has failed with in its window. */
interface Failures { count: number, readonly until: number }

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Counts a request whose credentials let nobody in. To be called in the same turn of the event loop as the look-up: of
     * hundreds of pipelined requests only as many are looked up as may fail.
     */
    rowQueryLoginFailed?: (request: FastifyRequest) => void
  }
}

export default fp(async function failedLogins (app: FastifyInstance, { max, window }: RateLimit) {
  const failures = new Map<string, Failures>()
  // The end of the last window in which an address is refused: nearly always there is none.
  let latest = 0

  const refusedFor = (request: FastifyRequest): number => {
    if (latest === 0) return 0
    const now = Date.now()
    if (latest <= now) latest = 0
    const found = failures.get(addressOf(request))
    return found === undefined || found.count < max ? 0 : found.until - now
  }

  app.decorate('rowQueryLoginFailed', (request: FastifyRequest): void => {
    if (!hasCredentials(request)) return
    const now = Date.now()
    const address = addressOf(request)
    const found = failures.get(address)
    const counted = found === undefined || found.until <= now ? { count: 0, until: now + window } : found
    counted.count++
    failures.delete(address)
    failures.set(address, counted)
    if (failures.size > MAX_ADDRESSES) failures.delete(failures.keys().next().value as string)
    if (counted.count < max) return
    latest = Math.max(latest, counted.until)
    request.log.warn({ address, seconds: Math.ceil((counted.until - now) / 1000) }, 'too many failed logins: requests of this address are refused for a while')
  })

  app.addHook('onRequest', (request, reply, done) => {
    const left = hasCredentials(request) ? refusedFor(request) : 0
    done(left > 0 ? refuse(reply, max, Math.ceil(left / 1000)) : undefined)
  })
}, { name: 'row-query-failed-logins' })

/** A request without any is no attempt: a load balancer that asks whether somebody is there must not shut itself out. */
function hasCredentials ({ headers }: FastifyRequest): boolean {
  return headers.authorization !== undefined
}

/** Whom a failure counts for. Of IPv6 the network, of which one customer has all addresses; without an address (a Unix socket) everybody. */
function addressOf ({ ip }: FastifyRequest): string {
  return isIP(ip) === 0 ? 'unknown' : fastifyRateLimit.normalizeIP(ip)
}

function refuse (reply: FastifyReply, max: number, seconds: number): Error {
  reply.headers({ 'ratelimit-limit': max, 'ratelimit-remaining': 0, 'ratelimit-reset': seconds, 'retry-after': seconds })
  return rateLimited()
}
