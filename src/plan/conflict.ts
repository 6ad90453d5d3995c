/** Plans `onConflict`: the unique key that decides whether a row exists, and the values that are written to it. */
import type { OnConflict } from '../../schemas/body.ts'
import { baseTable, type Column, type Key, type Table } from '../catalog/catalog.ts'
import { at, invalidBody } from '../errors.ts'
import { planAssignments, getWritableColumn } from './assignments.ts'
import type { Conflict } from './plan.ts'
import { isWhole } from './row-keys.ts'

/** @throws COLUMN_NOT_FOUND for `set`, COLUMN_NOT_WRITABLE, INVALID_VALUE; INVALID_BODY if no unique key has exactly these columns */
export function planConflict ({ key, set }: OnConflict, table: Table): Conflict {
  return { key: planKey(key, table), set: planSet(set, table) }
}

/** Plans the key in the order of the table, so that its order in the request does not change the statement. */
function planKey (names: readonly string[], table: Table): Column[] {
  const named = new Set(names)
  const isKey = keysOf(table).some(({ columns }) => columns.length === named.size && columns.every((name) => named.has(name)))
  if (!isKey) throw at(['onConflict', 'key'], invalidBody(`"key" must name the columns of one unique key; "${table.name}" has no unique key on exactly ${names.map((name) => `"${name}"`).join(', ')}`))
  return table.columnList.filter(({ name }) => named.has(name))
}

function planSet (set: OnConflict['set'], table: Table): Conflict['set'] {
  if (set === undefined) return { kind: 'given' }
  if (Array.isArray(set)) return { kind: 'columns', columns: set.map((name, index) => getWritableColumn(table, name, ['onConflict', 'set', index], 'update')) }
  return { kind: 'assignments', assignments: planAssignments(set, table, ['onConflict', 'set']) }
}

/** The unique keys that `onConflict` can name. Uses the indexes of the catalog's table, because a grant does not see those that compare differently from columns. */
export function keysOf (table: Table): Key[] {
  const { indexes } = baseTable(table)
  return table.uniqueKeys.filter((key) => indexes.every((index) => index.name !== key.name || isWhole(index)))
}
