import type { InsertBody } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import { planAssignments } from './assignments.ts'
import { planRows } from './insert-rows.ts'
import type { InsertPlan } from './plan.ts'
import { requireColumns } from './required-columns.ts'

/** Plans an insert. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, MISSING_COLUMN, NOT_NULL_VIOLATION, INVALID_BODY */
export function planInsert (body: InsertBody, table: Table): InsertPlan {
  const { data } = body
  if (Array.isArray(data) || body.onConflict !== undefined) return Object.freeze({ verb: 'insert', table, assignments: [], rows: planRows(body, table) } as const)
  const assignments = planAssignments(data, table)
  requireColumns(data, table, ['data'])
  return Object.freeze({ verb: 'insert', table, assignments } as const)
}
