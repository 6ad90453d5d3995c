/** What happens to a request with several operations once its database is known: authorize, plan, execute in one transaction, respond. */
import type { OperationsBody } from '../../schemas/operations.ts'
import type { Grant } from '../access/grant.ts'
import type { Table } from '../catalog/catalog.ts'
import { toUnresolved } from '../databases/broken-definitions.ts'
import type { Database } from '../databases/database.ts'
import { SchemaMoved, type ReadOptions, type Transaction } from '../dialects/dialect.ts'
import { brokenDefinition, ServiceError, withReason } from '../errors.ts'
import { createSink, runIn } from '../execute/execute.ts'
import type { PlanLimits } from '../plan/filters/scope.ts'
import { inOperation } from '../request/check-operations.ts'
import { respondToOperations } from '../response/operations.ts'
import { respond } from '../response/summary.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { planOperations, type PlannedOperation } from './plan-operations.ts'
import { Results } from './results.ts'

export interface OperationsRequest extends ReadOptions {
  readonly grant: Grant
  readonly database: Database
  readonly body: OperationsBody
  readonly limits: PlanLimits
  readonly record?: RequestRecord | null | undefined
}

/** The operation whose table is not as the catalog has it. */
interface Moved { readonly index: number, readonly table: Table, readonly error: SchemaMoved }

/**
 * Returns the body of the answer. Where the tables of the database have changed, nothing has happened: the catalog is read again, and the
 * request runs once more. @throws ServiceError
 */
export async function runOperations (request: OperationsRequest, before?: Moved): Promise<string | Buffer> {
  const { database, body: { operations }, record } = request
  record?.beginOperations(operations.length)
  const planned = await planOperations({ ...request, operations })
  record?.planned()
  const run = new OperationsRun(request, planned)
  try {
    return await run.execute()
  } catch (error) {
    const { moved } = run
    if (!(error instanceof SchemaMoved) || moved === undefined) throw error
    if (before !== undefined) throw toUnresolved(database.broken, { reason: error.reason, before: before.index === moved.index ? before.table : undefined, table: moved.table })
    if (database.broken.has(moved.table, error.reason)) throw withReason(brokenDefinition(), error.reason)
    await database.refresh()
    return await runOperations(request, moved)
  }
}

class OperationsRun {
  readonly #request: OperationsRequest
  readonly #planned: readonly PlannedOperation[]
  moved: Moved | undefined

  constructor (request: OperationsRequest, planned: readonly PlannedOperation[]) {
    this.#request = request
    this.#planned = planned
  }

  async execute (): Promise<string | Buffer> {
    const { database, body: { isolation = 'repeatableRead', dryRun = false }, client, consistency, record } = this.#request
    const readOnly = this.#planned.every(({ plan }) => plan.verb === 'select' && plan.lock === undefined)
    record?.compiled()
    const { answer, rows } = await database.dialect.transaction((tx) => this.#runAll(tx, dryRun), { readOnly, isolation, dryRun, client, consistency })
    record?.executed({ rows, changed: 0 })
    return answer
  }

  /** May run several times: after a deadlock. */
  async #runAll (tx: Transaction, dryRun: boolean): Promise<{ answer: string | Buffer, rows: number }> {
    const { database, record } = this.#request
    record?.attempted(tx.attempt)
    const results = new Results(database.resultLimit)
    let rows = 0
    try {
      for (const [index, operation] of this.#planned.entries()) rows += await this.#run(tx, index, operation, results)
      return { answer: respondToOperations(results.answers, dryRun), rows }
    } finally {
      results.drop()
    }
  }

  /** Returns the number of rows that were read or changed. */
  async #run (tx: Transaction, index: number, operation: PlannedOperation, results: Results): Promise<number> {
    const { database } = this.#request
    try {
      const plan = planNow(operation, results)
      const sink = createSink(plan, results.room)
      try {
        const result = await runIn(tx, { plan, database, sink })
        results.add(respond(plan, result, sink))
        return result.rows + result.changed
      } finally {
        sink?.drop()
      }
    } catch (error) {
      if (error instanceof SchemaMoved) this.moved = { index, table: operation.table, error }
      throw error instanceof ServiceError && error.statusCode < 500 ? inOperation(index, error) : error
    }
  }
}

function planNow ({ plan, references, replan }: PlannedOperation, results: Results) {
  if (references.length === 0) return plan
  for (const reference of references) results.resolve(reference)
  return replan()
}
