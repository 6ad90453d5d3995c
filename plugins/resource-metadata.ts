/**
 * Metadata of the tools as a resource protected by OAuth (RFC 9728), from which clients learn the issuers of tokens.
 */
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The URL of the metadata, which the challenge of a 401 names. */
    rowQueryResourceMetadata?: string
  }
}

export interface ResourceMetadata {
  /** The URL of the resource, as clients use it. */
  readonly resource: string
  /** The path of the resource after the prefix. */
  readonly path: string
  readonly issuers: readonly string[]
}

/** Serves the metadata, outside of the prefix and without a token. Returns its URL. */
export function addResourceMetadata (app: FastifyInstance, { resource, path, issuers }: ResourceMetadata): string {
  const url = `/.well-known/oauth-protected-resource${app.prefix}${path}`
  const text = JSON.stringify({
    resource,
    authorization_servers: [...new Set(issuers)],
    bearer_methods_supported: ['header']
  })
  outermost(app).get(
    url,
    { schema: { hide: true }, config: { rowQueryPublic: true } },
    async (_request, reply) =>
      // clients in browsers read it before they have a token
      await reply
        .type('application/json; charset=utf-8')
        .header('access-control-allow-origin', '*')
        .header('x-content-type-options', 'nosniff')
        .send(text)
  )
  return new URL(url, resource).href
}

/** The instance without a prefix that contains this one. */
function outermost (app: FastifyInstance): FastifyInstance {
  let outer = app
  while (outer.prefix !== '') outer = Object.getPrototypeOf(outer)
  return outer
}
