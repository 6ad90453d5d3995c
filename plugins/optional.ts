/** Registers the plugins that the settings turn on. A setting that is left out loads no package. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { principalOf } from '../src/access/grant.ts'
import type { Settings } from '../src/config/settings.ts'
import { rateLimited } from '../src/errors.ts'
import { clientAddress } from '../src/http/client-connections.ts'
import type { DocumentsOptions } from '../src/openapi/documents.ts'
import type { Collector } from '../src/telemetry/record.ts'
import type { RateLimit } from './auth.ts'
import telemetry from './telemetry.ts'

export interface OptionalOptions {
  readonly settings: Settings
  readonly collectors: readonly Collector[]
  /** What the OpenAPI documents describe. */
  readonly described: DocumentsOptions
}

/** Headers that browsers send to the tools. */
const MCP_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name']

export default fp(
  async function optional (app: FastifyInstance, { settings, collectors, described }: OptionalOptions) {
    const { cors, docs, jwt, limits, mcp, openapi, rateLimit, serverTiming } = settings
    const { databases } = described
    const isPublic = openapi === 'public'
    if (cors !== undefined) {
      await app.register(import('./cors.ts'), { ...cors, headers: mcp === undefined ? [] : MCP_HEADERS })
    }
    if (collectors.length > 0 || serverTiming) await app.register(telemetry, { settings, databases, collectors })
    if (docs) await app.register((await import('./docs.ts')).docsPage, { isPublic })
    if (rateLimit !== undefined) await limitRequests(app, rateLimit)
    if (openapi !== 'off') await app.register((await import('./docs.ts')).openapi, { described, isPublic })
    if (mcp !== undefined) {
      const issuers = jwt.map(({ issuer }) => issuer)
      const origins = cors?.origins ?? []
      await app.register(import('./mcp.ts'), { databases, limits, settings: mcp, issuers, origins })
    }
  },
  { name: 'row-query-optional' }
)

/** Maximum number of counted tokens. Beyond it, the least recently used counter is dropped. */
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
