/**
 * JSON (RFC 8259), in one pass without recursion. A JSON column of MariaDB can contain other text: it is a LONGTEXT
 * with a check that accepts `1.` and `"\q"`, and that does not apply to the empty strings with which ALTER TABLE fills
 * existing rows.
 */

import { PART, type LongWork } from '../in-pieces.ts'

const [SPACE, EXCLAMATION, QUOTE, COMMA, MINUS, POINT, ZERO, COLON] = [
  0x20, 0x21, 0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x3a
] as const
const [OPEN_LIST, BACKSLASH, CLOSE_LIST, SMALL_E, SMALL_U, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x5b, 0x5c, 0x5d, 0x65, 0x75, 0x7b, 0x7d
] as const
/** Set in a lower-case letter, clear in its capital. */
const CASE = 0x20

const [SIGNS, DIGITS, HEX] = ['+-', '0123456789', '0123456789abcdefABCDEF'].map(tableOf) as [
  Uint8Array,
  Uint8Array,
  Uint8Array
]
/** The characters that may follow a backslash, in addition to `u` with four digits. */
const ESCAPES = tableOf('"\\/bfnrt')
/** The words by their first byte. */
const WORDS = new Array<Buffer | undefined>(256).fill(undefined)
for (const word of ['true', 'false', 'null']) WORDS[word.charCodeAt(0)] = Buffer.from(word)

function tableOf (characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}

/** The last two allow no value. */
const [VALUE, VALUE_OR_END, KEY, KEY_OR_END] = [0, 1, 2, 3] as const

/** A check that stops at some byte and goes on later from there. */
interface Pause {
  at: number
  stop: number
  isPaused: boolean
  isInString: boolean
  next: number
  depth: number
  isObject: boolean
  levels: Uint8Array
}

/** Shared by all calls, because nothing else runs during a call. Very deep documents get their own table. */
const LEVELS = new Uint8Array(64)

export function isJson (bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  return copyJson(bytes, start, end, bytes, start)
}

/** The same as isJson, in parts. */
export function * checkJson (bytes: Uint8Array): LongWork<boolean> {
  const pause: Pause = {
    at: 0,
    stop: 0,
    isPaused: false,
    isInString: false,
    next: VALUE,
    depth: 0,
    isObject: false,
    levels: new Uint8Array(LEVELS.length)
  }
  for (;;) {
    pause.stop = pause.at + PART
    pause.isPaused = false
    const isWhole = copyJson(bytes, pause.at, bytes.length, bytes, pause.at, pause)
    if (!pause.isPaused) return isWhole
    yield PART
  }
}

const isSpace = (byte: number): boolean => byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09

/**
 * Copies the bytes from `start` to `end` into `target` from `to`, and returns whether they are JSON; if not, some of
 * them are copied. Also refuses escapes of half a surrogate pair, which are not text and which many parsers refuse.
 *
 * A check with `pause` stops before a value or key, or in a string.
 *
 * It is one function for speed, because each row may have such a cell. Its loops follow the text: a value or a key,
 * then what may follow it.
 */
