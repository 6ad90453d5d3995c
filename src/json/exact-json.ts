/**
 * Parses JSON without changing numbers. A number that JavaScript would write differently (18446744073709551615, a
 * DECIMAL of 30 digits, but also 52.0 and 1e2) becomes a raw JSON value (ECMA-262 `JSON.rawJSON`) with its original
 * text; every other number is an ordinary number. `JSON.stringify` writes both unchanged.
 */

import { endOfString, parseSafely } from './parser.ts'

/** A number with its original text. Frozen, without a prototype; only `JSON.rawJSON` creates it. */
export interface RawNumber { readonly rawJSON: string }

declare global {
  interface JSON {
    rawJSON (text: string): RawNumber
    isRawJSON (value: unknown): value is RawNumber
    parse (text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  }
}

/** Whether a value is a JSON object: neither a list nor a number with its text. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)

/** The result of scanning JSON text before parsing it. */
export interface Overview {
  /** Number of key-value pairs: colons outside of strings. */
  readonly pairs: number
  /**
   * False if `JSON.parse` reads the text exactly. No key has an escape (src/json/parser.ts), and JavaScript writes
   * every number as in the text: numbers of at most 15 digits (exact in a double) without an exponent, without a
   * trailing zero after the point, not -0, and not so small that JavaScript writes an exponent.
   */
  readonly mayChange: boolean
}

const [QUOTE, COLON, MINUS, POINT, ZERO, NINE, SMALL_E, CASE] = [
  0x22, 0x3a, 0x2d, 0x2e, 0x30, 0x39, 0x65, 0x20
] as const
/** Maximum length, digits and point, of a number that JavaScript writes unchanged. */
const MAX_PLAIN_LENGTH = 15
/** Prefix of numbers that JavaScript writes with an exponent. */
const TINY = '0.000000'

export function lookOver (text: string): Overview {
  let pairs = 0
  let mayChange = false
  /** Whether the last string has an escape. */
  let isEscaped = false
  let escape = indexOfEscape(text, 0)
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= ZERO && code <= NINE) {
      const start = index
      let hasPoint = false
      for (
        let next = text.charCodeAt(index + 1);
        next === POINT || (next >= ZERO && next <= NINE);
        next = text.charCodeAt(index + 1)
      ) {
        if (next === POINT) hasPoint = true
        index++
      }
      mayChange ||=
        index - start >= MAX_PLAIN_LENGTH ||
        (text.charCodeAt(index + 1) | CASE) === SMALL_E ||
        (hasPoint
          ? text.charCodeAt(index) === ZERO || text.startsWith(TINY, start)
          : code === ZERO && text.charCodeAt(start - 1) === MINUS)
    } else if (code === COLON) {
      pairs++
      mayChange ||= isEscaped
    } else if (code === QUOTE) {
      index = endOfString(text, index)
      isEscaped = escape < index
      if (isEscaped) escape = indexOfEscape(text, index)
    }
  }
  return { pairs, mayChange }
}

function indexOfEscape (text: string, from: number): number {
  const found = text.indexOf('\\', from)
  return found === -1 ? Infinity : found
}

/**
 * Parses JSON text. Keys such as `__proto__` and `constructor` become ordinary own properties. Objects are never
 * merged, so these keys cannot reach a prototype.
 *
 * @throws SyntaxError if the text is not JSON, RangeError if the nesting is too deep
 */
export function parseExactJson (text: string, { mayChange } = lookOver(text)): unknown {
  return mayChange ? parseSafely(text, keepText) : JSON.parse(text)
}

const keepText = (value: number, source: string): number | RawNumber =>
  String(value) === source ? value : JSON.rawJSON(source)

/**
 * Whether an object in the text of `parsed` has a key twice, so that the parsed value has fewer keys than the text has
 * pairs. `JSON.parse` silently keeps the last one, but another parser, such as that of a firewall, may use the first.
 */
export function repeatsKey ({ pairs }: Overview, parsed: unknown): boolean {
  return pairs > countKeys(parsed)
}

/** Counts without recursion, because the nesting may be as deep as the body is long. */
function countKeys (parsed: unknown): number {
  let keys = 0
  // for…in would count inherited properties as keys of the text
  const isExtended = Object.keys(Object.prototype).length > 0
  const open: object[] = []
  const visit = (value: unknown): void => { if (typeof value === 'object' && value !== null) open.push(value) }
  visit(parsed)
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) {
      for (const item of value) visit(item)
    } else if (!JSON.isRawJSON(value)) {
      for (const key in value) {
        if (isExtended && !Object.hasOwn(value, key)) continue
        keys++
        visit((value as Readonly<Record<string, unknown>>)[key])
      }
    }
  }
  return keys
}

/** The original text of a JSON number; undefined for any other JSON value. */
export function numberText (value: unknown): string | undefined {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  return JSON.isRawJSON(value) ? value.rawJSON : undefined
}
