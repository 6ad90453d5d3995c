/**
 * `GET /health/live` and `GET /health/ready`, for orchestrators and load balancers. They need no token and reveal no
 * details.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { databaseUnavailable } from '../src/errors.ts'

const { statusCode: UNAVAILABLE } = databaseUnavailable()

export default fp(async function health (app: FastifyInstance, { isReady }: { isReady: () => Promise<boolean> }) {
  app.get('/health/live', async (_request, reply) => {
    return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send('{"status":"ok"}')
  })
  app.get('/health/ready', async (_request, reply) => {
    reply.header('cache-control', 'no-store').type('application/json; charset=utf-8')
    return await isReady() ? reply.send('{"status":"ok"}') : reply.code(UNAVAILABLE).send('{"status":"unavailable"}')
  })
}, { name: 'row-query-health' })
