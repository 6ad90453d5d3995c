import type { InsertBody } from '../../schemas/body.ts'
import { type Column, type Table } from '../catalog/catalog.ts'
import { at, missingColumn, pointer, withDetails, type Path } from '../errors.ts'
import { getWritableColumn } from './assignments.ts'
import { planConflict } from './conflict.ts'
import { isAnyOrder, sortByKey } from './key-order.ts'
import type { Conflict, InsertPlan, PlannedRow } from './plan.ts'
import { findReader, readRow, type Data, type RowReader } from './row-reader.ts'
import { onlyValueOf } from './rule.ts'
import { isPlainWrite, planWriteTerms } from './terms.ts'

/** Plans an insert. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, MISSING_COLUMN, INVALID_BODY for the key of a conflict, NOT_SUPPORTED */
export function planInsert (body: InsertBody, table: Table): InsertPlan {
  const { data, onConflict } = body
  const conflict = onConflict === undefined ? undefined : planConflict(onConflict, table)
  const isList = Array.isArray(data)
  const planner = new RowPlanner(table, conflict, isList)
  const planned = isList ? data.map((row, index) => planner.plan(row, index)) : [planner.plan(data, 0)]
  const rows = conflict === undefined || !isAnyOrder(planned, conflict, table) ? planned : sortByKey(planned, conflict.key)
  const terms = isPlainWrite(body) ? undefined : planWriteTerms(body, table)
  return Object.freeze({ verb: 'insert', table, rows, isList, conflict, ...terms })
}

/** The number of readers that are tried before a row's columns are looked up: most lists have rows of one or two kinds. */
const FEW = 4

/** Plans rows one by one. */
class RowPlanner {
  readonly #table: Table
  readonly #conflict: Conflict | undefined
  readonly #isList: boolean
  /** The readers of earlier rows, whose columns have passed the checks. */
  readonly #readers: RowReader[] = []

  constructor (table: Table, conflict: Conflict | undefined, isList: boolean) {
    this.#table = table
    this.#conflict = conflict
    this.#isList = isList
  }

  /** Plans a row, whose columns keep the order of its names. */
  plan (data: Data, index: number): PlannedRow {
    for (const { columns, read } of this.#readers) {
      const parameters = read(data)
      if (parameters !== undefined) return { index, columns, parameters }
    }
    const path = this.#isList ? ['data', index] : ['data']
    const reader = findReader(this.#table, data, path)
    const { columns } = reader
    const parameters = reader.read(data) ?? readRow(columns, data, path)
    requireColumns(reader, path)
    if (this.#conflict !== undefined) requireForConflict(columns, this.#conflict, { table: this.#table, path })
    if (this.#readers.length < FEW) this.#readers.push(reader)
    return { index, columns, parameters }
  }
}

/** Requires a value for every column without a default. `path`: the path of the row in the body. @throws MISSING_COLUMN */
function requireColumns ({ missing }: RowReader, path: Path): void {
  if (missing.length === 0) return
  const error = missingColumn(missing.map(({ name }) => `"${name}"`).join(', '))
  throw withDetails(error, ...missing.map(({ name }) => ({ path: pointer(...path, name), message: 'has no default' })))
}

/**
 * Requires that columns which an upsert compares or writes are in the row or have a default: the database would give an AUTO_INCREMENT column a new
 * number, and a trigger would fill a required column too late. Without `set`, an upsert updates every column of the row outside of the key.
 */
function requireForConflict (columns: readonly Column[], { key, set }: Conflict, { table, path }: { table: Table, path: Path }): void {
  const written = set.kind === 'columns' ? set.columns : []
  const isFilled = (column: Column): boolean => table.granted?.rules.some((rule) => rule.column === column && onlyValueOf(rule) !== undefined) === true
  const missing = [...key, ...written].find((column) => !columns.includes(column) && !isFilled(column) && (!column.optional || (column.autoIncrement && written.includes(column))))
  if (missing !== undefined) throw at([...path, missing.name], missingColumn(`"${missing.name}"`))
  if (set.kind !== 'given' || table.granted === undefined) return
  for (const column of columns) if (!key.includes(column)) getWritableColumn(table, column.name, [...path, column.name], 'update')
}
