/** Rows become JSON objects: from the bytes of MySQL's text protocol, or from values of a driver. */
import type { Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../bounded-map.ts'
import { afterLength, notWhole, readLength, skipValues } from '../dialects/packets.ts'
import { unreadableValue } from '../errors.ts'
import { allOf, inPieces, PART, type LongWork } from '../in-pieces.ts'
import { ValueUnreadable, type LongValue, type WireFormat, type DriverValue } from '../types/column-type.ts'
import type { RowCells } from '../plan/members.ts'
import { copyJson } from '../types/json-text.ts'
import type { Output } from './output.ts'

export type Values = ReadonlyArray<DriverValue | null>

/** What rows of values are written into. Its length is Infinity after a value that is too large for it. */
export type Target = Pick<Output, 'maxBytes' | 'length' | 'reserve' | 'text' | 'part' | 'overflow'>

/** Writes one row; its caller writes the text between rows. */
export interface RowFormat {
  /** `columns`: as the database has them now. */
  begin (columns: readonly Column[]): void
  /** A row of MySQL's text protocol, in `bytes` from `from` to `to`. @throws UNREADABLE_VALUE; Error as `RowSink` */
  textRow (output: Output, bytes: Buffer, from: number, to: number): void
  /** A row of values as a driver returns them, in parts if it is long. @throws UNREADABLE_VALUE */
  values (output: Output, values: Values): LongWork
}

/** A larger row is written in pieces. In bytes. */
const LONG_ROW = 1_048_576

/** It is written in pieces, because it would keep the event loop for too long. */
export const isLongRow = (bytes: number): boolean => bytes > LONG_ROW

const sizeOf = (value: DriverValue | null): number =>
  typeof value === 'string' || (typeof value === 'object' && value !== null) ? value.length : 0

/** Writes a row of values: at once, or a long one in pieces, until `isOver` returns true. */
export function writeRow (work: LongWork, values: Values, isOver: () => boolean): Promise<void> | undefined {
  let size = 0
  for (const value of values) size += sizeOf(value)
  if (isLongRow(size)) return inPieces(work, isOver)
  allOf(work)
  return undefined
}

interface CellLayout {
  /** `{"id":` for the first column, `,"name":` for the next ones. */
  readonly key: Buffer
  readonly keyText: string
  /** How its bytes are copied into JSON; undefined if the `write` of its type is needed. */
  readonly form: WireFormat | undefined
  readonly column: Column
}

interface RowLayout {
  readonly cells: readonly CellLayout[]
  /** Most bytes of a row without its values. */
  readonly overhead: number
}

function createLayout (columns: readonly Column[]): RowLayout {
  const cells = columns.map((column, index): CellLayout => {
    const keyText = `${index === 0 ? '{' : ','}${JSON.stringify(column.name)}:`
    return { key: Buffer.from(keyText), keyText, form: column.type.wireFormat, column }
  })
  // a comma before the row and a brace after it; around each value two quotes and a Z, or null
  return { cells, overhead: cells.reduce((sum, { key }) => sum + key.length + NULL.length, 2) }
}

const [QUOTE, BACKSLASH, CLOSE, FIRST_PRINTABLE, T, Z] = [0x22, 0x5c, 0x7d, 0x20, 0x54, 0x5a] as const
/** Position of the space between day and time: `2026-11-20 10:15:00`. */
export const BETWEEN_DAY_AND_TIME = 10
const NULL = Buffer.from('null')
/** Longer texts are copied and escaped by native functions, which are faster for them than a loop. */
const LONG = 512

/**
 * Writes the row in `bytes` from `offset` to `end`, without the `behind` values that follow those of its columns.
 * Because it runs for every value of every response, it is one function that keeps its position in local variables and
 * reserves memory once per row. @throws UNREADABLE_VALUE; Error if the values do not end with the row
 */
export function writeBytes (
  output: Output,
  { cells, overhead }: RowLayout,
  bytes: Buffer,
  offset: number,
  end: number,
  behind: number
): void {
  output.reserve(
    Math.min(overhead + end - offset, overhead + LONG * cells.length + Math.max(0, output.maxBytes - output.length))
  )
  let target = output.bytes
  let to = output.length
  let at = offset
  for (let index = 0; index < cells.length; index++) {
    const { key, form, column } = cells[index] as CellLayout
    for (let each = 0; each < key.length; each++) target[to++] = key[each] as number
    const length = readLength(bytes, at)
    at = afterLength(bytes, at)
    if (length < 0) {
      for (let each = 0; each < NULL.length; each++) target[to++] = NULL[each] as number
      continue
    }
    if (length > LONG) {
      if (length > end - at) throw notWhole()
      if (length > output.maxBytes - to) return output.overflow()
    }
    const start = at
    at += length
    if (form === 'plain') to = copy(bytes, start, at, target, to)
    else if (
      form === 'escaped'
        ? length <= LONG && copyPlainText(bytes, start, at, target, to)
        : form === 'json' && copyJson(bytes, start, at, target, to)
    ) {
      to += form === 'json' ? length : length + 2
    } else if (form === undefined || form === 'escaped' || form === 'json') {
      output.length = to
      if (form === undefined) output.text(writeValue(column, bytes.subarray(start, at)))
      else writeEscaped(output, bytes, start, at)
      output.reserve(overhead + end - at)
      target = output.bytes
      to = output.length
    } else {
      target[to++] = QUOTE
      to = copy(bytes, start, at, target, to)
      if (form === 'moment' || form === 'instant') target[to - length + BETWEEN_DAY_AND_TIME] = T
      if (form === 'instant') target[to++] = Z
      target[to++] = QUOTE
    }
  }
  if ((behind === 0 ? at : skipValues(bytes, at, behind)) !== end) throw notWhole()
  target[to++] = CLOSE
  output.length = to
}

/**
 * Writes a text in pieces, and checks the limit between them, because a text of control characters becomes six times as
 * long.
 */
function writeEscaped (output: Output, bytes: Buffer, start: number, end: number): void {
  if (end - start <= PART) return output.text(JSON.stringify(bytes.toString('utf8', start, end)))
  output.text('"')
  for (let from = start; from < end && output.length <= output.maxBytes;) {
    let to = Math.min(from + PART, end)
    for (let back = 0; back < 3 && to < end && isWithinCharacter(bytes[to] as number); back++) to--
    output.text(JSON.stringify(bytes.toString('utf8', from, to)).slice(1, -1))
    from = to
  }
  output.text('"')
}

/** Whether the byte of UTF-8 is not the first one of a character. */
const isWithinCharacter = (byte: number): boolean => (byte & 0xc0) === 0x80

/** Returns the position after the copy. */
function copy (bytes: Buffer, start: number, end: number, target: Buffer, to: number): number {
  if (end - start > LONG) return to + bytes.copy(target, to, start, end)
  for (let each = start; each < end; each++) target[to++] = bytes[each] as number
  return to
}

/** Copies a text in quotes, and returns whether no character must be escaped; otherwise only a part of it is copied. */
function copyPlainText (bytes: Buffer, start: number, end: number, target: Buffer, to: number): boolean {
  target[to++] = QUOTE
  for (let each = start; each < end; each++) {
    const byte = target[to++] = bytes[each] as number
    if (byte <= QUOTE ? byte < FIRST_PRINTABLE || byte === QUOTE : byte === BACKSLASH) return false
  }
  target[to] = QUOTE
  return true
}

/** A value in bytes, as text if its type reads texts: a part of a buffer is an object of three times the size. */
export const toDriverValue = ({ type }: Column, bytes: Buffer, start: number, end: number): DriverValue =>
  type.wireFormat === undefined ? bytes.subarray(start, end) : bytes.toString('utf8', start, end)

export function writeValue (column: Column, value: DriverValue, write = column.type.write): string {
  try {
    return write(value)
  } catch (error) {
    throw toRefusal(column, error)
  }
}

const toRefusal = ({ name }: Column, error: unknown): unknown =>
  error instanceof ValueUnreadable ? unreadableValue(name, error.message) : error

export interface CellFormat<T extends Target> {
  readonly nothing: string
  /** `json`: a value as JSON text. */
  short (column: Column, json: string): string
  long (target: T, column: Column, value: LongValue): LongWork
}

export const JSON_CELLS: CellFormat<Target> = {
  nothing: 'null',
  short: (_column, json) => json,
  * long (target, _column, value) {
    for (const part of jsonParts(value)) {
      target.part(part)
      yield part.length
    }
  }
}

export function * jsonParts ({ isText, parts }: LongValue): Generator<string | Buffer> {
  if (!isText) return yield * parts
  yield '"'
  for (const part of parts) yield JSON.stringify(String(part)).slice(1, -1)
  yield '"'
}

/**
 * Writes the cells of a row, of which the first one is at `from` in `values`. If one is larger than the target may
 * become, the target overflows. @throws UNREADABLE_VALUE
 */
export function * writeValues<T extends Target> (
  target: T,
  cells: ReadonlyArray<Pick<CellLayout, 'keyText' | 'column'>>,
  values: Values,
  { nothing, short, long }: CellFormat<T>,
  from = 0
): LongWork {
  let text = ''
  for (let index = 0; index < cells.length; index++) {
    const { keyText, column } = cells[index] as CellLayout
    const value = values[from + index] as DriverValue | null
    const size = sizeOf(value)
    text += keyText
    if (value === null) text += nothing
    else if (size <= PART) text += short(column, writeValue(column, value))
    else {
      target.text(text)
      text = ''
      if (size > target.maxBytes - target.length) return target.overflow()
      target.reserve(size)
      if (column.type.long === undefined) text = short(column, writeValue(column, value))
      else {
        try {
          yield * long(target, column, yield * column.type.long(value))
        } catch (error) {
          throw toRefusal(column, error)
        }
      }
    }
    if (text.length > PART) {
      target.text(text)
      yield text.length
      text = ''
    }
  }
  target.text(text)
}

/**
 * The layouts of rows and joined rows by the columns of their statement, and by their first cell. Requests without
 * `columns` share the list of their table.
 */
const layouts = new WeakMap<readonly Column[], Map<number, RowLayout>>()

/** Where the cells of a row begin among those of its statement, and their columns. */
type PlainCells = Pick<RowCells, 'from' | 'columns'>

/** Rows of columns alone; member-rows.ts has those with members. */
export class JsonRows implements RowFormat {
  readonly #cells: PlainCells
  /** The columns of all cells, as the database has them now. */
  protected columns: readonly Column[]
  #layouts: Map<number, RowLayout> | undefined
  /** Created with the first row. */
  #layout: RowLayout | undefined

  constructor (cells: PlainCells) {
    this.#cells = cells
    this.columns = cells.columns
  }

  begin (columns: readonly Column[]): void {
    this.columns = columns
    this.#layouts = getOrCreate(layouts, columns, () => new Map<number, RowLayout>())
    this.#layout = undefined
  }

  textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    const before = this.#cells.from
    const layout = this.#layout ??= this.layoutOf(this.#cells)
    const start = before === 0 ? from : skipValues(bytes, from, before)
    // such as that of a column which only the order has
    const behind = this.columns.length - before - layout.cells.length
    writeBytes(output, layout, bytes, start, to, behind)
  }

  * values (output: Output, values: Values): LongWork {
    yield * writeValues(output, this.layoutOf(this.#cells).cells, values, JSON_CELLS, this.#cells.from)
    output.text('}')
  }

  protected layoutOf ({ from, columns: { length } }: PlainCells): RowLayout {
    const layouts = (this.#layouts ??= new Map())
    const cached = layouts.get(from)
    if (cached !== undefined) return cached
    const layout = createLayout(this.columns.slice(from, from + length))
    layouts.set(from, layout)
    return layout
  }
}
