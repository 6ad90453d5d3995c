/**
 * `GET /` names the service and where it describes itself. It needs no token and says nothing of databases, and no version, by which attackers look for known bugs.
 * A browser is led to the page if there is one; in the demo with its token in the fragment of the address, which browsers do not send and no log has.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

export interface RootOptions {
  /** Of the routes for rows. */
  readonly prefix: string
  /** Whether there is a page, and whether there are documents. */
  readonly docs: boolean
  readonly openapi: boolean
  /** The token that was created for the demo and is printed when it starts. Only a browser on this machine is led to the page with it. */
  readonly demoToken?: string | undefined
}

const FOUND = 302

export default fp(async function root (app: FastifyInstance, { prefix, docs, openapi, demoToken }: RootOptions) {
  const text = JSON.stringify({
    name: 'row-query',
    links: { ...docs && { docs: `${prefix}/docs` }, ...openapi && { openapi: `${prefix}/openapi.json` }, live: '/health/live', ready: '/health/ready' }
  })
  app.get('/', async (request, reply) => {
    const isBrowser = /\btext\/html\b/i.test(request.headers.accept ?? '')
    if (docs) reply.header('vary', 'accept')
    if (!docs || !isBrowser) return reply.header('cache-control', 'no-cache').type('application/json; charset=utf-8').send(text)
    const fragment = demoToken !== undefined && isFromHere(request) ? `#token=${demoToken}` : ''
    return reply.header('cache-control', 'no-store').redirect(`${prefix}/docs${fragment}`, FOUND)
  })
}, { name: 'row-query-root' })

/**
 * Whether the request comes from this machine, and for it by name: a page of another site, whose name an attacker lets point to 127.0.0.1, has another Host.
 * What a proxy has passed on comes from elsewhere.
 */
function isFromHere ({ raw: { socket, headers } }: FastifyRequest): boolean {
  const isForwarded = Object.keys(headers).some((name) => name === 'forwarded' || name === 'via' || name.startsWith('x-forwarded-'))
  return !isForwarded && /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/.test(socket.remoteAddress ?? '') && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i.test(headers.host ?? '')
}
