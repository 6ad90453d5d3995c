/**
 * The id in the response, as JSON; null if it is not certain. What a select must find comes first (`readsId` of
 * src/plan/writes.ts); otherwise it depends on what the statement has done with the row.
 */
import { type Column, type Table, traitsOf } from '../catalog/catalog.ts'
import { boundValue, type Given, givenValue } from '../plan/holes.ts'
import type { Condition, Conflict, InsertPlan, PlannedRow } from '../plan/plan.ts'
import { withinRules } from '../plan/rule.ts'
import { factsOf, isComputedKey, reportsId, writesOf } from '../plan/writes.ts'
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

/** The only row of an upsert. */
interface Upserted {
  readonly table: Table
  readonly identity: Column
  readonly row: PlannedRow
  readonly conflict: Conflict
  readonly counts: RowCounts
}

function toUpserted ({ table, rows, conflict }: InsertPlan, counts: RowCounts): Upserted | undefined {
  const { identity } = table
  const [row] = rows as [PlannedRow]
  return identity === undefined || conflict === undefined ? undefined : { table, identity, row, conflict, counts }
}

/** Of the only row of an upsert. */
export async function upsertedId (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string> {
  const upserted = toUpserted(plan, counts)
  if (upserted === undefined) return 'null'
  const { table, identity, row } = upserted
  const { readsId, written } = writesOf(plan, row)
  const selected = readsId ? await selectId(upserted, runner) : undefined
  if (selected !== undefined) return selected
  if (counts.inserted > 0) return newId(table, row, counts)
  if (written.includes(identity)) return writtenId(upserted)
  const reported = reportsId(table) && counts.insertId !== undefined
    ? shownNumber(identity, counts.insertId)
    : readsId ? await computedKeyId(upserted, runner) : undefined
  return reported ?? keyId(upserted)
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
 * The number of the row, also of one that existed, by which `returning` finds it; undefined if the statement reports it
 * as `insertId`.
 */
export async function readId (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string | undefined> {
  const upserted = toUpserted(plan, counts)
  return upserted && (await selectId(upserted, runner) ?? await computedKeyId(upserted, runner))
}

/** Of a row that existed, if its key was computed, so that only the statement has found it. */
async function computedKeyId (upserted: Upserted, runner: Runner): Promise<string | undefined> {
  const { table, identity, row, conflict, counts: { inserted, existing, insertId } } = upserted
  if (inserted > 0 || !isComputedKey(conflict.key, row)) return undefined
  if (!traitsOf(table).reportsNumbers) {
    return existing === undefined || existing === null ? undefined : writeValue(identity, existing)
  }
  // no table reports a number that it has not given
  const isReported = reportsId(table) && insertId !== undefined
  if (isReported || identity.type.wholeNumbers !== true) return undefined
  return shownNumber(identity, await runner.number(compileNumber('lastId', table)))
}

/** Null if the row is not found; undefined if the id is reported, or only the statement has found the row. */
async function selectId (upserted: Upserted, runner: Runner): Promise<string | undefined> {
  const { table, identity, row, conflict: { key, set }, counts: { inserted, insertId } } = upserted
  // a BEFORE INSERT trigger may have changed the key
  const isReported = insertId !== undefined || factsOf(table).fillsNew
  if (reportsId(table) && isReported) return undefined
  const changes = inserted > 0 || set.kind !== 'assignments' ? [] : set.assignments
  if (changes.some(({ column, operator }) => operator !== undefined && key.includes(column))) return undefined
  const after = {
    columns: [...changes.map(({ column }) => column), ...row.columns],
    parameters: [...changes.map(({ parameter }) => parameter), ...row.parameters]
  }
  const condition = isComputedKey(key, after) ? undefined : conditionOf(key, after)
  if (condition === undefined) return undefined
  // SQLite's triggers may have given the row another key
  for (const each of [condition, byNumber(upserted)]) {
    const id = each && await runner.value({ table, column: identity, condition: withinRules(table, each) })
    if (id !== undefined) return id
  }
  return 'null'
}

function byNumber ({ identity, counts: { inserted, insertId, existing = null } }: Upserted): Condition | undefined {
  if (inserted === 0) return existing === null ? undefined : hasKey([identity], [readKey(identity, existing)])
  return identity.autoIncrement && insertId !== undefined
    ? hasKey([identity], [numberOf(identity, insertId)])
    : undefined
}
