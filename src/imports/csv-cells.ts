/** Converts the cells of CSV to values. Cells have the text form in which a stream shows values. */
import type { TSchema } from '@sinclair/typebox'
import type { Column, Table } from '../catalog/catalog.ts'
import { at, columnNotFound, invalidValue, ServiceError } from '../errors.ts'
import { findSyntaxError, lookOver, parseExactJson, repeatsKey } from '../json/exact-json.ts'
import { getWritableColumn, nullOf } from '../plan/assignments.ts'
import type { ReadRows } from '../plan/inserted-rows.ts'
import { type Parameter, storing, ValueRefused } from '../types/column-type.ts'
import { SEPARATORS, type CsvCells } from './csv-parser.ts'
import { requireFewItems } from './row-parser.ts'

/**
 * Looks up the columns of a header. A header of one name that is not a column may have another separator, which the
 * message then says. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE
 */
export function findColumns (table: Table, names: readonly string[], separator: string): Column[] {
  return names.map((name) => {
    const path = ['data', 0, name]
    try {
      return getWritableColumn(table, name, path, 'insert')
    } catch (error) {
      const other = names.length === 1 ? findSeparator(name, separator) : undefined
      if (other === undefined || (error as ServiceError).code !== columnNotFound('', '').code) throw error
      const refusal = columnNotFound(name, `table "${table.name}"; the separator of the CSV seems to be "${other}"`)
      throw at(path, refusal)
    }
  })
}

const findSeparator = (name: string, separator: string): string | undefined =>
  [...SEPARATORS].find(([, character]) => character !== separator && name.includes(character))?.[0]

/** Converts rows to the parameters of an insert. @throws INVALID_VALUE, BODY_TOO_LARGE, with the path of the cell */
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
        const refusal = error instanceof ValueRefused ? invalidValue(name, error.message) : error
        throw refusal instanceof ServiceError ? at(['data', row, name], refusal) : error
      }
      return parameters
    })
  }
}

type ReadCell = (text: string | null) => Parameter

/** @throws by its result: ValueRefused, BODY_TOO_LARGE */
function readerOf (column: Column): ReadCell {
  const { type } = column
  const [none, store] = [nullOf(column), storing(type)]
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
  requireFewItems(text)
  const overview = lookOver(text)
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

/** Whether texts are values of the type. */
const takesText = ({ type, anyOf }: TSchema): boolean =>
  type === 'string' || (anyOf as TSchema[] | undefined)?.some(takesText) === true
