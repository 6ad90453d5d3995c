/** JSON with integers of any size, which `JSON.stringify` refuses. */
import { parseSafely } from '../json/parser.ts'
import { RowQueryError } from './errors.ts'

/** What JSON has besides numbers, as `toString` of the prototype of all objects names it. */
const KINDS = / (Object|Array|String|Boolean|Null)\]$/

/** Parses JSON. `toLarge` converts the digits of integers beyond 2^53. @throws SyntaxError, RangeError */
export function parseJson (text: string, toLarge: (digits: string) => unknown): unknown {
  // JSON.parse is faster, but rounds such integers, and may return other keys for those with a backslash
  return /\\|\d{16}/.test(text) ? parseSafely(text, (value, source) => Number.isSafeInteger(value) || !/^-?\d+$/.test(source) ? value : toLarge(source)) : JSON.parse(text)
}

/** Writes JSON, with bigints as integers. @throws RowQueryError INVALID_BODY for values that JSON does not have */
export function writeJson (value: unknown): string {
  const mark = randomId()
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, given: unknown) {
    // not `given`: many programs add a toJSON to bigints, which makes strings of them
    const original = this[key]
    if (typeof original === 'bigint') return `${mark}${original}`
    // JSON.stringify would leave out undefined, so that a filter is missing, and write NaN and an invalid Date as null and a Map or a promise as {}
    if ((given === null && original !== null) || (typeof given === 'number' ? !Number.isFinite(given) : !KINDS.test(Object.prototype.toString.call(given)))) throw new RowQueryError('INVALID_BODY', `"${key}" has a value that JSON does not have`)
    return given
  })
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}

/** 128 random bits, which nobody can know in advance and put into a value. Browsers have `crypto.randomUUID` only in pages that came by HTTPS. */
export const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')
