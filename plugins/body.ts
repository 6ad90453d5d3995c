/** The body: parsed exactly, then held against the schema of its verb. Refuses with 400 and 415; 413 is Fastify's own. */
import { isUtf8 } from 'node:buffer'
import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, ValueErrorType, type TypeCheck } from '@sinclair/typebox/compiler'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { DeleteBodySchema, InsertBodySchema, MAX_LIMIT, SelectBodySchema, UpdateBodySchema } from '../schemas/body.ts'
import { filtersRequired, invalidBody, invalidJson, limitOutOfRange, ServiceError, unsupportedMediaType, withDetails } from '../src/errors.ts'
import { parseExactJson } from '../src/exact-json.ts'

const checks = new Map<unknown, TypeCheck<TSchema>>([
  ['select', TypeCompiler.Compile(SelectBodySchema)],
  ['insert', TypeCompiler.Compile(InsertBodySchema)],
  ['update', TypeCompiler.Compile(UpdateBodySchema)],
  ['delete', TypeCompiler.Compile(DeleteBodySchema)]
])

/** What each field must be, for messages. */
const forms = new Map([
  ['filters', 'an object of filters'],
  ['data', 'an object of column values'],
  ['columns', 'a list of column names, not empty and without repeats'],
  ['limit', 'a whole number'],
  ['orderBy', 'a string']
])

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i

export default fp(async function body (app: FastifyInstance) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request: FastifyRequest, bytes: Buffer, done) => {
    const parsed = parse(request, bytes)
    if (parsed instanceof ServiceError) done(parsed)
    else done(null, parsed)
  })
  // Fastify reads no body without a Content-Type header; the interface asks for one.
  app.addHook('preValidation', ({ body }, _reply, done) => done(body === undefined ? unsupportedMediaType() : undefined))
  app.setValidatorCompiler(() => (value: unknown) => {
    const error = findMistake(value)
    return error === undefined ? { value } : { error }
  })
}, { name: 'row-query-body' })

/** The parsed body, or why there is none. */
function parse ({ headers }: FastifyRequest, bytes: Buffer): unknown {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = headers
  const [, charset = 'utf-8'] = CHARSET.exec(type as string) ?? []
  if (!/^utf-?8$/i.test(charset) || encoding !== 'identity') return unsupportedMediaType()
  if (!isUtf8(bytes)) return invalidJson('it is not UTF-8')
  try {
    return readLimit(parseExactJson(bytes.toString()))
  } catch (error) {
    return invalidJson(error instanceof RangeError ? 'it nests too deep' : 'it cannot be parsed')
  }
}

/** A number that no double holds is kept as text for values of columns; a field of the body itself needs none of that. */
function readLimit (body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  for (const [field, value] of Object.entries(body)) {
    if (JSON.isRawJSON(value)) Object.defineProperty(body, field, { value: finite(Number(value.rawJSON)) })
  }
  return body
}

/** 1e400 is a number out of range, not something else than a number. */
const finite = (number: number): number => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, number))

/** The first thing wrong with a body, or undefined. */
function findMistake (body: unknown): ServiceError | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || JSON.isRawJSON(body)) return invalidBody('The body must be a JSON object')
  const { verb } = body as { verb?: unknown }
  const check = checks.get(verb)
  if (check === undefined) return at('/verb', invalidBody('"verb" must be one of select, insert, update, delete'))
  if (check.Check(body)) return lacksFilters(body) ? at('/filters', filtersRequired(verb as string)) : undefined
  return describe(check, body, verb as string)
}

/** `{}` says nothing of the rows; filters that say as little in more words are found once their columns are known. */
function lacksFilters (body: object): boolean {
  const { verb, filters } = body as { verb: string, filters?: object }
  return verb !== 'select' && filters !== undefined && Object.keys(filters).length === 0
}

function describe (check: TypeCheck<TSchema>, body: object, verb: string): ServiceError {
  const [first] = check.Errors(body)
  const { path, type } = first as { path: string, type: ValueErrorType }
  const field = (path.split('/')[1] as string).replaceAll('~1', '/').replaceAll('~0', '~')
  if (!Object.hasOwn(check.Schema().properties, field)) return at(path, invalidBody(`"${field}" is no field of a ${verb}`))
  if (!Object.hasOwn(body, field)) return at(path, field === 'filters' ? filtersRequired(verb) : invalidBody(`"${field}" is required to ${verb}`))
  if (type === ValueErrorType.IntegerMinimum || type === ValueErrorType.IntegerMaximum) return at(path, limitOutOfRange(MAX_LIMIT))
  if (type === ValueErrorType.ObjectMinProperties) return at(path, invalidBody('"data" must not be empty'))
  return at(path, invalidBody(`"${field}" must be ${forms.get(field)}`))
}

const at = (path: string, error: ServiceError): ServiceError => withDetails(error, { path, message: error.message })
