/**
 * Copies a list of rows from a JSON body into the text of a statement, in one pass over its bytes. Besides literal.ts, only this folder writes
 * literals. That is safe in the same sessions, because each byte was checked for its place: those of keywords, numbers and dates one by one; and in a
 * text none is a quote, a backslash or a control character, and an apostrophe gets a backslash. The caller has checked that the bytes are
 * UTF-8. What is not in the plainest form of its column (ScanForm) ends the scan: the list is then parsed and written by literal.ts. So a
 * scan accepts only what both ways write as the same text (test/scan/scan-insert.test.ts).
 */
import type { RowList, ScannedRows } from '../../dialect.ts'
import { COLON, COMMA, QUOTE } from './copier.ts'
import { fieldOf, ValueCopier, type Field } from './values.ts'

const [OPEN, CLOSE, CLOSE_LIST, SMALL_N] = [0x7b, 0x7d, 0x5d, 0x6e] as const
const [NULL, NEXT_VALUE, NEXT_ROW] = ['null', ', ', '), ('].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]

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

class RowScanner extends ValueCopier {
  readonly #literals: Buffer
  readonly #list: RowList
  readonly #fields: readonly Field[]
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
      if (isNull ? !field.nullable || !this.word(NULL) : !this.value(field)) return false
      if (place === sortBy && !isNull) this.#sortKey = this.lastInteger
    }
    return this.token() === CLOSE
  }
}

interface ScannedRow { readonly start: number, readonly end: number, readonly key: number }
