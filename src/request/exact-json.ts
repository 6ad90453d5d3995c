/**
 * JSON in without changing its numbers. A number that JavaScript would write in another way than it was sent
 * (18446744073709551615, a DECIMAL of 30 digits, but also 52.0 and 1e2) becomes a raw JSON value (ECMA-262
 * `JSON.rawJSON`) that carries its own text; every other one is an ordinary number. `JSON.stringify` writes both as they came.
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

/** What one pass over JSON text tells of it, before it is parsed. */
export interface Overview {
  /** Keys and values: colons outside of strings. */
  readonly pairs: number
  /**
   * False where JavaScript writes every number as it stands in the text. That is so for numbers of at most 15 digits (a
   * double keeps those) that have no exponent, do not end in a zero after the point, are not -0 and not so small that
   * JavaScript writes them with an exponent.
   */
  readonly mayChange: boolean
}

const [QUOTE, BACKSLASH, COLON, MINUS, POINT, ZERO, NINE, SMALL_E, CASE] = [0x22, 0x5c, 0x3a, 0x2d, 0x2e, 0x30, 0x39, 0x65, 0x20] as const
/** Digits and point of a number that JavaScript writes as it is, at most. */
const MAX_PLAIN_LENGTH = 15
/** What numbers begin with that JavaScript writes with an exponent. */
const TINY = '0.000000'

export function lookOver (text: string): Overview {
  let pairs = 0
  let mayChange = false
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
    else if (code === QUOTE) index = endOfString(text, index)
  }
  return { pairs, mayChange }
}

/** Where the string that begins at `start` has its closing quote, which has an even number of backslashes before it; or the text its end. */
function endOfString (text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}

/**
 * Parses JSON text. Keys called `__proto__` or `constructor` become own properties like any other: nothing
 * here or later merges objects, so they cannot reach a prototype.
 *
 * @throws SyntaxError where the text is not JSON, RangeError where the nesting is too deep to be walked
 */
export function parseExactJson (text: string, { mayChange } = lookOver(text)): unknown {
  if (!mayChange) return JSON.parse(text)
  return JSON.parse(text, (_key: string, value: unknown, { source }: { source?: string }) => {
    return typeof value !== 'number' || source === undefined || String(value) === source ? value : JSON.rawJSON(source)
  })
}

/**
 * Whether an object in the JSON text that `parsed` came from names a key twice: then it has fewer keys than the text has pairs.
 * `JSON.parse` keeps the last one and says nothing; another reader on the way, such as a firewall, may go by the first.
 */
export function repeatsKey ({ pairs }: Overview, parsed: unknown): boolean {
  return pairs > countKeys(parsed)
}

/** Without recursion: JSON may nest as deep as a body is long. */
function countKeys (parsed: unknown): number {
  let keys = 0
  const open: unknown[] = [parsed]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) continue
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') open.push(item)
      continue
    }
    for (const key of Object.keys(value)) {
      keys++
      const item = (value as Record<string, unknown>)[key]
      if (typeof item === 'object') open.push(item)
    }
  }
  return keys
}

/** The decimal text of a JSON number as it was sent, or undefined for any other JSON value. */
export function numberText (value: unknown): string | undefined {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  return JSON.isRawJSON(value) ? value.rawJSON : undefined
}
