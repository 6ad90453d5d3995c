/**
 * All ways in which a body reaches the table `customers` of a service, each of which returns the error that it gets.
 */
import Fastify from 'fastify'
import type { Test } from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import { createRowQuery } from '../../src/index.ts'
import { callOf, send } from './mcp.ts'
import type { Service } from './service.ts'

type Entrances = Record<string, () => Promise<unknown>>

/** The service needs the setting `mcp` with all verbs. Returns the entrances of a body, whose texts are made before. */
export async function openEntrances (t: Test, service: Service): Promise<(body: object) => Entrances> {
  const rows = createRowQuery({ databases: { shop: { url: service.url } } })
  const host = Fastify()
  await host.register(rows.plugin, { prefix: '/api' })
  t.teardown(() => host.close())
  await host.ready()
  const grant = { name: 'all', permissions: [...VERBS], databases: '*' } as const
  const errorOf = ({ json }: { readonly json: any }): unknown => json.error
  return (body) => {
    const { verb, ...fields } = body as { verb: string }
    const tool = callOf(verb, { database: 'shop', table: 'customers', ...fields })
    const operations = JSON.stringify({ operations: [{ table: 'customers', ...body }] })
    const text = JSON.stringify(body)
    return {
      http: async () => errorOf(await service.post('customers', text)),
      operations: async () => errorOf(await service.operate(operations)),
      tools: async () => {
        const { result, error } = (await send(service, tool)).json
        return error ?? result.structuredContent
      },
      ...verb === 'select' &&
        { QUERY: async () => errorOf(await service.post('customers', text, { method: 'QUERY' })) },
      'in process': () => rows.execute({ database: 'shop', table: 'customers', body: body as never, grant }).catch(
        (error: unknown) => error
      )
    }
  }
}
