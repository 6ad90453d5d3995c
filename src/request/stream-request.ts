/** Finds the requests that are answered with a stream: those whose header Accept asks for one of its formats. */
import { BodySchema, type SelectBody } from '../../schemas/body.ts'
import { fieldsWith } from '../../schemas/fields.ts'
import type { Verb } from '../../schemas/grants.ts'
import { at, invalidBody, limitOutOfRange, ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { compileBodySchema } from './check-body.ts'

/**
 * The formats of streams. Another one also needs a writer of its rows (src/response/stream-rows.ts) and a description
 * (src/openapi/interface-document.ts).
 */

export type StreamFormat = 'ndjson' | 'csv'

/** The header Content-Type of each format. */
export const CONTENT_TYPES: Readonly<Record<StreamFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present'
}

export const STREAM_FORMATS = Object.keys(CONTENT_TYPES) as readonly StreamFormat[]

/** What a client asks for in the header Accept. */
export const mediaTypeOf = (format: StreamFormat): string => CONTENT_TYPES[format].split(';')[0] as string

/** Media type -> format; undefined for an answer that is not a stream. */
const FORMATS = new Map<string, StreamFormat | undefined>([
  ...STREAM_FORMATS.map((format) => [mediaTypeOf(format), format] as const),
  ['application/json', undefined]
])

/** The names of formats, each of which is a part of its media type. */
const NAMED = new RegExp(STREAM_FORMATS.join('|'), 'i')

/**
 * Splits a header where it has the separator outside of quoted strings (RFC 9110, 5.6.4). In one pass, as anybody may
 * send one of any form.
 */
function split (text: string, separator: string): string[] {
  const parts: string[] = []
  let from = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted && character === '\\') at++
    else if (!isQuoted && character === separator) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  parts.push(text.slice(from))
  return parts
}

/** The quality among the parameters of a type; 1 if there is none. */
function qualityOf (parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name = '', value = ''] = split(parameter, '=')
    if (name.trim().toLowerCase() === 'q') return Number(value.replaceAll('"', ''))
  }
  return 1
}

/** The format that a header Accept prefers to JSON; undefined for JSON. Types with `*` name none. */
export function findFormat (accept: string | undefined): StreamFormat | undefined {
  // the common case
  if (accept === undefined || !NAMED.test(accept)) return undefined
  let best: { readonly format: StreamFormat | undefined, readonly quality: number } = { format: undefined, quality: 0 }
  for (const entry of split(accept, ',')) {
    const [type = '', ...parameters] = split(entry, ';')
    const name = type.trim().toLowerCase()
    if (!FORMATS.has(name)) continue
    const quality = qualityOf(parameters)
    if (quality > best.quality && quality <= 1) best = { format: FORMATS.get(name), quality }
  }
  return best.format
}

const NOT_OF_STREAMS = fieldsWith('needsAllRows')

/** A body without the field that is checked here. */
interface WithoutLimit {
  readonly body: Readonly<Record<string, unknown>>
  readonly limit: number | undefined
}

/**
 * Takes `limit`, which may be any number of rows up to `most`, out of the body of a select. Returns the refusal, not
 * thrown.
 */
export function takeLimit (given: object, most: number | undefined): WithoutLimit | ServiceError {
  const field = NOT_OF_STREAMS.find((each) => Object.hasOwn(given, each))
  if (field !== undefined) return at([field], invalidBody(`"${field}" is not allowed in a stream`))
  const { limit, ...body } = given as { limit?: unknown }
  if (limit === undefined && !Object.hasOwn(given, 'limit')) return { body, limit: undefined }
  if (typeof limit !== 'number' || !Number.isInteger(limit)) {
    return at(['limit'], invalidBody('"limit" must be a whole number'))
  }
  if (limit < 1 || limit > (most ?? Infinity)) return at(['limit'], limitOutOfRange(most ?? Number.MAX_SAFE_INTEGER))
  return { body, limit }
}

/** Whether a parsed body is one of a select. */
export const isSelect = (body: unknown): body is object =>
  isObject(body) && (body as { verb?: unknown }).verb === 'select'

const findBodyError = compileBodySchema(BodySchema)

/**
 * Checks the parsed body of a select, and separates its limit. `most`: the maximum limit. @throws INVALID_BODY,
 * LIMIT_OUT_OF_RANGE, and as other bodies
 */
export function checkStreamBody (
  parsed: unknown,
  most: number | undefined
): { readonly body: SelectBody; readonly limit: number | undefined } {
  if (!isSelect(parsed)) throw findBodyError(parsed) ?? at(['verb'], invalidBody('"verb" must be select'))
  const taken = takeLimit(parsed, most)
  if (taken instanceof ServiceError) throw taken
  const error = findBodyError(taken.body)
  if (error !== undefined) throw error
  return { body: taken.body as SelectBody, limit: taken.limit }
}

// Reads whether a select may use a replica, which may lag behind the primary.

export type Consistency = 'primary'

/**
 * Reads the requested consistency. Writes always go to the primary. Unknown values are refused, because ignoring them
 * could return stale rows. `place` names the header or field in messages. @throws INVALID_BODY
 */
export function readConsistency (verb: Verb, place: string, asked: unknown): Consistency | undefined {
  if (asked === undefined || verb !== 'select') return undefined
  if (String(asked).toLowerCase() !== 'primary') throw invalidBody(`${place} must be "primary"`)
  return 'primary'
}
