/** The body of a request: parsed exactly, then held against the schema of its verb. */
import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, ValueErrorType, type TypeCheck } from '@sinclair/typebox/compiler'
import { BODIES, MAX_LIMIT } from '../../schemas/body.ts'
import { filtersRequired, invalidBody, invalidJson, invalidOrderBy, limitOutOfRange, withDetails, type ServiceError } from '../errors.ts'
import { lookOver, parseExactJson, repeatsKey } from './exact-json.ts'

const checks = new Map<unknown, TypeCheck<TSchema>>(Object.entries(BODIES).map(([verb, schema]) => [verb, TypeCompiler.Compile<TSchema>(schema)]))

/** What each field must be, for messages. */
const forms = new Map([
  ['filters', 'an object of filters'],
  ['data', 'an object of column values'],
  ['columns', 'a list of column names, not empty and without repeats'],
  ['limit', 'a whole number'],
  ['orderBy', 'a string or a list of objects']
])

/** The parsed body, or why there is none. */
export function parseBody (text: string): unknown {
  try {
    const overview = lookOver(text)
    const body = parseExactJson(text, overview)
    return repeatsKey(overview, body) ? invalidJson('it names a key twice') : readLimit(body)
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
export function findMistake (body: unknown): ServiceError | undefined {
  if (!isObject(body)) return invalidBody('The body must be a JSON object')
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
  if (!Object.hasOwn(check.Schema().properties, field)) return at(path, invalidBody(`"${field}" is no field that ${verb} uses`))
  if (!Object.hasOwn(body, field)) return at(path, field === 'filters' ? filtersRequired(verb) : invalidBody(`"${field}" is required to ${verb}`))
  if (type === ValueErrorType.IntegerMinimum || type === ValueErrorType.IntegerMaximum) return at(path, limitOutOfRange(MAX_LIMIT))
  if (field === 'orderBy' && isListOfTerms(body)) return at(path, invalidOrderBy('must have terms of one column each, such as {"<column>": "DESC"}, with the direction ASC or DESC'))
  if (type === ValueErrorType.ObjectMinProperties) return at(path, invalidBody('"data" must not be empty'))
  return at(path, invalidBody(`"${field}" must be ${forms.get(field)}`))
}

/** A JSON object: a number that is kept as its text is none. */
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)

/** Whether `orderBy` has the form of a list of terms, whatever is in them. */
function isListOfTerms ({ orderBy }: { orderBy?: unknown }): boolean {
  return Array.isArray(orderBy) && orderBy.every(isObject)
}

const at = (path: string, error: ServiceError): ServiceError => withDetails(error, { path, message: error.message })
