/** Our route in the document of an app that has @fastify/swagger itself; without it nobody asks. */
import type { FastifyContextConfig } from 'fastify'
import type {} from '@fastify/swagger' // declares what it reads of a route
import { routeSchema } from './interface-document.ts'
import { pascalCase } from './names.ts'

/** For the route's `config`. The operation's name says the prefix: the plugin may be there twice. */
export function shownInHost (prefix: string): FastifyContextConfig {
  const operationId = `query${prefix === '' ? '' : pascalCase(prefix)}Rows`
  return { swaggerTransform: ({ url }) => ({ schema: routeSchema(operationId), url }) }
}
