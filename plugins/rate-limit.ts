/** So many requests of one token in each window, or of one address where no token is asked for; the next ones are refused with 429. */
import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { rateLimited } from '../src/errors.ts'

export interface RateLimit {
  /** Requests in a window. */
  max: number
  /** Milliseconds. */
  window: number
}

/** Names of tokens that are counted for; more at the same time would push each other out, and count from the start. */
const MAX_TOKENS = 100_000

export default fp(async function rateLimit (app: FastifyInstance, { max, window }: RateLimit) {
  await app.register(fastifyRateLimit, {
    max,
    timeWindow: window,
    cache: MAX_TOKENS,
    enableDraftSpec: true, // RateLimit headers without the X-
    keyGenerator: (request: FastifyRequest) => request.rowQueryGrant?.name ?? `address ${request.ip}`,
    errorResponseBuilder: () => rateLimited()
  })
}, { name: 'row-query-rate-limit' })
