import Fastify, { type FastifyInstance } from 'fastify'
import metrics, { type MetricsOptions } from '../../plugins/metrics.ts'

/** Creates an app that serves metrics without authentication, and nothing else. */
export async function createMetricsApp (registry: MetricsOptions['registry']): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(metrics, { registry })
  return app
}
