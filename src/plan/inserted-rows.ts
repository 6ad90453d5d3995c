import type { InsertBody, OnConflict } from '../../schemas/body.ts'
import { baseTable, type Column, type Key, mayFillColumns, type Table, traitsOf } from '../catalog/catalog.ts'
import { at, invalidBody, mayBeNew, missingColumn, type Path, pointer, withDetails } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
import { type Moment, type Parameter, storing } from '../types/column-type.ts'
import { getWritableColumn, looksLikeForm, planAssignments, planValue } from './assignments.ts'
import { isAnyOrder, sortByKey } from './insert-key.ts'
import type { Conflict, InsertPlan, PlannedRow } from './plan.ts'
import { type References, toReference } from './columns.ts'
import { isWhole } from './row-keys.ts'
import { onlyValueOf } from './rule.ts'
import { isPlainWrite, planWriteOptions } from './write-options.ts'

// Plans `onConflict`: the unique key that decides whether a row exists, and the values that are written to it.

/**
 * @throws COLUMN_NOT_FOUND for `set`, COLUMN_NOT_WRITABLE, INVALID_VALUE; INVALID_BODY if no unique key has exactly
 * these columns
 */
function planConflict ({ key, set }: OnConflict, table: Table): Conflict {
  return { key: planKey(key, table, ['onConflict', 'key']), set: planSet(set, table) }
}

/**
 * Plans a key in the order of the table, so that its order in the request does not change the statement. `path`: its
 * path. @throws INVALID_BODY if no unique key has exactly these columns
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
 * The unique keys that `onConflict` can name. Uses the indexes of the catalog's table, because a grant does not see
 * those that compare differently from columns.
 */
export function keysOf (table: Table): Key[] {
  const { indexes } = baseTable(table)
  return table.uniqueKeys.filter((key) => indexes.every((index) => index.name !== key.name || isWhole(index)))
}

// Reads the rows of an insert. Each table and list of columns has one reader, made from the types of the columns,
// because most rows have the same columns as the row before.

export type Data = Readonly<Record<string, unknown>>

type Parameters = Array<Parameter | Moment>

/** Rows with the same columns, whose values have been converted to parameters in the order of the columns. */
export interface ReadRows {
  readonly columns: readonly Column[]
  readonly rows: ReadonlyArray<PlannedRow['parameters']>
}

interface RowReader {
  readonly columns: readonly Column[]
  /**
   * The missing columns without a default, except if a BEFORE INSERT trigger may fill them, which only the database
   * knows.
   */
  readonly missing: readonly Column[]
  /**
   * Returns the parameters of a row in the order of the columns; undefined if the row has other columns or a refused
   * value.
   */
  readonly read: (data: Data, references?: References) => Parameters | undefined
}

/** Maximum number of readers of a table; the least recently used ones are dropped, and all of them with the table. */
export const MAX_READERS = 16

const cachedReaders = new WeakMap<Table, RowReader[]>()

/**
 * The reader of rows with the same columns in the same order. `path`: the path of the row. @throws COLUMN_NOT_FOUND,
 * COLUMN_NOT_WRITABLE
 */
export function findReader (table: Table, data: Data, path: Path): RowReader {
  const readers = getOrCreate(cachedReaders, table, () => [])
  const names = Object.keys(data)
  const index = readers.findIndex(({ columns }) => areNames(columns, names))
  if (index === 0) return readers[0] as RowReader
  const reader =
    index < 0
      ? createReader(
        table,
        names.map((name) => getWritableColumn(table, name, [...path, name], 'insert'))
      )
      : (readers[index] as RowReader)
  if (index > 0) readers.splice(index, 1)
  readers.unshift(reader)
  if (readers.length > MAX_READERS) readers.pop()
  return reader
}

/** Reads a row of these columns. @throws INVALID_VALUE, with the path of the value */
export function readRow (columns: readonly Column[], data: Data, path: Path, references?: References): Parameters {
  return columns.map((column) => readGiven(column, data[column.name], references, [...path, column.name]))
}

const readGiven = (column: Column, given: unknown, references: References | undefined, path: Path) =>
  planValue(column, toReference(given, column, references, path), path, false).parameter

function areNames (columns: readonly Column[], names: readonly string[]): boolean {
  if (columns.length !== names.length) return false
  for (let index = 0; index < names.length; index++) if ((columns[index] as Column).name !== names[index]) return false
  return true
}

