/** Limits the requests per window of a token, of a JWT subject, or of an address on public routes. Refuses with 429. */
import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { principalOf } from '../src/access/grant.ts'
import { clientAddress } from '../src/http/client-connections.ts'
import { rateLimited } from '../src/errors.ts'

export interface RateLimit {
  /** Maximum number of requests in a window. */
  max: number
  /** Length of a window in milliseconds. */
  window: number
}

/** Maximum number of counted tokens. Beyond it, the least recently used counter is dropped. */
const MAX_TOKENS = 100_000

export default fp(async function rateLimit (app: FastifyInstance, { max, window }: RateLimit) {
  await app.register(fastifyRateLimit, {
    max,
    timeWindow: window,
    cache: MAX_TOKENS,
    enableDraftSpec: true, // RateLimit headers without the X-
    keyGenerator: ({ rowQueryGrant: grant, ip }: FastifyRequest) =>
      grant === null ? `address ${clientAddress(ip)}` : principalOf(grant),
    errorResponseBuilder: () => rateLimited()
  })
}, { name: 'row-query-rate-limit' })
