/** Allows requests from pages of the listed origins. Preflight requests need no token. */
import fastifyCors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

export interface CorsOptions { readonly origins: readonly string[] }

/** Without credentials: browsers send cookies automatically, but never bearer tokens. */
const ALLOWED: FastifyCorsOptions = {
  methods: ['GET', 'POST'],
  allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'if-none-match', 'row-query-consistency', 'x-request-id'],
  exposedHeaders: ['x-request-id', 'retry-after', 'idempotency-replayed', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'www-authenticate', 'etag'],
  maxAge: 600,
  credentials: false
}

export default fp(async function cors (app: FastifyInstance, { origins }: CorsOptions) {
  const anyOrigin = origins.includes('*')
  await app.register(fastifyCors, {
    delegator: (request: FastifyRequest, callback: (error: Error | null, options?: FastifyCorsOptions) => void) => {
      const { origin, 'access-control-request-method': method } = request.headers
      if (origin === undefined || !(anyOrigin || origins.includes(origin))) return callback(null, { origin: false })
      callback(null, { ...ALLOWED, origin: anyOrigin ? '*' : origin, preflight: method !== undefined })
    }
  })
}, { name: 'row-query-cors' })
