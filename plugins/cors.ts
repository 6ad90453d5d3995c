/** Allows requests from pages of the listed origins. Preflight requests need no token. */
import fastifyCors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../src/config-errors.ts'
import { hasQuery } from '../src/http/query.ts'

export interface CorsOptions {
  readonly origins: readonly string[]
  /** Additional allowed request headers. */
  readonly headers?: readonly string[]
}

/** Does not allow credentials such as cookies, which browsers send automatically, unlike bearer tokens. */
const ALLOWED = {
  allowedHeaders: [
    'authorization',
    'content-type',
    'idempotency-key',
    'if-none-match',
    'row-query-consistency',
    'x-request-id'
  ],
  exposedHeaders: [
    'x-request-id',
    'retry-after',
    'idempotency-replayed',
    'ratelimit-limit',
    'ratelimit-remaining',
    'ratelimit-reset',
    'www-authenticate',
    'etag',
    'accept-query'
  ],
  maxAge: 600,
  credentials: false
} satisfies FastifyCorsOptions

/** The decorator of requests by which @fastify/cors is recognized in its context. */
const DECORATOR = 'corsPreflightEnabled'

/**
 * Refuses @fastify/cors in a context around that of the plugin, registered before the plugin or later, because both
 * would answer preflight requests and set the same headers. @throws ConfigError
 */
function refuseOuterCors (app: FastifyInstance): void {
  const check = (): void => {
    for (
      let outer: object = Object.getPrototypeOf(app);
      'hasRequestDecorator' in outer;
      outer = Object.getPrototypeOf(outer)
    ) {
      if ((outer as FastifyInstance).hasRequestDecorator(DECORATOR)) {
        throw new ConfigError([
          'cors: the app has registered @fastify/cors for these paths as well; leave "cors" out and list the origins ' +
          'there, or register @fastify/cors in a context that does not contain this plugin'
        ])
      }
    }
  }
  check()
  app.addHook('onReady', async () => check())
}

export default fp(async function cors (app: FastifyInstance, { origins, headers = [] }: CorsOptions) {
  refuseOuterCors(app)
  const anyOrigin = origins.includes('*')
  const methods = ['GET', 'POST', ...(hasQuery(app) ? ['QUERY', 'OPTIONS'] : [])]
  const allowedHeaders = [...ALLOWED.allowedHeaders, ...headers]
  await app.register(fastifyCors, {
    delegator: (request: FastifyRequest, callback: (error: Error | null, options?: FastifyCorsOptions) => void) => {
      const { origin, 'access-control-request-method': method } = request.headers
      if (origin === undefined || !(anyOrigin || origins.includes(origin))) return callback(null, { origin: false })
      const allowed = { ...ALLOWED, methods, allowedHeaders, origin: anyOrigin ? '*' : origin }
      callback(null, { ...allowed, preflight: method !== undefined })
    }
  })
}, { name: 'row-query-cors' })
