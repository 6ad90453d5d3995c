import type { Body } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import type { TableSource } from '../catalog/catalog.ts'
import { permissionDenied } from '../errors.ts'
import { planDelete } from './delete.ts'
import type { PlanLimits } from './limits.ts'
import { planInsert } from './insert.ts'
import { withTouched } from './hidden.ts'
import { withInsertKey } from './insert-key.ts'
import { isIdMoment } from './moments.ts'
import type { Plan } from './plan.ts'
import { refuseNulls } from './not-null.ts'
import { refuseOnlyDefaults } from './only-defaults.ts'
import { applyRules } from './rules.ts'
import { planSelect } from './select.ts'
import { planUpdate } from './update.ts'

/** Plans a validated body for its table and the others that it names. @throws PERMISSION_DENIED for a write to a view or one that breaks a rule of the grant, NOT_NULL_VIOLATION after all others, and the errors of the verb */
export function createPlan (body: Body, source: TableSource, limits: PlanLimits): Plan {
  const { table } = source
  const planned = planBody(body, source, limits)
  const plan = table.granted === undefined ? planned : applyRules(planned, table.granted)
  refuseNulls(plan)
  if (plan.verb === 'update') return withTouched(plan)
  if (plan.verb !== 'insert') return plan
  refuseOnlyDefaults(plan)
  const insert = isIdMoment(plan) ? Object.freeze({ ...plan, inTransaction: true as const }) : plan
  return insert.returning === undefined ? insert : withInsertKey(insert)
}

/** @throws PERMISSION_DENIED for a write to a view */
export function refuseView (verb: Body['verb'], { kind, name }: Table): void {
  if (kind === 'view' && verb !== 'select') throw permissionDenied(`"${name}" is a view; use select`)
}

function planBody (body: Body, source: TableSource, limits: PlanLimits): Plan {
  const { table } = source
  refuseView(body.verb, table)
  switch (body.verb) {
    case 'select': return planSelect(body, source, limits)
    case 'insert': return planInsert(body, table)
    case 'update': return planUpdate(body, source, limits)
    case 'delete': return planDelete(body, source, limits)
  }
}
