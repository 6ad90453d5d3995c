/** The keys of rows that an insert returns, or that are looked up after it. */
import { mayFillColumns, type Column, type Table } from '../catalog/catalog.ts'
import { unsupported, type ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import { settled } from '../plan/moments.ts'
import { givenValue, type InsertPlan, type PlannedRow } from '../plan/plan.ts'
import { storedKey } from '../plan/row-keys.ts'
import type { Value } from '../types/column-type.ts'
import { hasKey, STEP } from './read-rows.ts'
import type { Runner } from './runner.ts'

export interface GivenKeys {
  readonly table: Table
  readonly key: readonly Column[]
  /** The values that the request gives to the key of each row. */
  readonly keys: ReadonlyArray<readonly Value[]>
}

/**
 * Whether a row already has one of the keys of an insert. If the insert succeeds nevertheless, a BEFORE INSERT trigger has changed the key, and the
 * row with that key is another one.
 */
export async function areTaken (runner: Runner, { table, key, keys }: GivenKeys): Promise<boolean> {
  for (let from = 0; from < keys.length; from += STEP) {
    const condition = combine('or', keys.slice(from, from + STEP).map((values) => hasKey(key, values)))
    if (await runner.exists({ table, columns: key, condition })) return true
  }
  return false
}

/** The values of the key in the rows, without rows that get a number from the database. */
export function givenKeys (key: readonly Column[], rows: readonly PlannedRow[]): Value[][] {
  const keys = rows.map((row) => key.map((column) => settled(givenValue(row, column))))
  return keys.filter((values): values is Value[] => !values.includes(null))
}

/**
 * The value of a column of the key, if it is known before the row is written; null if the database numbers the row, or if a BEFORE INSERT trigger may
 * number it differently.
 */
export function knownKey ({ table, conflict }: Pick<InsertPlan, 'table' | 'conflict'>, row: PlannedRow, column: Column): Value | null {
  const given = settled(givenValue(row, column))
  return given === null || (conflict === undefined && column.autoIncrement && mayFillColumns(table)) ? null : storedKey(column, given)
}

export const keyChanged = (): ServiceError => unsupported('/returning', 'a trigger has changed the key of a row, or left it out')
