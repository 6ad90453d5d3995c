/**
 * CSV (RFC 4180) in parts of any size. The state is inside a cell, so that a cell that arrives in many parts is not
 * read again with each of them.
 */
import type { TSchema } from '@sinclair/typebox'
import type { Column, Table } from '../catalog/catalog.ts'
import { at, invalidBody, type Path, ServiceError, columnNotFound, invalidValue } from '../errors.ts'
import { findSyntaxError, parseExactJson, repeatsKey } from '../json/exact-json.ts'
import { nullOf } from '../plan/assignments.ts'
import { getWritableColumn } from '../plan/columns.ts'
import type { ReadRows } from '../plan/inserted-rows.ts'
import { type Parameter, ValueRefused } from '../types/column-type.ts'
import { atLine, lookOverValue, type RowParser } from './row-parser.ts'

export const SEPARATORS: ReadonlyMap<string, string> = new Map([[',', ','], [';', ';'], ['tab', '\t']])

const [LF, CR, QUOTE] = [0x0a, 0x0d, 0x22] as const

/** The largest header, in characters: a cell takes many times the memory of its text. */
const MAX_HEADER = 1_048_576

/** Null for a cell with nothing, which is NULL. */
export type CsvCells = ReadonlyArray<string | null>

export class CsvParser implements RowParser<CsvCells> {
  readonly #separator: number
  #names: readonly string[] = []
  #headerLength = 0
  #state: 'start' | 'plain' | 'quoted' | 'afterQuote' = 'start'
  /** The text of the cell so far. */
  #text = ''
  #cells: Array<string | null> = []
  /** Cells so far; those beyond the header are not kept. */
  #width = 0
  /** The line in which the quotes of the cell have begun. */
  #quoteLine = 1
  /** A LF belongs to the CR before it. */
  #isAfterCr = false
  #count = 0
  #isOverLine = false
  row: CsvCells | undefined
  line = 1
  rowLine = 1
  lastLine = 0
  /** Called with the names of the header. */
  onNames: (names: readonly string[]) => void = () => {}
  headerLine = 1

  /** `separator`: of SEPARATORS. */
  constructor (separator = ',') {
    this.#separator = separator.charCodeAt(0)
  }

  /** None until the header has been read. */
  get names (): readonly string[] {
    return this.#names
  }

  get isBetween (): boolean {
    return this.#state === 'start' && this.#cells.length === 0
  }

