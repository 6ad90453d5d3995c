/**
 * Parses JSON without changing numbers. A number that JavaScript would write differently (18446744073709551615, a
 * DECIMAL of 30 digits, but also 52.0 and 1e2) becomes a raw JSON value (ECMA-262 `JSON.rawJSON`) with its original
 * text; every other number is an ordinary number. `JSON.stringify` writes both unchanged.
 */

// Our own JSON parser, for texts whose keys have escapes, and for the client in any runtime. `JSON.parse` of V8 13.6
// (Node 24) and 14.6 (Node 26) may return another key for one with an escape: it expects the keys of earlier objects,
// and compares an expected key with the characters of the text, including escapes. Once `{"caf\\":1}` has been parsed,
// by any request, it reads `{"caf\u00e9":1}` as `{"caf\\":1}`. Keys without a backslash are compared correctly, and
// texts that are not keys are not compared at all, so this parser uses `JSON.parse` for single strings, numbers and
// words.

// separate constants, because the bundler of the client then replaces their names by their values
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACES = '\t\n\r '
/** The characters that end a number or a word. */
const ENDS = `${SPACES},]}`
/** A backslash, or a character that JSON does not allow in a string. */
const SPECIAL = /[^ -[\]-\uffff]/

/** Lists with fewer items are copied. */
const SHORT = 16

/**
 * Index of the closing quote of the string that begins at `start`, or the length of the text. An even number of
 * backslashes precedes a closing quote.
 */
function endOfString (text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}

/**
 * Like `JSON.parse`, but converts each number by `readNumber`, which gets its value, its text and its position.
 * `onRepeated` gets the position of each key that its object has already. @throws JsonError if the text is not JSON,
 * RangeError if the nesting is too deep
 */
export function parseSafely (
  text: string,
  readNumber: (value: number, source: string, at: number) => unknown,
  onRepeated?: (at: number) => void
): unknown {
  let at = 0

  /** Moves to the next character that is not a space, and returns it. */
  const next = (): number => {
    while (at < text.length && SPACES.includes(text.charAt(at))) at++
    return text.charCodeAt(at)
  }

  const readString = (): string => {
    const start = at
    at = endOfString(text, start) + 1
    const string = text.slice(start, at)
    // without a closing quote, `at` is beyond the text
    return at > text.length || SPECIAL.test(string) ? parsePart(string, start) as string : string.slice(1, -1)
  }

  const readOther = (): unknown => {
    const start = at
    while (at < text.length && !ENDS.includes(text.charAt(at))) at++
    const source = text.slice(start, at)
    const value = parsePart(source, start)
    return typeof value === 'number' ? readNumber(value, source, start) : value
  }

  /** Reads the items between brackets. */
  const readItems = (close: number, readItem: () => void): void => {
    at++
    if (next() !== close) {
      for (readItem(); next() === COMMA; readItem()) at++
      if (text.charCodeAt(at) !== close) fail(at)
    }
    at++
  }

  const readObject = (): object => {
    const object = {}
    readItems(CLOSE_OBJECT, () => {
      if (next() !== QUOTE) fail(at)
      const start = at
      const key = readString()
      if (onRepeated !== undefined && Object.hasOwn(object, key)) onRepeated(start)
      if (next() !== COLON) fail(at)
      at++
      const value = readValue()
      // an assignment would set the prototype
      if (key === '__proto__') {
        Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
      } else (object as Record<string, unknown>)[key] = value
    })
    return object
  }

  const readList = (): unknown[] => {
    const list: unknown[] = []
    readItems(CLOSE_LIST, () => { list.push(readValue()) })
    // a copy of a short list lacks the room that V8 reserves for more items
    return list.length < SHORT ? list.slice() : list
  }

  const readValue = (): unknown => {
    switch (next()) {
      case QUOTE: return readString()
      case OPEN_OBJECT: return readObject()
      case OPEN_LIST: return readList()
      default: return readOther()
    }
  }

  const value = readValue()
  next()
  if (at < text.length) fail(at)
  return value
}

