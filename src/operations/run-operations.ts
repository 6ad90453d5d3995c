/** The pipeline of a request with several operations: authorize, plan, execute in one transaction, respond. */
import type { OperationsBody } from '../../schemas/operations.ts'
import type { Grant } from '../access/grant.ts'
import type { Table } from '../catalog/catalog.ts'
import { toUnresolved } from '../databases/broken-definitions.ts'
import type { Database } from '../databases/database.ts'
import { SchemaMoved, type ReadOptions, type Transaction } from '../dialects/dialect.ts'
import { brokenDefinition, ServiceError, withReason } from '../errors.ts'
import { answerIn } from '../execute/execute.ts'
import { runWithKey, type Keyed } from '../idempotency/run-with-key.ts'
import type { PlanLimits } from '../plan/terms.ts'
import { tablesOf } from '../plan/filters/scope.ts'
import { inOperation } from '../request/check-body.ts'
import { respondToOperations } from '../response/respond.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { planOperations, type PlannedOperation } from './plan-operations.ts'
import { Results } from './results.ts'

export interface OperationsRequest extends ReadOptions, Keyed {
  readonly grant: Grant
  readonly database: Database
  readonly body: OperationsBody
  readonly limits: PlanLimits
  readonly record?: RequestRecord | null | undefined
}

/** Whether the operations run in a read-only snapshot. A lock needs a transaction that writes. */
export const isReadOnly = ({ operations }: OperationsBody): boolean => operations.every(({ verb, lock }) => verb === 'select' && lock !== true)

/** The operation whose tables differ from the catalog. */
interface Moved { readonly index: number, readonly tables: readonly Table[], readonly error: SchemaMoved }

/**
 * Returns the body of the answer. If the tables of the database have changed, and so nothing was done, it reads the catalog again and runs the
 * request once more. @throws ServiceError
 */
export async function runOperations (request: OperationsRequest, before?: Moved): Promise<string | Buffer> {
  const { database, body: { operations, dryRun = false }, record } = request
  database.running.begin()
  let run: OperationsRun | undefined
  try {
    record?.beginOperations(operations.length)
    const planned = await planOperations({ ...request, operations, dryRun })
    record?.planned()
    run = new OperationsRun(request, planned)
    return await run.execute()
  } catch (error) {
    const moved = run?.moved
    if (!(error instanceof SchemaMoved) || moved === undefined) throw error
    if (before !== undefined) throw toUnresolved(database, { moved: error, before: before.index === moved.index ? before.tables : undefined, tables: moved.tables })
    if (database.broken.has(moved.tables, error.reason)) throw withReason(brokenDefinition(), error.reason)
    await database.refresh()
    return await runOperations(request, moved)
  } finally {
    database.running.end()
  }
}

class OperationsRun {
  readonly #request: OperationsRequest
  readonly #planned: readonly PlannedOperation[]
  /** The rows of all operations, each counted as in its answer. */
  #rows = 0
  /** The number of statements that had run when each operation began. */
  #starts: number[] = []
  moved: Moved | undefined

  constructor (request: OperationsRequest, planned: readonly PlannedOperation[]) {
    this.#request = request
    this.#planned = planned
  }

  async execute (): Promise<string | Buffer> {
    const { grant, database, body, body: { isolation = 'repeatableRead', dryRun = false }, client, consistency, record, key } = this.#request
    record?.compiled()
    const isShared = database.onWrite !== undefined
    const run = (tx: Transaction): Promise<string | Buffer> => this.#runAll(tx, dryRun)
    const answer = await (key === undefined
      ? database.dialect.transaction(run, { readOnly: isReadOnly(body), isolation, dryRun, client, consistency, isShared })
      : runWithKey({ ...this.#request, path: undefined, grant, tables: this.#planned.flatMap(({ plan }) => tablesOf(plan)), client, isolation, isShared }, run)
    ).catch((error: unknown) => { throw this.#place(error) })
    record?.executed(this.#rows)
    return answer
  }

  /** Names the operation whose statement COMMIT has refused. */
  #place (error: unknown): unknown {
    const statement = error instanceof ServiceError ? error.statement : undefined
    return statement === undefined ? error : inOperation(this.#starts.findLastIndex((start) => start <= statement), error as ServiceError)
  }

  /** Runs all operations, and may do so again after a deadlock. */
  async #runAll (tx: Transaction, dryRun: boolean): Promise<string | Buffer> {
    const { database, record } = this.#request
    record?.attempted(tx.attempt)
    const results = new Results(database.resultLimit, database.budget)
    this.#rows = 0
    this.#starts = []
    try {
      for (const index of this.#planned.keys()) await this.#run(tx, index, results)
      return respondToOperations(results.answers, dryRun)
    } finally {
      results.drop()
    }
  }

  async #run (tx: Transaction, index: number, results: Results): Promise<void> {
    const { grant, database, body: { dryRun = false } } = this.#request
    const operation = this.#planned[index] as PlannedOperation
    this.#starts.push(tx.ran ?? 0)
    try {
      const { answer, rows } = await answerIn(tx, { plan: planNow(operation, results), database, maxBytes: results.room, budget: results.budget, pendingWrite: { grant, body: operation.body, dryRun } })
      results.add(answer)
      this.#rows += rows
    } catch (error) {
      if (error instanceof SchemaMoved) this.moved = { index, tables: tablesOf(operation.plan), error }
      throw error instanceof ServiceError && error.statusCode < 500 ? inOperation(index, error) : error
    }
  }
}

function planNow ({ plan, references, replan }: PlannedOperation, results: Results) {
  if (references.length === 0) return plan
  for (const reference of references) results.resolve(reference)
  return replan()
}
