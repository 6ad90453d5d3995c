/** Finds the requests that are answered with a stream: those whose header Accept asks for one of its formats. */
import { at, invalidBody, limitOutOfRange, type ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { mediaTypeOf, STREAM_FORMATS, type StreamFormat } from './stream-formats.ts'

/** Media type -> format; undefined for an answer that is not a stream. */
const FORMATS = new Map<string, StreamFormat | undefined>([...STREAM_FORMATS.map((format) => [mediaTypeOf(format), format] as const), ['application/json', undefined]])

/** The names of formats, each of which is a part of its media type. */
const NAMED = new RegExp(STREAM_FORMATS.join('|'), 'i')

/** Splits a header where it has the separator outside of quoted strings (RFC 9110, 5.6.4). In one pass, as anybody may send one of any form. */
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

/** Fields of a select that a stream does not have: they are known only when every row is. A new field of a select may belong here (CONTRIBUTING.md, "A field of a body"). */
const OF_ANSWERS = ['total', 'expect']

/** A body without the field that is checked here. */
export interface WithoutLimit {
  readonly body: Readonly<Record<string, unknown>>
  readonly limit: number | undefined
}

/** Takes `limit`, which may be any number of rows up to `most`, out of the body of a select. Returns the refusal, not thrown. */
export function takeLimit (given: object, most: number | undefined): WithoutLimit | ServiceError {
  const field = OF_ANSWERS.find((each) => Object.hasOwn(given, each))
  if (field !== undefined) return at([field], invalidBody(`"${field}" is not allowed in a stream`))
  const { limit, ...body } = given as { limit?: unknown }
  if (limit === undefined && !Object.hasOwn(given, 'limit')) return { body, limit: undefined }
  if (typeof limit !== 'number' || !Number.isInteger(limit)) return at(['limit'], invalidBody('"limit" must be a whole number'))
  if (limit < 1 || limit > (most ?? Infinity)) return at(['limit'], limitOutOfRange(most ?? Number.MAX_SAFE_INTEGER))
  return { body, limit }
}

/** Whether a parsed body is one of a select. */
export const isSelect = (body: unknown): body is object => isObject(body) && (body as { verb?: unknown }).verb === 'select'