/**
 * The error for a text that is not JSON. `at`: the index of the wrong character, or of the beginning of the wrong
 * string; the length of the text if it ends too early.
 */
interface JsonError extends SyntaxError { readonly at: number }

/** Parses a part of the text. `at`: the index of the part. @throws JsonError */
function parsePart (source: string, at: number): unknown {
  try {
    return JSON.parse(source)
  } catch (error) {
    throw Object.assign(error as SyntaxError, { at })
  }
}

/** Throws, because an empty text is not a value. @throws JsonError */
const fail = (at: number): unknown => parsePart('', at)

/** A number with its original text. Frozen, without a prototype; only `JSON.rawJSON` creates it. */
export interface RawNumber { readonly rawJSON: string }

declare global {
  interface JSON {
    rawJSON (text: string): RawNumber
    isRawJSON (value: unknown): value is RawNumber
    parse (text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  }
}

/** Neither a list nor a number with its text. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)

/** The result of scanning JSON text. */
export interface Overview {
  /** Key-value pairs: colons outside of strings. */
  readonly pairs: number
  /** Commas and opening brackets outside of strings. */
  readonly items: number
  /**
   * False if `JSON.parse` reads the text exactly. No key has an escape, and JavaScript writes every number as in the
   * text: numbers of at most 15 digits (exact in a double) without an exponent, without a trailing zero after the
   * point, not -0, and not so small that JavaScript writes an exponent.
   */
  readonly mayChange: boolean
}

const [MINUS, POINT, ZERO, NINE, SMALL_E, CASE] = [0x2d, 0x2e, 0x30, 0x39, 0x65, 0x20] as const
/** Maximum length, digits and point, of a number that JavaScript writes unchanged. */
const MAX_PLAIN_LENGTH = 15
/** Prefix of numbers that JavaScript writes with an exponent. */
const TINY = '0.000000'

export function lookOver (text: string): Overview {
  let pairs = 0
  let items = 0
  let mayChange = false
  /** The last string has an escape. */
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
    } else if (code === COMMA || code === OPEN_OBJECT || code === OPEN_LIST) items++
  }
  return { pairs, items, mayChange }
}

function indexOfEscape (text: string, from: number): number {
  const index = text.indexOf('\\', from)
  return index === -1 ? Infinity : index
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

/** A number, or its text if JavaScript would write it differently. */
export const keepText = (value: number, source: string): number | RawNumber =>
  String(value) === source ? value : JSON.rawJSON(source)

/**
 * Whether an object in the text of `parsed` has a key twice, so that the parsed value has fewer keys than the text has
 * pairs. `JSON.parse` silently keeps the last one, but another parser, such as a firewall's, may use the first.
 */
export function repeatsKey ({ pairs }: Overview, parsed: unknown): boolean {
  return pairs > (pairs > MANY ? listKeys(parsed, pairs) : countKeys(parsed, pairs))
}

/** The number of keys from which an object is a hash table, whose keys take V8 half as long to list as to parse. */
const MANY = 1000

/** The keys of parsed objects that have many. */
const listed = new WeakMap<object, readonly string[]>()

/** Many keys are listed once. */
export const objectKeys = (value: object): readonly string[] => listed.get(value) ?? Object.keys(value)

/** Keeps the keys of an object that has just been made, if they are many. */
export function keepKeys (value: object, keys: readonly string[]): void {
  if (keys.length > MANY) listed.set(value, keys)
}

/** Whether a parsed object has many keys. Only filters, rows and values of columns may have them. */
export const hasMany = (value: object): boolean => listed.has(value)

/**
 * Counts the keys of a text with many of them, and keeps the keys of objects with many. Behind the last of `most` keys
 * there are only objects without any, of which a list may have many.
 */
function listKeys (parsed: unknown, most = Infinity): number {
  let count = 0
  const open: unknown[] = [parsed]
  while (open.length > 0 && count < most) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) continue
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') open.push(item)
      continue
    }
    const keys = objectKeys(value)
    count += keys.length
    keepKeys(value, keys)
    for (const key of keys) {
      const item = (value as Readonly<Record<string, unknown>>)[key]
      if (typeof item === 'object') open.push(item)
    }
  }
  return count
}

