import type { Body } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import { permissionDenied } from '../errors.ts'
import { planDelete } from './delete.ts'
import type { FilterLimits } from './filters/scope.ts'
import { planInsert } from './insert.ts'
import type { Plan } from './plan.ts'
import { planSelect } from './select.ts'
import { planUpdate } from './update.ts'

/** Plans a validated body for its table. @throws PERMISSION_DENIED for a write to a view, and the errors of the verb */
export function createPlan (body: Body, table: Table, limits: FilterLimits): Plan {
  if (table.kind === 'view' && body.verb !== 'select') throw permissionDenied(`"${table.name}" is a view; use select`)
  switch (body.verb) {
    case 'select': return planSelect(body, table, limits)
    case 'insert': return planInsert(body, table)
    case 'update': return planUpdate(body, table, limits)
    case 'delete': return planDelete(body, table, limits)
  }
}
