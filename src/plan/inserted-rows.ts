import type { InsertBody, OnConflict } from '../../schemas/body.ts'
import { baseTable, type Column, type Key, type Table } from '../catalog/catalog.ts'
import { at, invalidBody, mayBeNew, missingColumn, type Path, pointer, withDetails } from '../errors.ts'
import { objectKeys } from '../json/exact-json.ts'
import { planAssignments, planValue } from './assignments.ts'
import type { Conflict, InsertPlan, PlannedRow } from './plan.ts'
import { getWritableColumn, readWith, withStandIn } from './columns.ts'
import type { StandIns, Given } from './holes.ts'
import { isWhole } from './row-keys.ts'
import { onlyValueOf } from './rule.ts'
import { planWriteOptions } from './write-options.ts'
import { factsOf, NO_DECISIONS } from './writes.ts'

// `onConflict`: the unique key that decides whether a row exists, and what is written to it.

/**
 * @throws COLUMN_NOT_FOUND for `set`, COLUMN_NOT_WRITABLE, INVALID_VALUE; INVALID_BODY if no unique key has exactly
 * these columns
 */
export function planConflict ({ key, set }: OnConflict, table: Table): Conflict {
  return { key: planKey(key, table, ['onConflict', 'key']), set: planSet(set, table) }
}

/**
 * The key in the order of the table, so that its order in the request does not change the statement. @throws
 * INVALID_BODY if no unique key has exactly these columns
 */
export function planKey (names: readonly string[], table: Table, path: Path): Column[] {
  const named = new Set(names)
  const isKey = keysOf(table).some(
    ({ columns }) => columns.length === named.size && columns.every((name) => named.has(name))
  )
  if (!isKey) {
    throw at(
      path,
      mayBeNew(invalidBody(
        `"key" must name the columns of one unique key; "${table.name}" has no unique key on exactly ` +
        `${names.map((name) => `"${name}"`).join(', ')}`
      ))
    )
  }
  return table.columnList.filter(({ name }) => named.has(name))
}

function planSet (set: OnConflict['set'], table: Table): Conflict['set'] {
  if (set === undefined) return { kind: 'given' }
  if (Array.isArray(set)) {
    return {
      kind: 'columns',
      columns: set.map((name, index) => getWritableColumn(table, name, ['onConflict', 'set', index], 'update'))
    }
  }
  return { kind: 'assignments', assignments: planAssignments(set, table, ['onConflict', 'set']) }
}

/**
 * Those that `onConflict` can name. Uses the indexes of the catalog's table, because a grant does not see those that
 * compare differently from columns.
 */
export function keysOf (table: Table): Key[] {
  const { indexes } = baseTable(table)
  return table.uniqueKeys.filter((key) => indexes.every((index) => index.name !== key.name || isWhole(index)))
}

type Data = Readonly<Record<string, unknown>>

/** Rows with the same columns, whose values have been converted to parameters in the order of the columns. */
export interface ReadRows {
  readonly columns: readonly Column[]
  readonly rows: ReadonlyArray<PlannedRow['parameters']>
}

/**
 * @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, MISSING_COLUMN, INVALID_BODY for the key of a conflict,
 * NOT_SUPPORTED
 */
export function planInsert (body: InsertBody, table: Table, standIns?: StandIns): InsertPlan {
  const { data } = body
  const conflict = conflictOf(body, table)
  const isList = Array.isArray(data)
  const rows = planRows(isList ? data : [data], table, { conflict, isList, standIns })
  const plan = toPlan(body, table, { rows, isList, conflict })
  return body.outcomes === true ? { ...plan, outcomes: true } : plan
}

export function planReadRows ({ columns, rows }: ReadRows, body: Terms, table: Table): InsertPlan {
  const conflict = conflictOf(body, table)
  const path = ['data', 0]
  requireColumns(columns, table, path)
  if (conflict !== undefined) requireForConflict(columns, conflict, { table, path })
  const planned = rows.map((parameters, index) => ({ index, columns, parameters }))
  return toPlan(body, table, { rows: planned, isList: true, conflict })
}

/** The fields of a body besides its rows. */
export type Terms = Omit<InsertBody, 'data'>

const conflictOf = ({ onConflict }: Terms, table: Table): Conflict | undefined =>
  onConflict === undefined ? undefined : planConflict(onConflict, table)

function toPlan (
  body: Terms,
  table: Table,
  { rows, isList, conflict }: Pick<InsertPlan, 'rows' | 'isList' | 'conflict'>
): InsertPlan {
  const options = body.returning !== undefined || body.dryRun === true ? planWriteOptions(body, table) : undefined
  return Object.freeze({ verb: 'insert', table, rows, isList, conflict, decisions: NO_DECISIONS, ...options })
}

