/**
 * Authenticates requests: sets `request.rowQueryGrant`, or refuses with 401 before the body is read. A bearer token is
 * looked up by its hash, then verified as a JWT; the function of the host app is called last.
 */
import fastifyAuth from '@fastify/auth'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isUnauthenticated, notFound, rateLimited, toReadable, unauthenticated, withReason } from '../src/errors.ts'
import { type Grant, getHostGrant, type Authenticate } from '../src/access/grant.ts'
import { createJwtVerifier, type JwtVerifier } from '../src/access/jwt.ts'
import { type TokenWatch, watchTokens } from '../src/access/token-settings.ts'
import { hashToken, type TokenStore } from '../src/access/tokens.ts'
import type { Settings } from '../src/config/settings.ts'
import { BoundedMap } from '../src/bounded-map.ts'
import { clientAddress } from '../src/http/client-connections.ts'
import { toRefusal } from './errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Reads the token file; undefined if there is none. */
    rowQueryTokenWatch?: TokenWatch
    /** Verifies JWTs; undefined if no issuer is configured. */
    rowQueryJwt?: JwtVerifier
    /** Blocks addresses; undefined if no address is blocked. */
    rowQueryFailedLogins?: {
      /**
       * Counts a request with invalid credentials. Must be called in the same turn of the event loop as the look-up, so
       * that pipelined requests cannot exceed the limit.
       */
      count (request: FastifyRequest): void
      /** The refusal of a request with credentials from a blocked address; undefined for any other. */
      refuse (request: FastifyRequest, reply: FastifyReply): Error | undefined
    }
  }

  interface FastifyRequest {
    /** What the caller may do; null before authentication and on public routes. */
    rowQueryGrant: Grant | null
    /** The error of an expired token, a JWT or the host app's function; null if there is none. */
    rowQueryAuthError: Error | null
  }

  interface FastifyContextConfig {
    /** Whether the route needs no token. Its requests get no grant. Has no effect on POST. */
    rowQueryPublic?: boolean
    /** The URL of metadata for OAuth (RFC 9728), which the challenge of a 401 names. */
    rowQueryResourceMetadata?: string
  }
}

/** Without the settings only the tokens are accepted, as for `/metrics`. */
export default fp(async function auth (
  app: FastifyInstance,
  options: { readonly tokens: TokenStore } & Partial<Pick<Settings, 'tokenFile' | 'jwt' | 'roles' | 'authenticate'>>
) {
  const { tokens, tokenFile, jwt: issuers = [], roles = new Map(), authenticate } = options
  const { log } = app
  if (tokenFile !== undefined) {
    const watch = watchTokens({ file: tokenFile.file, log, onChange: tokens.replace })
    app.decorate('rowQueryTokenWatch', watch)
    app.addHook('onClose', async () => watch.stop())
  }
  const jwt = issuers.length === 0 ? undefined : await createJwtVerifier({ issuers, roles, log })
  if (jwt !== undefined) {
    app.decorate('rowQueryJwt', jwt)
    app.addHook('onClose', async () => jwt.stop())
  }

  /** Counts a failed login, which only the last way of authentication does. */
  const countFailure = (request: FastifyRequest): void => app.rowQueryFailedLogins?.count(request)
  const countIfLast = authenticate === undefined ? countFailure : (): void => {}

  const failJwt = (request: FastifyRequest, error: Error): false => {
    request.rowQueryAuthError = error
    if (isUnauthenticated(toRefusal(error as FastifyError))) countIfLast(request)
    return false
  }

  const checkJwt = (
    verifier: JwtVerifier,
    token: string,
    sha256: string,
    request: FastifyRequest
  ): boolean | Promise<boolean> => {
    const accept = (grant: Grant): true => {
      request.rowQueryGrant = grant
      return true
    }
    try {
      const grant = verifier.getGrant(token, sha256)
      return grant instanceof Promise ? grant.then(accept, (error) => failJwt(request, error)) : accept(grant)
    } catch (error) {
      return failJwt(request, error as Error)
    }
  }

  const checkHost = async (request: FastifyRequest): Promise<void> => {
    try {
      request.rowQueryGrant = await getHostGrant(authenticate as Authenticate, request)
    } catch (given) {
      const thrown = toReadable(Object(given))
      if (!isUnauthenticated(toRefusal(thrown as FastifyError))) {
        request.rowQueryAuthError =
          given instanceof Error ? thrown : new Error('authenticate() threw something that is not an Error')
      }
    }
    if (request.rowQueryGrant !== null) return
    const { rowQueryAuthError: error } = request
    if (error === null || isUnauthenticated(toRefusal(error as FastifyError))) countFailure(request)
    throw unauthenticated('The app does not know the caller')
  }

  app.decorateRequest('rowQueryGrant', null)
  app.decorateRequest('rowQueryAuthError', null)
  await app.register(fastifyAuth)
  await app.register(bearerAuth, {
    addHook: false,
    keys: new Set<string>(),
    specCompliance: 'rfc6749', // accepts the name of the scheme in any case (RFC 9110, section 11.1)
    verifyErrorLogLevel: 'debug',
    auth: (token: string, request: FastifyRequest) => {
      const sha256 = hashToken(token)
      request.rowQueryGrant = tokens.findGrant(sha256) ?? null
      if (request.rowQueryGrant !== null) return true
      const expired = tokens.findExpired(sha256)
      if (expired !== undefined) {
        request.rowQueryAuthError = withReason(
          unauthenticated('The token is not valid'),
          `the token "${expired}" has expired`
        )
      } else if (jwt !== undefined) return checkJwt(jwt, token, sha256, request)
      // counted now, because the package handles the result in a later turn of the event loop
      countIfLast(request)
      return false
    }
  })
  // tried in this order until one of them sets the grant
  const check = app.auth([
    app.verifyBearerAuth as NonNullable<typeof app.verifyBearerAuth>,
    ...(authenticate === undefined ? [] : [checkHost])
  ])

  app.addHook('onRequest', function (request, reply, done) {
    const blocked = app.rowQueryFailedLogins?.refuse(request, reply)
    if (blocked !== undefined) return done(blocked)
    // the method is tested first, because `routeOptions` builds a new object at each access
    if (request.method !== 'POST' && request.routeOptions.config.rowQueryPublic === true) return done()
    if (!/^bearer /i.test(request.headers.authorization ?? '')) countIfLast(request) // credentials of another scheme
    check.call(app, request, reply, () => {
      // a path without a route is refused here, before the body is read
      if (request.rowQueryGrant !== null) return done(request.is404 ? notFound() : undefined)
      reply.code(200) // @fastify/auth has set 401, also for an error of the app
      done(refuse(request, reply))
    })
  })
}, { name: 'row-query-auth' })

