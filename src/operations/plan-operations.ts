/** Authorizes and plans all operations of a request before the first one runs. */
import type { Body, Operation } from '../../schemas/body.ts'
import { authorize, type Access, requireLock } from '../access/authorize.ts'
import { permissionsOn, type Grant } from '../access/grant.ts'
import { orUnavailable } from '../access/granted-table.ts'
import type { TableSource } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { at, tableNotFound, type ServiceError } from '../errors.ts'
import { createPlan, refuseView } from '../verbs/index.ts'
import { startCount, type PlanLimits, lockRows, requireUndoable } from '../plan/write-options.ts'
import type { References } from '../plan/result-reference.ts'
import type { Plan } from '../plan/plan.ts'
import { inOperation } from '../request/check-body.ts'

export interface PlannedOperation {
  readonly body: Body
  /** The plan without the values of its references. */
  readonly plan: Plan
  /** The references in the body, with their values once the operation is planned again. */
  readonly references: References['found']
  /** Plans the operation again with the values of its references. @throws as createPlan */
  replan (find: NonNullable<References['find']>): Plan
}

export interface OperationsToPlan {
  readonly grant: Grant
  readonly database: Database
  readonly operations: readonly Operation[]
  readonly limits: PlanLimits
  readonly dryRun: boolean
}

/**
 * Plans all operations stage by stage, and refuses them in the same order as single requests. @throws
 * PERMISSION_DENIED, TABLE_NOT_FOUND, the errors of planning; `details` name the operation
 */
export async function planOperations ({
  grant,
  database,
  operations,
  limits,
  dryRun
}: OperationsToPlan): Promise<readonly PlannedOperation[]> {
  // waits for the first catalog before any table is refused as missing
  const found = await settle(operations, (operation) => authorizeOperation({ grant, database, dryRun }, operation))
  const sources = valuesOf(found, ['PERMISSION_DENIED'])
  const counted = startCount()
  const planned = await settle(operations, (operation, index) => {
    const before = { ...counted, tables: undefined }
    return orUnavailable({ grant, database, tableName: operation.table }, sources[index] as TableSource, (source) =>
      planOperation({ operation, index, source, limits: { ...limits, counted: Object.assign(counted, before) } })
    )
  })
  // last come data that breaks a rule of the grant, and then what the table or the database cannot do
  return valuesOf(planned, undefined, ['PERMISSION_DENIED', 'NOT_SUPPORTED', 'NOT_NULL_VIOLATION'])
}

function authorizeOperation (
  { grant, database, dryRun }: Pick<OperationsToPlan, 'grant' | 'database' | 'dryRun'>,
  operation: Operation
): TableSource | Promise<TableSource> {
  const { table, verb, lock } = operation
  const permissions = permissionsOn(grant, database.name, table)
  // refuses a table that the grant does not see like one that does not exist
  if (permissions.size === 0) throw at('/table', tableNotFound(table, database.name))
  const access: Access = { grant, database, tableName: table, permissions }
  if (lock === true) requireLock(permissions)
  const refuse = (error: unknown): never => {
    const { code, details } = error as ServiceError
    throw code === 'TABLE_NOT_FOUND' && details.length === 0 ? at('/table', error as ServiceError) : error
  }
  try {
    const found = authorize(access, dryRun && verb !== 'select' ? { ...operation, dryRun } : operation)
    const check = (source: TableSource): TableSource => {
      refuseView(verb, source.table)
      return source
    }
    return found instanceof Promise ? found.then(check).catch(refuse) : check(found)
  } catch (error) {
    return refuse(error)
  }
}

function planOperation ({
  operation,
  index,
  source,
  limits
}: {
  readonly operation: Operation
  readonly index: number
  readonly source: TableSource
  readonly limits: PlanLimits
}): PlannedOperation {
  const { lock } = operation
  const references: References = { index, found: new Map() }
  const planWith = (applied: PlanLimits): Plan => {
    const plan = createPlan(operation, source, applied)
    return lock === true ? lockRows(plan) : plan
  }
  const plan = planWith({ ...limits, references })
  if (plan.verb !== 'select') requireUndoable(source.table, '')
  const { counted: _counted, ...uncounted } = limits
  return {
    body: operation,
    plan,
    references: references.found,
    replan: (find) => planWith({ ...uncounted, references: { ...references, find } })
  }
}

type Settled<T> = { readonly value: T } | { readonly error: ServiceError }

async function settle<T> (
  operations: readonly Operation[],
  work: (operation: Operation, index: number) => T | Promise<T>
): Promise<Array<Settled<T>>> {
  const settled: Array<Settled<T>> = []
  for (const [index, operation] of operations.entries()) {
    try {
      const value = work(operation, index)
      settled.push({ value: value instanceof Promise ? await value : value })
    } catch (error) {
      settled.push({ error: error as ServiceError })
    }
  }
  return settled
}

/**
 * @throws the first error; errors with the codes `first` come before all others, those with the codes `last` after
 * them, in this order
 */
function valuesOf<T> (
  settled: ReadonlyArray<Settled<T>>,
  first: readonly string[] = [],
  last: readonly string[] = []
): T[] {
  const rankOf = ({ code }: ServiceError): number => (first.includes(code) ? -1 : last.indexOf(code) + 1)
  const errors = settled
    .flatMap((each, index) => ('error' in each ? [{ index, error: each.error }] : []))
    .sort((a, b) => rankOf(a.error) - rankOf(b.error))
  const [refused] = errors
  if (refused !== undefined) {
    throw refused.error.statusCode < 500 ? inOperation(refused.index, refused.error) : refused.error
  }
  return settled.map((each) => (each as { value: T }).value)
}
