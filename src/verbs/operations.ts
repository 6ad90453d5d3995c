/** All operations of a request are authorized and planned before the first one runs. */
import type { Body, BodyInTransaction, Operation, OperationsBody } from '../../schemas/body.ts'
import { nameTables } from '../access/violated-keys.ts'
import { accessTo, authorize } from '../access/authorize.ts'
import { type Grant, requireLock } from '../access/grant.ts'
import type { TableSource } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { lookAgain, toStale, withFreshCatalog } from '../databases/stale-catalog.ts'
import type { ReadOptions, Transaction } from '../dialects/dialect.ts'
import { at, overloaded, resultTooLarge, ServiceError } from '../errors.ts'
import { type Keyed, pathOfNamed, transactOnce } from '../idempotency/run-once.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { findBySteps } from '../json/plain-values.ts'
import { tablesOf, startCount } from '../plan/filters/scope.ts'
import type { Plan } from '../plan/plan.ts'
import { bind, NeedsValues } from '../plan/bind.ts'
import type { StandIns } from '../plan/holes.ts'
import { References, type Target } from '../plan/references.ts'
import { lockRows, requireUndoable } from '../plan/write-options.ts'
import type { PlanLimits } from '../plan/limits.ts'
import { inOperation } from '../request/check-body.ts'
import type { MemoryBudget, ResponseBudget } from '../response/budget.ts'
import { dataOf, respondToOperations } from '../response/result.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { respondIn } from './execute.ts'
import { createPlan, refuseView } from './index.ts'

interface PlannedOperation {
  readonly body: Body
  /** The plan, with holes in place of the values of its references. */
  readonly plan: Plan
  readonly references: References
  /** Plans the operation again with the values of its references. @throws as createPlan */
  replan (find: (target: Target) => unknown): Plan
}

/** The plans of a named request, for one call. */
export interface NamedPlans {
  readonly name: string
  readonly standIns: StandIns
  /** Undefined if the bodies must be planned with the values of the call. */
  find (sources: readonly TableSource[]): ReadonlyArray<{
    readonly body: BodyInTransaction
    readonly plan: Plan
    readonly references: References | undefined
  }> | undefined
  /** To be called when the bodies have been planned with their values. */
  requireForm (sources: readonly TableSource[]): void
}

interface OperationsToPlan {
  readonly grant: Grant
  readonly database: Database
  readonly operations: readonly Operation[]
  readonly limits: PlanLimits
  readonly dryRun: boolean
  readonly named?: NamedPlans | undefined
}

/**
 * Stage by stage, refused in the order of single requests. @throws PERMISSION_DENIED, TABLE_NOT_FOUND, the errors of
 * planning; `details` name the operation
 */
async function planOperations ({
  operations,
  named,
  ...options
}: OperationsToPlan): Promise<readonly PlannedOperation[]> {
  const limits = named === undefined ? options.limits : { ...options.limits, standIns: named.standIns }
  // waits for the first catalog before any table is refused as missing
  const sources = await inStage(operations, { first: ['PERMISSION_DENIED'] }, (operation) =>
    authorizeOperation(options, operation)
  )
  const found = named?.find(sources)
  if (found !== undefined) {
    return found.map(({ body, plan, references }, index) => {
      const toPlan = { operation: body as Operation, index, source: sources[index] as TableSource, limits }
      return { body, plan, references: references as References, replan: planAgain(toPlan) }
    })
  }
  const counted = startCount()
  // last come data that breaks a rule of the grant, and then what the table or the database cannot do
  const last = ['PERMISSION_DENIED', 'NOT_SUPPORTED', 'NOT_NULL_VIOLATION']
  const planned = await inStage(operations, { last }, (operation, index) => {
    counted.tables = undefined
    return planOperation({ operation, index, source: sources[index] as TableSource, limits: { ...limits, counted } })
  })
  named?.requireForm(sources)
  return planned
}

async function authorizeOperation (
  { grant, database, limits, dryRun }: Omit<OperationsToPlan, 'operations'>,
  operation: Operation
): Promise<TableSource> {
  const { table, verb, lock } = operation
  try {
    const access = accessTo(database, grant, table)
    if (lock === true) requireLock(access.permissions)
    const source = await authorize(access, dryRun && verb !== 'select' ? { ...operation, dryRun } : operation, limits)
    refuseView(verb, source.table)
    return source
  } catch (error) {
    const { code, details } = error as ServiceError
    throw code === 'TABLE_NOT_FOUND' && details.length === 0 ? at('/table', error as ServiceError) : error
  }
}

