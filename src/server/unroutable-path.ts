import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** The scheme and host of a request to a proxy (RFC 9112, section 3.2.2), which the router ignores. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i

/**
 * The router refuses a path with invalid percent-encoding, or with too long a name, before any hook runs. Below the prefix of the plugin, such a
 * request is routed again, to a path that does not exist, so that it is authenticated and counted like every other request. Returns
 * whether it was.
 */
export function routeToNothing (app: FastifyInstance, prefix: string, { raw }: FastifyRequest, reply: FastifyReply): boolean {
  if (!(raw.url as string).replace(ORIGIN, '').startsWith(`${prefix}/`)) return false
  raw.url = `${prefix}/-/-/-`
  app.routing(raw, reply.raw)
  return true
}
