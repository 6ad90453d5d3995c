/** Copies parts of JSON text, byte by byte, into the text of a statement. Only bytes that were checked are copied (rows.ts). */

export const [QUOTE, APOSTROPHE, COMMA, COLON, MINUS, POINT, ZERO, NINE, SPACE] = [0x22, 0x27, 0x2c, 0x3a, 0x2d, 0x2e, 0x30, 0x39, 0x20] as const
const [BACKSLASH, SMALL_E, CASE, TAB, LINE_FEED, RETURN] = [0x5c, 0x65, 0x20, 0x09, 0x0a, 0x0d] as const

/** Digits of a number that is exact as a double, and that JavaScript writes as it was sent. */
export const MAX_DIGITS = 15

/** Bytes that are the same in JSON and in a literal. */
const PLAIN = new Uint8Array(256).fill(1).fill(0, 0, SPACE)
for (const byte of [QUOTE, BACKSLASH, APOSTROPHE]) PLAIN[byte] = 0

const DIGITS = new Uint8Array(256).fill(1, ZERO, NINE + 1)

export const isDigit = (byte: number | undefined): boolean => DIGITS[byte as number] === 1

/** Whether a number goes on after its digits. */
export const isNumberPart = (byte: number | undefined): boolean => byte === POINT || ((byte ?? 0) | CASE) === SMALL_E

/** Methods with a boolean result return false for text in another form than they copy; then the target has a part of it. */
export class Copier {
  readonly source: Uint8Array
  readonly target: Uint8Array
  /** The place of the next byte in the source. */
  at: number
  /** The end of what was copied. */
  to = 0

  constructor (source: Uint8Array, from: number, target: Uint8Array) {
    this.source = source
    this.target = target
    this.at = from
  }

  /** The next byte that is not white space. */
  token (): number {
    const source = this.source
    let at = this.at
    let byte = source[at++] as number
    while (byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB) byte = source[at++] as number
    this.at = at
    return byte
  }

  put (byte: number): void {
    this.target[this.to++] = byte
  }

  copyWord (word: Uint8Array): void {
    for (let index = 0; index < word.length; index++) this.target[this.to++] = word[index] as number
  }

  copyUntil (end: number): void {
    const { source, target } = this
    let to = this.to
    for (let at = this.at; at < end; at++) target[to++] = source[at] as number
    this.at = end
    this.to = to
  }

  /** Passes over a word; stays before it if there is something else. */
  skip (word: Uint8Array): boolean {
    const source = this.source
    let at = this.at
    for (let index = 0; index < word.length; index++) if (source[at++] !== word[index]) return false
    this.at = at
    return true
  }

  /** Copies a word. */
  word (word: Uint8Array): boolean {
    this.copyWord(word)
    return this.skip(word)
  }

  /** Copies a string without escapes between other marks. */
  string (mark: number): boolean {
    const { source, target } = this
    let at = this.at
    let to = this.to
    if (source[at++] !== QUOTE) return false
    target[to++] = mark
    for (;;) {
      const byte = source[at++] as number
      if (PLAIN[byte] !== 1) {
        if (byte === QUOTE) break
        if (byte !== APOSTROPHE || mark !== APOSTROPHE) return false
        target[to++] = BACKSLASH
      }
      target[to++] = byte
    }
    target[to++] = mark
    this.at = at
    this.to = to
    return true
  }

  endOfDigits (from: number): number {
    const source = this.source
    let at = from
    while (isDigit(source[at])) at++
    return at
  }
}
