/**
 * Looks up the rows of an upsert on SQLite, which leaves a row that does not satisfy the rules of a grant unchanged (src/sql/upsert.ts): such a row is
 * refused as MySQL's statement refuses it.
 */
import type { Table } from '../catalog/catalog.ts'
import { uniqueViolationOf } from '../dialects/violations.ts'
import { combine } from '../plan/filters/constants.ts'
import type { Condition, Conflict, InsertPlan, PlannedRow } from '../plan/plan.ts'
import { conditionOf } from './key-condition.ts'
import type { Runner } from './runner.ts'

type Guarded = Conflict & { readonly within: Condition }

/** The conflict of a plan whose rows must be looked up. */
export function guardOf ({ plan: { conflict }, runner }: { readonly plan: InsertPlan, readonly runner: Runner }): Guarded | undefined {
  return conflict?.within !== undefined && runner.engine === 'sqlite' ? conflict as Guarded : undefined
}

/** @throws UNIQUE_VIOLATION for a row that exists in the key and does not satisfy the rules */
export async function requireWithin ({ guard: { key, within }, row, table }: { readonly guard: Guarded, readonly row: PlannedRow, readonly table: Table }, runner: Runner): Promise<void> {
  const exists = (condition: Condition): Promise<boolean> => runner.exists({ table, columns: key, condition })
  const sameKey = conditionOf(key, row)
  if (sameKey === undefined || !await exists(sameKey) || await exists(combine('and', [sameKey, within]))) return
  throw uniqueViolationOf(table.uniqueKeys.find(({ columns }) => columns.length === key.length && key.every(({ name }) => columns.includes(name))))
}