interface OperationToPlan {
  readonly operation: Operation
  readonly index: number
  readonly source: TableSource
  readonly limits: PlanLimits
}

function planOperation (given: OperationToPlan): PlannedOperation {
  const { operation, index, limits, source } = given
  const references = new References(index, limits.standIns)
  const plan = planWith(given, { ...limits, standIns: references })
  if (plan.verb !== 'select') requireUndoable(source.table, '')
  return { body: operation, plan, references, replan: planAgain(given) }
}

function planWith ({ operation, source }: OperationToPlan, limits: PlanLimits): Plan {
  const plan = createPlan(operation, source, limits)
  return operation.lock === true ? lockRows(plan) : plan
}

function planAgain (given: OperationToPlan): PlannedOperation['replan'] {
  return (find) => {
    const { index, limits: { counted: _counted, ...limits } } = given
    return planWith(given, { ...limits, standIns: new References(index, limits.standIns, find) })
  }
}

/** @throws the first error: codes in `first` come before all others, codes in `last` after them, in this order */
async function inStage<T> (
  operations: readonly Operation[],
  { first = [], last = [] }: { readonly first?: readonly string[], readonly last?: readonly string[] },
  work: (operation: Operation, index: number) => T | Promise<T>
): Promise<T[]> {
  const done: T[] = []
  const refused: Array<{ readonly index: number, readonly error: ServiceError }> = []
  for (const [index, operation] of operations.entries()) {
    try {
      done.push(await work(operation, index))
    } catch (error) {
      refused.push({ index, error: error as ServiceError })
    }
  }
  const rankOf = ({ code }: ServiceError): number => (first.includes(code) ? -1 : last.indexOf(code) + 1)
  const [worst] = refused.sort((a, b) => rankOf(a.error) - rankOf(b.error))
  if (worst === undefined) return done
  throw worst.error.statusCode < 500 ? inOperation(worst.index, worst.error) : worst.error
}

// Of one run: the parts of the response, and the values for references.

export class Results {
  readonly #maxBytes: number
  readonly #budget: ResponseBudget
  readonly #responses: Array<string | Buffer> = []
  /** References lead to them. */
  readonly #parsed = new Map<number, unknown>()
  #bytes = 0

  /** `maxBytes`: of the whole response, in bytes; the budget may allow less. */
  constructor (maxBytes: number, budget: ResponseBudget) {
    this.#maxBytes = Math.min(maxBytes, budget.largest)
    this.#budget = budget
  }

  /** Bytes that are left. */
  get room (): number {
    return this.#maxBytes - this.#bytes
  }

  /** The memory for the next result. */
  get budget (): MemoryBudget {
    return this.#budget.after(this.#bytes)
  }

  get responses (): ReadonlyArray<string | Buffer> {
    return this.#responses
  }

  /** @throws RESULT_TOO_LARGE, OVERLOADED */
  add (response: string | Buffer): void {
    const size = Buffer.byteLength(response)
    if (size > this.room) {
      throw resultTooLarge(
        `the response would be larger than ${this.#maxBytes} bytes; request fewer rows, or name fewer "columns"`
      )
    }
    if (!this.#budget.take(size, this.#bytes + size)) throw overloaded()
    this.#bytes += size
    this.#responses.push(response)
  }

  drop (): void {
    this.#budget.give(this.#bytes)
    this.#bytes = 0
  }

  /** The value to which the steps lead in the result of an operation; undefined if there is none. */
  find ({ operation, steps }: Target): unknown {
    return findBySteps(this.#resultOf(operation), steps)
  }

  #resultOf (index: number): unknown {
    if (!this.#parsed.has(index)) {
      this.#parsed.set(index, parseExactJson(dataOf(this.#responses[index] as string | Buffer).toString()))
    }
    return this.#parsed.get(index)
  }
}

interface OperationsRequest extends ReadOptions, Keyed {
  readonly grant: Grant
  readonly database: Database
  readonly body: OperationsBody
  readonly limits: PlanLimits
  /** Set if the operations are those of a named request. */
  readonly named?: NamedPlans | undefined
  readonly record?: RequestRecord | null | undefined
  /** Of the response, in bytes, if they are fewer than the setting of the database allows. */
  readonly resultLimit?: number | undefined
}

/** Whether the operations run in a read-only snapshot. A lock needs a transaction that writes. */
export const isReadOnly = ({ operations }: OperationsBody): boolean =>
  operations.every(({ verb, lock }) => verb === 'select' && lock !== true)

/** The body of the response. @throws `details` name the operation */
export function runOperations (request: OperationsRequest): Promise<string | Buffer> {
  const { database, body: { operations, dryRun = false }, record } = request
  return withFreshCatalog(database, async () => {
    record?.beginOperations(operations.length)
    const planned = await lookAgain(database, (database) =>
      planOperations({ ...request, database, operations, dryRun })
    )
    record?.planned()
    return await new OperationsRun(request, planned).execute()
  })
}

const NO_VALUES: ReadonlyMap<object, unknown> = new Map()

class OperationsRun {
  readonly #request: OperationsRequest
  readonly #planned: readonly PlannedOperation[]
  /** The rows of all operations, each counted as in its result. */
  #rows = 0
  /** Statements that had run when each operation began. */
  #starts: number[] = []

