/** The routes of the server outside the prefix. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { databaseUnavailable } from '../src/errors.ts'

const FOUND = 302

/**
 * `GET /` names the service and the addresses of its descriptions. It needs no token, and shows neither databases nor a
 * version, by which attackers look for known bugs. It redirects a browser to the page if there is one; in the demo with
 * the token in the fragment of the address, which browsers do not send and logs do not contain.
 */
export const root = fp(async function root (app: FastifyInstance, { prefix, docs, openapi, demoToken }: {
  /** The prefix of the routes for rows. */
  readonly prefix: string
  readonly docs: boolean
  readonly openapi: boolean
  /**
   * The token that was created for the demo and is printed at its start. Only a browser on this machine is redirected
   * with it.
   */
  readonly demoToken?: string | undefined
}) {
  const text = JSON.stringify({
    name: 'row-query',
    links: {
      ...(docs && { docs: `${prefix}/docs` }),
      ...(openapi && { openapi: `${prefix}/openapi.json` }),
      live: '/health/live',
      ready: '/health/ready'
    }
  })
  app.get('/', async (request, reply) => {
    const isBrowser = /\btext\/html\b/i.test(request.headers.accept ?? '')
    if (docs) reply.header('vary', 'accept')
    if (!docs || !isBrowser) {
      return reply.header('cache-control', 'no-cache').type('application/json; charset=utf-8').send(text)
    }
    const fragment = demoToken !== undefined && isFromHere(request) ? `#token=${demoToken}` : ''
    return reply.header('cache-control', 'no-store').redirect(`${prefix}/docs${fragment}`, FOUND)
  })
}, { name: 'row-query-root' })

/**
 * Whether the request comes from this machine and names it in Host: a page of a site whose name an attacker points to
 * 127.0.0.1 has another Host. A request that a proxy has passed on comes from elsewhere.
 */
function isFromHere ({ raw: { socket, headers } }: FastifyRequest): boolean {
  const isForwarded = Object.keys(headers).some(
    (name) => name === 'forwarded' || name === 'via' || name.startsWith('x-forwarded-')
  )
  return (
    !isForwarded &&
    /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/.test(socket.remoteAddress ?? '') &&
    /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i.test(headers.host ?? '')
  )
}

const { statusCode: UNAVAILABLE } = databaseUnavailable()

/**
 * `GET /health/live` and `GET /health/ready`, for orchestrators and load balancers. They need no token and reveal no
 * details, except to this machine the servers of the databases and what those ignore.
 */
export const health = fp(async (app: FastifyInstance, { isReady, servers }: {
  readonly isReady: () => Promise<boolean>
  /** What the server of each database says about itself. */
  readonly servers: () => ReadonlyMap<string, object | undefined>
}) => {
  const textFor = (request: FastifyRequest): string => {
    const reached = isFromHere(request) ? [...servers()].filter(([, server]) => server !== undefined) : []
    return JSON.stringify({ status: 'ok', ...(reached.length > 0 && { databases: Object.fromEntries(reached) }) })
  }
  app.get('/health/live', async (_request, reply) => {
    return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send('{"status":"ok"}')
  })
  app.get('/health/ready', async (request, reply) => {
    reply.header('cache-control', 'no-store').type('application/json; charset=utf-8')
    return await isReady() ? reply.send(textFor(request)) : reply.code(UNAVAILABLE).send('{"status":"unavailable"}')
  })
}, { name: 'row-query-health' })
