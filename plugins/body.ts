/** Reads and checks request bodies. Refuses with 400 and 415; 413 comes from Fastify itself. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { BodySchema } from '../schemas/body.ts'
import { OperationsBodySchema } from '../schemas/operations.ts'
import { hashBody } from '../src/idempotency/key.ts'
import { compileBodySchema, parseBody } from '../src/request/check-body.ts'
import { createOperationsCheck } from '../src/request/check-operations.ts'
import { invalidJson, ServiceError, unsupportedMediaType } from '../src/errors.ts'

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the bytes of the body, if the request has an idempotency key. */
    rowQueryBodyHash: string
  }
}

export default fp(async function body (app: FastifyInstance) {
  app.decorateRequest('rowQueryBodyHash', '')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request: FastifyRequest, bytes: Buffer, done) => {
    if (request.headers['idempotency-key'] !== undefined) request.rowQueryBodyHash = hashBody(bytes)
    const parsed = parse(request, bytes)
    if (parsed instanceof ServiceError) done(parsed)
    else done(null, parsed)
  })
  // Fastify does not read a body without a Content-Type header; the interface requires the header.
  app.addHook('preValidation', ({ method, body }, _reply, done) => done(method === 'POST' && body === undefined ? unsupportedMediaType() : undefined))
  app.setValidatorCompiler<typeof BodySchema | typeof OperationsBodySchema>(({ schema }) => {
    const findBodyError = schema === OperationsBodySchema ? createOperationsCheck(compileBodySchema(BodySchema)) : compileBodySchema(schema as typeof BodySchema)
    return (value: unknown) => {
      const error = findBodyError(value)
      return error === undefined ? { value } : { error }
    }
  })
}, { name: 'row-query-body' })

/** @returns the parsed body, or the refusal (not thrown) */
function parse ({ headers }: FastifyRequest, bytes: Buffer): unknown {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = headers
  if (!isUtf8Type(type as string) || encoding !== 'identity') return unsupportedMediaType()
  if (!isUtf8(bytes)) return invalidJson('it is not UTF-8')
  return parseBody(bytes.toString())
}

function isUtf8Type (type: string): boolean {
  if (type === 'application/json') return true // the common case, without the regular expression
  const [, charset = 'utf-8'] = CHARSET.exec(type) ?? []
  return /^utf-?8$/i.test(charset)
}
