/**
 * JSON in without rounding its numbers. A number that a double cannot hold exactly (18446744073709551615,
 * a DECIMAL of 30 digits) becomes a raw JSON value (ECMA-262 `JSON.rawJSON`) that carries its own text;
 * every other one is an ordinary number. `JSON.stringify` writes both as they came.
 */

/** A number as it stood in the text. Frozen, without a prototype; made by the platform only. */
export interface RawNumber { readonly rawJSON: string }

declare global {
  interface JSON {
    rawJSON (text: string): RawNumber
    isRawJSON (value: unknown): value is RawNumber
    parse (text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  }
}

/** 16 digits in a row, or an exponent of three: without either, no number can lose anything in a double. */
const MAY_LOSE = /[\d.]{16}|\d[eE][+-]?\d{3}/

/**
 * Parses JSON text. Keys called `__proto__` or `constructor` become own properties like any other: nothing
 * here or later merges objects, so they cannot reach a prototype.
 *
 * @throws SyntaxError where the text is not JSON, RangeError where it nests too deep to be walked
 */
export function parseExactJson (text: string): unknown {
  if (!MAY_LOSE.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key: string, value: unknown, context: { source?: string }) => {
    if (typeof value !== 'number' || context.source === undefined) return value
    return isExact(value, context.source) ? value : JSON.rawJSON(context.source)
  })
}

/**
 * Whether an object in JSON text that `parsed` came from names a key twice: then it has fewer keys than the text has pairs.
 * `JSON.parse` keeps the last one and says nothing; another reader on the way, such as a firewall, may go by the first.
 */
export function repeatsKey (text: string, parsed: unknown): boolean {
  return countPairs(text) > countKeys(parsed)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

/** Colons outside of strings: in text that is known to be JSON, one for each pair. */
function countPairs (text: string): number {
  let pairs = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) inString = !inString
    else if (inString && code === BACKSLASH) index++
    else if (!inString && code === COLON) pairs++
  }
  return pairs
}

/** Without recursion: JSON may nest as deep as a body is long. */
function countKeys (parsed: unknown): number {
  let keys = 0
  const open: unknown[] = [parsed]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) continue
    const items = Object.values(value)
    if (!Array.isArray(value)) keys += items.length
    for (const item of items) if (typeof item === 'object') open.push(item)
  }
  return keys
}

/** Whether the double means the same number as its text: doubles keep 15 significant digits (IEEE 754). */
function isExact (value: number, source: string): boolean {
  if (Number.isSafeInteger(value) && String(value) === source) return true
  const [mantissa = ''] = source.split(/[eE]/)
  const digits = mantissa.replace(/\D/g, '').replace(/^0+/, '')
  if (!Number.isFinite(value) || (value === 0 && digits !== '')) return false
  return digits.length <= 15 && Math.abs(value) >= 1e-300
}

/** The decimal text of a JSON number as it was sent, or undefined for any other JSON value. */
export function numberText (value: unknown): string | undefined {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  return JSON.isRawJSON(value) ? value.rawJSON : undefined
}
