/** JSON with integers of any size: `JSON.parse` would round those beyond 2^53, and `JSON.stringify` refuses bigints. */
import { RowQueryError } from './errors.ts'

/** Escapes, quotes, and integers of 16 digits or more, which may be beyond 2^53. It needs no stack, whatever the size of the text. */
const TOKENS = /\\.|"|(?<![\d.eE+-])-?\d{16}\d*(?![\d.eE])/g

/** What JSON has besides numbers, as `toString` of the prototype of all objects names it. */
const KINDS = / (Object|Array|String|Boolean|Null)\]$/

/**
 * Parses JSON. `toLarge` converts the digits of integers beyond 2^53, which become marked strings before `JSON.parse`. Unlike the `source` of
 * a reviver, this is the same in every runtime. @throws SyntaxError
 */
export function parseJson (text: string, toLarge: (digits: string) => unknown): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  const mark = randomId()
  let isString = false
  const marked = text.replaceAll(TOKENS, (token) => {
    if (token === '"') isString = !isString
    return isString || token.length < 16 || Number.isSafeInteger(Number(token)) ? token : `"${mark}${token}"`
  })
  return JSON.parse(marked, (_key, value: unknown) => typeof value === 'string' && value.startsWith(mark) ? toLarge(value.slice(mark.length)) : value)
}

/** Writes JSON, with bigints as integers. @throws RowQueryError INVALID_BODY for values that JSON does not have */
export function writeJson (value: unknown): string {
  const mark = randomId()
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, given: unknown) {
    // not `given`: many programs add a toJSON to bigints, which makes strings of them
    const original = this[key]
    if (typeof original === 'bigint') return `${mark}${original}`
    // JSON.stringify would leave out undefined, so that a filter is missing, and write NaN as null and a Map or a promise as {}
    if (typeof given === 'number' ? !Number.isFinite(given) : !KINDS.test(Object.prototype.toString.call(given))) throw new RowQueryError('INVALID_BODY', `"${key}" has a value that JSON does not have`)
    return given
  })
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}

/** 128 random bits, which nobody can know in advance and put into a value. Browsers have `crypto.randomUUID` only in pages that came by HTTPS. */
export const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')
