/** A write finds its rows again by these keys. */
import { baseTable, type Column, type Index, type Table } from '../catalog/catalog.ts'
import { getOrCreate } from '../bounded-map.ts'
import { parseExactJson } from '../json/exact-json.ts'
import type { Value } from '../types/column-type.ts'
import type { Assignment } from './plan.ts'
import { boundValue } from './holes.ts'

/** The keys of tables of the catalog, which do not change. */
const keysByTable = new WeakMap<Table, ReadonlyArray<readonly Column[]>>()

/**
 * Keys of the catalog's table, because the response does not show them: the primary key, then keys of NOT NULL columns,
 * then others, with fewer columns first. Keys with an expression, the beginning of a text or a column that cannot be
 * compared are left out.
 */
export function rowKeysOf (table: Table): ReadonlyArray<readonly Column[]> {
  const base = baseTable(table)
  return getOrCreate(keysByTable, base, () => findRowKeys(base))
}

function findRowKeys ({ columns, primaryKey, indexes }: Table): ReadonlyArray<readonly Column[]> {
  const toKey = (names: ReadonlyArray<string | null>): ReadonlyArray<readonly Column[]> => {
    const key = findColumns(columns, names)
    return key?.every(({ type }) => type.comparison !== 'none') === true ? [key] : []
  }
  const notPrimary = indexes
    .filter((index) => index.unique && isWhole(index))
    .flatMap(({ parts }) => toKey(parts.map(({ column }) => column)))
  const primary = indexes.find(
    ({ parts }) =>
      parts.length === primaryKey.length && parts.every(({ column }, index) => column === primaryKey[index])
  )
  return [
    ...(primary === undefined || isWhole(primary) ? toKey(primaryKey) : []),
    ...notPrimary.toSorted((a, b) => Number(mayBeNull(a)) - Number(mayBeNull(b)) || a.length - b.length)
  ]
}

/** Undefined if it has none, an expression, or a column that is not in the table. */
export function findColumns (
  columns: Table['columns'],
  names: ReadonlyArray<string | null>
): readonly Column[] | undefined {
  const ofNames = names.map((name) => (name === null ? undefined : columns.get(name)))
  return ofNames.length > 0 && ofNames.every((column) => column !== undefined) ? ofNames : undefined
}

/** Neither beginnings of texts nor expressions. */
export const isWhole = ({ parts }: Index): boolean => parts.every(({ column, prefix }) => column !== null && !prefix)

export const findUniqueIndex = (table: Table, key: readonly Column[]): Index | undefined =>
  baseTable(table).indexes.find((index) => index.unique && index.ordered && isWhole(index) &&
    index.parts.length === key.length && index.parts.every(({ column }) => key.some(({ name }) => name === column)))

/** Whether a write of these columns may change the index: it has one of them, or what the database computes. */
export function mayHold ({ parts }: Index, written: readonly Column[], table: Table): boolean {
  const { columns } = baseTable(table)
  return parts.some(({ column }) => {
    const { generated = true, onUpdate } = columns.get(column as string) ?? {}
    return generated || onUpdate === true || written.some(({ name }) => name === column)
  })
}

export const mayChangeKey = (table: Table, written: readonly Column[]): boolean =>
  baseTable(table).indexes.some((index) => index.unique && mayHold(index, written, table))

/** The key by which a write finds each row, such as those of `$match` on MySQL and MariaDB; undefined without one. */
export const findSearchKey = (table: Table): readonly Column[] | undefined =>
  rowKeysOf(table).find((key) => !mayBeNull(key))

const mayBeNull = (key: readonly Column[]): boolean => key.some(({ nullable }) => nullable)

/**
 * One that the update does not change, or else whose new values are known. Nullable keys are the last choice, because a
 * row whose key is NULL cannot be found.
 */
export function findUpdateKey (table: Table, assignments: readonly Assignment[]): readonly Column[] | undefined {
  const keys = rowKeysOf(table)
  const assigned = new Map(assignments.map((assignment) => [assignment.column, assignment]))
  const isUnchanged = (column: Column): boolean =>
    !assigned.has(column) && !column.generated && column.onUpdate !== true
  const isKnown = (column: Column): boolean => {
    const assignment = assigned.get(column)
    if (assignment === undefined) return isUnchanged(column)
    const { operator, parameter } = assignment
    // null for a NOT NULL column is refused later (src/verbs/update.ts)
    return operator === undefined ? parameter !== null || !column.nullable : isSum(column, parameter)
  }
  const find = (isUsable: (column: Column) => boolean, nullable: boolean) =>
    keys.find((key) => mayBeNull(key) === nullable && key.every(isUsable))
  return find(isUnchanged, false) ?? find(isKnown, false) ?? find(isUnchanged, true) ?? find(isKnown, true)
}

/** `$inc` of an integer can be computed exactly. */
const isSum = ({ type }: Column, parameter: unknown): parameter is bigint =>
  type.wholeNumbers === true && typeof parameter === 'bigint'

/**
 * As a select shows it: CHAR, for example, loses trailing spaces, without which not every collation would find the row.
 */
export function storedKey ({ type }: Column, parameter: Value): Value {
  const shown = parseExactJson(type.storedJson(parameter))
  return shown === null ? parameter : type.read(shown)
}

/** `values`: before the update, in the order of the key. */
export function keyAfter (
  key: readonly Column[],
  values: readonly Value[],
  assignments: readonly Assignment[]
): Value[] {
  return key.map((column, index) => {
    const before = values[index] as Value
    const { operator, parameter } = assignments.find((assignment) => assignment.column === column) ?? {}
    if (parameter === undefined || parameter === null) return before
    return operator === undefined
      ? storedKey(column, boundValue(parameter) as Value)
      : (before as bigint) + (parameter as bigint)
  })
}
