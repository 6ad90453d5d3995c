import { followMembers, type MemberColumn } from '../../schemas/fields.ts'
import { type Column, OF_RESULT, type ServerTraits, type Table } from '../catalog/catalog.ts'
import { at, columnNotFound, columnNotWritable, didYouMean, invalidValue, type Path } from '../errors.ts'
import {
  describeType, type Moment, type Parameter, type Value, ValueRefused, ValueTooLong
} from '../types/column-type.ts'
import { type Hole, StandIn, type StandIns } from './holes.ts'
import type { Member, OneMember, RelatedColumn } from './plan.ts'

/** The columns in which names are looked up: those of a table, or of the result of `groupBy` and `aggregates`. */
export interface ColumnScope {
  readonly name: string
  readonly columns: ReadonlyMap<string, Column>
  readonly isResult?: true
  readonly traits?: ServerTraits
}

/** `writable`: columns that are not in the scope, but may be meant in a write. @throws COLUMN_NOT_FOUND */
export function getColumn (
  { columns, name: table, isResult }: ColumnScope,
  name: string,
  path: Path,
  writable: ReadonlyMap<string, unknown> = columns
): Column {
  const column = columns.get(name)
  if (column === undefined) {
    const isAll = name === '*' && path.includes('columns')
    const hint = isAll
      ? ': leave out "columns" for all columns'
      : didYouMean(name, [...columns.keys(), ...writable.keys()])
    const where = isResult === true ? 'the result of "groupBy" and "aggregates"' : `table "${table}"`
    throw at(path, columnNotFound(name, where, hint))
  }
  return column
}

/**
 * A grant may write columns that it does not see, and not write columns that it sees.
 * @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE
 */
export function getWritableColumn (table: Table, name: string, path: Path, verb: 'insert' | 'update'): Column {
  const writable = table.granted?.writable[verb]
  const column = writable?.get(name) ?? table.columns.get(name) ?? getColumn(table, name, path, writable)
  if (writable?.has(name) === false) throw at(path, columnNotWritable(name, `${verb} is not allowed on it`))
  if (column.generated) throw at(path, columnNotWritable(name, 'the database computes it'))
  if (!column.type.writable) throw at(path, columnNotWritable(name, `${describeType(column)} is not supported`))
  return column
}

/**
 * Looks up `{"customer": {"land": "region"}}`, whose members are there (src/request/check-groups.ts). @returns the
 * column and its place in the body. @throws COLUMN_NOT_FOUND
 */
export function getRelatedColumn (
  all: readonly OneMember[],
  given: MemberColumn,
  parent: Path,
  resultName?: string
): { readonly column: RelatedColumn, readonly path: Path } {
  const { members, column: name } = followMembers(given)
  const path = [...parent, ...members]
  let level: readonly Member[] = all
  let member: OneMember | undefined
  for (const step of members) {
    member = level.find((each) => each.name === step) as OneMember
    level = member.members
  }
  const last = member as OneMember
  const origin = getColumn(last.table, name, path)
  const column = { ...origin, ...OF_RESULT, name: resultName ?? name, nullable: true, member: last, origin }
  return { column, path }
}

/** Returns the stand-in of a value from elsewhere, and any other value unchanged. */
export const withStandIn = (given: unknown, column: Column, standIns: StandIns | undefined, path: Path): unknown =>
  standIns === undefined ? given : standIns.replace(given, column, path)

/**
 * `read`: converts the value, by default to a parameter. Leaves a hole for a value that is not known. @throws
 * INVALID_VALUE if `read` throws ValueRefused
 */
export function readValue (column: Column, value: unknown, path: Path): Value | Hole
export function readValue<T extends Parameter | Moment> (
  column: Column,
  value: unknown,
  path: Path,
  read: ((value: unknown) => T) | undefined
): T | Hole
export function readValue (
  column: Column,
  value: unknown,
  path: Path,
  read: Hole['read'] = column.type.read
): Parameter | Moment | Hole {
  try {
    return typeof value === 'object' && value instanceof StandIn ? value.read(read) : read(value)
  } catch (error) {
    throw toRefusal(error, column, path)
  }
}

/**
 * Like `readValue`; undefined for a text, or bytes, that the client has sent and that are longer than the column.
 * @throws INVALID_VALUE
 */
export function readIfFits (column: Column, value: unknown, path: Path): Value | Hole | undefined {
  const isStandIn = typeof value === 'object' && value instanceof StandIn
  try {
    return isStandIn ? value.read(column.type.read) : column.type.read(value)
  } catch (error) {
    if (error instanceof ValueTooLong && (!isStandIn || value.isSent)) return undefined
    throw toRefusal(error, column, path)
  }
}

/** The value can only come from the body. @throws INVALID_VALUE if `read` throws ValueRefused */
export function readWith<T> (read: (value: unknown) => T, column: Column, value: unknown, path: Path): T {
  try {
    return read(value)
  } catch (error) {
    throw toRefusal(error, column, path)
  }
}

const toRefusal = (error: unknown, { name }: Column, path: Path): unknown =>
  error instanceof ValueRefused ? at(path, invalidValue(name, error.message)) : error
