/**
 * Validates JSON (RFC 8259) in one pass without recursion. A JSON column of MariaDB can contain other text: it is a LONGTEXT with a
 * check that accepts `1.` and `"\q"`, and that does not apply to the empty strings with which ALTER TABLE fills existing rows.
 */

const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, QUOTE, PLUS, COMMA, MINUS, POINT, ZERO, NINE, COLON] = [0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2b, 0x2c, 0x2d, 0x2e, 0x30, 0x39, 0x3a] as const
const [OPEN_LIST, BACKSLASH, CLOSE_LIST, SMALL_E, SMALL_U, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5c, 0x5d, 0x65, 0x75, 0x7b, 0x7d] as const
/** The bit that is set in lower-case letters and clear in upper-case letters. */
const CASE = 0x20

/** Parser states: what may come next. */
const [VALUE, FIRST_ITEM, FIRST_KEY, KEY, END] = [0, 1, 2, 3, 4] as const

/** Characters that may follow a backslash, apart from `u`. */
const ESCAPES = tableOf('"\\/bfnrt')
const HEX = tableOf('0123456789abcdefABCDEF')
const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word))

function tableOf (characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}

/** Returns whether the bytes are one JSON text. Escaped lone surrogates are invalid here, because many parsers refuse them. */
export function isJson (bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  /** A stack of the open arrays (false) and objects (true). */
  const open: boolean[] = []
  let isObject = false
  let state: number = VALUE
  let at = start
  for (;;) {
    let byte = bytes[at] as number
    while (at < end && (byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB)) byte = bytes[++at] as number
    if (at >= end) return state === END && open.length === 0

    if (state === END) {
      if (open.length === 0) return false
      if (byte === COMMA) state = isObject ? KEY : VALUE
      else if (byte !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) return false
      else {
        open.pop()
        isObject = open[open.length - 1] === true
      }
      at++
      continue
    }
    if (state === KEY || state === FIRST_KEY) {
      if (byte === CLOSE_OBJECT && state === FIRST_KEY) {
        open.pop()
        isObject = open[open.length - 1] === true
        state = END
        at++
        continue
      }
      if (byte !== QUOTE) return false
      at = endOfString(bytes, at, end)
      while (at < end && isSpace(bytes[at] as number)) at++
      if (at >= end || bytes[at++] !== COLON) return false
      state = VALUE
      continue
    }
    if (byte === CLOSE_LIST && state === FIRST_ITEM) {
      open.pop()
      isObject = open[open.length - 1] === true
      state = END
      at++
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      isObject = byte === OPEN_OBJECT
      open.push(isObject)
      state = isObject ? FIRST_KEY : FIRST_ITEM
      at++
      continue
    }
    at = byte === QUOTE ? endOfString(bytes, at, end) : byte === MINUS || isDigit(byte) ? endOfNumber(bytes, at, end) : endOfWord(bytes, at, end)
    if (at === NONE) return false
    state = END
  }
}

/** Returned as the end of a token that is invalid: larger than every position. */
const NONE = Number.MAX_SAFE_INTEGER

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE
const isSpace = (byte: number): boolean => byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB

/** Returns the position after the string that begins at `at`. */
function endOfString (bytes: Uint8Array, at: number, end: number): number {
  for (let each = at + 1; each < end; each++) {
    const byte = bytes[each] as number
    if (byte === QUOTE) return each + 1
    if (byte < SPACE) return NONE
    if (byte !== BACKSLASH) continue
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
  while (at < end && isDigit(bytes[at])) at++
  return at
}

function endOfWord (bytes: Uint8Array, at: number, end: number): number {
  const word = WORDS.find((each) => each[0] === bytes[at])
  if (word === undefined || at + word.length > end) return NONE
  for (let each = 1; each < word.length; each++) if (bytes[at + each] !== word[each]) return NONE
  return at + word.length
}
