import type { Column, Table } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import type { Condition, InsertPlan, PlannedRow } from '../plan/plan.ts'
import { withinRules } from '../plan/rule.ts'
import { factsOf, isComputedKey, writesOf } from '../plan/writes.ts'
import { writeValue } from '../response/json-rows.ts'
import { numberOf, type RowCounts, shownNumber } from '../response/result.ts'
import { compileNumber } from '../sql/statement-cache.ts'
import type { Value } from '../types/column-type.ts'
import { conditionOf, hasKey, readKey, type Runner } from './runner.ts'
import { boundValue } from '../plan/holes.ts'

/** The id as JSON of the first row that was inserted; null if it is not certain. */
export function newId (table: Table, { columns, parameters }: PlannedRow, { inserted, insertId }: RowCounts): string {
  const { identity } = table
  // a trigger of SQLite may skip the row, or change its key afterwards
  if (identity === undefined || inserted === 0 || insertId === undefined) return 'null'
  const index = columns.indexOf(identity)
  const given = index < 0 ? null : boundValue(parameters[index])
  // a BEFORE INSERT trigger may set the key, and the database only reports the value of an AUTO_INCREMENT column
  if (given !== null && !factsOf(table).fillsNew) return identity.type.storedJson(given)
  return identity.autoIncrement ? shownNumber(identity, insertId) : 'null'
}

/** The id of the only row of an upsert, as JSON; null if it is not certain. */
export async function idOf (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string> {
  const { table, table: { identity }, rows, conflict } = plan
  if (conflict === undefined || identity === undefined) return 'null'
  const { readsId } = writesOf(plan, rows[0] as PlannedRow)
  const stored = readsId ? await readStoredId(plan, counts, runner) : undefined
  if (stored !== undefined) return stored
  const { inserted, insertId } = counts
  const row = rows[0] as PlannedRow
  if (inserted > 0) return newId(table, row, counts)
  const index = row.columns.indexOf(identity)
  const given = index < 0 ? null : boundValue(row.parameters[index])
  const known = given === null ? 'null' : identity.type.storedJson(given)
  const { key, set } = conflict
  const assigned = set.kind === 'assignments' ? set.assignments.find(({ column }) => column === identity) : undefined
  if (assigned !== undefined) {
    return assigned.operator === undefined && assigned.parameter !== null
      ? identity.type.storedJson(boundValue(assigned.parameter) as Value)
      : 'null'
  }
  const isWritten = set.kind === 'columns' ? set.columns.includes(identity) : set.kind === 'given'
  if (!isWritten || index < 0) {
    if (identity.autoIncrement && insertId !== undefined) return shownNumber(identity, insertId)
    const existing = readsId ? await readExistingId(plan, counts, runner) : undefined
    if (existing !== undefined) return existing
  }
  // a row that was found by another key has another id, and a BEFORE INSERT trigger may have made it the key of another
  // row
  const isOfRow = isWritten || key.includes(identity)
  return isOfRow && (identity.autoIncrement || !factsOf(table).fillsNew) ? known : 'null'
}

/** As JSON, of a row that existed, if its key was computed, so that only the statement has found it. */
async function readExistingId (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string | undefined> {
  const { table, table: { identity }, rows, conflict } = plan
  const { inserted, existing, insertId } = counts
  if (inserted > 0 || identity === undefined || !isComputedKey(conflict?.key ?? [], rows[0] as PlannedRow)) {
    return undefined
  }
  if (!TRAITS[runner.engine].reportsNumbers) {
    return existing === undefined || existing === null ? undefined : writeValue(identity, existing)
  }
  // no table reports a number that it has not given
  const isReported = identity.autoIncrement && insertId !== undefined
  if (isReported || identity.type.wholeNumbers !== true) return undefined
  return shownNumber(identity, await runner.number(compileNumber('lastId', table)))
}

/** As JSON, null if the row is not found; undefined if the id is reported, or only the statement has found the row. */
async function readStoredId (
  { table, rows, conflict }: InsertPlan,
  counts: RowCounts,
  runner: Runner
): Promise<string | undefined> {
  const { inserted, insertId } = counts
  const { identity } = table
  const row = rows[0] as PlannedRow
  if (conflict === undefined || identity === undefined) return undefined
  // a BEFORE INSERT trigger may have changed the key
  const isReported = insertId !== undefined || factsOf(table).fillsNew
  if (TRAITS[runner.engine].reportsNumbers && identity.autoIncrement && isReported) return undefined
  const { key, set } = conflict
  const changes = inserted > 0 || set.kind !== 'assignments' ? [] : set.assignments
  if (changes.some(({ column, operator }) => operator !== undefined && key.includes(column))) return undefined
  const written = {
    columns: [...changes.map(({ column }) => column), ...row.columns],
    parameters: [...changes.map(({ parameter }) => parameter), ...row.parameters]
  }
  const condition = isComputedKey(key, written) ? undefined : conditionOf(key, written)
  const readNumber = async (condition: Condition | undefined): Promise<string | undefined> =>
    condition && await runner.value({ table, column: identity, condition: withinRules(table, condition) })
  return condition && ((await readNumber(condition)) ?? (await readNumber(byNumber(identity, counts))) ?? 'null')
}

/** SQLite's triggers may have given the row another key. */
function byNumber (identity: Column, { inserted, insertId, existing = null }: RowCounts): Condition | undefined {
  const isNew = inserted > 0
  if (isNew ? !identity.autoIncrement || insertId === undefined : existing === null) return undefined
  return hasKey([identity], [isNew ? numberOf(identity, insertId as string) : readKey(identity, existing)])
}

export const readId = async (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string | undefined> =>
  await readStoredId(plan, counts, runner) ?? await readExistingId(plan, counts, runner)
