/** Calls of named requests over HTTP: {prefix}/requests/{name}. */
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { getGrant } from '../access/authorize.ts'
import { at, didYouMean, invalidBody, methodNotAllowed, requestNotFound } from '../errors.ts'
import type { Keyed } from '../idempotency/run-once.ts'
import { methodsOf, type NamedCall, type NamedRequests } from '../named/call.ts'
import { type NamedRequest, verbsOf } from '../named/definition.ts'
import { readObject, readQuery } from '../named/parameters.ts'
import { HttpClient } from './client-connections.ts'
import { sendTagged } from './stream.ts'

/** Finds the request by the path alone, before the body is read. @throws REQUEST_NOT_FOUND, METHOD_NOT_ALLOWED */
export const findNamed = (named: NamedRequests): onRequestHookHandler => (request, reply, done) => {
  const { name } = request.params as { name: string }
  const grant = getGrant(request)
  const found = named.find(name, grant)
  if (found === undefined) {
    throw requestNotFound(name, didYouMean(name, named.callable(grant).map((each) => each.name)))
  }
  const { rowQueryRecord: record } = request
  if (record != null) note(record, found)
  const methods = methodsOf(found)
  if (!methods.includes(request.method)) {
    reply.header('allow', methods.join(', '))
    throw methodNotAllowed(request.method, methods.join(' or '))
  }
  request.rowQueryNamed = found
  done()
}

/** Notes a call for telemetry. */
export function note (record: NonNullable<NamedCall['record']>, found: NamedRequest): void {
  const [verb, another] = verbsOf(found)
  const { name, database, table } = found
  Object.assign(record, {
    request: name,
    database,
    verb: table === undefined || another !== undefined ? 'operations' : verb
  })
}

/** Runs the request with the parameters of the body or of the query string. @throws ServiceError */
export async function answerNamed (
  request: FastifyRequest,
  reply: FastifyReply,
  { named, consistency, ...keyed }: Keyed & Pick<NamedCall, 'consistency'> & { readonly named: NamedRequests }
): Promise<unknown> {
  const found = request.rowQueryNamed as NamedRequest
  const grant = getGrant(request)
  const isPost = request.method === 'POST'
  const url = request.raw.url ?? ''
  if (isPost && /\?./.test(url)) {
    throw at('', invalidBody('The parameters of a POST are in its body, and not in the query string'))
  }
  const given = isPost ? readObject(found, request.body) : readQuery(found, url)
  request.rowQueryIsWriting = !found.isRead
  reply.type('application/json; charset=utf-8')
  const { response } = await named.run({
    ...keyed,
    request: found,
    grant,
    given,
    consistency,
    client: new HttpClient(reply.raw, grant),
    record: request.rowQueryRecord
  })
  if (isPost) return response
  return sendTagged(request, reply, response, found.maxAge === undefined ? undefined : `max-age=${found.maxAge}`)
}
