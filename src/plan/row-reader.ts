/**
 * Reads the rows of an insert. Each table and list of columns has one reader, made from the types of the columns, because most rows have
 * the same columns as the row before.
 */
import { mayFillColumns, type Column, type Table } from '../catalog/catalog.ts'
import type { Path } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { Moment, Parameter } from '../types/column-type.ts'
import { getWritableColumn, looksLikeForm, planValue } from './assignments.ts'
import { ResultReference } from './result-reference.ts'

export type Data = Readonly<Record<string, unknown>>

type Parameters = Array<Parameter | Moment>

export interface RowReader {
  readonly columns: readonly Column[]
  /** The missing columns without a default, except if a BEFORE INSERT trigger may fill them, which only the database knows. */
  readonly missing: readonly Column[]
  /** Returns the parameters of a row in the order of the columns; undefined if the row has other columns or a refused value. */
  readonly read: (data: Data) => Parameters | undefined
}

/** Maximum number of readers of a table; the least recently used ones are dropped, and all of them with the table. */
export const MAX_READERS = 16

const kept = new WeakMap<Table, RowReader[]>()

/** The reader of rows with the same columns in the same order. `path`: the path of the row. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE */
export function findReader (table: Table, data: Data, path: Path): RowReader {
  const readers = getOrCreate(kept, table, () => [])
  const names = Object.keys(data)
  const place = readers.findIndex(({ columns }) => areNames(columns, names))
  if (place === 0) return readers[0] as RowReader
  const reader = place < 0 ? createReader(table, names.map((name) => getWritableColumn(table, name, [...path, name], 'insert'))) : readers[place] as RowReader
  if (place > 0) readers.splice(place, 1)
  readers.unshift(reader)
  if (readers.length > MAX_READERS) readers.pop()
  return reader
}

/** Reads a row of these columns. @throws INVALID_VALUE, with the path of the value */
export function readRow (columns: readonly Column[], data: Data, path: Path): Parameters {
  return columns.map((column) => planValue(column, data[column.name], [...path, column.name], false).parameter)
}

function areNames (columns: readonly Column[], names: readonly string[]): boolean {
  if (columns.length !== names.length) return false
  for (let place = 0; place < names.length; place++) if ((columns[place] as Column).name !== names[place]) return false
  return true
}

function createReader (table: Table, columns: readonly Column[]): RowReader {
  const names = columns.map(({ name }) => name)
  const values = columns.map(createValueReader)
  const missing = mayFillColumns(table) ? [] : table.requiredColumns.filter((column) => !columns.includes(column))
  const read: RowReader['read'] = (data) => {
    const parameters = new Array<Parameter | Moment>(names.length)
    let place = 0
    try {
      for (const name in data) {
        if (names[place] !== name) return undefined
        parameters[place] = (values[place] as ReadValue)(data[name])
        place++
      }
    } catch {
      // readRow reads the row again to find the place of the value
      return undefined
    }
    return place === names.length ? parameters : undefined
  }
  return { columns, missing, read }
}

type ReadValue = (given: unknown) => Parameter | Moment

/** Whether an object is a plain value: neither a form nor a reference to an earlier result. */
const isPlain = (given: object | null): given is object => given !== null && !(given instanceof ResultReference) && !looksLikeForm(given)

function createValueReader (column: Column): ReadValue {
  const { read, stored, structured } = column.type
  const readObject: ReadValue = (given) => planValue(column, given, [], false).parameter
  if (stored !== undefined) return (given) => typeof given === 'object' ? readObject(given) : stored(read(given))
  if (!structured) return (given) => typeof given === 'object' ? readObject(given) : read(given)
  return (given) => typeof given !== 'object' || isPlain(given) ? read(given) : readObject(given)
}
