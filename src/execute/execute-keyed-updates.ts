/**
 * Runs an update of many rows. It first locks the rows, so that the database says by its own equality which entries
 * find one, and then changes each row by its key, in the order of `data`, or several by one statement where the order
 * is not seen.
 */
import type { Column } from '../catalog/catalog.ts'
import { isRefusal } from '../dialects/dialect.ts'
import { at, invalidBody } from '../errors.ts'
import { combine } from '../plan/filters/scope.ts'
import { textOf } from '../plan/foreign-keys.ts'
import { sortByKey } from '../plan/insert-key.ts'
import type { Condition, KeyedUpdates, UpdatePlan } from '../plan/plan.ts'
import { storedKey } from '../plan/row-keys.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import type { Result } from '../response/result.ts'
import { areAlike, columnsAtOnce, type RowsOfValues, valuesFor } from '../sql/compile-rows-of-values.ts'
import type { Value } from '../types/column-type.ts'
import { checkForeignKeys, inRow, refuse, runWithCheck } from './after-write.ts'
import { countUpdated, requireCount } from './change.ts'
import { hasKey, readRows, STEP } from './read-rows.ts'
import type { Runner } from './runner.ts'

type KeyedPlan = UpdatePlan & { readonly keyed: KeyedUpdates }

export const isKeyed = (plan: UpdatePlan): plan is KeyedPlan => plan.keyed !== undefined

/**
 * `sink`: for `returning`. @throws INVALID_BODY if two entries find the same row; the errors of an update, with the
 * path of the entry: each must undo the transaction
 */
export async function runKeyedUpdates (
  runner: Runner,
  plan: KeyedPlan,
  sink: ResponseSink | undefined
): Promise<Result> {
  const { table, keyed: { key, entries }, returning } = plan
  const found = await lockRows(runner, plan)
  refuseRepeats(found)
  const keys = found.filter((values) => values !== undefined)
  requireCount(plan, keys.length)
  const changed = await writeRows(runner, plan, found)
  // last, because an entry may refer to a row that a later one changes
  for (const [index, values] of found.entries()) {
    if (values !== undefined) await atEntry(index, () => checkForeignKeys(runner, entries[index]?.update as UpdatePlan))
  }
  if (sink !== undefined && returning !== undefined) {
    await readRows(runner, sink, { table, ...returning, key, keys })
  }
  return { rows: sink?.count ?? 0, changed, matched: keys.length }
}

/** Returns the stored key of the row of each entry; undefined for an entry without a row. */
async function lockRows (
  runner: Runner,
  { table, condition, keyed: { key, entries } }: KeyedPlan
): Promise<Array<readonly Value[] | undefined>> {
  const found = Array<readonly Value[] | undefined>(entries.length).fill(undefined)
  const lock = (conditions: readonly Condition[]): Promise<Value[][]> => runner.keys({
    table,
    columns: key,
    condition: combine('and', [combine('or', [...conditions]), condition]),
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

/** The entry of a row, and the stored key of that. */
interface FoundRow { readonly index: number, readonly values: readonly Value[], readonly update: UpdatePlan }

/** Writes the rows of the entries, many by one statement where that is the same. Returns the number of changed ones. */
async function writeRows (
  runner: Runner,
  { table, keyed: { key, entries } }: KeyedPlan,
  found: ReadonlyArray<readonly Value[] | undefined>
): Promise<number> {
  const rows = found.flatMap((values, index): FoundRow[] =>
    values === undefined ? [] : [{ index, values, update: entries[index]?.update as UpdatePlan }])
  const columns = columnsAtOnce({ table, key, updates: rows.map(({ update }) => update) }, runner.engine)
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
 * Writes rows by one statement. Returns the number of changed ones; undefined if the values are not of one kind, or the
 * database refuses a row, of which only the row by itself has the exact error. A refused statement has changed nothing.
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

function refuseRepeats (found: ReadonlyArray<readonly Value[] | undefined>): void {
  const seen = new Map<string, number>()
  for (const [index, values] of found.entries()) {
    if (values === undefined) continue
    const text = textOf(values)
    const first = seen.get(text)
    if (first !== undefined) throw at(['data', index], invalidBody(`the entry finds the same row as entry ${first}`))
    seen.set(text, index)
  }
}

function runOne (runner: Runner, update: UpdatePlan): Promise<Result> {
  const running = runWithCheck(runner, update, () => runner.run(update))
  const { foreignKeyChecks: checks } = update
  return checks === undefined ? running : running.catch((error: unknown) => refuse(runner, update, { error, checks }))
}

/** Names the entry in an error that is about its row. */
function atEntry<T> (index: number, run: () => Promise<T>): Promise<T> {
  return run().catch((error: unknown) => { throw inRow(error, index) })
}
