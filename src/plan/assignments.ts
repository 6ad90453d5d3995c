import { baseTable, type Column, type Table } from '../catalog/catalog.ts'
import { at, columnNotWritable, invalidValue, notNullViolation, type Path } from '../errors.ts'
import { hasMany, objectKeys } from '../json/exact-json.ts'
import { COLUMN, describeType, type Parameter } from '../types/column-type.ts'
import { operatorSql, TO_DEFAULT } from '../types/update-operators.ts'
import { getWritableColumn, readValue, readWith, withStandIn } from './columns.ts'
import { StandIn, type StandIns } from './holes.ts'
import { knownDefault } from './writes.ts'
import type { Assignment } from './plan.ts'

/** Values come before update operators. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE */
export function planAssignments (
  data: Readonly<Record<string, unknown>>,
  table: Table,
  path: Path,
  { standIns, names = objectKeys(data) }: {
    readonly standIns?: StandIns | undefined
    /** The columns to change, if they are not all of the data. */
    readonly names?: readonly string[]
  } = {}
): Assignment[] {
  const assignments: Assignment[] = []
  let hasOperators = false
  for (const name of names) {
    const columnPath = [...path, name]
    const column = getWritableColumn(table, name, columnPath, 'update')
    const value = data[name]
    const assignment = typeof value === 'object' || standIns !== undefined
      ? planAssignment(column, withStandIn(value, column, standIns, columnPath), table, columnPath)
      : { column, parameter: readWith(column.type.store, column, value, columnPath) }
    assignments.push(assignment)
    hasOperators ||= assignment.operator !== undefined
  }
  return hasOperators
    ? assignments.sort((a, b) => Number(a.operator !== undefined) - Number(b.operator !== undefined))
    : assignments
}

function planAssignment (column: Column, given: unknown, table: Table, path: Path): Assignment {
  const { name } = column
  const assignment = planValue(column, given, path, true)
  const { operator } = assignment
  if (operator !== undefined && columnsRead(column, operator).some((read) => !table.columns.has(read))) {
    // the new value, or its overflow, would reveal a value that the grant does not see
    throw at(path, columnNotWritable(name, `${operator} is not allowed on it`))
  }
  return assignment
}

/** The columns of the row that an update operator computes the new value from. */
function columnsRead (column: Column, operator: string): readonly string[] {
  if (operator === TO_DEFAULT) return column.defaultReads ?? []
  return operatorSql(column, operator)?.includes(COLUMN) === true ? [column.name] : []
}

/**
 * Plans the value of a column, or an update operator such as `{"$inc": 5}`. `forms`: whether operators that compute
 * with the stored value are allowed; an insert has none. @throws INVALID_VALUE
 */
export function planValue (column: Column, given: unknown, path: Path, forms: boolean): Assignment {
  return looksLikeForm(given)
    ? planForm(column, given, path, forms)
    : toAssignment(column, given, path)
}

function toAssignment (column: Column, given: unknown, path: Path): Assignment {
  const value = given instanceof StandIn && given.value === null ? null : given
  return { column, parameter: value === null ? nullOf(column) : readValue(column, value, path, column.type.store) }
}

const DOLLAR = 0x24

/** An object all of whose keys begin with `$`, as in filters. */
function looksLikeForm (given: unknown): given is Record<string, unknown> {
  if (typeof given !== 'object' || given === null) return false
  if (hasMany(given)) return objectKeys(given).every((key) => key.charCodeAt(0) === DOLLAR)
  let hasKeys = false
  for (const key in given) {
    if (!Object.hasOwn(given, key)) continue
    if (key.charCodeAt(0) !== DOLLAR) return false
    hasKeys = true
  }
  return hasKeys
}

/** Plans `{"$inc": 5}`. For a JSON column `{"$eq": value}` is the value, which may itself look like an operator. */
function planForm (column: Column, given: Record<string, unknown>, path: Path, isAllowed: boolean): Assignment {
  const { type } = column
  const keys = objectKeys(given)
  const [name, other] = keys as [string, ...string[]]
  const operand = given[name]
  if (name === TO_DEFAULT && other === undefined && isAllowed) return planDefault(column, operand, path)
  if (type.holdsJson === true && name === '$eq' && other === undefined) {
    // unlike null alone, which is SQL's NULL
    return operand === null && type.ownNull !== undefined
      ? { column, parameter: type.ownNull }
      : toAssignment(column, operand, path)
  }
  const update =
    other === undefined
      ? type.updates?.find((each) => each.name === name && (isAllowed || each.sql === undefined))
      : undefined
  if (update === undefined) throw at(path, invalidValue(column.name, describeRefusal(column, keys, isAllowed)))
  const parameter = readValue(column, operand, [...path, name], update.read)
  return update.sql === undefined ? { column, parameter } : { column, operator: update.name, parameter }
}

/** @throws INVALID_VALUE */
function planDefault (column: Column, operand: unknown, path: Path): Assignment {
  const refuse = (reason: string) => at([...path, TO_DEFAULT], invalidValue(column.name, reason))
  if (operand !== true) throw refuse(`"${TO_DEFAULT}" must be true`)
  // both servers would store 0
  if (column.autoIncrement) throw refuse('the database numbers the column, which has no other default')
  if (!column.optional) throw refuse('is NOT NULL and has no default')
  return { column, parameter: null, operator: TO_DEFAULT }
}

function describeRefusal (column: Column, keys: readonly string[], isAllowed: boolean): string {
  const { type } = column
  if (type.holdsJson === true) {
    return `"${keys.find((key) => key !== '$eq')}" is not allowed here; send an object whose keys all begin with $ ` +
      'as {"$eq": …}'
  }
  if (!isAllowed) return `"${keys[0]}" is not allowed here; send a value`
  if (keys.length > 1) return 'expected a value, or an object with one operator'
  const operators = type.updates?.map(({ name }) => name).join(', ')
  return `${describeType(column)} does not accept "${keys[0]}"; ` +
    (operators === undefined ? 'send a value' : `use a value or ${operators}`)
}

/** SQL NULL, or for a NOT NULL column the null of its type (JSON). */
export const nullOf = ({ nullable, type }: Column): Parameter => nullable ? null : type.ownNull ?? null

// SQLite has no ON CONFLICT for upserts of rows that give no values: a column that stands for the others gets its
// default by name.

/** A column whose default is known, or the rowid. */
export function findDefaulted (table: Table): Column | undefined {
  // the text of a JSON default may have spaces, which the service would not write
  return baseTable(table).columnList.find(
    (column) =>
      column.autoIncrement || (!column.generated && !column.type.structured && knownDefault(column) !== undefined)
  )
}

/**
 * Refuses null for NOT NULL columns, as the database should: MySQL would store the next AUTO_INCREMENT number instead
 * or, with some settings, the current time in a TIMESTAMP column. Called when the plan is complete, because refusals of
 * the database come after refusals of the service. @throws NOT_NULL_VIOLATION
 */
export function refuseNulls (assignments: readonly Assignment[], path: Path): void {
  for (const { column, parameter, operator } of assignments) {
    if (parameter === null && operator === undefined && !column.nullable) {
      throw at([...path, column.name], notNullViolation())
    }
  }
}
