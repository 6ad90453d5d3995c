/** Copies the values of a row (rows.ts), each in the plainest form of its column. */
import type { Column } from '../../../catalog/catalog.ts'
import { getOrCreate } from '../../../get-or-create.ts'
import type { ScanForm } from '../../../types/column-type.ts'
import { APOSTROPHE, COLON, isDigit, isNumberPart, MAX_DIGITS, MINUS, POINT, QUOTE, SPACE, ZERO } from './copier.ts'
import { JsonCopier } from './json.ts'

const [CAPITAL_T, CAPITAL_Z] = [0x54, 0x5a] as const

/** Days of each month, also of month 0, in every year. */
const DAYS = [31, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const
/** Years with all moments that a TIMESTAMP can store. */
const [FIRST_YEAR, LAST_YEAR] = [1971, 2037] as const

/** A column of the list; one kind of object for all forms. */
export interface Field {
  /** With its quotes. */
  readonly key: Uint8Array
  readonly nullable: boolean
  readonly kind: ScanForm['kind']
  /** The least integer, the digits before the point, or 1 for a moment in UTC. */
  readonly min: number
  /** The greatest integer, the bytes of a text, or the digits after the point. */
  readonly max: number
  readonly members: readonly Uint8Array[]
}

const known = new WeakMap<Column, Field>()

/** @returns undefined if the type has no form that can be scanned */
export function fieldOf (column: Column): Field | undefined {
  const { name, nullable, type: { scan: form } } = column
  if (form === undefined) return undefined
  return getOrCreate(known, column, () => {
    const bounds = boundsOf(form)
    return { key: Buffer.from(JSON.stringify(name)), nullable, kind: form.kind, ...bounds, members: form.kind === 'member' ? form.members.map((member) => Buffer.from(member)) : [] }
  })
}

function boundsOf (form: ScanForm): Pick<Field, 'min' | 'max'> {
  switch (form.kind) {
    case 'integer': return { min: form.min, max: form.max }
    case 'decimal': return { min: form.whole, max: form.scale }
    case 'moment': return { min: Number(form.isUtc), max: form.scale }
    case 'text': return { min: 0, max: form.bytes }
    default: return { min: 0, max: 0 }
  }
}

export class ValueCopier extends JsonCopier {
  /** The last integer that was copied. */
  protected lastInteger = 0

  /** Copies a value that is not null. */
  value ({ kind, min, max, members }: Field): boolean {
    switch (kind) {
      case 'integer': return this.#integer(min, max)
      case 'text': return this.#text(max)
      case 'member': return this.#member(members)
      case 'decimal': return this.#decimal(min, max)
      case 'date': return this.source[this.at] === QUOTE && this.#day(false) && this.#close()
      case 'moment': return this.#moment(min === 1, max)
      case 'number': return this.number()
      case 'json': return this.#document()
    }
  }

  #text (bytes: number): boolean {
    const start = this.to
    return this.string(APOSTROPHE) && this.to - start - 2 <= bytes
  }

  #member (members: readonly Uint8Array[]): boolean {
    const start = this.to + 1
    if (!this.string(APOSTROPHE)) return false
    const length = this.to - start - 1
    for (let index = 0; index < members.length; index++) {
      const member = members[index] as Uint8Array
      let same = 0
      while (same < length && this.target[start + same] === member[same]) same++
      if (same === length && length === member.length) return true
    }
    return false
  }

  #integer (min: number, max: number): boolean {
    const { source, at: start } = this
    const isNegative = source[start] === MINUS
    const from = isNegative ? start + 1 : start
    let number = 0
    let end = from
    for (; isDigit(source[end]); end++) number = number * 10 + (source[end] as number) - ZERO
    if (end === from || end - from > MAX_DIGITS || (source[from] === ZERO && (isNegative || end - from > 1)) || isNumberPart(source[end])) return false
    this.lastInteger = isNegative ? -number : number
    if (this.lastInteger < min || this.lastInteger > max) return false
    this.copyUntil(end)
    return true
  }

  /** Of a string that is not negative and has all digits after the point. */
  #decimal (whole: number, scale: number): boolean {
    const { source } = this
    const from = this.at + 1
    let end = this.endOfDigits(from)
    if (end === from || (source[from] === ZERO ? end - from > 1 : end - from > whole)) return false
    if (scale > 0) {
      if (source[end] !== POINT) return false
      const fraction = end + 1
      end = this.endOfDigits(fraction)
      if (end - fraction !== scale) return false
    }
    return source[end] === QUOTE && this.string(APOSTROPHE)
  }

  /** Copies the beginning of a string that begins with a day. `isWhole`: without zero parts, and in a year that TIMESTAMP has. */
  #day (isWhole: boolean): boolean {
    const { source } = this
    const from = this.at + 1
    const month = this.#two(from + 5)
    const day = this.#two(from + 8)
    if (source[from + 4] !== MINUS || source[from + 7] !== MINUS || this.#two(from) > 99 || this.#two(from + 2) > 99 || month > 12 || day > (DAYS[month] as number)) return false
    if (isWhole) {
      const year = 100 * this.#two(from) + this.#two(from + 2)
      if (month === 0 || day === 0 || year < FIRST_YEAR || year > LAST_YEAR) return false
    }
    this.at++
    this.put(APOSTROPHE)
    this.copyUntil(from + 10)
    return true
  }

  #moment (isUtc: boolean, scale: number): boolean {
    const source = this.source
    if (source[this.at] !== QUOTE || !this.#day(isUtc)) return false
    const from = this.at
    if ((source[from] !== CAPITAL_T && source[from] !== SPACE) || source[from + 3] !== COLON || source[from + 6] !== COLON) return false
    if (this.#two(from + 1) > 23 || this.#two(from + 4) > 59 || this.#two(from + 7) > 59) return false
    this.put(SPACE)
    this.at++
    let end = from + 9
    if (source[end] === POINT) {
      const fraction = end + 1
      end = this.endOfDigits(fraction)
      if (end === fraction || end - fraction > scale) return false
    }
    const digits = Math.max(end - from - 10, 0)
    this.copyUntil(end)
    if (digits === 0 && scale > 0) this.put(POINT)
    for (let index = digits; index < scale; index++) this.put(ZERO)
    if (isUtc && source[this.at++] !== CAPITAL_Z) return false
    return this.#close()
  }

  /** The number of two digits; over 99 if there is something else. */
  #two (at: number): number {
    const tens = this.source[at] as number
    const ones = this.source[at + 1] as number
    return isDigit(tens) && isDigit(ones) ? (tens - ZERO) * 10 + ones - ZERO : 100
  }

  /** The end of a string. */
  #close (): boolean {
    this.put(APOSTROPHE)
    return this.source[this.at++] === QUOTE
  }

  #document (): boolean {
    this.put(APOSTROPHE)
    const isCopied = this.json(0, 0)
    this.put(APOSTROPHE)
    return isCopied
  }
}
