import type { InsertBody } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import { planAssignments } from './assignments.ts'
import { planRows, requireColumns } from './insert-rows.ts'
import type { InsertPlan } from './plan.ts'
import { isPlainWrite, planWriteTerms } from './terms.ts'

/** Plans an insert. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, MISSING_COLUMN, INVALID_BODY, NOT_SUPPORTED */
export function planInsert (body: InsertBody, table: Table): InsertPlan {
  const plan = planData(body, table)
  return Object.freeze(isPlainWrite(body) ? plan : { ...plan, ...planWriteTerms(body, table) })
}

function planData (body: InsertBody, table: Table): InsertPlan {
  const { data } = body
  if (Array.isArray(data) || body.onConflict !== undefined) return { verb: 'insert', table, assignments: [], rows: planRows(body, table) }
  const assignments = planAssignments(data, table)
  requireColumns(data, table, ['data'])
  return { verb: 'insert', table, assignments }
}
