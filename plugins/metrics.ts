/**
 * `GET /metrics` for Prometheus. Because the metrics name every database, they need a token for all databases, or a
 * separate port.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Registry } from 'prom-client'
import { notFound } from '../src/errors.ts'
import type { TokenStore } from '../src/access/tokens.ts'
import type { RateLimit } from './auth.ts'

export interface MetricsOptions {
  /** The source of the metrics: the registry of this process, or those of all workers. */
  readonly registry: Pick<Registry, 'contentType' | 'metrics'>
  /** No token is required if omitted. */
  readonly tokens?: TokenStore
  /** Blocks addresses that send invalid tokens to this path; no address if omitted. */
  readonly failedLogins?: RateLimit | undefined
}

export default fp(async function metrics (app: FastifyInstance, { registry, tokens, failedLogins }: MetricsOptions) {
  // a separate port needs none of it
  if (failedLogins !== undefined) await app.register((await import('./auth.ts')).failedLogins, failedLogins)
  if (tokens !== undefined) await app.register(import('./auth.ts'), { tokens })
  app.get('/metrics', async ({ rowQueryGrant }, reply) => {
    // without the permission the path appears not to exist, as everywhere
    if (tokens !== undefined && rowQueryGrant?.databases !== 'all') throw notFound()
    return reply.type(registry.contentType).send(await registry.metrics())
  })
}, { name: 'row-query-metrics', encapsulate: true })
