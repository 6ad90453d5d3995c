/** Calls of named requests over HTTP: {prefix}/requests/{name}. */
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { getGrant } from '../access/authorize.ts'
import { at, didYouMean, invalidBody, methodNotAllowed, requestNotFound } from '../errors.ts'
import type { Keyed } from '../idempotency/run-once.ts'
import { methodsOf, type NamedRequests } from '../named/call.ts'
import type { NamedRequest } from '../named/definition.ts'
import { readObject, readQuery } from '../named/parameters.ts'
import { HttpClient } from './client-connections.ts'
import { readConsistency } from './stream.ts'
import { sendTagged } from './query-method.ts'

/** Runs before the body is read. @throws REQUEST_NOT_FOUND, METHOD_NOT_ALLOWED */
export const findNamed = (named: NamedRequests): onRequestHookHandler => (request, reply, done) => {
  const { name } = request.params as { name: string }
  const grant = getGrant(request)
  const callable = named.find(name, grant)
  if (callable === undefined) {
    throw requestNotFound(name, didYouMean(name, named.callable(grant).map((each) => each.name)))
  }
  const { rowQueryRecord: record } = request
  if (record != null) {
    record.request = callable.name
    record.database = callable.database
    record.verb = callable.table === undefined ? 'operations' : callable.verbs[0]
  }
  const methods = methodsOf(callable)
  if (!methods.includes(request.method)) {
    reply.header('allow', methods.join(', '))
    throw methodNotAllowed(request.method, methods.join(' or '))
  }
  request.rowQueryNamed = callable
  done()
}

/** The parameters are in the body of a POST, and otherwise in the query string. */
export function handleNamed (
  request: FastifyRequest,
  reply: FastifyReply,
  named: NamedRequests,
  { key, onReplay }: Keyed = {}
): Promise<unknown> {
  const { method, headers, rowQueryRecord: record, raw: { url = '' } } = request
  const called = request.rowQueryNamed as NamedRequest
  const consistency = readConsistency(called.isRead, headers['row-query-consistency'])
  const grant = getGrant(request)
  const isPost = method === 'POST'
  if (isPost && /\?./.test(url)) {
    throw at('', invalidBody('The parameters of a POST are in its body, and not in the query string'))
  }
  const values = isPost ? readObject(called, request.body) : readQuery(called, url)
  reply.type('application/json; charset=utf-8')
  const client = new HttpClient(reply.raw, grant)
  const call = { request: called, grant, given: values, consistency, client, record, key, onReplay }
  return named.run(call, ({ response }) =>
    isPost ? response : sendTagged(request, reply, response, cachingOf(called)))
}

const cachingOf = ({ maxAge }: NamedRequest): string | undefined =>
  maxAge === undefined ? undefined : `max-age=${maxAge}`
