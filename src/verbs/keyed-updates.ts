/** Update of many rows: a list of entries, each with the key of its row and values of its own. */
import type { UpdateBody } from '../../schemas/body.ts'
import type { Column, GrantedAccess, Table, TableSource } from '../catalog/catalog.ts'
import { isRefusal } from '../dialects/dialect.ts'
import { at, invalidBody, mayBeNew, missingColumn, type Path, type ServiceError } from '../errors.ts'
import { objectKeys } from '../json/exact-json.ts'
import { checkForeignKeys, inRow, refuse, withCheck } from '../execute/after-write.ts'
import { countUpdated, requireCount, runChange } from '../execute/change.ts'
import { hasKey, readRows, STEP, type Runner } from '../execute/runner.ts'
import { planAssignments, refuseNulls } from '../plan/assignments.ts'
import { readValue, withStandIn } from '../plan/columns.ts'
import { planFilters } from '../plan/filters/resolve-filters.ts'
import { combine, counting } from '../plan/filters/scope.ts'
import { textOf } from '../plan/foreign-keys.ts'
import type { Hole, StandIns } from '../plan/holes.ts'
import { sortByKey } from '../plan/insert-key.ts'
import { planKey } from '../plan/inserted-rows.ts'
import { planReturnedMembers } from '../plan/members.ts'
import type { Condition, KeyedUpdates, UpdatePlan } from '../plan/plan.ts'
import { storedKey } from '../plan/row-keys.ts'
import { restrictUpdate } from '../plan/row-rules.ts'
import { withinRules, withUpdateTimes } from '../plan/rule.ts'
import type { PlanLimits } from '../plan/limits.ts'
import { planWriteOptions, refuseWritten } from '../plan/write-options.ts'
import { whyUpdatedOneByOne } from '../plan/writes.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import type { Result } from '../response/result.ts'
import { areAlike, type RowsOfValues, valuesFor } from '../sql/rows-of-values.ts'
import type { Value } from '../types/column-type.ts'

type UpdateOfMany = UpdateBody & {
  readonly data: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly key: readonly string[]
}

/** The check of the body requires a key. */
export const isOfMany = (body: UpdateBody): body is UpdateOfMany => Array.isArray(body.data)

/**
 * @throws INVALID_BODY for a key that is not unique or nullable, and for an entry that changes nothing; MISSING_COLUMN
 * for one without the key; the errors of an update, with the path of the entry
 */
export function planKeyedUpdates (body: UpdateOfMany, source: TableSource, given: PlanLimits): UpdatePlan {
  const { table } = source
  const { verb, data, filters } = body
  const limits = counting(given)
  const condition = planFilters(filters, source, limits)
  const key = planKey(body.key, table, ['key'])
  const nullable = key.find((column) => column.nullable)
  if (nullable !== undefined) {
    throw at(['key'], mayBeNew(invalidBody(`"${nullable.name}" may be NULL, so that the key does not find each row`)))
  }
  const planned = data.map((entry, index) => planEntry({ entry, path: ['data', index], key, table }, limits.standIns))
  const members = body.include && planReturnedMembers(body.include, { source, limits })
  const { granted } = table
  const entries = granted === undefined
    ? planned
    : planned.map(({ values, update }, index) => ({ values, update: restrictEntry(update, granted, index) }))
  for (const [index, { update }] of entries.entries()) refuseNulls(update.assignments, ['data', index])
  const plan: UpdatePlan = {
    verb,
    table,
    condition: withinRules(table, condition),
    assignments: [],
    keyed: { key, entries },
    inTransaction: true,
    ...planWriteOptions(body, table, limits, members)
  }
  const { tables } = limits.counted
  if (tables !== undefined) refuseWritten(plan, source, tables)
  return Object.freeze(plan)
}

interface GivenEntry {
  readonly entry: Readonly<Record<string, unknown>>
  readonly path: Path
  readonly key: readonly Column[]
  readonly table: Table
}

function planEntry ({ entry, path, key, table }: GivenEntry, standIns?: StandIns): Entry {
  const values = key.map((column) => readKeyValue(column, entry, [...path, column.name], standIns))
  const named = new Set(key.map(({ name }) => name))
  const changed = objectKeys(entry).filter((name) => !named.has(name))
  if (changed.length === 0) throw at(path, invalidBody('an entry must have a column besides the key'))
  const assignments = planAssignments(entry, table, path, { standIns, names: changed })
  return { values, update: { verb: 'update', table, condition: combine('and', []), assignments } }
}

function readKeyValue (column: Column, entry: GivenEntry['entry'], path: Path, standIns?: StandIns): Value | Hole {
  const { name } = column
  const given = Object.hasOwn(entry, name) ? entry[name] : null
  if (given === null) throw at(path, missingColumn(`"${name}"`))
  return readValue(column, withStandIn(given, column, standIns, path), path)
}

/** @throws PERMISSION_DENIED */
function restrictEntry (update: UpdatePlan, granted: GrantedAccess, index: number): UpdatePlan {
  try {
    return withUpdateTimes(restrictUpdate(update, granted))
  } catch (error) {
    const { code, details } = error as ServiceError
    throw code === 'PERMISSION_DENIED' && details.length === 0 ? at(['data', index], error as ServiceError) : error
  }
}

// First locks the rows, so that the database says by its own equality which entries find one, and then changes each row
// by its key, in the order of `data`, or several by one statement where the order is not seen.

type Entry = KeyedUpdates['entries'][number]

type KeyedPlan = UpdatePlan & { readonly keyed: KeyedUpdates }

export const isKeyed = (plan: UpdatePlan): plan is KeyedPlan => plan.keyed !== undefined

