import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** The scheme and host of a request to a proxy (RFC 9112, section 3.2.2), which the router ignores. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i

/**
 * Routes a request below the prefix again that the router has refused before any hook, because its path has invalid percent-encoding or too long a name.
 * The new path does not exist, so the request is authenticated and counted like every other one. Returns whether it was routed.
 */
export function routeToNothing (app: FastifyInstance, prefix: string, { raw }: FastifyRequest, reply: FastifyReply): boolean {
  if (!(raw.url as string).replace(ORIGIN, '').startsWith(`${prefix}/`)) return false
  raw.url = `${prefix}/-/-/-`
  app.routing(raw, reply.raw)
  return true
}
