/** `GET /metrics` for Prometheus. They name every database and say how it is used: for who may see them all, or on a port that only scrapers reach. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Registry } from 'prom-client'
import { notFound } from '../src/errors.ts'
import type { TokenStore } from '../src/access/tokens.ts'
import auth from './auth.ts'

export interface MetricsOptions {
  readonly registry: Registry
  /** Whose tokens are asked for; nobody's if left out. */
  readonly tokens?: TokenStore
}

export default fp(async function metrics (app: FastifyInstance, { registry, tokens }: MetricsOptions) {
  if (tokens !== undefined) await app.register(auth, { tokens })
  app.get('/metrics', async ({ rowQueryGrant }, reply) => {
    // as on every path: what a token holds nothing on is not there
    if (tokens !== undefined && rowQueryGrant?.databases !== 'all') throw notFound()
    return reply.type(registry.contentType).send(await registry.metrics())
  })
}, { name: 'row-query-metrics', encapsulate: true })
