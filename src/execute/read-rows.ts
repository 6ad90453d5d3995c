/** Reads rows that a write has changed, by their keys. */
import { type Column, mayFire, type Table } from '../catalog/catalog.ts'
import { type ServiceError, unsupported } from '../errors.ts'
import { combine } from '../plan/filters/scope.ts'
import { textOf } from '../plan/foreign-keys.ts'
import { isComputed, knownDefault } from '../plan/insert-key.ts'
import { boundValue } from '../plan/moments.ts'
import { type Condition, givenValue, type PlannedRow, type Returned, type UpdatePlan } from '../plan/plan.ts'
import { storedKey } from '../plan/row-keys.ts'
import { withinRules } from '../plan/rule.ts'
import { rowRefused } from '../plan/row-rules.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import type { Value } from '../types/column-type.ts'
import type { Runner } from './runner.ts'

/**
 * Maximum number of keys in one select, and so of comparisons that order each row. All full selects have the same text.
 */
export const STEP = 100

/**
 * Writes the rows into the sink. @throws NOT_SUPPORTED, or PERMISSION_DENIED under rules, if a row is not found; the
 * errors of the sink
 */
export async function readRows (
  runner: Runner,
  sink: ResponseSink,
  { table, columns, members, key, keys, optional }: Returned & {
    readonly table: Table
    /** A unique key. */
    readonly key: readonly Column[]
    /** The values of the key of each row, in the order of the answer. A row may occur more than once. */
    readonly keys: ReadonlyArray<readonly Value[]>
    /** The indexes in `keys` of rows that may be missing. */
    readonly optional?: ReadonlySet<number>
  }
): Promise<void> {
  const select = async (conditions: readonly Condition[]): Promise<number> => {
    const before = sink.keptCount
    // rows that the write has left unchanged are not of its snapshot, in which another client may have changed them
    // before the write waited for that one
    await runner.select(
      {
        table,
        columns,
        ...(members !== undefined && { members }),
        lock: 'share',
        condition: withinRules(table, combine('or', [...conditions])),
        limit: conditions.length,
        ...(conditions.length > 1 && { sequence: conditions })
      },
      sink
    )
    return sink.count - before
  }
  sink.forgetRows()
  for (let from = 0; from < keys.length; from += STEP) {
    const conditions = keys.slice(from, from + STEP).map((values) => hasKey(key, values))
    if ((await select(conditions)) === conditions.length) {
      sink.keepRows()
      continue
    }
    // a select returns a row that occurs twice only once
    for (const [index, condition] of conditions.entries()) {
      if ((await select([condition])) === 0 && optional?.has(from + index) !== true) throw notFound(table)
      sink.keepRows()
    }
  }
}

/** A missing row probably does not satisfy the rules, if there are any. */
const notFound = ({ granted }: Table): ServiceError => granted !== undefined && granted.rules.length > 0
  ? rowRefused()
  : unsupported('/returning', 'a row cannot be found after the write: a trigger may have changed its key')

/** The condition of the row with these values of a unique key. */
export const hasKey = (key: readonly Column[], values: readonly Value[]): Condition =>
  combine(
    'and',
    key.map((column, index) => ({ kind: 'compare', column, operator: '=', parameter: values[index] as Value }))
  )

/**
 * The condition that selects the row with the same unique key as a given row. Undefined if no such row can exist: NULL
 * equals no value, and a row without a value for an AUTO_INCREMENT column gets a new one. The database compares
 * constant defaults whose exact value only it knows.
 * @throws NOT_SUPPORTED if the database computes a column of the key
 */
export function conditionOf (
  key: readonly Column[],
  { columns, parameters }: Pick<PlannedRow, 'columns' | 'parameters'>
): Condition | undefined {
  const conditions: Condition[] = []
  for (const column of key) {
    const index = columns.indexOf(column)
    const parameter = index >= 0 ? boundValue(parameters[index]) : column.autoIncrement ? null : knownDefault(column)
    if (parameter === null) return undefined
    if (parameter === undefined && isComputed(column)) {
      throw unsupported('/onConflict/key', `the database computes "${column.name}": send a value`)
    }
    conditions.push(
      parameter === undefined
        ? { kind: 'default', column }
        : { kind: 'compare', column, operator: '=', parameter: storedKey(column, parameter) }
    )
  }
  return { kind: 'and', conditions }
}

/** Whether an update writes the key in a table whose triggers may change or leave out what it writes. */
export const mayMoveKey = ({ table, assignments }: UpdatePlan, key: readonly Column[]): boolean =>
  mayFire(table, 'update') && assignments.some(({ column }) => key.includes(column))

/**
 * Whether other rows already have one of the keys that a write gives. If it succeeds nevertheless, a trigger has
 * changed the key, and the row with that key is another one.
 */
export async function areTaken (runner: Runner, { table, key, keys, own = [] }: {
  readonly table: Table
  readonly key: readonly Column[]
  /** The values that the write gives to the key of each row. */
  readonly keys: ReadonlyArray<readonly Value[]>
  /** The keys of the rows that it writes. */
  readonly own?: ReadonlyArray<readonly Value[]>
}): Promise<boolean> {
  const written = new Set(own.map(textOf))
  for (let from = 0; from < keys.length; from += STEP) {
    const condition = combine('or', keys.slice(from, from + STEP).map((values) => hasKey(key, values)))
    const found = await runner.keys({ table, columns: key, condition, limit: STEP })
    if (found.some((values) => !written.has(textOf(values)))) return true
  }
  return false
}

/** The values of the key in the rows, without rows that get a number from the database. */
export function givenKeys (key: readonly Column[], rows: readonly PlannedRow[]): Value[][] {
  const keys = rows.map((row) => key.map((column) => boundValue(givenValue(row, column))))
  return keys.filter((values): values is Value[] => !values.includes(null))
}

export const keyChanged = (): ServiceError =>
  unsupported('/returning', 'a trigger has changed the key of a row, or left it out')
