/**
 * SQLite's upsert leaves a row that does not satisfy the rules of a grant as it is, and counts it as unchanged (src/sql/upsert.ts). So the rows are
 * looked up, to refuse such a row as MySQL's statement does.
 */
import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import { uniqueViolationOf } from '../dialects/violations.ts'
import { combine } from '../plan/filters/constants.ts'
import type { Condition, Conflict, InsertPlan, PlannedRow, RowsPlan } from '../plan/plan.ts'
import { RowCounter } from '../response/count-sink.ts'
import { conditionOf } from './key-condition.ts'
import { runStatement } from './run-statement.ts'

/** An insert of rows and its database. */
interface RowsInsert { readonly plan: InsertPlan & { readonly rows: RowsPlan }, readonly database: Database }

type Guarded = Conflict & { readonly within: Condition }

/** The conflict of a plan whose rows have to be looked up. */
export function guardOf ({ plan: { rows: { conflict } }, database: { dialect } }: RowsInsert): Guarded | undefined {
  return dialect.engine === 'sqlite' && conflict?.within !== undefined ? conflict as Guarded : undefined
}

/** @throws UNIQUE_VIOLATION for a row that exists in the key and does not satisfy the rules */
export async function requireWithin ({ guard: { key, within }, row }: { guard: Guarded, row: PlannedRow }, { plan: { table }, database }: RowsInsert, run: Executor['run']): Promise<void> {
  const exists = async (condition: Condition): Promise<boolean> => {
    const sink = new RowCounter()
    await runStatement({ run }, database, { verb: 'select', table, columns: key, condition, order: [], limit: 1 }, sink)
    return sink.count > 0
  }
  const sameKey = conditionOf(key, row)
  if (sameKey === undefined || !await exists(sameKey) || await exists(combine('and', [sameKey, within]))) return
  throw uniqueViolationOf(table.uniqueKeys.find(({ columns }) => columns.length === key.length && key.every(({ name }) => columns.includes(name))))
}
