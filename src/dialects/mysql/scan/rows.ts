/**
 * Copies a list of rows from a JSON body into the text of a statement, in one pass over its bytes. Besides literal.ts, only this folder writes
 * literals. That is safe in the same sessions, because each byte was checked for its place: those of keywords, numbers and dates one by one; and in a
 * text none is a quote, a backslash or a control character, and an apostrophe gets a backslash. The caller has checked that the bytes are
 * UTF-8. What is not in the plainest form of its column (ScanForm) ends the scan: the list is then parsed and written by literal.ts. So a
 * scan accepts only what both ways write as the same text (test/scan/scan-insert.test.ts).
 */
import type { Column } from '../../../catalog/catalog.ts'
import { getOrCreate } from '../../../get-or-create.ts'
import type { ScanForm } from '../../../types/column-type.ts'
import type { RowList, ScannedRows } from '../../dialect.ts'
import { APOSTROPHE, COLON, COMMA, isDigit, isNumberPart, MINUS, POINT, QUOTE, SPACE, ZERO } from './copier.ts'
import { JsonCopier } from './json.ts'

const [OPEN, CLOSE, CLOSE_LIST, SMALL_N, CAPITAL_T, CAPITAL_Z] = [0x7b, 0x7d, 0x5d, 0x6e, 0x54, 0x5a] as const
const [NULL, NEXT_VALUE, NEXT_ROW] = ['null', ', ', '), ('].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]

/** Digits of an integer that is exact as a double. */
const MAX_DIGITS = 15
/** Days of each month, also of month 0, in every year. */
const DAYS = [31, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const
/** Years with all moments that a TIMESTAMP can store. */
const [FIRST_YEAR, LAST_YEAR] = [1971, 2037] as const

/** A column of the list; one kind of object for all forms. */
interface Field {
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
function fieldOf (column: Column): Field | undefined {
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

/** Bytes of the literals of a list of usual size. */
const USUAL = 1 << 18

/** Shared by all such lists: nothing else runs during a scan. */
let shared: Buffer | undefined

/** @returns undefined if the bytes have anything else than rows of these columns, in this order and in their plainest form */
export function scanRows (list: RowList): ScannedRows | undefined {
  const wanted = list.columns.map(fieldOf)
  if (wanted.includes(undefined)) return undefined
  return new RowScanner(list, wanted as Field[]).scan()
}

class RowScanner extends JsonCopier {
  readonly #literals: Buffer
  readonly #list: RowList
  readonly #fields: readonly Field[]
  /** The last integer that was copied. */
  #number = 0
  /** What the row is sorted by; infinite if it has no value for that. */
  #sortKey = Infinity

  constructor (list: RowList, wanted: readonly Field[]) {
    const { bytes, from, to } = list
    // a literal is never twice as long as its key and value
    const size = 2 * (to - from)
    const target = size <= USUAL ? shared ??= Buffer.allocUnsafeSlow(USUAL) : Buffer.allocUnsafeSlow(size)
    super(bytes, from, target)
    this.#literals = target
    this.#list = list
    this.#fields = wanted
  }

  scan (): ScannedRows | undefined {
    const { to, maxRows, sortBy } = this.#list
    const rows: ScannedRow[] = []
    let count = 0
    let isSorted = true
    let last = -Infinity
    for (;;) {
      const start = this.to
      if (count++ === maxRows || !this.#row()) return undefined
      if (sortBy !== undefined) {
        rows.push({ start, end: this.to, key: this.#sortKey })
        isSorted &&= last <= this.#sortKey
        last = this.#sortKey
      }
      const next = this.token()
      if (next === CLOSE_LIST) break
      if (next !== COMMA) return undefined
      this.copyWord(NEXT_ROW)
    }
    if (this.at !== to || this.to > this.target.length) return undefined
    return { literals: isSorted ? this.#literals.toString('utf8', 0, this.to) : this.#sort(rows), count }
  }

  /** Rows with equal keys, and those without one at the end, keep their order. */
  #sort (rows: ScannedRow[]): string {
    const sorted = Buffer.allocUnsafe(this.to)
    let to = 0
    for (const { start, end } of rows.sort((a, b) => a.key < b.key ? -1 : Number(a.key > b.key))) {
      if (to > 0) to += NEXT_ROW.copy(sorted, to)
      to += this.#literals.copy(sorted, to, start, end)
    }
    return sorted.toString('utf8', 0, to)
  }

  /** Copies the values of a row. */
  #row (): boolean {
    const fields = this.#fields
    const { mayOmitFirst, sortBy } = this.#list
    let isFirst = true
    this.#sortKey = Infinity
    if (this.token() !== OPEN) return false
    for (let place = 0; place < fields.length; place++) {
      const field = fields[place] as Field
      if (place > 0) this.copyWord(NEXT_VALUE)
      if ((!isFirst && this.token() !== COMMA) || this.token() !== QUOTE) return false
      this.at--
      if (!this.skip(field.key)) {
        if (place > 0 || !mayOmitFirst) return false
        this.copyWord(NULL)
        continue
      }
      isFirst = false
      if (this.token() !== COLON) return false
      const isNull = this.token() === SMALL_N
      this.at--
      if (isNull ? !field.nullable || !this.word(NULL) : !this.#value(field)) return false
      if (place === sortBy && !isNull) this.#sortKey = this.#number
    }
    return this.token() === CLOSE
  }

  #value ({ kind, min, max, members }: Field): boolean {
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
    this.#number = isNegative ? -number : number
    if (this.#number < min || this.#number > max) return false
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

interface ScannedRow { readonly start: number, readonly end: number, readonly key: number }
