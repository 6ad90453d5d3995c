/** The keys of rows that an insert returns. */
import type { Column, Table } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import { unsupported, type ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import type { Value } from '../types/column-type.ts'
import { KeyList } from './key-list.ts'
import { hasKey, STEP } from './read-rows.ts'
import { runStatement } from './run-statement.ts'

export interface GivenKeys {
  readonly table: Table
  readonly key: readonly Column[]
  /** The values that the request gives the key of each row. */
  readonly keys: ReadonlyArray<readonly Value[]>
}

/**
 * Whether there is a row with one of the keys that an insert gives. If it succeeds all the same, a BEFORE INSERT trigger has changed the key, and
 * the row with that key is another one.
 */
export async function areTaken (tx: Executor, database: Database, { table, key, keys }: GivenKeys): Promise<boolean> {
  const list = new KeyList(key)
  for (let from = 0; from < keys.length && list.count === 0; from += STEP) {
    const condition = combine('or', keys.slice(from, from + STEP).map((values) => hasKey(key, values)))
    await runStatement(tx, database, { verb: 'select', table, columns: key, condition, order: [], limit: 1 }, list)
  }
  return list.count > 0
}

export const keyChanged = (): ServiceError => unsupported('/returning', 'a trigger has changed the key of a row, or left it out')
