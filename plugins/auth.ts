/** Authenticates requests: sets `request.rowQueryGrant`, or refuses with 401 before the body is read. */
import fastifyAuth from '@fastify/auth'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { unauthenticated } from '../src/errors.ts'
import type { Grant } from '../src/access/grant.ts'
import type { TokenStore } from '../src/access/tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the caller may do; null before authentication and on public routes. */
    rowQueryGrant: Grant | null
  }

  interface FastifyContextConfig {
    /** Whether the route needs no token. Its requests get no grant. Has no effect on POST. */
    rowQueryPublic?: boolean
  }
}

export default fp(async function auth (app: FastifyInstance, { tokens }: { tokens: TokenStore }) {
  app.decorateRequest('rowQueryGrant', null)
  await app.register(fastifyAuth)
  await app.register(bearerAuth, {
    addHook: false,
    keys: new Set<string>(),
    specCompliance: 'rfc6749', // accepts the name of the scheme in any case (RFC 9110, section 11.1)
    verifyErrorLogLevel: 'debug',
    auth: (token: string, request: FastifyRequest) => {
      request.rowQueryGrant = tokens.findGrant(token) ?? null
      // Count now: the package handles the result in a later turn of the event loop.
      if (request.rowQueryGrant === null) app.rowQueryLoginFailed?.(request)
      return request.rowQueryGrant !== null
    }
  })
  // Tried in this order until one of them sets the grant.
  const authenticate = app.auth([app.verifyBearerAuth as NonNullable<typeof app.verifyBearerAuth>])

  app.addHook('onRequest', function (request, reply, done) {
    // The method first: `routeOptions` builds a new object at each access.
    if (request.method !== 'POST' && request.routeOptions.config.rowQueryPublic === true) return done()
    if (!hasToken(request)) app.rowQueryLoginFailed?.(request) // credentials of another scheme
    authenticate.call(app, request, reply, (error) => done(error == null ? undefined : refuse(request, reply)))
  })
}, { name: 'row-query-auth' })

function hasToken ({ headers }: FastifyRequest): boolean {
  return /^bearer /i.test(headers.authorization ?? '')
}

/** RFC 6750, section 3: the challenge has an error code only if the request has a bearer token. */
function refuse ({ headers }: FastifyRequest, reply: FastifyReply): Error {
  const presented = /^bearer( |$)/i.test(headers.authorization ?? '')
  reply.header('www-authenticate', presented ? 'Bearer error="invalid_token"' : 'Bearer')
  return unauthenticated(presented ? 'The token is not valid' : 'Send a token as "Authorization: Bearer <token>"')
}
