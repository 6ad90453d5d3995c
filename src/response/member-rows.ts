/**
 * Joined rows are written with their row. Lists, which statements of their own read, are inserted when all of their
 * rows have been read.
 */
import { baseTable, type Column, traitsOf } from '../catalog/catalog.ts'
import { StaleCatalog } from '../dialects/dialect.ts'
import { afterLength, findStarts, readLength } from '../dialects/packets.ts'
import type { LongWork } from '../in-pieces.ts'
import { parseExactJson } from '../json/exact-json.ts'
import type { Cells, LinkCells, RowCells } from '../plan/members.ts'
import type { ListMember } from '../plan/plan.ts'
import { NOT_TEXT, RELATED_TEXT, ValueRefused, type DriverValue, type Value } from '../types/column-type.ts'
import {
  JSON_CELLS, JsonRows, type Target, toDriverValue, type Values, writeBytes, writeValue, writeValues
} from './json-rows.ts'
import type { Output } from './output.ts'

const CLOSE = 0x7d

/** In bytes, about. */
const GAP_SIZE = 64

/** Where the cells of the row in bytes begin that is being written, and where it ends. All responses share it. */
let starts = new Uint32Array(64)

const NO_LISTS: ReadonlyMap<LinkCells, RelatedLists> = new Map()

type ValueAt = (cell: number) => DriverValue | null

export class MemberRows extends JsonRows {
  readonly #row: RowCells
  #bytes: Buffer | undefined
  readonly lists: ReadonlyMap<LinkCells, RelatedLists>
  /** The places of lists in the rows that have been written, in their order. */
  readonly gaps: Gap[] = []
  /** Memory of the values by which rows are related, in bytes, about. */
  #sizeOfValues = 0

  constructor ({ row, links }: Pick<Cells, 'row' | 'links'>) {
    super(row)
    this.#row = row
    this.lists = links.length === 0 ? NO_LISTS : new Map(links.map((link) => [link, new RelatedLists(link.member)]))
  }

  /** Removes the gaps after so many, and without any the values of all rows. */
  clear (from = 0): void {
    this.gaps.length = from
    if (from > 0) return
    this.#sizeOfValues = 0
    for (const lists of this.lists.values()) lists.clear()
  }

  /** Memory of the gaps, and of the values by which rows are related, in bytes, about. */
  get size (): number {
    return GAP_SIZE * this.gaps.length + this.#sizeOfValues
  }

  override textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    this.readRow(bytes, from, to)
    this.writeRow(output, this.#row)
  }

  /** The cells stay until the next row. @throws Error if they do not end with this one */
  readRow (bytes: Buffer, from: number, to: number): void {
    const { length } = this.columns
    this.#bytes = bytes
    if (starts.length <= length) starts = new Uint32Array(length + 1)
    findStarts(bytes, from, to, starts, length)
  }

  readonly at = (cell: number): DriverValue | null => {
    const bytes = this.#bytes as Buffer
    const start = starts[cell] as number
    const length = readLength(bytes, start)
    const from = afterLength(bytes, start)
    return length < 0 ? null : toDriverValue(this.columns[cell] as Column, bytes, from, from + length)
  }

  /** Without iterators and parts of buffers. @throws UNREADABLE_VALUE */
  writeRow (output: Output, cells: RowCells): void {
    const bytes = this.#bytes as Buffer
    const layout = this.layoutOf(cells)
    const { from, members } = cells
    writeBytes(output, layout, bytes, starts[from] as number, starts[from + layout.cells.length] as number, 0)
    if (members.length === 0) return
    output.length-- // without its closing brace
    for (let index = 0; index < members.length; index++) {
      const member = members[index] as RowCells['members'][number]
      if (member.kind === 'link') this.#addList(output, member, this.at)
      else {
        const isPresent = readLength(bytes, starts[member.presence] as number) >= 0
        output.text(member.before)
        if (isPresent) this.writeRow(output, member.row)
        else output.text('null')
      }
    }
    output.byte(CLOSE)
  }

  override values (output: Output, values: Values): LongWork {
    return this.writeValues(output, values, this.#row)
  }

  /** Writes the values of a row, or those of a joined row. @throws UNREADABLE_VALUE */
  * writeValues (target: Target, values: Values, cells: RowCells): LongWork {
    const at: ValueAt = (cell) => values[cell] as DriverValue | null
    yield * writeValues(target, this.layoutOf(cells).cells, values, JSON_CELLS, cells.from)
    for (const member of cells.members) {
      if (member.kind === 'link') this.#addList(target, member, at)
      else {
        const isPresent = at(member.presence) !== null
        target.text(member.before)
        if (isPresent) yield * this.writeValues(target, values, member.row)
        else target.text('null')
      }
    }
    target.text('}')
  }

  #addList (target: Target, link: LinkCells, at: ValueAt): void {
    const lists = this.lists.get(link) as RelatedLists
    const { size } = lists
    const list = lists.of(at, link.links)
    this.#sizeOfValues += lists.size - size
    target.text(lists.before)
    this.gaps.push({ at: target.length, list })
    if (lists.isOfRows) target.text(']')
  }
}

/** A place for a list, behind so many bytes of an output. */
export interface Gap { readonly at: number, readonly list: RelatedList }

/** A part of an output with its gaps, which are those from `gap` up to but without `gapEnd`. */
export interface Fragment {
  readonly output: Output
  readonly gaps: readonly Gap[]
  start: number
  end: number
  gap: number
  gapEnd: number
}

/** The rows that are related to the same values, with commas between them. */
export interface RelatedList {
  /** Its index among the lists whose rows must be read; the rows of a statement for several lists name it. */
  readonly id: number
  readonly values: readonly Value[]
  /** The text in place of rows, if there are none. */
  readonly empty: string
  count: number
  rows: Fragment | undefined
}