/**
 * `sink`: for `returning`. @throws INVALID_BODY if two entries find the same row; the errors of an update, with the
 * path of the entry: each must undo the transaction
 */
export async function runKeyedUpdates (
  runner: Runner,
  planned: KeyedPlan,
  sink: ResponseSink | undefined
): Promise<Result> {
  const { table, keyed: { key }, returning } = planned
  const entries: Entry[] = []
  for (const { values, update } of planned.keyed.entries) {
    entries.push({ values, update: { ...update, assignments: await runner.bindAssignments(update.assignments) } })
  }
  const plan = { ...planned, keyed: { key, entries } }
  const found = await lockRows(runner, plan)
  refuseRepeats(found)
  const keys = found.filter((values) => values !== undefined)
  requireCount(plan, keys.length)
  const check = async ({ last = Infinity, isUndone = false } = {}): Promise<void> => {
    for (const [index, { update }] of entries.entries()) {
      if (found[index] === undefined || index > last) continue
      await atEntry(index, () => checkForeignKeys(runner, update, { isUndone }))
    }
  }
  const changed = await writeRows(runner, plan, found).catch((error: unknown) => refuse(error, check))
  // last, because an entry may refer to a row that a later one changes
  await check()
  if (sink !== undefined && returning !== undefined) {
    await readRows(runner, sink, { table, ...returning, key, keys })
  }
  return { rows: sink?.count ?? 0, changed, matched: keys.length }
}

/** The stored keys of the rows; undefined for an entry without a row. */
async function lockRows (
  runner: Runner,
  { table, condition, keyed: { key, entries } }: KeyedPlan
): Promise<Array<readonly Value[] | undefined>> {
  const found = Array<readonly Value[] | undefined>(entries.length).fill(undefined)
  const lock = (conditions: readonly Condition[]): Promise<Value[][]> => runner.keys({
    table,
    columns: key,
    condition: combine('and', [combine('or', conditions), condition]),
    limit: conditions.length,
    lock: 'update',
    ...(conditions.length > 1 && { sequence: conditions })
  })
  // two requests that lock the same rows in the same order wait for each other, in different ones they may deadlock
  const rows = sortByKey(entries.map(({ values }, index) => ({ columns: key, parameters: values, index })), key)
  for (let from = 0; from < rows.length; from += STEP) {
    const step = rows.slice(from, from + STEP).map(({ parameters, index }) => ({
      index,
      condition: hasKey(key, key.map((column, part) => storedKey(column, parameters[part] as Value)))
    }))
    const locked = await lock(step.map(({ condition }) => condition))
    // fewer rows do not tell which entries have none, or the same one
    for (const [position, { index, condition }] of locked.length === 0 ? [] : step.entries()) {
      found[index] = locked.length === step.length ? locked[position] : (await lock([condition]))[0]
    }
  }
  return found
}

/** `values`: the stored key. */
interface FoundRow { readonly index: number, readonly values: readonly Value[], readonly update: UpdatePlan }

/** Many by one statement where that is the same. Returns the number of changed ones. */
async function writeRows (
  runner: Runner,
  { table, keyed: { key, entries } }: KeyedPlan,
  storedKeys: ReadonlyArray<readonly Value[] | undefined>
): Promise<number> {
  const rows = storedKeys.flatMap((values, index): FoundRow[] =>
    values === undefined ? [] : [{ index, values, update: entries[index]?.update as UpdatePlan }])
  const updates = rows.map(({ update }) => update)
  const columns = whyUpdatedOneByOne({ table, key, updates }) === undefined
    ? (updates[0] as UpdatePlan).assignments.map(({ column }) => column)
    : undefined
  let changed = 0
  for (let from = 0; from < rows.length; from += STEP) {
    const step = rows.slice(from, from + STEP)
    const atOnce = columns === undefined ? undefined : await writeAtOnce(runner, { table, key, columns }, step)
    if (atOnce !== undefined) changed += atOnce
    else for (const row of step) changed += await writeRow(runner, key, row)
  }
  return changed
}

/**
 * Returns the number of changed rows; undefined if the values are not of one kind, or the database refuses a row, whose
 * exact error only the row by itself has. A refused statement has changed nothing.
 */
async function writeAtOnce (
  runner: Runner,
  target: Pick<RowsOfValues, 'table' | 'key' | 'columns'>,
  step: readonly FoundRow[]
): Promise<number | undefined> {
  const rows = step.map(({ values, update }) => [...values, ...valuesFor(target.columns, update)])
  if (!areAlike(rows)) return undefined
  try {
    return countUpdated((step[0] as FoundRow).update, await runner.updateRows({ ...target, rows }))
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

async function writeRow (runner: Runner, key: readonly Column[], { index, values, update }: FoundRow): Promise<number> {
  const one = { ...update, condition: hasKey(key, values) }
  return countUpdated(one, await atEntry(index, () => runOne(runner, one)))
}

function refuseRepeats (storedKeys: ReadonlyArray<readonly Value[] | undefined>): void {
  const seen = new Map<string, number>()
  for (const [index, values] of storedKeys.entries()) {
    if (values === undefined) continue
    const text = textOf(values)
    const first = seen.get(text)
    if (first !== undefined) throw at(['data', index], invalidBody(`the entry finds the same row as entry ${first}`))
    seen.set(text, index)
  }
}

const runOne = (runner: Runner, update: UpdatePlan): Promise<Result> =>
  withCheck(runner, update, runChange(runner, update, { sink: undefined }))

/** Names the entry in an error that is about its row. */
function atEntry<T> (index: number, run: () => Promise<T>): Promise<T> {
  return run().catch((error: unknown) => { throw inRow(error, index) })
}