  read (text: string, from: number): number {
    this.#begin()
    let index = from
    this.#isOverLine = false
    while (index < text.length && !this.#isOverLine) {
      if (this.#state === 'quoted') index = this.#readQuoted(text, index)
      else if (this.#state === 'afterQuote') index = this.#readAfterQuote(text, index)
      else if (this.#isAfterCr && text.charCodeAt(index) === LF) {
        this.#isAfterCr = false
        index++
      } else index = this.#readPlain(text, index)
    }
    if (this.#names.length === 0) this.#limitHeader(index - from)
    return index
  }

  #limitHeader (more: number): void {
    this.#headerLength = this.isBetween ? 0 : this.#headerLength + more
    if (this.#headerLength <= MAX_HEADER) return
    throw atLine(invalidBody(`The header of the CSV has more than ${MAX_HEADER} characters`), this.rowLine)
  }

  end (): void {
    this.#begin()
    if (this.#state === 'quoted') {
      throw this.#refuse('a quote is not closed', this.#quoteLine)
    }
    if (this.#state !== 'start' || this.#cells.length > 0) this.#endRow()
    if (this.#names.length === 0) throw atLine(invalidBody('The CSV must begin with a line of column names'), this.line)
  }

  #readPlain (text: string, from: number): number {
    this.#isAfterCr = false
    const separator = this.#separator
    let end = from
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end)
      if (code === separator || code === LF || code === CR || code === QUOTE) break
    }
    if (end > from) {
      this.#text += text.slice(from, end)
      this.#state = 'plain'
    }
    if (end === text.length) return end
    if (text.charCodeAt(end) === QUOTE) {
      if (this.#state === 'plain') throw this.#refuse('a cell with a quote in it must begin and end with one')
      this.#state = 'quoted'
      this.#quoteLine = this.line
      return end + 1
    }
    return this.#endCell(text, end)
  }

  #readQuoted (text: string, from: number): number {
    let part = ''
    let start = from
    let end = text.indexOf('"', from)
    for (; end >= 0 && text.charCodeAt(end + 1) === QUOTE; end = text.indexOf('"', start)) {
      part += text.slice(start, end + 1)
      start = end + 2
    }
    part += text.slice(start, end < 0 ? text.length : end)
    // also makes V8 copy the pieces into one text: they take many times its memory
    this.#countLines(part)
    this.#text += part
    if (end < 0) return text.length
    this.#state = 'afterQuote'
    return end + 1
  }

  #countLines (part: string): void {
    if (part === '') return
    if (part.includes('\n') || part.includes('\r')) {
      let isAfterCr = this.#isAfterCr
      for (let index = 0; index < part.length; index++) {
        const code = part.charCodeAt(index)
        if (code === CR || (code === LF && !isAfterCr)) this.line++
        isAfterCr = code === CR
      }
    }
    this.#isAfterCr = part.charCodeAt(part.length - 1) === CR
  }

  #readAfterQuote (text: string, from: number): number {
    const code = text.charCodeAt(from)
    this.#isAfterCr = false
    if (code === this.#separator || code === LF || code === CR) return this.#endCell(text, from)
    if (code !== QUOTE) throw this.#refuse('there is text behind a closing quote')
    // a pair, which the parts have divided
    this.#text += '"'
    this.#state = 'quoted'
    return from + 1
  }

  /** Ends the cell at its separator or at the end of its row. Returns the position after that. */
  #endCell (text: string, end: number): number {
    const code = text.charCodeAt(end)
    if (code === this.#separator) this.#pushCell()
    else {
      this.#isAfterCr = code === CR
      this.#endRow()
    }
    return end + 1
  }

  #pushCell (): void {
    const text = this.#text
    this.#width++
    if (this.#names.length === 0 || this.#width <= this.#names.length) {
      this.#cells.push(text === '' && this.#state !== 'afterQuote' ? null : text)
    }
    this.#text = ''
    this.#state = 'start'
  }

