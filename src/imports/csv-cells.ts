/** Converts the cells of CSV to the rows of `data`. Cells have the text form in which a stream shows values. */
import type { TSchema } from '@sinclair/typebox'
import type { Column, Table } from '../catalog/catalog.ts'
import { at, columnNotFound, invalidValue, type Path, ServiceError } from '../errors.ts'
import { findSyntaxError, isObject, lookOver, parseExactJson, repeatsKey } from '../json/exact-json.ts'
import { getWritableColumn } from '../plan/assignments.ts'
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

/** Converts rows. `first`: the index of the first one in paths. @throws INVALID_VALUE */
export function toData (rows: readonly CsvCells[], columns: readonly Column[], first = 0): object[] {
  return rows.map((cells, row) => {
    const data: Record<string, unknown> = {}
    for (const [index, column] of columns.entries()) {
      const text = cells[index]
      const value = text == null ? null : readCell(column, text, ['data', first + row, column.name])
      // also for a column that is called __proto__
      if (column.name in data) Object.defineProperty(data, column.name, { value, ...OWN })
      else data[column.name] = value
    }
    return data
  })
}

const OWN = { enumerable: true, configurable: true, writable: true } as const

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/

/** Converts a cell to the JSON value of its type, which the planner judges as any other. */
function readCell ({ name, type }: Column, text: string, path: Path): unknown {
  if (type.structured) {
    const value = parseCell(name, text, path)
    if (value === null && type.holdsJson !== true) throw at(path, invalidValue(name, 'for NULL, leave the cell empty'))
    // null alone is NULL, and an object whose keys begin with `$` would be read as an operator
    return type.holdsJson === true && (value === null || isObject(value)) ? { $eq: value } : value
  }
  if (takesText(type.schema)) return text
  if (text === 'true' || text === 'false') return text === 'true'
  return NUMBER.test(text) ? parseExactJson(text) : text
}

function parseCell (name: string, text: string, path: Path): unknown {
  try {
    requireFewItems(text)
    const overview = lookOver(text)
    const value = parseExactJson(text, overview)
    if (repeatsKey(overview, value)) throw at(path, invalidValue(name, 'a name appears twice in one object'))
    return value
  } catch (error) {
    if (error instanceof ServiceError) throw at(path, error)
    const place = error instanceof RangeError ? undefined : findSyntaxError(text)
    throw at(path, invalidValue(name, ['is not valid JSON', ...(place === undefined ? [] : [place])].join(', ')))
  }
}

/** Whether texts are values of the type. */
const takesText = ({ type, anyOf }: TSchema): boolean =>
  type === 'string' || (anyOf as TSchema[] | undefined)?.some(takesText) === true
