import { COLON, COMMA, Copier, isDigit, isNumberPart, MAX_DIGITS, MINUS, POINT, QUOTE, ZERO } from './copier.ts'

const [DOLLAR, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST, SMALL_F, SMALL_N, SMALL_T] = [0x24, 0x7b, 0x7d, 0x5b, 0x5d, 0x66, 0x6e, 0x74] as const
const [TRUE, FALSE, NULL] = ['true', 'false', 'null'].map((word) => Buffer.from(word)) as [Buffer, Buffer, Buffer]

/** JavaScript writes numbers below 0.000001 with an exponent. */
const MAX_FRACTION = 6
/** Levels of a value, and keys of its open objects. */
const [MAX_DEPTH, MAX_KEYS] = [16, 64] as const

/** Copies JSON values. */
export class JsonCopier extends Copier {
  /** Where the keys of open objects begin and end in the target. */
  readonly #keyStarts: number[] = []
  readonly #keyEnds: number[] = []

  /** Copies a JSON value as JSON.stringify writes it. `keys`: the number of keys of the objects around it. */
  json (depth: number, keys: number): boolean {
    const first = this.token()
    if (first === OPEN || first === OPEN_LIST) {
      if (depth === MAX_DEPTH) return false
      this.put(first)
      return first === OPEN ? this.#object(depth, keys) : this.#array(depth, keys)
    }
    this.at--
    switch (first) {
      case QUOTE: return this.string(QUOTE)
      case SMALL_T: return this.word(TRUE)
      case SMALL_F: return this.word(FALSE)
      case SMALL_N: return this.word(NULL)
      default: return this.number()
    }
  }

  /** JavaScript sorts keys that are integers, and an object whose keys begin with $ can be a form. */
  #object (depth: number, keys: number): boolean {
    let next = this.token()
    if (next === CLOSE) {
      this.put(CLOSE)
      return true
    }
    for (let count = keys; next === QUOTE && count < MAX_KEYS; next = this.token()) {
      const start = this.to + 1
      this.at--
      if (!this.string(QUOTE) || this.token() !== COLON) return false
      const first = this.target[start] as number
      if (isDigit(first) || first === DOLLAR || this.#hasKey(keys, count, start)) return false
      this.#keyStarts[count] = start
      this.#keyEnds[count++] = this.to
      this.put(COLON)
      if (!this.json(depth + 1, count)) return false
      next = this.token()
      this.put(next)
      if (next !== COMMA) return next === CLOSE
    }
    return false
  }

  #array (depth: number, keys: number): boolean {
    if (this.token() === CLOSE_LIST) {
      this.put(CLOSE_LIST)
      return true
    }
    this.at--
    for (let next = COMMA as number; next === COMMA;) {
      if (!this.json(depth + 1, keys)) return false
      next = this.token()
      this.put(next)
      if (next === CLOSE_LIST) return true
    }
    return false
  }

  /** Whether an object has the key that was copied last, from `start`. Its keys are those from `from` to `to`. */
  #hasKey (from: number, to: number, start: number): boolean {
    const { target } = this
    const length = this.to - start
    for (let index = from; index < to; index++) {
      const other = this.#keyStarts[index] as number
      if ((this.#keyEnds[index] as number) - other !== length) continue
      let same = 0
      while (same < length && target[start + same] === target[other + same]) same++
      if (same === length) return true
    }
    return false
  }

  /** Copies a number that JavaScript writes in the same way. */
  number (): boolean {
    const { source, at: start } = this
    const from = source[start] === MINUS ? start + 1 : start
    const startsWithZero = source[from] === ZERO
    let end = this.endOfDigits(from)
    if (end === from || (startsWithZero && end - from > 1)) return false
    if (source[end] === POINT) {
      const fraction = end + 1
      end = this.endOfDigits(fraction)
      if (end === fraction || source[end - 1] === ZERO || (startsWithZero && end - fraction > MAX_FRACTION)) return false
    } else if (startsWithZero && from !== start) return false
    if (end - from > MAX_DIGITS || isNumberPart(source[end])) return false
    this.copyUntil(end)
    return true
  }
}
