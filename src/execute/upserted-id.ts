/** Finds the id of the row of an upsert if neither the request nor the outcome of the statement has it. */
import { mayFillColumns, mayFire, type Column } from '../catalog/catalog.ts'
import { settled } from '../plan/moments.ts'
import { isComputedKey } from '../plan/computed.ts'
import { givenValue, type InsertPlan, type PlannedRow } from '../plan/plan.ts'
import type { Engine } from '../sql/statement.ts'
import type { Parameter } from '../types/column-type.ts'
import { conditionOf } from './key-condition.ts'
import { withinRules } from '../plan/rule.ts'
import { writeValue } from '../response/encode-row.ts'
import { shownNumber } from '../response/insert-id.ts'
import type { RowCounts } from '../response/result.ts'
import { compileLastId } from '../sql/compile.ts'
import type { Runner } from './runner.ts'

/**
 * Whether the id may need a SELECT after the upsert. MySQL reports the value of an AUTO_INCREMENT column (src/sql/upsert.ts), except for unchanged rows of
 * tables with UPDATE triggers. A value of the key is the id itself, unless the database may consider different values equal.
 */
export function mustReadId ({ table, isList, conflict }: InsertPlan, engine: Engine): boolean {
  const { identity } = table
  if (isList || conflict === undefined || identity === undefined) return false
  // a trigger of SQLite may skip the row
  if (engine === 'sqlite' && mayFire(table, 'insert', 'before')) return true
  return engine === 'mysql' && identity.autoIncrement ? mayFire(table, 'update') : !conflict.key.includes(identity) || identity.type.exact !== undefined
}

/** Returns the id as JSON of the row that existed, if its key has been computed, so that only the statement has found it. @throws ServiceError */
export async function readExistingId (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string | undefined> {
  const { table, table: { identity }, rows, conflict } = plan
  const { inserted, existing, insertId } = counts
  if (inserted > 0 || identity === undefined || !isComputedKey(conflict?.key ?? [], rows[0] as PlannedRow)) return undefined
  if (runner.engine === 'sqlite') return existing === undefined || existing === null ? undefined : writeValue(identity, existing)
  // a table with UPDATE triggers does not report the number of an unchanged row, and no table one that it has not given
  const isReported = identity.autoIncrement && insertId !== undefined
  if (isReported || identity.type.wholeNumbers !== true) return undefined
  return shownNumber(identity, await runner.number(compileLastId(table)))
}

/** Returns the id as JSON, or null if the row is not found; undefined if the id is reported, or if its key has been computed. @throws ServiceError */
export async function readId ({ table, rows, conflict }: InsertPlan, { inserted, insertId }: RowCounts, runner: Runner): Promise<string | undefined> {
  const { identity } = table
  const row = rows[0] as PlannedRow
  if (conflict === undefined || identity === undefined) return undefined
  // a BEFORE INSERT trigger may have changed the key
  if (runner.engine === 'mysql' && identity.autoIncrement && (insertId !== undefined || mayFillColumns(table))) return undefined
  const changes = inserted > 0 || conflict.set.kind !== 'assignments' ? [] : conflict.set.assignments
  const columns: Column[] = []
  const parameters: Parameter[] = []
  for (const column of conflict.key) {
    const change = changes.find((each) => each.column === column)
    const isGiven = change !== undefined || row.columns.includes(column)
    if (change?.form !== undefined || (!isGiven && (column.generated || column.autoIncrement || column.defaultComputed === true))) return undefined
    if (!isGiven) continue
    columns.push(column)
    parameters.push(settled(change === undefined ? givenValue(row, column) : change.parameter))
  }
  const condition = conditionOf(conflict.key, { columns, parameters })
  return condition && (await runner.value({ table, column: identity, condition: withinRules(table, condition) }) ?? 'null')
}
