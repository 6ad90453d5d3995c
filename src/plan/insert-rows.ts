/** Plans an insert of a list of rows, or of one row with `onConflict`. */
import type { InsertBody } from '../../schemas/body.ts'
import { mayFillColumns, type Column, type Table } from '../catalog/catalog.ts'
import { at, missingColumn, pointer, withDetails, type Path } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
import { getWritableColumn, readRow } from './assignments.ts'
import { planConflict } from './conflict.ts'
import { isAnyOrder, sortByKey } from './key-order.ts'
import type { Conflict, PlannedRow, RowsPlan } from './plan.ts'
import { onlyValueOf } from './rule.ts'

type Data = Readonly<Record<string, unknown>>

/** @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, MISSING_COLUMN, INVALID_BODY for the key of a conflict */
export function planRows ({ data, onConflict }: InsertBody, table: Table): RowsPlan {
  const conflict = onConflict === undefined ? undefined : planConflict(onConflict, table)
  const planner = new RowPlanner(table, conflict)
  const rows = Array.isArray(data) ? data.map((row, index) => planner.plan(row, index, ['data', index])) : [planner.plan(data, 0, ['data'])]
  return { isList: Array.isArray(data), rows: conflict === undefined || !isAnyOrder(rows, conflict, table) ? rows : sortByKey(rows, conflict.key), conflict }
}

/** Lists of columns that are compared with a row before it is looked up by a text. */
const FEW = 4

/** Plans rows one by one. Rows with the same columns in the same order share them. */
class RowPlanner {
  readonly #table: Table
  readonly #known = new Map<string, readonly Column[]>()
  /** The first lists of columns, which most rows have. */
  readonly #first: Array<readonly Column[]> = []

  readonly #conflict: Conflict | undefined

  constructor (table: Table, conflict: Conflict | undefined) {
    this.#table = table
    this.#conflict = conflict
  }

  plan (data: Data, index: number, path: Path): PlannedRow {
    const columns = this.#columnsOf(data, path)
    return { index, columns, parameters: readRow(columns, Object.values(data), path) }
  }

  /** In the order of the row. */
  #columnsOf (data: Data, path: Path): readonly Column[] {
    const names = Object.keys(data)
    for (const columns of this.#first) if (areNames(columns, names)) return columns
    return getOrCreate(this.#known, JSON.stringify(names), () => {
      const columns = names.map((name) => getWritableColumn(this.#table, name, [...path, name], 'insert'))
      requireColumns(data, this.#table, path)
      if (this.#conflict !== undefined) requireForConflict(columns, this.#conflict, { table: this.#table, path })
      if (this.#first.length < FEW) this.#first.push(columns)
      return columns
    })
  }
}

function areNames (columns: readonly Column[], names: readonly string[]): boolean {
  if (columns.length !== names.length) return false
  for (let place = 0; place < names.length; place++) if ((columns[place] as Column).name !== names[place]) return false
  return true
}

/**
 * What an upsert compares or writes must be in the row or have a default: the database would give an AUTO_INCREMENT column a new number, and
 * a trigger would fill a required column too late. Without `set` it updates every column that the row has outside of the key.
 */
function requireForConflict (columns: readonly Column[], { key, set }: Conflict, { table, path }: { table: Table, path: Path }): void {
  const written = set.kind === 'columns' ? set.columns : []
  const isFilled = (column: Column): boolean => table.view?.rules.some((rule) => rule.column === column && onlyValueOf(rule) !== undefined) === true
  const missing = [...key, ...written].find((column) => !columns.includes(column) && !isFilled(column) && (!column.optional || (column.autoIncrement && written.includes(column))))
  if (missing !== undefined) throw at([...path, missing.name], missingColumn(`"${missing.name}"`))
  if (set.kind !== 'given' || table.view === undefined) return
  for (const column of columns) if (!key.includes(column)) getWritableColumn(table, column.name, [...path, column.name], 'update')
}

/** Requires a value for every column without a default. `path`: of the row in the body. @throws MISSING_COLUMN */
export function requireColumns (data: Readonly<Record<string, unknown>>, table: Table, path: Path): void {
  const missing = table.requiredColumns.filter(({ name }) => !Object.hasOwn(data, name))
  // A BEFORE INSERT trigger may fill these columns; only the database knows.
  if (missing.length === 0 || mayFillColumns(table)) return
  const error = missingColumn(missing.map(({ name }) => `"${name}"`).join(', '))
  throw withDetails(error, ...missing.map(({ name }) => ({ path: pointer(...path, name), message: 'has no default' })))
}
