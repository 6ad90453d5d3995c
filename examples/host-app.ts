// An app that its tests can build with another database (host-app.test.ts).
import Fastify, { type FastifyInstance } from 'fastify'
import { createRowQuery, type RowQueryOptions } from 'fastify-row-query'

/** Does not listen: a program calls `app.listen()`, a test `app.inject()`. */
export function buildApp ({ databases, tokens = [] }: Pick<RowQueryOptions, 'databases' | 'tokens'>): FastifyInstance {
  const rows = createRowQuery({ databases, tokens })
  const app = Fastify()
  app.register(rows.plugin, { prefix: '/api' })

  app.get('/open-orders', async () => {
    const { rows: [row] } = await rows.execute({
      database: 'shop',
      table: 'orders',
      grant: { permissions: ['select'] },
      body: { verb: 'select', filters: { status: 'new' }, aggregates: { orders: { $count: '*' }, total: { $sum: 'total' } } }
    })
    return row
  })
  return app
}
