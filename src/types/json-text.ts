/**
 * Validates JSON (RFC 8259) in one pass without recursion. A JSON column of MariaDB can contain other text: it is a LONGTEXT with a
 * check that accepts `1.` and `"\q"`, and that does not apply to the empty strings with which ALTER TABLE fills existing rows.
 */

const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, QUOTE, PLUS, COMMA, MINUS, POINT, ZERO, NINE, COLON] = [0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2b, 0x2c, 0x2d, 0x2e, 0x30, 0x39, 0x3a] as const
const [OPEN_LIST, BACKSLASH, CLOSE_LIST, SMALL_E, SMALL_U, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5c, 0x5d, 0x65, 0x75, 0x7b, 0x7d] as const
/** Set in a small letter, clear in its capital. */
const CASE = 0x20

/** What may follow a backslash; `u` and four digits besides. */
const ESCAPES = tableOf('"\\/bfnrt')
const HEX = tableOf('0123456789abcdefABCDEF')
/** Bytes of strings that stand for themselves. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => Number(byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH))
/** By their first byte. */
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]))

function tableOf (characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}

/** Levels of all documents but very deep ones, which get a table of their own. One for all calls: nothing else runs during a call. */
const LEVELS = new Uint8Array(64)

/** Escapes of half a surrogate pair are refused as well: they are no text, and many parsers refuse them. */
export function isJson (bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  /** Of each open list or object, whether it is an object. */
  let levels: Uint8Array = LEVELS
  let depth = 0
  let isObject = false
  let at = start
  for (;;) {
    at = skipSpaces(bytes, at, end)
    if (at >= end) return false
    const byte = bytes[at] as number
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      isObject = byte === OPEN_OBJECT
      if (depth === levels.length) levels = enlarge(levels)
      levels[depth++] = Number(isObject)
      at = skipSpaces(bytes, at + 1, end)
      // the end of an empty one is that of any other
      if (at >= end || bytes[at] !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) {
        if (!isObject) continue
        at = endOfKey(bytes, at, end)
        continue
      }
    } else at = byte === QUOTE ? endOfString(bytes, at, end) : byte === MINUS || isDigit(byte) ? endOfNumber(bytes, at, end) : endOfWord(bytes, at, end)

    for (;;) {
      at = skipSpaces(bytes, at, end)
      if (depth === 0) return at === end
      if (at >= end) return false
      const after = bytes[at++]
      if (after === COMMA) {
        if (isObject) at = endOfKey(bytes, skipSpaces(bytes, at, end), end)
        break
      }
      if (after !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) return false
      isObject = --depth > 0 && levels[depth - 1] === 1
    }
  }
}

function enlarge (levels: Uint8Array): Uint8Array {
  const larger = new Uint8Array(levels.length * 2)
  larger.set(levels)
  return larger
}

/** Returned as the end of a token that is invalid: larger than every position. */
const NONE = Number.MAX_SAFE_INTEGER

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE
const isSpace = (byte: number): boolean => byte <= SPACE && (byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB)

function skipSpaces (bytes: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && isSpace(bytes[at] as number)) at++
  return at
}

/** Returns the position after the key that begins at `start`, and its colon. */
function endOfKey (bytes: Uint8Array, start: number, end: number): number {
  if (start >= end || bytes[start] !== QUOTE) return NONE
  const at = skipSpaces(bytes, endOfString(bytes, start, end), end)
  return at < end && bytes[at] === COLON ? at + 1 : NONE
}

/** Returns the position after the string that begins at `at`. */
function endOfString (bytes: Uint8Array, at: number, end: number): number {
  for (let each = at + 1; each < end; each++) {
    const byte = bytes[each] as number
    if (PLAIN[byte] === 1) continue
    if (byte === QUOTE) return each + 1
    if (byte !== BACKSLASH) return NONE
    const escaped = bytes[++each] as number
    if (escaped === SMALL_U) {
      each = endOfUnicode(bytes, each, end)
      if (each === NONE) return NONE
    } else if (ESCAPES[escaped] !== 1) return NONE
  }
  return NONE
}

/** Returns the position of the last byte of an escape with its `u` at `at`. A surrogate pair counts as one escape. */
function endOfUnicode (bytes: Uint8Array, at: number, end: number): number {
  const unit = hexAt(bytes, at + 1, end)
  if (unit < 0xd800 || unit > 0xdfff) return unit === NONE ? NONE : at + 4
  const isPair = unit < 0xdc00 && bytes[at + 5] === BACKSLASH && bytes[at + 6] === SMALL_U
  const low = isPair ? hexAt(bytes, at + 7, end) : NONE
  return low >= 0xdc00 && low <= 0xdfff ? at + 10 : NONE
}

function hexAt (bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) return NONE
  let digits = ''
  for (let each = at; each < at + 4; each++) {
    if (HEX[bytes[each] as number] !== 1) return NONE
    digits += String.fromCharCode(bytes[each] as number)
  }
  return Number.parseInt(digits, 16)
}

function endOfNumber (bytes: Uint8Array, start: number, end: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start
  const first = at
  at = endOfDigits(bytes, at, end)
  if (at === first || (bytes[first] === ZERO && at > first + 1)) return NONE
  if (at < end && bytes[at] === POINT) {
    const fraction = at + 1
    at = endOfDigits(bytes, fraction, end)
    if (at === fraction) return NONE
  }
  if (at < end && ((bytes[at] as number) | CASE) === SMALL_E) {
    const sign = at + 1 < end && (bytes[at + 1] === PLUS || bytes[at + 1] === MINUS) ? at + 2 : at + 1
    at = endOfDigits(bytes, sign, end)
    if (at === sign) return NONE
  }
  return at
}

function endOfDigits (bytes: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && isDigit(bytes[at] as number)) at++
  return at
}

function endOfWord (bytes: Uint8Array, at: number, end: number): number {
  const word = WORDS.get(bytes[at] as number)
  if (word === undefined || at + word.length > end) return NONE
  for (let each = 1; each < word.length; each++) if (bytes[at + each] !== word[each]) return NONE
  return at + word.length
}
