/** Rows that a delete has selected and not deleted, so that its answer must not show them as deleted. */
import { mayCascade, mayFire } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import { unsupported, type ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import type { DeletePlan } from '../plan/plan.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import { KeyList } from './key-list.ts'
import { hasKey, STEP } from './read-rows.ts'
import { runStatement } from './run-statement.ts'

/**
 * Called before a delete of `count` rows that are locked. Returns a function that counts those that are still there after it: a BEFORE DELETE trigger of
 * SQLite may keep a row, and MySQL does not delete a row that no longer matches after a foreign key of the table has set a column to NULL.
 * @throws NOT_SUPPORTED if they cannot be found by a key
 */
export async function watchDelete (tx: Executor, database: Database, { table, condition }: DeletePlan, count: number): Promise<() => Promise<number>> {
  const mayKeep = database.dialect.engine === 'sqlite' ? mayFire(table, 'delete', 'before') : count > 1 && mayCascade(table)
  if (!mayKeep) return async () => 0
  const key = rowKeysOf(table).find((columns) => columns.every(({ nullable }) => !nullable))
  if (key === undefined) return async () => { throw rowsKept() }
  const list = new KeyList(key)
  await runStatement(tx, database, { verb: 'select', table, columns: key, condition, order: [], limit: count, lock: 'update' }, list)
  return async () => {
    let kept = 0
    for (let from = 0; from < list.count; from += STEP) {
      const found = new KeyList(key)
      const any = combine('or', list.keys.slice(from, from + STEP).map((values) => hasKey(key, values)))
      await runStatement(tx, database, { verb: 'select', table, columns: key, condition: any, order: [], limit: STEP }, found)
      kept += found.count
    }
    return kept
  }
}

export const rowsKept = (): ServiceError => unsupported('/returning', 'a trigger or a foreign key has kept some of the rows: leave out "returning", or delete them one by one')
