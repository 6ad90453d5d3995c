/** Our route in the document of an app that has @fastify/swagger itself; without it nobody asks. */
import type { FastifyContextConfig } from 'fastify'
import { routeSchema } from './interface-document.ts'
import { pascalCase } from './names.ts'
import type { Schema } from './schema.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** Keeps a route out of the app's own document: @fastify/swagger declares the same. */
    hide?: boolean
  }
}

/** What @fastify/swagger reads of a route's `config`. */
type HostConfig = FastifyContextConfig & { swaggerTransform: (route: { url: string }) => { schema: Schema, url: string } }

/** For the route's `config`. The operation id has the prefix, because an app may register the plugin more than once. */
export function shownInHost (prefix: string): HostConfig {
  const operationId = `query${prefix === '' ? '' : pascalCase(prefix)}Rows`
  return { swaggerTransform: ({ url }: { url: string }) => ({ schema: routeSchema(operationId), url }) }
}
