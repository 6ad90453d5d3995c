import type { Column, Table } from '../catalog/catalog.ts'
import { notSupported, withDetails } from '../errors.ts'
import type { Assignment, InsertPlan } from './plan.ts'
import { rowKeysOf } from './row-keys.ts'

/** The key by which an inserted row is found; undefined if the values of none are known. */
export function findInsertKey (table: Table, assignments: readonly Assignment[]): readonly Column[] | undefined {
  const given = new Set(assignments.flatMap(({ column, parameter }) => parameter === null ? [] : [column]))
  return rowKeysOf(table).find((columns) => columns.every((column) => given.has(column) || column.autoIncrement))
}

/** Adds the key by which an insert reads the row that it returns. @throws NOT_SUPPORTED if the values of no unique key are known */
export function withInsertKey (plan: InsertPlan): InsertPlan {
  return Object.freeze({ ...plan, key: getInsertKey(plan) })
}

function getInsertKey ({ table, assignments }: InsertPlan): readonly Column[] {
  const key = findInsertKey(table, assignments)
  if (key !== undefined) return key
  const message = `table "${table.name}" has no unique key whose values are known: send the values of one, or leave out "returning"`
  throw withDetails(notSupported(), { path: '/returning', message })
}