/** Stops and returns false if the target takes no more. */
export function writeFragment (
  target: Output,
  { output: { bytes }, gaps, start, end, gap, gapEnd }: Fragment,
  isFull: () => boolean
): boolean {
  let from = start
  for (let next = gap; next < gapEnd; next++) {
    const { at, list: { rows, empty } } = gaps[next] as Gap
    target.copy(bytes, from, at)
    from = at
    if (rows === undefined) target.text(empty)
    else if (isFull() || !writeFragment(target, rows, isFull)) return false
  }
  target.copy(bytes, from, end)
  return !isFull()
}

/** Of different values of `on`, in bytes, about, without their texts. */
const VALUES_SIZE = 256
/** Bytes of a character of the values, at most: it is in the key and in the parameters. */
const CHARACTER_SIZE = 4
/** A double represents them exactly. */
const SAFE_DIGITS = 15

/** One list for each different value of `on` in the rows that have the member. */
export class RelatedLists {
  readonly #member: ListMember
  /** The driver's values are parameters themselves. */
  readonly #isNative: boolean
  readonly #byKey = new Map<string, RelatedList>()
  /** Those whose rows must be read. */
  readonly lists: RelatedList[] = []
  /** The list of NULL, and of values that the other column cannot store: no row is related to them. */
  readonly #none: RelatedList
  /** A list, rather than the object of a first row or of computed values. */
  readonly isOfRows: boolean
  readonly before: string
  /** Memory of the values, in bytes, about. */
  size = 0

  constructor (member: ListMember) {
    this.#member = member
    this.isOfRows = member.kind === 'many' && member.isObject !== true
    this.before = `,"${member.name}":${this.isOfRows ? '[' : ''}`
    // nothing in a list, null, or the values of the functions for no rows
    const empty = member.kind === 'computed'
      ? `{${member.columns.map(({ name, nullable }) => `${JSON.stringify(name)}:${nullable ? 'null' : '0'}`).join()}}`
      : member.isObject === true ? 'null' : ''
    this.#none = { id: -1, values: [], empty, count: 0, rows: undefined }
    this.#isNative = traitsOf(baseTable(member.table)).sendsValues
  }

  clear (): void {
    this.#byKey.clear()
    this.lists.length = 0
    this.size = 0
  }

  /** The list for the values in these cells of a row. It runs for each row. @throws UNREADABLE_VALUE */
  of (at: ValueAt, cells: readonly number[]): RelatedList {
    const { on } = this.#member
    const given = new Array<DriverValue>(cells.length)
    for (let index = 0; index < cells.length; index++) {
      const value = at(cells[index] as number)
      if (value === null) return this.#none
      given[index] = value
    }
    const texts = new Array<string>(cells.length)
    for (let index = 0; index < given.length; index++) {
      const value = given[index] as DriverValue
      texts[index] = this.#isNative && value !== NOT_TEXT
        ? nativeKey(value)
        : writeValue((on[index] as ListMember['on'][number]).column, value)
    }
    const key = texts.join()
    const existing = this.#byKey.get(key)
    if (existing !== undefined) return existing
    const values = this.#isNative ? given as Value[] : this.#toParameters(texts)
    const { empty } = this.#none
    const list =
      values === undefined ? this.#none : { id: this.lists.length, values, empty, count: 0, rows: undefined }
    if (values !== undefined) this.lists.push(list)
    this.#byKey.set(key, list)
    this.size += VALUES_SIZE + CHARACTER_SIZE * key.length
    return list
  }

  /**
   * The list for the value in a row of the other table, if `on` is one pair of columns that are not texts. @throws
   * UNREADABLE_VALUE
   */
  find (value: DriverValue): RelatedList {
    const { other } = this.#member.on[0] as ListMember['on'][number]
    const list = this.#byKey.get(writeValue(other, value))
    // the column has another scale than the catalog knows, so that equal values have other texts
    if (list === undefined) throw new StaleCatalog()
    return list
  }

  /** `texts`: the values as JSON. Undefined if the other table cannot have them. */
  #toParameters (texts: readonly string[]): Value[] | undefined {
    const parameters = new Array<Value>(texts.length)
    for (let index = 0; index < texts.length; index++) {
      const text = texts[index] as string
      const { column, other } = this.#member.on[index] as ListMember['on'][number]
      if (column.type.relatedAs === RELATED_TEXT) {
        // as it is, because a collation may consider texts with more characters equal
        parameters[index] = JSON.parse(text)
        continue
      }
      const value = isNumber(column, text) ? Number(text) : parseExactJson(text)
      // such as bytes that BINARY would fill up with zero bytes, with which they are not equal
      if (other.type.keeps?.(value) === false) return undefined
      const parameter = readIf(other, value)
      if (parameter === undefined) {
        // the column has been widened, and perhaps the other one too
        if (readIf(column, value) === undefined) throw new StaleCatalog()
        return undefined
      }
      parameters[index] = parameter
    }
    return parameters
  }
}

/** Undefined if the column cannot store it, as far as the catalog knows. */
function readIf ({ type }: Column, value: unknown): Value | undefined {
  try {
    return type.read(value)
  } catch (error) {
    if (error instanceof ValueRefused) return undefined
    throw error
  }
}

/** An integer needs no exact parser. */
const isNumber = ({ type }: Column, text: string): boolean => type.wholeNumbers === true && text.length <= SAFE_DIGITS

/** Different for different values; the same value may have several keys. */
function nativeKey (value: DriverValue): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'object' ? `x${Buffer.from(value).toString('hex')}` : String(value)
}