  #endRow (): void {
    const isBlank = this.#cells.length === 0 && this.#state === 'start'
    if (!isBlank || this.#names.length === 1) {
      this.#pushCell()
      this.#takeRow(this.#cells)
      this.#cells = []
      this.#width = 0
    }
    this.#isOverLine = true
    this.lastLine = this.line
    this.line++
    if (this.row === undefined) this.rowLine = this.line
  }

  #takeRow (cells: ReadonlyArray<string | null>): void {
    const { length } = this.#names
    if (length === 0) {
      this.headerLine = this.rowLine
      this.#names = namesOf(cells, this.rowLine)
      this.onNames(this.#names)
      return
    }
    if (this.#width !== length) {
      const separator = JSON.stringify(String.fromCharCode(this.#separator))
      const hint = this.#width > length ? `; a cell with ${separator} in it must be in quotes` : ''
      const refusal = invalidBody(`The row has ${this.#width} cells, and the header ${length}${hint}`)
      throw atLine(at(['data', this.#count], refusal), this.rowLine)
    }
    this.#count++
    this.row = cells
  }

  #begin (): void {
    if (this.row === undefined) return
    this.row = undefined
    this.rowLine = this.line
  }

  #refuse (reason: string, line = this.line): ServiceError {
    const name = this.#names[this.#cells.length]
    const path: Path = this.#names.length === 0 ? [] : ['data', this.#count, ...(name === undefined ? [] : [name])]
    return atLine(at(path, invalidBody(`The CSV is malformed: ${reason}`)), line)
  }
}

function namesOf (cells: ReadonlyArray<string | null>, line: number): string[] {
  const names = new Set<string>()
  for (const name of cells) {
    if (name === null || name === '') throw atLine(at('', invalidBody('A column of the header has no name')), line)
    if (names.has(name)) throw atLine(at('', invalidBody(`The header has the column "${name}" twice`)), line)
    names.add(name)
  }
  return [...names]
}

// Cells have the text form in which a stream shows values.

/**
 * The message says if a header of one name that is not a column may have another separator. @throws COLUMN_NOT_FOUND,
 * COLUMN_NOT_WRITABLE
 */
export function findColumns (table: Table, names: readonly string[], separator: string): Column[] {
  return names.map((name) => {
    const path = ['data', 0, name]
    try {
      return getWritableColumn(table, name, path, 'insert')
    } catch (error) {
      const likely = names.length === 1 ? findSeparator(name, separator) : undefined
      if (likely === undefined || (error as ServiceError).code !== columnNotFound('', '').code) throw error
      const hint = `; the cells seem to be separated by "${likely}": send them with ?separator=${likely}`
      throw at(path, columnNotFound(name, `table "${table.name}"`, hint))
    }
  })
}

const findSeparator = (name: string, separator: string): string | undefined =>
  [...SEPARATORS].find(([, character]) => character !== separator && name.includes(character))?.[0]

/** @throws INVALID_VALUE, BODY_TOO_LARGE, with the path of the cell */
export function readCells (rows: readonly CsvCells[], columns: readonly Column[]): ReadRows {
  const readers = columns.map(readerOf)
  return {
    columns,
    rows: rows.map((texts, row) => {
      const parameters = new Array<Parameter>(readers.length)
      let index = 0
      try {
        for (; index < readers.length; index++) parameters[index] = (readers[index] as ReadCell)(texts[index] ?? null)
      } catch (error) {
        const { name } = columns[index] as Column
        const refusal = error instanceof ValueRefused
          ? invalidValue(name, describeCell(texts[index] ?? null, error.message, columns[index] as Column))
          : error
        throw refusal instanceof ServiceError ? at(['data', row, name], refusal) : error
      }
      return parameters
    })
  }
}

/** Characters of a cell in a message. */
const SHOWN = 40
/** Numbers as people of many countries write them. */
const WITH_COMMA = /^\s*[-+]?[\d.\s]*\d,\d+\s*$/

/** What JSON alone has is left out of the reason. */
function describeCell (text: string | null, reason: string, { type }: Column): string {
  const plain = reason.replace(/,? (?:as a string or a number|or a string of digits)$/, '')
  if (text === null) return plain
  const shown = JSON.stringify(text.slice(0, SHOWN).toWellFormed()) + (text.length > SHOWN ? '…' : '')
  const hint = type.totals !== undefined && WITH_COMMA.test(text) ? '; a number has a decimal point, not a comma' : ''
  return `${plain}; the cell is ${shown}${hint}`
}

type ReadCell = (text: string | null) => Parameter

/** @throws by its result: ValueRefused, BODY_TOO_LARGE */
function readerOf (column: Column): ReadCell {
  const { type } = column
  const [none, store] = [nullOf(column), type.store]
  if (!type.structured) {
    const read = takesText(type.schema) ? store : (text: string) => store(readScalar(text))
    return (text) => text === null ? none : read(text)
  }
  return (text) => {
    if (text === null) return none
    const value = parseCell(text)
    if (value !== null) return store(value)
    if (type.ownNull === undefined) throw new ValueRefused('for NULL, leave the cell empty')
    return type.ownNull
  }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
/** Whole numbers that are exact in a double. */
const SMALL = /^(?:0|-?[1-9]\d{0,14})$/

function readScalar (text: string): unknown {
  if (SMALL.test(text)) return Number(text)
  if (text === 'true' || text === 'false') return text === 'true'
  return NUMBER.test(text) ? parseExactJson(text) : text
}

/** @throws ValueRefused, BODY_TOO_LARGE */
function parseCell (text: string): unknown {
  const overview = lookOverValue(text)
  let value: unknown
  try {
    value = parseExactJson(text, overview)
  } catch (error) {
    const place = error instanceof RangeError ? undefined : findSyntaxError(text)
    throw new ValueRefused(['is not valid JSON', ...(place === undefined ? [] : [place])].join(', '))
  }
  if (repeatsKey(overview, value)) throw new ValueRefused('a name appears twice in one object')
  return value
}

/** As an unquoted cell, not NULL. Without a column: JSON text. @throws ValueRefused, BODY_TOO_LARGE */
export function readText (column: Column | undefined, text: string): unknown {
  if (column === undefined || column.type.structured) return parseCell(text)
  return takesText(column.type.schema) ? text : readScalar(text)
}

const takesText = ({ type, anyOf }: TSchema): boolean =>
  type === 'string' || (anyOf as TSchema[] | undefined)?.some(takesText) === true
