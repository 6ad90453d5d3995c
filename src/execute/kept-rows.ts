/** Finds rows that a delete has selected but not deleted, which its answer must not show as deleted. */
import { mayCascade, mayFire } from '../catalog/catalog.ts'
import { unsupported, type ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import type { DeletePlan } from '../plan/plan.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import { hasKey, STEP } from './read-rows.ts'
import type { Runner } from './runner.ts'

/**
 * Called before a delete of `count` locked rows. Returns a function that counts the rows that remain after it: a BEFORE DELETE trigger of SQLite may
 * keep a row, and MySQL does not delete a row that no longer matches because a foreign key of the table has set a column to NULL.
 * @throws NOT_SUPPORTED if they cannot be found by a key
 */
export async function watchDelete (runner: Runner, { table, condition }: DeletePlan, count: number): Promise<() => Promise<number>> {
  const mayKeep = runner.engine === 'sqlite' ? mayFire(table, 'delete', 'before') : count > 1 && mayCascade(table)
  if (!mayKeep) return async () => 0
  const key = rowKeysOf(table).find((columns) => columns.every(({ nullable }) => !nullable))
  if (key === undefined) return async () => { throw rowsKept() }
  const keys = await runner.keys({ table, columns: key, condition, limit: count, lock: 'update' })
  return async () => {
    let kept = 0
    for (let from = 0; from < keys.length; from += STEP) {
      const any = combine('or', keys.slice(from, from + STEP).map((values) => hasKey(key, values)))
      kept += await runner.countRead({ table, columns: key, condition: any, limit: STEP })
    }
    return kept
  }
}

export const rowsKept = (): ServiceError => unsupported('/returning', 'a trigger or a foreign key has kept some of the rows: leave out "returning", or delete them one by one')
