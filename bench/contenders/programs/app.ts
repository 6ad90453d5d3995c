/** What every Fastify contender written here has in common: a token to show, and nothing that costs without need. */
import bearerAuth from '@fastify/bearer-auth'
import Fastify, { type FastifyInstance } from 'fastify'

export async function createApp (): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(bearerAuth, { keys: new Set([process.env['API_TOKEN'] as string]) })
  return app
}

export async function listen (app: FastifyInstance): Promise<void> {
  await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) })
}
