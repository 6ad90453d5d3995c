/**
 * SQLite's upsert leaves a row that does not satisfy the rules of a grant as it is, and counts it as unchanged (src/sql/upsert.ts). So the rows are
 * looked up, to refuse such a row as MySQL's statement does.
 */
import type { Table } from '../catalog/catalog.ts'
import { uniqueViolationOf } from '../dialects/violations.ts'
import { combine } from '../plan/filters/constants.ts'
import type { Condition, Conflict, InsertPlan, PlannedRow } from '../plan/plan.ts'
import { conditionOf } from './key-condition.ts'
import type { Runner } from './runner.ts'

type Guarded = Conflict & { readonly within: Condition }

/** The conflict of a plan whose rows have to be looked up. */
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
