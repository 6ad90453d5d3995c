/** The isolation of a write that is alone in its transaction. */
import { mayCascade, type Table } from '../catalog/catalog.ts'
import { existsIn, membersOf } from './filters/scope.ts'
import type { Plan } from './plan.ts'
import { mayChangeKey } from './row-keys.ts'
import { factsOf } from './writes.ts'

/** READ COMMITTED, unless what a write reads must stay as it is until it has written or read again. */
export const isolationOf = (plan: Plan): 'readCommitted' | 'repeatableRead' =>
  whyRepeatable(plan) === undefined ? 'readCommitted' : 'repeatableRead'

/**
 * A trigger may give new rows other keys than those by which they are checked after the write, which then needs a
 * snapshot.
 */
export const mayMoveNew = (table: Table): boolean => table.granted !== undefined && factsOf(table).fillsNew

/** Why a plan must see one snapshot; undefined if it need not. */
export function whyRepeatable (plan: Plan): string | undefined {
  const { table, afterWrite } = plan
  if (plan.verb !== 'insert' && existsIn(plan.condition).length > 0) return 'its filters read other rows'
  if (membersOf(plan).length > 0) return 'several statements read rows and members'
  if (plan.verb === 'insert') {
    return afterWrite !== undefined && mayMoveNew(table) ? 'a snapshot shows only the new rows of the write' : undefined
  }
  if (plan.verb === 'delete') {
    if (plan.returning !== undefined) return 'it reads the rows that it deletes'
    return (plan.expect ?? plan.maximum) !== undefined && mayCascade(table)
      ? 'it counts rows that it may already have deleted'
      : undefined
  }
  if (plan.verb !== 'update' || (plan.returning === undefined && afterWrite === undefined)) return undefined
  return mayChangeKey(table, plan.assignments.map(({ column }) => column))
    ? 'its rows may exchange unique values, so its filters must find them again'
    : undefined
}
