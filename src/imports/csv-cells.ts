/** Converts the cells of CSV to the rows of `data`. Cells have the text form in which a stream shows values. */
import type { TSchema } from '@sinclair/typebox'
import type { Column, Table } from '../catalog/catalog.ts'
import { at, columnNotFound, invalidValue, type Path, ServiceError } from '../errors.ts'
import { findSyntaxError, isObject, lookOver, parseExactJson, repeatsKey } from '../json/exact-json.ts'
import { getWritableColumn, looksLikeForm } from '../plan/assignments.ts'
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
  const cells = columns.map(toCell)
  return rows.map((texts, row) => {
    const data: Record<string, unknown> = {}
    for (let index = 0; index < cells.length; index++) {
      const { name, isInherited, read } = cells[index] as Cell
      const text = texts[index]
      const value = text == null ? null : read(text, first + row)
      if (isInherited) Object.defineProperty(data, name, { value, ...OWN })
      else data[name] = value
    }
    return data
  })
}

const OWN = { enumerable: true, configurable: true, writable: true } as const

/** How the cells of a column are read. */
interface Cell {
  readonly name: string
  /** Whether objects have the name already, such as `__proto__`, which cannot be assigned. */
  readonly isInherited: boolean
  /** Converts a cell to the JSON value of its type, which the planner judges as any other. */
  readonly read: (text: string, row: number) => unknown
}

function toCell ({ name, type }: Column): Cell {
  const cell = { name, isInherited: name in Object.prototype }
  if (type.structured) {
    const holdsJson = type.holdsJson === true
    return {
      ...cell,
      read (text, row) {
        const path = ['data', row, name]
        const value = parseCell(name, text, path)
        if (value === null && !holdsJson) throw at(path, invalidValue(name, 'for NULL, leave the cell empty'))
        // null alone is NULL, and an object whose keys begin with `$` would be read as an operator
        return holdsJson && (value === null || (isObject(value) && looksLikeForm(value))) ? { $eq: value } : value
      }
    }
  }
  return { ...cell, read: takesText(type.schema) ? (text) => text : readScalar }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
/** Whole numbers that are exact in a double. */
const SMALL = /^(?:0|-?[1-9]\d{0,14})$/

function readScalar (text: string): unknown {
  if (SMALL.test(text)) return Number(text)
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