/** RFC 6750, section 3: the challenge has an error code only if the request has a bearer token. */
function refuse ({ headers, routeOptions, rowQueryAuthError: error }: FastifyRequest, reply: FastifyReply): Error {
  const refusal = error === null ? undefined : toRefusal(error as FastifyError)
  if (refusal !== undefined && !isUnauthenticated(refusal)) return error as Error
  const presented = /^bearer( |$)/i.test(headers.authorization ?? '')
  const { rowQueryResourceMetadata: metadata } = routeOptions.config
  const parameters = [
    ...(presented ? ['error="invalid_token"'] : []),
    ...(metadata === undefined ? [] : [`resource_metadata="${metadata}"`])
  ]
  reply.header('www-authenticate', ['Bearer', parameters.join(', ')].join(' ').trimEnd())
  return withReason(
    unauthenticated(presented ? 'The token is not valid' : 'Send a token as "Authorization: Bearer <token>"'),
    refusal?.reason
  )
}

export interface RateLimit {
  /** Requests in a window. */
  max: number
  /** Length of a window in milliseconds. */
  window: number
}

/** Counted addresses. Beyond so many, the address with the oldest last failure is dropped. */
const MAX_ADDRESSES = 5000

/** Temporarily blocks addresses that send too many invalid tokens: 429, before the next token is looked up. */
export const failedLogins = fp(async function failedLogins (app: FastifyInstance, { max, window }: RateLimit) {
  if (max === 0) return
  const failures = new BoundedMap<string, { count: number, readonly until: number }>(MAX_ADDRESSES)
  // the end of the last window in which an address is blocked; 0 (the common case) if none is
  let latest = 0

  const refuse = (request: FastifyRequest, reply: FastifyReply): Error | undefined => {
    if (latest === 0 || !hasCredentials(request)) return undefined
    const now = Date.now()
    if (latest <= now) latest = 0
    const failure = failures.get(clientAddress(request.ip))
    if (failure === undefined || failure.count < max || failure.until <= now) return undefined
    return refuseBlocked(reply, max, Math.ceil((failure.until - now) / 1000))
  }

  const count = (request: FastifyRequest): void => {
    if (!hasCredentials(request)) return
    const now = Date.now()
    const address = clientAddress(request.ip)
    const failure = failures.get(address)
    const counted = failure === undefined || failure.until <= now ? { count: 0, until: now + window } : failure
    counted.count++
    failures.set(address, counted)
    if (counted.count < max) return
    latest = Math.max(latest, counted.until)
    request.log.warn(
      { address, seconds: Math.ceil((counted.until - now) / 1000) },
      'too many failed logins: the address is blocked temporarily'
    )
  }

  app.decorate('rowQueryFailedLogins', { count, refuse })
}, { name: 'row-query-failed-logins' })

/** Requests without credentials are not counted: a load balancer may send them as health checks. */
function hasCredentials ({ headers }: FastifyRequest): boolean {
  return headers.authorization !== undefined
}

function refuseBlocked (reply: FastifyReply, max: number, seconds: number): Error {
  reply.headers({
    'ratelimit-limit': max,
    'ratelimit-remaining': 0,
    'ratelimit-reset': seconds,
    'retry-after': seconds
  })
  return rateLimited()
}
