/**
 * Our own JSON parser, for texts whose keys have escapes, and for the client in any runtime.
 *
 * `JSON.parse` of V8 13.6 (Node 24) and 14.6 (Node 26) may return another key for one with an escape: it expects the
 * keys of earlier objects, and compares an expected key with the characters of the text, including escapes. Once
 * `{"caf\\":1}` has been parsed, by any request, it reads `{"caf\u00e9":1}` as `{"caf\\":1}`. Keys without a backslash
 * are compared correctly, and texts that are not keys are not compared at all, so this parser uses `JSON.parse` for
 * single strings, numbers and words.
 */

/** Converts a number. `source`: its text. */
export type ReadNumber = (value: number, source: string) => unknown

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
export function endOfString (text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}

/**
 * Like `JSON.parse`, but converts each number by `readNumber`. @throws JsonError if the text is not JSON, RangeError if
 * the nesting is too deep
 */
export function parseSafely (text: string, readNumber: ReadNumber): unknown {
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
    return typeof value === 'number' ? readNumber(value, source) : value
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
      const key = readString()
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
export interface JsonError extends SyntaxError { readonly at: number }

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
