/** Who is calling: `Authorization: Bearer <token>` -> request.rowQueryGrant, before anything else of the request is looked at. */
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { unauthenticated } from '../src/errors.ts'
import type { Grant } from '../src/access/grant.ts'
import type { TokenStore } from '../src/access/tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling and what they may do; null until it is known. */
    rowQueryGrant: Grant | null
  }

  interface FastifyContextConfig {
    /** For whoever comes, with a token or without: such a route gets no grant. None that takes POST. */
    rowQueryPublic?: boolean
  }
}

export default fp(async function auth (app: FastifyInstance, { tokens }: { tokens: TokenStore }) {
  app.decorateRequest('rowQueryGrant', null)
  await app.register(bearerAuth, {
    addHook: false,
    keys: new Set<string>(),
    specCompliance: 'rfc6749', // the scheme's name in any case (RFC 9110, section 11.1)
    verifyErrorLogLevel: 'debug',
    auth: (token: string, request: FastifyRequest) => {
      request.rowQueryGrant = tokens.findGrant(token) ?? null
      // At once: what the package does with the result, it does later.
      if (request.rowQueryGrant === null) app.rowQueryLoginFailed?.(request)
      return request.rowQueryGrant !== null
    }
  })
  const verify = app.verifyBearerAuth as NonNullable<typeof app.verifyBearerAuth>

  app.addHook('onRequest', function (request, reply, done) {
    // what is public is only read; and the options of a route are put together anew for whoever looks at them
    if (request.method !== 'POST' && request.routeOptions.config.rowQueryPublic === true) return done()
    if (!hasToken(request)) app.rowQueryLoginFailed?.(request) // of another scheme: nothing is looked up
    verify(request, reply, (error) => done(error === undefined ? undefined : refuse(request, reply)))
  })
}, { name: 'row-query-auth' })

/** Whether there is a token to look up. */
function hasToken ({ headers }: FastifyRequest): boolean {
  return /^bearer /i.test(headers.authorization ?? '')
}

/** RFC 6750, section 3: no error code where no token was presented, which another scheme's credentials are none. */
function refuse ({ headers }: FastifyRequest, reply: FastifyReply): Error {
  const presented = /^bearer( |$)/i.test(headers.authorization ?? '')
  reply.header('www-authenticate', presented ? 'Bearer error="invalid_token"' : 'Bearer')
  return unauthenticated(presented ? 'The token is not valid' : 'Send a token as "Authorization: Bearer <token>"')
}
