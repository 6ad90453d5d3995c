/** Reads and writes JSON with integers of any size, which `JSON.stringify` refuses. */
import { parseSafely } from '../json/parser.ts'
import { RowQueryError } from './errors.ts'

/** The kinds of JSON values other than numbers, by the names that `Object.prototype.toString` gives them. */
const KINDS = / (Object|Array|String|Boolean|Null)\]$/

/** Parses JSON. `toLarge` converts the digits of integers beyond 2^53. @throws SyntaxError, RangeError */
export function parseJson (text: string, toLarge: (digits: string) => unknown): unknown {
  // JSON.parse is faster, but rounds such integers, and may return wrong keys for those with a backslash
  return /\\|\d{16}/.test(text) ? parseSafely(text, (value, source) => Number.isSafeInteger(value) || !/^-?\d+$/.test(source) ? value : toLarge(source)) : JSON.parse(text)
}

/** Writes JSON, with bigints as integers. @throws RowQueryError INVALID_BODY for values that JSON does not have */
export function writeJson (value: unknown): string {
  const mark = randomId()
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, given: unknown) {
    // not `given`, because many programs add a toJSON to bigints that converts them to strings
    const original = this[key]
    if (typeof original === 'bigint') return `${mark}${original}`
    // JSON.stringify would omit undefined, so that a filter is missing, and write NaN and an invalid Date as null and a Map or a promise as {}
    if ((given === null && original !== null) || (typeof given === 'number' ? !Number.isFinite(given) : !KINDS.test(Object.prototype.toString.call(given)))) throw new RowQueryError('INVALID_BODY', `"${key}" has a value that JSON does not have`)
    return given
  })
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}

/** 128 random bits, so that no value can contain the id. Browsers have `crypto.randomUUID` only in pages loaded over HTTPS. */
export const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')
