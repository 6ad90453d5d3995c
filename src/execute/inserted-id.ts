/**
 * The id in the response, as JSON; null if it is not certain. An insert has that of the first new row (`newId`), an
 * upsert of one row that of the row (`upsertedId`).
 */
import { type Column, type Table, traitsOf } from '../catalog/catalog.ts'
import { boundValue, type Given, givenValue } from '../plan/holes.ts'
import type { Condition, PlannedRow, UpsertPlan } from '../plan/plan.ts'
import { withinRules } from '../plan/rule.ts'
import { decisionOf, factsOf, isComputedKey, reportsId } from '../plan/writes.ts'
import { writeValue } from '../response/json-rows.ts'
import { numberOf, type RowCounts, shownNumber } from '../response/result.ts'
import { compileNumber } from '../sql/statement-cache.ts'
import type { Parameter } from '../types/column-type.ts'
import { conditionOf, hasKey, readKey, type Runner } from './runner.ts'

/** Of the first row that was inserted. */
export function newId (table: Table, { columns, parameters }: PlannedRow, { inserted, insertId }: RowCounts): string {
  const { identity } = table
  // a trigger of SQLite may skip the row, or change its key afterwards
  if (identity === undefined || inserted === 0 || insertId === undefined) return 'null'
  const index = columns.indexOf(identity)
  const sent = index < 0 ? null : boundValue(parameters[index])
  // a BEFORE INSERT trigger may set the key, and the database only reports the value of an AUTO_INCREMENT column
  if (sent !== null && !factsOf(table).fillsNew) return identity.type.storedJson(sent)
  return identity.autoIncrement ? shownNumber(identity, insertId) : 'null'
}

/** The only row of an upsert, in a table that has an id. */
interface Upserted extends Pick<UpsertPlan, 'table' | 'conflict'> {
  readonly identity: Column
  readonly row: PlannedRow
  readonly counts: RowCounts
}

function toUpserted ({ table, rows, conflict }: UpsertPlan, counts: RowCounts): Upserted | undefined {
  const { identity } = table
  const [row] = rows as [PlannedRow]
  return identity && { table, identity, row, conflict, counts }
}

/**
 * Of the only row of an upsert: the first of these that is known. With AUTO_INCREMENT on MySQL and MariaDB, that is
 * ordinarily the number that the statement reports; on SQLite, the key if it is the id, and otherwise a select.
 */
export async function upsertedId (plan: UpsertPlan, counts: RowCounts, runner: Runner): Promise<string> {
  const upserted = toUpserted(plan, counts)
  if (upserted === undefined) return 'null'
  const { table, identity, row } = upserted
  const isSelected = selectsId(plan)
  const selected = isSelected ? await selectedId(upserted, runner) : undefined
  if (selected !== undefined) return selected
  if (counts.inserted > 0) return newId(table, row, counts)
  if (decisionOf(plan, row).written.includes(identity)) return writtenId(upserted)
  if (reportsId(table) && counts.insertId !== undefined) return shownNumber(identity, counts.insertId)
  return (isSelected ? await computedKeyId(upserted, runner) : undefined) ?? keyId(upserted)
}

/**
 * Whether the id of the row of an upsert may need a select, so that both run in one transaction. MySQL reports the
 * value of an AUTO_INCREMENT column (src/sql/compile-insert.ts), but the value of an unchanged row of a table with
 * UPDATE triggers only to the session. A value of the key is the id itself, unless the database may consider different
 * values equal, or a trigger changes it.
 */
export function selectsId (plan: UpsertPlan): boolean {
  const { table, table: { identity }, rows, conflict: { key } } = plan
  if (identity === undefined) return false
  const { skipsNew, seesChanged, altersChanged } = factsOf(table)
  if (skipsNew) return true
  if (reportsId(table)) return seesChanged
  return !key.includes(identity) || identity.type.exact !== undefined ||
    (altersChanged && decisionOf(plan, rows[0] as PlannedRow).written.length > 0)
}

