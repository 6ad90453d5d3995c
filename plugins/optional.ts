/** Registers the plugins that the settings turn on. A setting that is left out loads no package. */
import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { principalOf } from '../src/access/grant.ts'
import { ConfigError } from '../src/config-errors.ts'
import type { Settings } from '../src/config/settings.ts'
import { rateLimited } from '../src/errors.ts'
import { clientAddress } from '../src/http/client-connections.ts'
import { hasQuery } from '../src/http/query-method.ts'
import type { NamedRequests } from '../src/named/call.ts'
import type { DocumentsOptions } from '../src/openapi/documents.ts'
import type { Collector } from '../src/telemetry/record.ts'
import type { RateLimit } from './auth.ts'
import telemetry from './telemetry.ts'

/** Browsers send them to the tools. */
const MCP_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name']

export default fp(
  async function optional (app: FastifyInstance, { settings, collectors, described, named }: {
    readonly settings: Settings
    readonly collectors: readonly Collector[]
    readonly described: DocumentsOptions
    readonly named: NamedRequests | undefined
  }) {
    const { cors, docs, jwt, limits, mcp, openapi, rateLimit, serverTiming } = settings
    const { databases } = described
    const isPublic = openapi === 'public'
    if (cors !== undefined) await allowOrigins(app, cors.origins, mcp === undefined ? [] : MCP_HEADERS)
    if (collectors.length > 0 || serverTiming) await app.register(telemetry, { settings, databases, collectors })
    if (docs) await app.register((await import('./docs.ts')).docsPage, { isPublic })
    if (rateLimit !== undefined) await limitRequests(app, rateLimit)
    if (openapi !== 'off') await app.register((await import('./docs.ts')).openapi, { described, isPublic, named })
    if (mcp !== undefined) {
      const issuers = jwt.map(({ issuer }) => issuer)
      const origins = cors?.origins ?? []
      await app.register(import('./mcp.ts'), { databases, limits, named, settings: mcp, issuers, origins })
    }
  },
  { name: 'row-query-optional' }
)

/** Counted tokens. Beyond so many, the least recently used counter is dropped. */
const MAX_TOKENS = 100_000

/** Limits the requests per window of a token, of a JWT subject, or of an address on public routes. Refuses with 429. */
async function limitRequests (app: FastifyInstance, { max, window }: RateLimit): Promise<void> {
  await app.register(import('@fastify/rate-limit'), {
    max,
    timeWindow: window,
    cache: MAX_TOKENS,
    enableDraftSpec: true, // RateLimit headers without the X-
    keyGenerator: ({ rowQueryGrant: grant, ip }: FastifyRequest) =>
      grant === null ? `address ${clientAddress(ip)}` : principalOf(grant),
    errorResponseBuilder: () => rateLimited()
  })
}

// Allows requests from pages of the listed origins. Preflight requests need no token.

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

async function allowOrigins (
  app: FastifyInstance,
  origins: readonly string[],
  headers: readonly string[]
): Promise<void> {
  refuseOuterCors(app)
  const anyOrigin = origins.includes('*')
  const methods = ['GET', 'POST', ...(hasQuery(app) ? ['QUERY', 'OPTIONS'] : [])]
  const allowedHeaders = [...ALLOWED.allowedHeaders, ...headers]
  // its hook answers preflight requests; for any other the path has no route, and the body must not be read
  app.addHook('onRoute', (route) => {
    if (route.method !== 'OPTIONS' || !route.url.endsWith('*')) return
    route.onRequest = (_request, reply) => { reply.callNotFound() }
  })
  await app.register(import('@fastify/cors'), {
    delegator: (request: FastifyRequest, callback: (error: Error | null, options?: FastifyCorsOptions) => void) => {
      const { origin, 'access-control-request-method': method } = request.headers
      if (origin === undefined || !(anyOrigin || origins.includes(origin))) return callback(null, { origin: false })
      const allowed = { ...ALLOWED, methods, allowedHeaders, origin: anyOrigin ? '*' : origin }
      callback(null, { ...allowed, preflight: method !== undefined })
    }
  })
}
