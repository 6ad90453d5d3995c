/** Whether one row of another table is related or many, which depends on the columns that are held equal. */
import type { Column, Table } from '../catalog/catalog.ts'
import type { Pair } from '../catalog/relations.ts'
import { isNow } from '../types/moment.ts'
import { isFields } from './filters/column-filter.ts'
import { rowKeysOf } from './row-keys.ts'
import { onlyValueOf } from './rule.ts'

/** Columns of the other table, besides those of `on`, that have the same value in all related rows. */
export interface Held {
  /** The columns that filters of the request hold equal to a value other than null, so that the request can rely on them. */
  readonly certain: ReadonlySet<Column>
  /** Also those that are held equal to null, or by the rules of the grant. */
  readonly all: ReadonlySet<Column>
}

/** What is held before a request has filters. */
const NOTHING_HELD: Held = { certain: new Set(), all: new Set() }

/** The columns that filters hold equal by a plain value or `$eq`, at the top or in `$and`, and those of the rules of the grant. */
export function heldColumns (filters: Readonly<Record<string, unknown>>, { columns, granted }: Table): Held {
  const certain = new Set<Column>()
  const all = new Set<Column>()
  const collect = (group: unknown): void => {
    if (!isFields(group)) return
    for (const [key, value] of Object.entries(group)) {
      if (key === '$and' && Array.isArray(value)) value.forEach(collect)
      const column = columns.get(key.startsWith('$$') ? key.slice(1) : key)
      const operand = column === undefined || column.type.structured ? undefined : equalOperand(value)
      if (column === undefined || operand === undefined) continue
      all.add(column)
      if (operand !== null) certain.add(column)
    }
  }
  collect(filters)
  for (const rule of granted?.rules ?? []) if (onlyValueOf(rule) !== undefined) all.add(rule.column)
  return { certain, all }
}

/** The value to which the filter holds its column equal; undefined if there is none. */
function equalOperand (value: unknown): unknown {
  if (Array.isArray(value)) return undefined
  if (!isFields(value) || isNow(value)) return value
  return value['$eq']
}

/** Whether at most one row is related, because the columns contain a unique key. */
export function isOne (table: Table, on: readonly Pair[], { certain }: Held = NOTHING_HELD): boolean {
  return rowKeysOf(table).some((key) => key.every((column) => certain.has(column) || on.some(({ other }) => other === column)))
}
