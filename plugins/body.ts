/** The body: its bytes as text, then what src/request/check-body.ts makes of it. Refuses with 400 and 415; 413 is Fastify's own. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { findMistake, parseBody } from '../src/request/check-body.ts'
import { invalidJson, ServiceError, unsupportedMediaType } from '../src/errors.ts'

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i

export default fp(async function body (app: FastifyInstance) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request: FastifyRequest, bytes: Buffer, done) => {
    const parsed = parse(request, bytes)
    if (parsed instanceof ServiceError) done(parsed)
    else done(null, parsed)
  })
  // Fastify reads no body without a Content-Type header; the interface asks for one.
  app.addHook('preValidation', ({ method, body }, _reply, done) => done(method === 'POST' && body === undefined ? unsupportedMediaType() : undefined))
  app.setValidatorCompiler(() => (value: unknown) => {
    const error = findMistake(value)
    return error === undefined ? { value } : { error }
  })
}, { name: 'row-query-body' })

/** The parsed body, or why there is none. */
function parse ({ headers }: FastifyRequest, bytes: Buffer): unknown {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = headers
  if (!isText(type as string) || encoding !== 'identity') return unsupportedMediaType()
  return isUtf8(bytes) ? parseBody(bytes.toString()) : invalidJson('it is not UTF-8')
}

function isText (type: string): boolean {
  if (type === 'application/json') return true // nearly always
  const [, charset = 'utf-8'] = CHARSET.exec(type) ?? []
  return /^utf-?8$/i.test(charset)
}
