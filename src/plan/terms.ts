/** Plans `returning`, `expect` and `dryRun` of a write, and the setting `limits.changed`. */
import type { DeleteBody, InsertBody, UpdateBody } from '../../schemas/body.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { getColumn } from './columns.ts'
import type { PlanLimits } from './limits.ts'
import type { ChangeTerms, WriteTerms } from './plan.ts'
import { planRange } from './row-range.ts'

/** Whether a write has none of these, so that one statement is enough. */
export function isPlainWrite ({ returning, dryRun }: Pick<InsertBody, 'returning' | 'dryRun'>): boolean {
  return returning === undefined && dryRun !== true
}

export function isPlainChange (body: UpdateBody | DeleteBody, { changed }: PlanLimits): boolean {
  return isPlainWrite(body) && body.expect === undefined && changed === undefined
}

/** @throws NOT_SUPPORTED if writes to the table cannot be undone. `path`: the field of the body that requires it */
export function requireUndoable ({ name, transactional }: Table, path: string): void {
  if (!transactional) throw unsupported(path, `the engine of table "${name}" has no transactions, so that nothing can be undone`)
}

/** @throws COLUMN_NOT_FOUND, NOT_SUPPORTED: to be called when all else is planned */
export function planWriteTerms ({ returning, dryRun }: Pick<InsertBody, 'returning' | 'dryRun'>, table: Table): WriteTerms {
  const columns = returning === undefined ? undefined : planReturning(returning, table)
  if (dryRun === true) requireUndoable(table, '/dryRun')
  return { inTransaction: true, ...columns !== undefined && { returning: columns }, ...dryRun === true && { dryRun } }
}

/** @throws COLUMN_NOT_FOUND, NOT_SUPPORTED: to be called when all else is planned */
export function planChangeTerms (body: UpdateBody | DeleteBody, table: Table, { changed }: PlanLimits): ChangeTerms {
  const { expect } = body
  return { ...planWriteTerms(body, table), ...expect !== undefined && { expect: planRange(expect) }, ...changed !== undefined && { maximum: changed } }
}

function planReturning (returning: '*' | readonly string[], table: Table): readonly Column[] {
  return returning === '*' ? table.columnList : returning.map((name, index) => getColumn(table, name, ['returning', index]))
}