  constructor (request: OperationsRequest, planned: readonly PlannedOperation[]) {
    this.#request = request
    this.#planned = planned
  }

  async execute (): Promise<string | Buffer> {
    const { database, body, client, consistency, record, named } = this.#request
    const { isolation = 'repeatableRead', dryRun = false } = body
    record?.compiled()
    const response = await transactOnce(
      {
        ...this.#request,
        path: named === undefined ? undefined : pathOfNamed(named.name),
        tables: this.#planned.flatMap(({ plan }) => tablesOf(plan)),
        transaction: {
          readOnly: isReadOnly(body),
          isolation,
          dryRun,
          client,
          consistency,
          isShared: database.onWrite !== undefined
        }
      },
      (tx) => this.#runAll(tx, dryRun)
    ).catch((error: unknown) => {
      throw this.#place(error)
    })
    record?.executed(this.#rows)
    return response
  }

  /** COMMIT has refused a statement of the operation. */
  #place (error: unknown): unknown {
    const statement = error instanceof ServiceError ? error.statement : undefined
    return statement === undefined
      ? error
      : inOperation(
        this.#starts.findLastIndex((start) => start <= statement),
        nameTables(error as ServiceError, this.#request.grant, this.#request.database)
      )
  }

  /** Runs again after a deadlock. */
  async #runAll (tx: Transaction, dryRun: boolean): Promise<string | Buffer> {
    const { database, record, resultLimit = Infinity } = this.#request
    record?.attempted(tx.attempt)
    const results = new Results(Math.min(database.resultLimit, resultLimit), database.budget)
    this.#rows = 0
    this.#starts = []
    try {
      for (const index of this.#planned.keys()) await this.#run(tx, index, results)
      return respondToOperations(results.responses, dryRun)
    } finally {
      results.drop()
    }
  }

  async #run (tx: Transaction, index: number, results: Results): Promise<void> {
    const { grant, database, named, body: { dryRun = false } } = this.#request
    const operation = this.#planned[index] as PlannedOperation
    this.#starts.push(tx.ran?.() ?? 0)
    try {
      const { body, references: { targets } } = operation
      const references = targets.size === 0
        ? named?.standIns.values ?? NO_VALUES
        : new Map([
          ...named?.standIns.values ?? [],
          ...Array.from(targets, ([given, target]) => [given, results.find(target)] as const)
        ])
      const { response, rows } = await respondIn(tx, {
        plan: targets.size === 0 ? operation.plan : bindOrReplan(operation, references, results),
        database,
        maxBytes: results.room,
        budget: results.budget,
        pendingWrite: { grant, body, references, dryRun, named: named?.name }
      })
      results.add(response)
      this.#rows += rows
    } catch (error) {
      if (error instanceof ServiceError && error.statusCode < 500) {
        throw inOperation(index, nameTables(error, grant, database))
      }
      throw toStale(error, operation.plan)
    }
  }
}

/** The plan with the values of its references. @throws as createPlan */
function bindOrReplan (
  { plan, references: { holes }, replan }: PlannedOperation,
  values: ReadonlyMap<unknown, unknown>,
  results: Results
): Plan {
  try {
    return bind(plan, holes, (key) => values.get(key))
  } catch (error) {
    if (error instanceof NeedsValues) return replan((target) => results.find(target))
    throw error
  }
}
