/** Finds the requests that are answered with a stream: those whose header Accept asks for one of its formats. */
import { at, invalidBody, limitOutOfRange, type ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'

const FORMATS = { 'application/x-ndjson': 'ndjson', 'text/csv': 'csv', 'application/json': undefined } as const

type Format = NonNullable<typeof FORMATS[keyof typeof FORMATS]>

/** An entry of Accept: the type, then its parameters, whose values may be quoted. */
const ENTRY = /([^\s;,"]+)((?:\s*;\s*[^\s;,="]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]*))?)*)\s*(?:,|$)/g
const QUALITY = /;\s*q\s*=\s*"?([^\s;,"]*)/i

/** The format that a header Accept prefers to JSON; undefined for JSON. Types with `*` name none. */
export function findFormat (accept: string | undefined): Format | undefined {
  // the common case
  if (accept === undefined || !/ndjson|csv/i.test(accept)) return undefined
  let best: { readonly format: Format | undefined, readonly quality: number } = { format: undefined, quality: 0 }
  for (const [, type = '', parameters = ''] of accept.matchAll(ENTRY)) {
    const name = type.toLowerCase()
    if (!Object.hasOwn(FORMATS, name)) continue
    const quality = Number(QUALITY.exec(parameters)?.[1] ?? 1)
    if (quality > best.quality && quality <= 1) best = { format: FORMATS[name as keyof typeof FORMATS], quality }
  }
  return best.format
}

/** A body without its limit. */
export interface WithoutLimit {
  readonly body: Readonly<Record<string, unknown>>
  readonly limit: number | undefined
}

/** Takes `limit`, which may be any number of rows up to `most`, out of the body of a select. Returns the refusal, not thrown. */
export function takeLimit (given: object, most: number | undefined): WithoutLimit | ServiceError {
  const { limit, ...body } = given as { limit?: unknown }
  if (limit === undefined && !Object.hasOwn(given, 'limit')) return { body, limit: undefined }
  if (typeof limit !== 'number' || !Number.isInteger(limit)) return at(['limit'], invalidBody('"limit" must be a whole number'))
  if (limit < 1 || limit > (most ?? Infinity)) return at(['limit'], limitOutOfRange(most ?? Number.MAX_SAFE_INTEGER))
  return { body, limit }
}

/** Whether a parsed body is one of a select. */
export const isSelect = (body: unknown): body is object => isObject(body) && (body as { verb?: unknown }).verb === 'select'
