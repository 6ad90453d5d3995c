/** `GET /` names the service and where it describes itself. It needs no token and says nothing of databases, and no version, by which attackers look for known bugs. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

export interface RootOptions {
  /** Of the routes for rows. */
  readonly prefix: string
  /** Whether there is a page, and whether there are documents. */
  readonly docs: boolean
  readonly openapi: boolean
}

export default fp(async function root (app: FastifyInstance, { prefix, docs, openapi }: RootOptions) {
  const text = JSON.stringify({
    name: 'row-query',
    links: { ...docs && { docs: `${prefix}/docs` }, ...openapi && { openapi: `${prefix}/openapi.json` }, live: '/health/live', ready: '/health/ready' }
  })
  app.get('/', async (_request, reply) => reply.header('cache-control', 'no-cache').type('application/json; charset=utf-8').send(text))
}, { name: 'row-query-root' })
