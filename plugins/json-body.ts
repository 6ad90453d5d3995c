/**
 * Reads and parses bodies of JSON, which each route checks against its schema. Refuses with 400, 413 and 415, and with
 * 503 if there is no memory for a body.
 */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { principalOf } from '../src/access/grant.ts'
import type { Settings } from '../src/config/settings.ts'
import { hashBody } from '../src/idempotency/run-once.ts'
import type {} from './auth.ts' // declares request.rowQueryGrant
import { describeTypes, findImportFormat, isGzip } from '../src/http/import-request.ts'
import type { NamedRequest } from '../src/named/definition.ts'
import { lookOver } from '../src/json/exact-json.ts'
import { parseBody } from '../src/request/check-body.ts'
import { BodyMemory, BodyReservation, SMALL, weighBody, inOwnTurn } from '../src/request/body-budget.ts'
import { isReadType, readBody, type Payload } from '../src/request/read-body.ts'
import { bodyIncomplete, bodyTooLarge, invalidJson, overloaded, unsupportedMediaType } from '../src/errors.ts'

const HAVE_BODIES: ReadonlySet<string> = new Set(['POST', 'QUERY'])

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the bytes of the body, if the request has an idempotency key. */
    rowQueryBodyHash: string
    /** The memory that is reserved for the body until the response has ended. */
    rowQueryBodyReservation: BodyReservation | null
    /** The named request whose parameters the body has. Set by its route. */
    rowQueryNamed: NamedRequest | null
  }
}

export default fp(async function jsonBody (
  app: FastifyInstance, { bodyLimit, bodyMemory }: Pick<Settings, 'bodyLimit' | 'bodyMemory'>
) {
  const memory = new BodyMemory(bodyMemory)
  app.decorateRequest('rowQueryBodyHash', '')
  app.decorateRequest('rowQueryBodyReservation', null)
  app.decorateRequest('rowQueryNamed', null)
  app.removeAllContentTypeParsers()
  app.addHook('preParsing', (request, { raw: response }, _payload, done) => {
    const { rowQueryGrant: grant, headers } = request
    if (HAVE_BODIES.has(request.method) && grant !== null) {
      const reservation = new BodyReservation(memory, principalOf(grant))
      request.rowQueryBodyReservation = reservation
      response.once('close', () => reservation.leave())
      // before its media type is refused
      if (Number(headers['content-length']) > bodyLimit && !isImport(request)) return done(bodyTooLarge())
    }
    done()
  })
  app.addContentTypeParser('application/json', (request: FastifyRequest, payload: Payload, done) => {
    const reservation = request.rowQueryBodyReservation as BodyReservation
    const end = (error: Error | undefined, bytes?: Buffer): void => {
      const parsed = error ?? parseBytes(request, bytes as Buffer, payload)
      if (!(parsed instanceof Error)) return done(null, parsed)
      reservation.leave()
      done(parsed)
    }
    readBody(payload, { headers: request.headers, limit: bodyLimit, reservation }, (error, bytes) => {
      if (bytes === undefined || bytes.length <= SMALL) return end(error, bytes)
      // the client may go while others have their turns
      inOwnTurn(reservation.owner, () => reservation.hasLeft ? end(bodyIncomplete()) : end(undefined, bytes))
    })
  })
  // Fastify does not read a body without a Content-Type header, which the interface requires
  app.addHook('preValidation', (request, _reply, done) => {
    const hasNone = HAVE_BODIES.has(request.method) && request.body === undefined
    done(hasNone ? unsupportedMediaType(describeTypes(request)) : undefined)
  })
}, { name: 'row-query-json-body' })

const isImport = ({ headers, routeOptions: { config } }: FastifyRequest): boolean =>
  config.rowQueryImports === true && findImportFormat(headers) !== undefined

/** @returns the parsed body, or the refusal (not thrown) */
function parseBytes (request: FastifyRequest, bytes: Buffer, payload: Payload): unknown {
  const { headers } = request
  if (headers['idempotency-key'] !== undefined) request.rowQueryBodyHash = hashBody(bytes)
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = headers
  // a hook of the host app may have unpacked it
  const isPacked = encoding !== 'identity' && (payload === request.raw || isGzip(bytes))
  if (!isReadType(type as string) || isPacked) return unsupportedMediaType(describeTypes(request))
  if (!isUtf8(bytes)) return invalidJson('it is not UTF-8')
  const text = bytes.toString()
  const overview = lookOver(text)
  const { length } = bytes
  const reservation = request.rowQueryBodyReservation as BodyReservation
  if (length > SMALL && !reservation.hold(weighBody(length, overview.items))) return overloaded()
  return parseBody(text, request.rowQueryNamed === null, overview)
}