/** What the client has written to the id of a row that existed. */
function writtenId (upserted: Upserted): string {
  const { identity, conflict: { set } } = upserted
  if (set.kind !== 'assignments') return sentId(upserted)
  const { operator, parameter } = set.assignments.find(({ column }) => column === identity) ?? {}
  return operator === undefined ? toJson(identity, parameter ?? null) : 'null'
}

/** The id of a row that was found by it. */
const keyId = (upserted: Upserted): string =>
  upserted.conflict.key.includes(upserted.identity) ? sentId(upserted) : 'null'

/** Null if a BEFORE INSERT trigger may have made another value of it. */
const sentId = ({ table, identity, row }: Upserted): string =>
  factsOf(table).fillsNew ? 'null' : toJson(identity, givenValue(row, identity))

function toJson ({ type }: Column, given: Given): string {
  const value: Parameter = boundValue(given)
  return value === null ? 'null' : type.storedJson(value)
}

/**
 * The number of the only row, also of one that existed, by which `returning` finds it; undefined if the statement
 * reports it as `insertId`.
 */
export async function lookUpNumber (
  plan: UpsertPlan,
  counts: RowCounts,
  runner: Runner
): Promise<string | undefined> {
  const upserted = toUpserted(plan, counts)
  return upserted && (await selectedId(upserted, runner) ?? await computedKeyId(upserted, runner))
}

/** Null if the row is not found; undefined if the id is reported, or only the statement has found the row. */
async function selectedId (upserted: Upserted, runner: Runner): Promise<string | undefined> {
  const { table, identity, counts: { insertId } } = upserted
  // a BEFORE INSERT trigger may have changed the key
  if (reportsId(table) && (insertId !== undefined || factsOf(table).fillsNew)) return undefined
  const sameKey = conditionAfter(upserted)
  if (sameKey === undefined) return undefined
  // SQLite's triggers may have given the row another key
  for (const condition of [sameKey, sameNumber(upserted)]) {
    const id = condition && await runner.value({ table, column: identity, condition: withinRules(table, condition) })
    if (id !== undefined) return id
  }
  return 'null'
}

/** Selects the row by the key that the request gives it; undefined if the database computes a part of the key. */
function conditionAfter ({ row, conflict: { key, set }, counts }: Upserted): Condition | undefined {
  const changes = counts.inserted > 0 || set.kind !== 'assignments' ? [] : set.assignments
  if (changes.some(({ column, operator }) => operator !== undefined && key.includes(column))) return undefined
  const after = {
    columns: [...changes.map(({ column }) => column), ...row.columns],
    parameters: [...changes.map(({ parameter }) => parameter), ...row.parameters]
  }
  return isComputedKey(key, after) ? undefined : conditionOf(key, after)
}

/** Selects the row by the number that the statement reports, if it does. */
function sameNumber ({ identity, counts: { inserted, insertId, existingId = null } }: Upserted): Condition | undefined {
  if (inserted === 0) return existingId === null ? undefined : hasKey([identity], [readKey(identity, existingId)])
  return identity.autoIncrement && insertId !== undefined
    ? hasKey([identity], [numberOf(identity, insertId)])
    : undefined
}

/** Of a row that existed, if its key was computed, so that only the statement has found it. */
async function computedKeyId (upserted: Upserted, runner: Runner): Promise<string | undefined> {
  const { table, identity, row, conflict, counts: { inserted, existingId, insertId } } = upserted
  if (inserted > 0 || !isComputedKey(conflict.key, row)) return undefined
  if (!traitsOf(table).reportsNumbers) {
    return existingId === undefined || existingId === null ? undefined : writeValue(identity, existingId)
  }
  // no table reports a number that it has not given
  const isReported = reportsId(table) && insertId !== undefined
  if (isReported || identity.type.wholeNumbers !== true) return undefined
  return shownNumber(identity, await runner.number(compileNumber('lastId', table)))
}
