/**
 * Parses JSON without changing numbers. A number that JavaScript would write differently (18446744073709551615, a DECIMAL of 30
 * digits, but also 52.0 and 1e2) becomes a raw JSON value (ECMA-262 `JSON.rawJSON`) with its original text; every other number
 * is an ordinary number. `JSON.stringify` writes both unchanged.
 */

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
export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)

/** The result of scanning JSON text before parsing it. */
export interface Overview {
  /** Number of key-value pairs: colons outside of strings. */
  readonly pairs: number
  /**
   * False if JavaScript writes every number as in the text: numbers of at most 15 digits (exact in a double) without an
   * exponent, without a trailing zero after the point, not -0, and not so small that JavaScript writes an exponent.
   */
  readonly mayChange: boolean
  /** Whether a string consists of one escape, such as `"\n"` or `"\u000a"`. */
  readonly hasEscape: boolean
}

const [QUOTE, BACKSLASH, COLON, MINUS, POINT, ZERO, NINE, SMALL_E, CASE] = [0x22, 0x5c, 0x3a, 0x2d, 0x2e, 0x30, 0x39, 0x65, 0x20] as const
/** Maximum length, digits and point, of a number that JavaScript writes unchanged. */
const MAX_PLAIN_LENGTH = 15
/** Length of `"\n` and of `"\u000a`. */
const [SHORT_ESCAPE, UNICODE_ESCAPE] = [3, 7] as const
/** Prefix of numbers that JavaScript writes with an exponent. */
const TINY = '0.000000'

export function lookOver (text: string): Overview {
  let pairs = 0
  let mayChange = false
  let hasEscape = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= ZERO && code <= NINE) {
      const start = index
      let hasPoint = false
      for (let next = text.charCodeAt(index + 1); next === POINT || (next >= ZERO && next <= NINE); next = text.charCodeAt(index + 1)) {
        if (next === POINT) hasPoint = true
        index++
      }
      mayChange ||= index - start >= MAX_PLAIN_LENGTH || (text.charCodeAt(index + 1) | CASE) === SMALL_E ||
        (hasPoint ? text.charCodeAt(index) === ZERO || text.startsWith(TINY, start) : code === ZERO && text.charCodeAt(start - 1) === MINUS)
    } else if (code === COLON) pairs++
    else if (code === QUOTE) {
      const start = index
      index = endOfString(text, start)
      hasEscape ||= text.charCodeAt(start + 1) === BACKSLASH && (index - start === SHORT_ESCAPE || index - start === UNICODE_ESCAPE)
    }
  }
  return { pairs, mayChange, hasEscape }
}

/** Index of the closing quote of the string that begins at `start`, or the length of the text. An even number of backslashes precedes a closing quote. */
function endOfString (text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}

/**
 * Parses JSON text. Keys such as `__proto__` and `constructor` become ordinary own properties. Objects are never merged, so
 * these keys cannot reach a prototype.
 *
 * @throws SyntaxError if the text is not JSON, RangeError if the nesting is too deep
 */
export function parseExactJson (text: string, { mayChange, hasEscape } = lookOver(text)): unknown {
  if (hasEscape) return parseEscapedKeys(text)
  return mayChange ? JSON.parse(text, keepText) : JSON.parse(text)
}

function keepText (_key: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value !== 'number' || source === undefined || String(value) === source ? value : JSON.rawJSON(source)
}

/** Strings, of which those with the second group are keys of one escape. */
const STRINGS = /"(?:[^"\\]|\\.)*"/g
const ESCAPE = /^"(\\(?:u....|[^u]))"$/
const IS_KEY = /^[\t\n\r ]*:/

/**
 * V8 13.6 (Node 24) takes a key of one escape, such as `"\n"`, for `"\\"` if an earlier text had that key at the same place of an object. So
 * these keys are parsed with a mark behind them, which is removed from the result.
 */
function parseEscapedKeys (text: string): unknown {
  let mark = 'mark'
  while (text.includes(mark)) mark += 'k'
  const marked = text.replace(STRINGS, (string, at: number) => ESCAPE.test(string) && IS_KEY.test(text.slice(at + string.length)) ? `${string.slice(0, -1)}${mark}"` : string)
  return JSON.parse(marked, (key, value: unknown, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return keepText(key, value, context)
    const keys = Object.keys(value)
    if (!keys.some((each) => each.endsWith(mark))) return value
    return Object.fromEntries(Object.entries(value).map(([each, member]) => [each.endsWith(mark) ? each.slice(0, -mark.length) : each, member]))
  })
}

/**
 * Whether an object in the text of `parsed` has a key twice: the parsed value then has fewer keys than the text has pairs.
 * `JSON.parse` silently keeps the last one; another parser on the way, such as a firewall, may use the first.
 */
export function repeatsKey ({ pairs }: Overview, parsed: unknown): boolean {
  return pairs > countKeys(parsed)
}

/** Without recursion: the nesting may be as deep as the body is long. */
function countKeys (parsed: unknown): number {
  let keys = 0
  const open: unknown[] = [parsed]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) continue
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') open.push(item)
      continue
    }
    const items = Object.values(value)
    keys += items.length
    for (const item of items) if (typeof item === 'object') open.push(item)
  }
  return keys
}

/** The original text of a JSON number; undefined for any other JSON value. */
export function numberText (value: unknown): string | undefined {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  return JSON.isRawJSON(value) ? value.rawJSON : undefined
}
