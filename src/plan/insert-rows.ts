/** Plans an insert of a list of rows, or of one row with `onConflict`. */
import type { InsertBody } from '../../schemas/body.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import { missingColumn } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { Parameter } from '../types/column-type.ts'
import { getWritableColumn, readCell } from './assignments.ts'
import { at, type Path } from './columns.ts'
import { planConflict } from './conflict.ts'
import { sortByKey } from './key-order.ts'
import type { Conflict, PlannedRow, RowsPlan } from './plan.ts'
import { requireColumns } from './required-columns.ts'
import { onlyValueOf } from './rule.ts'

type Data = Readonly<Record<string, unknown>>

/** @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, MISSING_COLUMN, NOT_NULL_VIOLATION, INVALID_BODY for the key of a conflict */
export function planRows ({ data, onConflict }: InsertBody, table: Table): RowsPlan {
  const conflict = onConflict === undefined ? undefined : planConflict(onConflict, table)
  const pathOf = (index: number): Path => Array.isArray(data) ? ['data', index] : ['data']
  const planner = new RowPlanner(table)
  const rows = [data].flat().map((row, index) => planner.plan(row, index, pathOf(index)))
  if (conflict !== undefined) {
    for (const row of rows) requireGiven(row, conflict, { table, path: pathOf(row.index) })
    if (conflict.set.kind === 'given') requireWritable(rows, conflict, { table, pathOf })
  }
  return { isList: Array.isArray(data), rows: conflict === undefined ? rows : sortByKey(rows, conflict.key), conflict }
}

/** Plans rows one by one. Rows with the same columns in the same order share them. */
class RowPlanner {
  readonly #table: Table
  readonly #known = new Map<string, readonly Column[]>()
  #last: readonly Column[] | undefined

  constructor (table: Table) {
    this.#table = table
  }

  plan (data: Data, index: number, path: Path): PlannedRow {
    const columns = this.#columnsOf(data, path)
    const values = Object.values(data)
    const parameters = new Array<Parameter>(values.length)
    for (let place = 0; place < values.length; place++) parameters[place] = readCell(columns[place] as Column, values[place], path)
    return { index, columns, parameters }
  }

  /** In the order of the row. */
  #columnsOf (data: Data, path: Path): readonly Column[] {
    const names = Object.keys(data)
    if (this.#last !== undefined && areNames(this.#last, names)) return this.#last
    this.#last = getOrCreate(this.#known, JSON.stringify(names), () => {
      const columns = names.map((name) => getWritableColumn(this.#table, name, [...path, name], 'insert'))
      requireColumns(data, this.#table, path)
      return columns
    })
    return this.#last
  }
}

function areNames (columns: readonly Column[], names: readonly string[]): boolean {
  if (columns.length !== names.length) return false
  for (let place = 0; place < names.length; place++) if ((columns[place] as Column).name !== names[place]) return false
  return true
}

/**
 * What an upsert compares or writes must be in the row or have a default: the database would give an AUTO_INCREMENT column a new number, and
 * a trigger would fill a required column too late.
 */
function requireGiven ({ columns }: PlannedRow, { key, set }: Conflict, { table, path }: { table: Table, path: Path }): void {
  const written = set.kind === 'columns' ? set.columns : []
  const isFilled = (column: Column): boolean => table.view?.rules.some((rule) => rule.column === column && onlyValueOf(rule) !== undefined) === true
  const missing = [...key, ...written].find((column) => !columns.includes(column) && !isFilled(column) && (!column.optional || (column.autoIncrement && written.includes(column))))
  if (missing !== undefined) throw at([...path, missing.name], missingColumn(`"${missing.name}"`))
}

/** Without `set` an upsert updates every column that a row gives outside of the key. */
function requireWritable (rows: readonly PlannedRow[], { key }: Conflict, { table, pathOf }: { table: Table, pathOf: (index: number) => Path }): void {
  if (table.view === undefined) return
  const known = new Set<readonly Column[]>()
  for (const { index, columns } of rows) {
    if (known.has(columns)) continue
    known.add(columns)
    for (const column of columns) if (!key.includes(column)) getWritableColumn(table, column.name, [...pathOf(index), column.name], 'update')
  }
}
