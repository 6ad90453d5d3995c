import type { Column, Table } from '../catalog/catalog.ts'
import { notSupported, withDetails } from '../errors.ts'
import type { InsertPlan } from './plan.ts'
import { rowKeysOf } from './row-keys.ts'

/** Adds the key by which an insert reads the row that it returns. @throws NOT_SUPPORTED if the values of no unique key are known */
export function withInsertKey (plan: InsertPlan): InsertPlan {
  const given = new Set(plan.assignments.flatMap(({ column, parameter }) => parameter === null ? [] : [column]))
  return Object.freeze({ ...plan, key: getInsertKey(plan.table, (column) => given.has(column) || column.autoIncrement) })
}

function getInsertKey (table: Table, isKnown: (column: Column) => boolean): readonly Column[] {
  const key = rowKeysOf(table).find((columns) => columns.every(isKnown))
  if (key !== undefined) return key
  const message = `table "${table.name}" has no unique key whose values are known: send the values of one, or leave out "returning"`
  throw withDetails(notSupported(), { path: '/returning', message })
}
