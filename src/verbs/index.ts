/** The verbs of bodies, each with all that it does (docs/internals/how-to-add.md, "A verb"). */
import type { Body } from '../../schemas/body.ts'
import type { Verb } from '../../schemas/grants.ts'
import type { Table, TableSource } from '../catalog/catalog.ts'
import { mayBeNew, permissionDenied } from '../errors.ts'
import type { Runner } from '../execute/runner.ts'
import type { ReadRows, Terms } from '../plan/inserted-rows.ts'
import type { Plan } from '../plan/plan.ts'
import type { PlanLimits } from '../plan/limits.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import type { Result } from '../response/result.ts'
import { remove } from './delete.ts'
import { insert } from './insert.ts'
import { select } from './select.ts'
import { update } from './update.ts'

interface VerbHandler<B extends Body, P extends Plan> {
  /** The rows that a request counts: those that it returns, or those that it changes. */
  readonly counts: 'rows' | 'changed'
  /** Plans a checked body, within the rules of the grant. */
  plan (body: B, source: TableSource, limits: PlanLimits): P
  /** `runner`: also of a transaction. `sink`: for the rows of the response. @throws StaleCatalog */
  run (runner: Runner, plan: P, options: { readonly sink: ResponseSink | undefined }): Promise<Result>
  respond (plan: P, result: Result, sink: ResponseSink | undefined): string | Buffer
}

const handlers = { select, insert, update, delete: remove } satisfies {
  readonly [V in Verb]: VerbHandler<Extract<Body, { readonly verb: V }>, Extract<Plan, { readonly verb: V }>>
}

export const verbs = handlers as Readonly<Record<Verb, VerbHandler<Body, Plan>>>

/**
 * @throws PERMISSION_DENIED for a write to a view or one that breaks a rule of the grant, NOT_NULL_VIOLATION if nothing
 * else is wrong, and the errors of the verb
 */
export function createPlan (body: Body, source: TableSource, limits: PlanLimits): Plan {
  refuseView(body.verb, source.table)
  return verbs[body.verb].plan(body, source, limits)
}

/** For rows that have been read already. */
export function createPlanOfRows (rows: ReadRows, terms: Terms, source: TableSource): Plan {
  refuseView('insert', source.table)
  return insert.planReadRows(rows, terms, source)
}

/** @throws PERMISSION_DENIED for a write to a view */
export function refuseView (verb: Body['verb'], { kind, name }: Table): void {
  if (kind === 'view' && verb !== 'select') throw mayBeNew(permissionDenied(`"${name}" is a view; use select`))
}
