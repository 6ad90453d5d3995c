/** Who sends too many tokens that are none is not listened to for a while: refused with 429 before the next one is looked up. */
import { isIP } from 'node:net'
import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { rateLimited, unauthenticated } from '../src/errors.ts'
import type { RateLimit } from './rate-limit.ts'

/** Addresses that are remembered; the oldest are forgotten first. */
const MAX_ADDRESSES = 5000

const FAILURE = unauthenticated('').code

/** Addresses that are refused, each with the time until when. */
interface Refused {
  add (address: string, until: number): void
  /** Milliseconds that an address is still refused for; 0 or less where it is not. */
  left (address: () => string): number
}

export default fp(async function failedLogins (app: FastifyInstance, { max, window }: RateLimit) {
  const refused = createRefused()
  await app.register(fastifyRateLimit, { global: false })
  // Said in full: in an app that has the same plugin, what is left out is as that app has it.
  const count = app.createRateLimit({ max, timeWindow: window, keyGenerator: addressOf, allowList: [], skipOnError: true })

  app.addHook('onRequest', (request, reply, done) => {
    const left = hasCredentials(request) ? refused.left(() => addressOf(request)) : 0
    done(left > 0 ? refuse(reply, max, Math.ceil(left / 1000)) : undefined)
  })

  app.addHook('onError', async (request, _reply, error) => {
    if (error.code !== FAILURE || !hasCredentials(request)) return
    const { remaining, ttl } = await count(request) as { remaining: number, ttl: number }
    if (remaining > 0) return
    const address = addressOf(request)
    refused.add(address, Date.now() + ttl)
    request.log.warn({ address, seconds: Math.ceil(ttl / 1000) }, 'too many failed logins: requests of this address are refused for a while')
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

function createRefused (): Refused {
  const until = new Map<string, number>()
  let latest = 0
  return {
    add (address, time) {
      until.set(address, time)
      latest = Math.max(latest, time)
      if (until.size > MAX_ADDRESSES) until.delete(until.keys().next().value as string)
    },
    left (address) {
      if (latest === 0) return 0 // nearly always
      const now = Date.now()
      if (latest > now) return (until.get(address()) ?? 0) - now
      until.clear()
      latest = 0
      return 0
    }
  }
}