function createReader (table: Table, columns: readonly Column[]): RowReader {
  const names = columns.map(({ name }) => name)
  const values = columns.map(createValueReader)
  const read: RowReader['read'] = (data, references) => {
    const parameters = new Array<Parameter | Moment>(names.length)
    let index = 0
    try {
      for (const name in data) {
        if (names[index] !== name) return undefined
        parameters[index] = (values[index] as ReadValue)(data[name], references)
        index++
      }
    } catch {
      // readRow reads the row again to find the path of the value
      return undefined
    }
    return index === names.length ? parameters : undefined
  }
  return { columns, missing: findMissing(table, columns), read }
}

const findMissing = (table: Table, columns: readonly Column[]): readonly Column[] =>
  mayFillColumns(table) ? [] : table.requiredColumns.filter((column) => !columns.includes(column))

type ReadValue = (given: unknown, references: References | undefined) => Parameter | Moment

/** Whether an object is a plain value: no operator, and no reference to an earlier result, which looks like one. */
const isPlain = (given: object | null): given is object => given !== null && !looksLikeForm(given)

function createValueReader (column: Column): ReadValue {
  const { structured } = column.type
  const readObject: ReadValue = (given, references) => readGiven(column, given, references, [])
  const readPlain = storing(column.type)
  if (!structured) return (given, found) => typeof given === 'object' ? readObject(given, found) : readPlain(given)
  return (given, found) => typeof given !== 'object' || isPlain(given) ? readPlain(given) : readObject(given, found)
}

/**
 * Plans an insert. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, MISSING_COLUMN, INVALID_BODY for the
 * key of a conflict, NOT_SUPPORTED
 */
export function planInsert (body: InsertBody, table: Table, references?: References): InsertPlan {
  const { data } = body
  const conflict = conflictOf(body, table)
  const isList = Array.isArray(data)
  const planner = new RowPlanner(table, { conflict, isList, references })
  const rows = isList ? data.map((row, index) => planner.plan(row, index)) : [planner.plan(data, 0)]
  return toPlan(body, table, { rows, isList, conflict })
}

/** Plans an insert of rows that have been read. @throws as `planInsert` */
export function planReadRows ({ columns, rows }: ReadRows, body: Terms, table: Table): InsertPlan {
  const conflict = conflictOf(body, table)
  const path = ['data', 0]
  requireColumns({ missing: findMissing(table, columns) }, path)
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
  { rows: planned, isList, conflict }: Pick<InsertPlan, 'rows' | 'isList' | 'conflict'>
): InsertPlan {
  const isSorted = conflict !== undefined && !traitsOf(table).hasOneWriter && isAnyOrder(planned, conflict, table)
  const rows = isSorted ? sortByKey(planned, conflict.key) : planned
  const terms = isPlainWrite(body) ? undefined : planWriteOptions(body, table)
  return Object.freeze({ verb: 'insert', table, rows, isList, conflict, ...terms })
}

/**
 * The number of readers that are tried before a row's columns are looked up: most lists have rows of one or two kinds.
 */
const FEW = 4

/** Plans rows one by one. */
class RowPlanner {
  readonly #table: Table
  readonly #conflict: Conflict | undefined
  readonly #isList: boolean
  readonly #references: References | undefined
  /** The readers of earlier rows, whose columns have passed the checks. */
  readonly #readers: RowReader[] = []

  constructor (
    table: Table,
    { conflict, isList, references }: {
      readonly conflict: Conflict | undefined
      readonly isList: boolean
      readonly references: References | undefined
    }
  ) {
    this.#table = table
    this.#conflict = conflict
    this.#isList = isList
    this.#references = references
  }

  /** Plans a row, whose columns keep the order of its names. */
  plan (data: Data, index: number): PlannedRow {
    for (const { columns, read } of this.#readers) {
      const parameters = read(data, this.#references)
      if (parameters !== undefined) return { index, columns, parameters }
    }
    const path = this.#isList ? ['data', index] : ['data']
    const reader = findReader(this.#table, data, path)
    const { columns } = reader
    const parameters = reader.read(data, this.#references) ?? readRow(columns, data, path, this.#references)
    requireColumns(reader, path)
    if (this.#conflict !== undefined) requireForConflict(columns, this.#conflict, { table: this.#table, path })
    if (this.#readers.length < FEW) this.#readers.push(reader)
    return { index, columns, parameters }
  }
}

/**
 * Requires a value for every column without a default. `path`: the path of the row in the body. @throws MISSING_COLUMN
 */
function requireColumns ({ missing }: Pick<RowReader, 'missing'>, path: Path): void {
  if (missing.length === 0) return
  const error = missingColumn(missing.map(({ name }) => `"${name}"`).join(', '))
  throw withDetails(error, ...missing.map(({ name }) => ({ path: pointer(...path, name), message: 'has no default' })))
}

/**
 * Requires that columns which an upsert compares or writes are in the row or have a default: the database would give an
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
