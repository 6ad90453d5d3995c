/** Apps of a host with the plugin. */
import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import type { RowQueryOptions } from '../../schemas/options.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { createRowQuery } from '../../src/index.ts'
import { TOKEN } from './service.ts'

/** Registers the plugin at `/api`, where a token may do everything with the database `shop`. */
export async function hostOf (
  t: Pick<Test, 'teardown'>, url: string, options: Partial<RowQueryOptions> = {}, app: FastifyInstance = Fastify()
): Promise<FastifyInstance> {
  t.teardown(() => app.close())
  await app.register(createRowQuery({
    databases: { shop: { url } },
    tokens: [{ name: 'all', sha256: hashToken(TOKEN), permissions: [...VERBS] }],
    ...options
  }).plugin, { prefix: '/api' })
  return app
}
