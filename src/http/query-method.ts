/**
 * The method QUERY (RFC 10008): a POST that only reads, which proxies and clients may therefore repeat. Its responses
 * have an entity tag, and so have documents.
 */
import { hash, type Hash } from 'node:crypto'
import type {
  FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, preHandlerHookHandler, preValidationHookHandler
} from 'fastify'
import type { OperationsBody } from '../../schemas/body.ts'
import { at, invalidBody, type Path, type ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'

/** 128 bits of the SHA-256 in hex: no two contents have the same tag by chance or by intent. */
const toTagOf = (hex: string): string => `"${hex.slice(0, 32)}"`

export const createTag = (content: string | Uint8Array): string => toTagOf(hash('sha256', content, 'hex'))
/** The same for content that was hashed in pieces. */
export const toTag = (sha256: Hash): string => toTagOf(sha256.digest('hex'))

/** RFC 9110, section 13.1.2. */
export function isNotModified (tag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')))
}

/** Fastify lists the method since 5.12. */
export const hasQuery = ({ supportedMethods }: FastifyInstance): boolean => supportedMethods.includes('QUERY')

/** Says in each response to QUERY and OPTIONS which bodies QUERY has (RFC 10008, section 3). */
export const sendAcceptQuery: onSendHookHandler = ({ method }, reply, _payload, done) => {
  if (method === 'QUERY' || method === 'OPTIONS') reply.header('accept-query', 'application/json')
  done()
}

/** The verb may be left out; any other is INVALID_BODY. */
export const completeSelect: preValidationHookHandler = ({ body }, _reply, done) => {
  if (!isObject(body)) return done()
  if (!Object.hasOwn(body, 'verb')) body['verb'] = 'select'
  done(body['verb'] === 'select' ? undefined : onlySelects(['verb']))
}

/** Operations that write or lock, and a dry run, are INVALID_BODY. */
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

/**
 * Makes the tag weak where a hook of the host app has encoded the response, because all encodings have the same one.
 * When the headers are sent, no hook can follow.
 */
function weakenIfEncoded (response: FastifyReply['raw']): void {
  const { writeHead } = response
  response.writeHead = function (this: typeof response, status: number, ...rest: [object?]) {
    const [given] = rest as [Record<string, unknown>?]
    const headers = given ?? this.getHeaders()
    const tag = headers['etag']
    if (typeof tag === 'string' && tag.startsWith('"') && headers['content-encoding'] !== undefined) {
      if (given === undefined) this.setHeader('etag', `W/${tag}`)
      else given['etag'] = `W/${tag}`
    }
    return writeHead.call(this, status, ...rest as [])
  } as typeof writeHead
}

/** Adds to Vary, in which the plugin for CORS has `Origin`. */
export function varyBy (reply: FastifyReply, names: string): void {
  const vary = reply.getHeader('vary')
  reply.header('vary', vary === undefined ? names : `${names}, ${String(vary)}`)
}

/**
 * Sends nothing (304) if the client has the response already. The request has run nevertheless: only the transfer is
 * saved.
 */
export function sendTagged (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  text: string | Buffer,
  caching = 'no-cache'
): FastifyReply {
  const tag = createTag(text)
  varyBy(reply, 'Authorization, Row-Query-Consistency')
  reply.header('etag', tag).header('cache-control', `private, ${caching}`)
  weakenIfEncoded(reply.raw)
  return isNotModified(tag, headers['if-none-match'])
    ? reply.code(304).removeHeader('content-type').send()
    : reply.send(text)
}
