import type { Body } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import { permissionDenied } from '../errors.ts'
import { planDelete } from './delete.ts'
import type { FilterLimits } from './filters/scope.ts'
import { planInsert } from './insert.ts'
import type { Plan } from './plan.ts'
import { planSelect } from './select.ts'
import { planUpdate } from './update.ts'

/** The plan of a checked body on its table. @throws every refusal that needs the catalog */
export function createPlan (body: Body, table: Table, limits: FilterLimits): Plan {
  if (table.kind === 'view' && body.verb !== 'select') throw permissionDenied(`"${table.name}" is a view: it can be selected from only`)
  switch (body.verb) {
    case 'select': return planSelect(body, table, limits)
    case 'insert': return planInsert(body, table)
    case 'update': return planUpdate(body, table, limits)
    case 'delete': return planDelete(body, table, limits)
  }
}