/** Whether a parsed value has more keys, at all levels together, than one of its objects may have. */
export const isCrowded = (parsed: unknown): boolean => listKeys(parsed) > MANY

/** Counts without recursion, because the nesting may be as deep as the body is long. */
function countKeys (parsed: unknown, most: number): number {
  let keys = 0
  // for…in would count inherited properties as keys of the text
  const isExtended = Object.keys(Object.prototype).length > 0
  const open: unknown[] = [parsed]
  while (open.length > 0 && keys < most) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) continue
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') open.push(item)
      continue
    }
    for (const key in value) {
      if (isExtended && !Object.hasOwn(value, key)) continue
      keys++
      const item = (value as Readonly<Record<string, unknown>>)[key]
      if (typeof item === 'object') open.push(item)
    }
  }
  return keys
}

/** The original text of a JSON number; undefined for any other JSON value. */
export function numberText (value: unknown): string | undefined {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  return JSON.isRawJSON(value) ? value.rawJSON : undefined
}

/**
 * The position of the first syntax error, such as `line 3 column 14`, without any part of the text. Undefined if the
 * text is JSON, or nested too deeply to check.
 */
export function findSyntaxError (text: string): string | undefined {
  try {
    parseSafely(text, Number)
    return undefined
  } catch (error) {
    const { at } = error as Partial<JsonError>
    return at === undefined ? undefined : positionOf(text, at)
  }
}

function positionOf (text: string, at: number): string {
  const lines = text.slice(0, at).split('\n')
  return `line ${lines.length} column ${(lines.at(-1) as string).length + 1}`
}

/**
 * The characters besides CR and LF at which some readers end a line, such as readers of Java, Python and Node's
 * readline. In JSON, only strings can contain them.
 */
export const LINE_ENDS = ['\u0085', '\u2028', '\u2029'] as const

const PATTERN = new RegExp(`[${LINE_ENDS.join('')}]`, 'g')

/** Escapes the ends of lines, so that every reader sees one line. */
export function onOneLine (json: string): string {
  return json.replace(PATTERN, escapeOf)
}

const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Integers that a double cannot represent become bigints, because claims of tokens must be exact. A repeated key is
 * refused: JSON.parse would use the last one; so is another number of more digits than a double has.
 * @throws Error with the reason; it contains no part of the file, which can contain secrets
 */
export function parseConfigJson (text: string): unknown {
  if (text.trim() === '') throw new Error('is empty')
  let inexact: number | undefined
  let repeated: number | undefined
  const read = (value: number, source: string, at: number): number | bigint => {
    if (!Number.isSafeInteger(value) && /^-?\d+$/.test(source)) return BigInt(source)
    if (digitsOf(source) !== digitsOf(String(value))) inexact ??= at
    return value
  }
  let parsed: unknown
  try {
    parsed = parseSafely(text, read, (at) => { repeated ??= at })
  } catch (error) {
    throw new Error(error instanceof RangeError
      ? `is nested too deeply, ${positionOf(text, findDepth(text))}`
      : `is not valid JSON, ${findSyntaxError(text)}`)
  }
  if (repeated !== undefined) throw new Error(`has a key twice in one object, ${positionOf(text, repeated)}`)
  if (inexact === undefined) return parsed
  throw new Error(`has a number of more digits than are kept, ${positionOf(text, inexact)}; write it as a string`)
}

/** The digits of a number, without zeros at their ends. */
const digitsOf = (number: string): string =>
  number.replace(/e.*/i, '').replace(/[-.]/g, '').replace(/^0+|0+$/g, '')

/** Deeper than any configuration. */
const DEEP = 1000

/** Where the text is first nested deeper than any configuration. */
function findDepth (text: string): number {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > DEEP) return at
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--
  }
  return text.length
}
