/** Registers the plugins that the settings turn on. A setting that is left out loads no package. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Settings } from '../src/config/settings.ts'
import type { DocumentsOptions } from '../src/openapi/documents.ts'
import type { Collector } from '../src/telemetry/record.ts'
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
    if (docs) await app.register(import('./docs-page.ts'), { isPublic })
    if (rateLimit !== undefined) await app.register(import('./rate-limit.ts'), rateLimit)
    if (openapi !== 'off') await app.register(import('./openapi.ts'), { described, isPublic })
    if (mcp !== undefined) {
      const issuers = jwt.map(({ issuer }) => issuer)
      const origins = cors?.origins ?? []
      await app.register(import('./mcp.ts'), { databases, limits, settings: mcp, issuers, origins })
    }
  },
  { name: 'row-query-optional' }
)
