/** The common part of all Fastify contenders: they check a token and do nothing unnecessary. */
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
