/**
 * The method QUERY (RFC 10008): a POST that only reads, which proxies and clients may therefore repeat. Its responses
 * have an entity tag.
 */
import { createHash, type Hash } from 'node:crypto'
import type {
  FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, preHandlerHookHandler, preValidationHookHandler
} from 'fastify'
import type { OperationsBody } from '../../schemas/body.ts'
import { at, invalidBody, type Path, type ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'

// Entity tags (RFC 9110, section 8.8.3).

/** Creates the tag of a representation from its pieces. */
export function createTag (pieces: Iterable<Uint8Array>): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return toTag(hash)
}

/** The tag of the representation that was hashed. */
export const toTag = (hash: Hash): string => `"${hash.digest('base64url')}"`

/** Returns whether `If-None-Match` contains the current entity tag (RFC 9110, section 13.1.2). */
export function isNotModified (tag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')))
}

/** Whether the app has the method; Fastify lists it since 5.12. */
export const hasQuery = ({ supportedMethods }: FastifyInstance): boolean => supportedMethods.includes('QUERY')

/** Says in each response to QUERY and OPTIONS which bodies QUERY has (RFC 10008, section 3). */
export const sendAcceptQuery: onSendHookHandler = ({ method }, reply, _payload, done) => {
  if (method === 'QUERY' || method === 'OPTIONS') reply.header('accept-query', 'application/json')
  done()
}

/** Completes the body of a select, whose verb may be left out. Refuses any other verb with INVALID_BODY. */
export const completeSelect: preValidationHookHandler = ({ body }, _reply, done) => {
  if (!isObject(body)) return done()
  if (!Object.hasOwn(body, 'verb')) body['verb'] = 'select'
  done(body['verb'] === 'select' ? undefined : onlySelects(['verb']))
}

/** Refuses operations that write or lock, and a dry run, with INVALID_BODY. */
export const refuseWrites: preHandlerHookHandler = ({ body }, _reply, done) => {
  const { operations, dryRun } = body as OperationsBody
  for (const [index, { verb, lock }] of operations.entries()) {
    if (verb !== 'select') return done(onlySelects(['operations', index, 'verb']))
    if (lock !== undefined) return done(onlySelects(['operations', index, 'lock']))
  }
  done(dryRun === undefined ? undefined : onlySelects(['dryRun']))
}

const onlySelects = (path: Path): ServiceError =>
  at(path, invalidBody(`"${path.at(-1)}" has a value that QUERY, which only selects, does not allow`))

/** 128 bits of the hash: no two responses have the same tag by chance or by intent. */
const TAG_BYTES = 16

/**
 * Sends the text of a response, or nothing (304) if the client has it already. The request has run in both cases, so
 * that only the transfer is saved.
 */
export function sendTagged ({ headers }: FastifyRequest, reply: FastifyReply, text: string | Buffer): FastifyReply {
  const tag = `"${createHash('sha256').update(text).digest('hex').slice(0, 2 * TAG_BYTES)}"`
  const vary = [reply.getHeader('vary') ?? [], 'Authorization', 'Row-Query-Consistency'].flat().join(', ')
  reply.header('etag', tag).header('cache-control', 'private, no-cache').header('vary', vary)
  return isNotModified(tag, headers['if-none-match'])
    ? reply.code(304).removeHeader('content-type').send()
    : reply.send(text)
}