/** Readers that are tried with a row: most lists have rows of one or two kinds. */
const FEW = 4

/** Columns keep the order of their names. */
function planRows (
  data: readonly Data[],
  table: Table,
  {
    conflict, isList, standIns
  }: Pick<InsertPlan, 'isList' | 'conflict'> & { readonly standIns: StandIns | undefined }
): PlannedRow[] {
  const readForm = (column: Column, given: unknown, path: Path): Given =>
    planValue(column, withStandIn(given, column, standIns, path), path, false).parameter
  /** The columns of earlier rows, which have passed the checks, with their readers. */
  const readers: Array<{ readonly columns: readonly Column[], readonly read: ReadRow }> = []
  const rows: PlannedRow[] = []
  for (let index = 0; index < data.length; index++) {
    const row = data[index] as Data
    let columns: readonly Column[] | undefined
    let parameters: PlannedRow['parameters'] | undefined
    for (let each = 0; each < readers.length; each++) {
      const form = readers[each] as typeof readers[number]
      columns = form.columns
      parameters = form.read(row)
      if (parameters !== undefined) break
    }
    if (columns === undefined || parameters === undefined) {
      const path: Path = isList ? ['data', index] : ['data']
      const names = objectKeys(row)
      const named = new Array<Column>(names.length)
      const values = new Array<Given>(names.length)
      const paths = new Array<Path>(names.length)
      for (let each = 0; each < names.length; each++) {
        const name = names[each] as string
        named[each] = getWritableColumn(table, name, paths[each] = [...path, name], 'insert')
      }
      for (let each = 0; each < names.length; each++) {
        const column = named[each] as Column
        const value = row[column.name]
        const valuePath = paths[each] as Path
        values[each] = typeof value === 'object' || standIns !== undefined
          ? readForm(column, value, valuePath)
          : readWith(column.type.store, column, value, valuePath)
      }
      requireColumns(named, table, path)
      if (conflict !== undefined) requireForConflict(named, conflict, { table, path })
      if (isList && readers.length < FEW) readers.push({ columns: named, read: createReader(named, readForm) })
      columns = named
      parameters = values
    }
    rows.push({ index, columns, parameters })
  }
  return rows
}

/** The parameters in the order of the columns; undefined for other columns or a refused value. */
type ReadRow = (row: Data) => PlannedRow['parameters'] | undefined

/** Most rows of a list have the columns of the row before. */
function createReader (
  columns: readonly Column[],
  readForm: (column: Column, given: object | null, path: Path) => Given
): ReadRow {
  return (row) => {
    const parameters = new Array<Given>(columns.length)
    let index = 0
    try {
      for (const name in row) {
        const column = columns[index]
        if (column?.name !== name) return undefined
        const value = row[name]
        parameters[index++] = typeof value === 'object' ? readForm(column, value, []) : column.type.store(value)
      }
    } catch {
      // the row is read again, with the path of the value
      return undefined
    }
    return index === columns.length ? parameters : undefined
  }
}

/**
 * A column without a default needs a value, except if a BEFORE INSERT trigger may fill it, which only the database
 * knows. @throws MISSING_COLUMN
 */
function requireColumns (columns: readonly Column[], table: Table, path: Path): void {
  const missing: Column[] = []
  for (const column of table.requiredColumns) if (!columns.includes(column)) missing.push(column)
  if (missing.length === 0 || factsOf(table).fillsNew) return
  const error = missingColumn(missing.map(({ name }) => `"${name}"`).join(', '))
  throw withDetails(error, ...missing.map(({ name }) => ({ path: pointer(...path, name), message: 'has no default' })))
}

/**
 * Columns that an upsert compares or writes must be in the row or have a default: the database would give an
 * AUTO_INCREMENT column a new number, and a trigger would fill a required column too late. Without `set`, an upsert
 * updates every column of the row outside of the key.
 */
function requireForConflict (
  columns: readonly Column[],
  { key, set }: Conflict,
  { table, path }: { table: Table; path: Path }
): void {
  const written = set.kind === 'columns' ? set.columns : []
  const isFilled = (column: Column): boolean =>
    table.granted?.rules.some((rule) => rule.column === column && onlyValueOf(rule) !== undefined) === true
  const missing = [...key, ...written].find(
    (column) =>
      !columns.includes(column) &&
      !isFilled(column) &&
      (!column.optional || (column.autoIncrement && written.includes(column)))
  )
  if (missing !== undefined) throw at([...path, missing.name], missingColumn(`"${missing.name}"`))
  if (set.kind !== 'given' || table.granted === undefined) return
  for (const column of columns) {
    if (!key.includes(column)) getWritableColumn(table, column.name, [...path, column.name], 'update')
  }
}
