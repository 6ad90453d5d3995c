/** The pipeline of a request with several operations: authorize, plan, execute in one transaction, respond. */
import type { OperationsBody } from '../../schemas/body.ts'
import type { Grant } from '../access/grant.ts'
import type { Database } from '../databases/database.ts'
import type { ReadOptions, Transaction } from '../dialects/dialect.ts'
import { overloaded, resultTooLarge, ServiceError } from '../errors.ts'
import { answerIn } from '../verbs/execute.ts'
import { type Keyed, transactOnce } from '../idempotency/run-once.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { findBySteps } from '../json/pointer.ts'
import { tablesOf } from '../plan/filters/scope.ts'
import { toStale, withFreshCatalog } from '../databases/stale-catalog.ts'
import type { PlanLimits } from '../plan/write-options.ts'
import { inOperation } from '../request/check-body.ts'
import type { ResponseBudget, MemoryBudget } from '../response/budget.ts'
import { dataOf, respondToOperations } from '../response/respond.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { type PlannedOperation, planOperations } from './plan-operations.ts'

// The results of the operations of one run: the parts of the answer, and the values for references.

export class Results {
  readonly #maxBytes: number
  readonly #budget: ResponseBudget
  readonly #answers: Array<string | Buffer> = []
  /** Parsed results that references lead to. */
  readonly #parsed = new Map<number, unknown>()
  #bytes = 0

  /** `maxBytes`: bytes that the whole answer may have; the budget may allow less. */
  constructor (maxBytes: number, budget: ResponseBudget) {
    this.#maxBytes = Math.min(maxBytes, budget.largest)
    this.#budget = budget
  }

  /** The bytes that are left. */
  get room (): number {
    return this.#maxBytes - this.#bytes
  }

  /** The memory for the next answer. */
  get budget (): MemoryBudget {
    return this.#budget.after(this.#bytes)
  }

  get answers (): ReadonlyArray<string | Buffer> {
    return this.#answers
  }

  /** Adds the answer of the next operation. @throws RESULT_TOO_LARGE, OVERLOADED */
  add (answer: string | Buffer): void {
    const size = Buffer.byteLength(answer)
    if (size > this.room) {
      throw resultTooLarge(
        `the answer would be larger than ${this.#maxBytes} bytes; request fewer rows, or name fewer "columns"`
      )
    }
    if (!this.#budget.take(size, this.#bytes + size)) throw overloaded()
    this.#bytes += size
    this.#answers.push(answer)
  }

  /** Frees the memory. */
  drop (): void {
    this.#budget.give(this.#bytes)
    this.#bytes = 0
  }

  /** The value to which the steps lead in the result of an operation; undefined if there is none. */
  find (operation: number, steps: readonly string[]): unknown {
    return findBySteps(this.#resultOf(operation), steps)
  }

  #resultOf (index: number): unknown {
    if (!this.#parsed.has(index)) {
      this.#parsed.set(index, parseExactJson(dataOf(this.#answers[index] as string | Buffer).toString()))
    }
    return this.#parsed.get(index)
  }
}

interface OperationsRequest extends ReadOptions, Keyed {
  readonly grant: Grant
  readonly database: Database
  readonly body: OperationsBody
  readonly limits: PlanLimits
  readonly record?: RequestRecord | null | undefined
}

/** Whether the operations run in a read-only snapshot. A lock needs a transaction that writes. */
export const isReadOnly = ({ operations }: OperationsBody): boolean =>
  operations.every(({ verb, lock }) => verb === 'select' && lock !== true)

/** Returns the body of the answer. @throws ServiceError; `details` name the operation */
export function runOperations (request: OperationsRequest): Promise<string | Buffer> {
  const { database, body: { operations, dryRun = false }, record } = request
  return withFreshCatalog(database, async () => {
    record?.beginOperations(operations.length)
    const planned = await planOperations({ ...request, operations, dryRun })
    record?.planned()
    return await new OperationsRun(request, planned).execute()
  })
}

class OperationsRun {
  readonly #request: OperationsRequest
  readonly #planned: readonly PlannedOperation[]
  /** The rows of all operations, each counted as in its answer. */
  #rows = 0
  /** The number of statements that had run when each operation began. */
  #starts: number[] = []

  constructor (request: OperationsRequest, planned: readonly PlannedOperation[]) {
    this.#request = request
    this.#planned = planned
  }

  async execute (): Promise<string | Buffer> {
    const { database, body, client, consistency, record } = this.#request
    const { isolation = 'repeatableRead', dryRun = false } = body
    record?.compiled()
    const answer = await transactOnce(
      {
        ...this.#request,
        path: undefined,
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
    return answer
  }

  /** Names the operation whose statement COMMIT has refused. */
  #place (error: unknown): unknown {
    const statement = error instanceof ServiceError ? error.statement : undefined
    return statement === undefined
      ? error
      : inOperation(
        this.#starts.findLastIndex((start) => start <= statement),
        error as ServiceError
      )
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
      const { answer, rows } = await answerIn(tx, {
        plan: planNow(operation, results),
        database,
        maxBytes: results.room,
        budget: results.budget,
        pendingWrite: { grant, body: operation.body, references: operation.references, dryRun }
      })
      results.add(answer)
      this.#rows += rows
    } catch (error) {
      if (error instanceof ServiceError && error.statusCode < 500) throw inOperation(index, error)
      throw toStale(error, operation.plan)
    }
  }
}

function planNow ({ plan, references, replan }: PlannedOperation, results: Results) {
  return references.size === 0 ? plan : replan((operation, steps) => results.find(operation, steps))
}