export function copyJson (
  bytes: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  to: number,
  pause?: Pause
): boolean {
  /** Whether each open level is an object or a list. */
  let levels: Uint8Array = LEVELS
  let depth = 0
  let isObject = false
  let isInString = false
  let next: number = VALUE
  let stop = end
  if (pause !== undefined) {
    ;({ levels, depth, isObject, isInString, next } = pause)
    stop = Math.min(pause.stop, end)
  }
  const shift = to - start
  for (let at = start; ;) {
    let byte: number = QUOTE
    if (isInString) isInString = false
    else {
      do {
        if (at >= stop) {
          return at < end && keep(pause as Pause, { at, levels, depth, isObject, isInString: false, next })
        }
        byte = target[at + shift] = bytes[at++] as number
      } while (isSpace(byte))
    }
    if (byte === QUOTE) {
      for (;;) {
        if (at >= stop) {
          return at < end && keep(pause as Pause, { at, levels, depth, isObject, isInString: true, next })
        }
        const each = (target[at + shift] = bytes[at++] as number)
        if (each > QUOTE && each !== BACKSLASH) continue
        if (each === QUOTE) break
        if (each === SPACE || each === EXCLAMATION) continue
        const after = each === BACKSLASH ? endOfEscape(bytes, at, end) : NONE
        if (after > end) return false
        for (; at < after; at++) target[at + shift] = bytes[at] as number
      }
      if (next >= KEY) {
        do {
          if (at >= end) return false
          byte = target[at + shift] = bytes[at++] as number
        } while (isSpace(byte))
        if (byte !== COLON) return false
        next = VALUE
        continue
      }
    } else if ((byte === CLOSE_LIST && next === VALUE_OR_END) || (byte === CLOSE_OBJECT && next === KEY_OR_END)) {
      isObject = --depth > 0 && levels[depth - 1] === 1
    } else if (next >= KEY) {
      return false
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      isObject = byte === OPEN_OBJECT
      if (depth === levels.length) levels = enlarge(levels)
      levels[depth++] = Number(isObject)
      next = isObject ? KEY_OR_END : VALUE_OR_END
      continue
    } else {
      const after =
        byte === MINUS || DIGITS[byte] === 1 ? endOfNumber(bytes, at - 1, end) : endOfWord(bytes, at - 1, end)
      if (after > end) return false
      for (; at < after; at++) target[at + shift] = bytes[at] as number
    }
    for (;;) {
      if (at >= end) return depth === 0
      byte = target[at + shift] = bytes[at++] as number
      if (byte === COMMA) {
        if (depth === 0) return false
        next = isObject ? KEY : VALUE
        break
      }
      if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        if (depth === 0 || isObject !== (byte === CLOSE_OBJECT)) return false
        isObject = --depth > 0 && levels[depth - 1] === 1
      } else if (!isSpace(byte)) return false
    }
  }
}

/** Keeps the state of a check that is not at the end of its text. */
function keep (pause: Pause, state: Omit<Pause, 'stop' | 'isPaused'>): false {
  Object.assign(pause, state, { isPaused: true })
  return false
}

function enlarge (levels: Uint8Array): Uint8Array {
  const larger = new Uint8Array(levels.length * 2)
  larger.set(levels)
  return larger
}

/** Larger than every position: the end of an invalid token. */
const NONE = Number.MAX_SAFE_INTEGER

/** After the escape whose backslash is before `at`. A surrogate pair counts as one escape. */
function endOfEscape (bytes: Uint8Array, at: number, end: number): number {
  const escaped = bytes[at] as number
  if (escaped !== SMALL_U) return ESCAPES[escaped] === 1 ? at + 1 : NONE
  const unit = hexAt(bytes, at + 1, end)
  if (unit < 0xd800 || unit > 0xdfff) return unit === NONE ? NONE : at + 5
  const isPair = unit < 0xdc00 && bytes[at + 5] === BACKSLASH && bytes[at + 6] === SMALL_U
  const low = isPair ? hexAt(bytes, at + 7, end) : NONE
  return low >= 0xdc00 && low <= 0xdfff ? at + 11 : NONE
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
    const sign = at + 1 < end && SIGNS[bytes[at + 1] as number] === 1 ? at + 2 : at + 1
    at = endOfDigits(bytes, sign, end)
    if (at === sign) return NONE
  }
  return at
}

function endOfDigits (bytes: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && DIGITS[bytes[at] as number] === 1) at++
  return at
}

function endOfWord (bytes: Uint8Array, at: number, end: number): number {
  const word = WORDS[bytes[at] as number]
  if (word === undefined || at + word.length > end) return NONE
  for (let each = 1; each < word.length; each++) if (bytes[at + each] !== word[each]) return NONE
  return at + word.length
}
