/** Runs transactions of the host app. */
import { ISOLATIONS } from '../../schemas/operations.ts'
import { SchemaMoved, type Isolation } from '../dialects/dialect.ts'
import { databaseNotFound, databaseUnavailable, invalidBody, withReason, type ServiceError } from '../errors.ts'
import type { InProcess } from './execute.ts'
import { createCalls, type MovedCall } from './execute-in.ts'
import { requireKnown } from './options.ts'
import type { TransactionExecute } from './typed.ts'

/** `Tables`: the interface of the database that `row-query types` prints. */
export interface InProcessTransaction<Tables = any> {
  /** The number of the attempt, which is more than 1 if the function runs again after a deadlock. */
  readonly attempt: number
  /**
   * Runs a request in the transaction, and returns `data` of the response. The body of a select may have `lock`. A refused request leaves the transaction as
   * it was before, and the next one may run. @throws ServiceError
   */
  readonly execute: TransactionExecute<Tables>
}

export interface InProcessTransactionOptions {
  readonly isolation?: Exclude<Isolation, 'readCommitted'>
  /** Rolls the transaction back at the end. */
  readonly dryRun?: boolean
}

const OPTIONS: ReadonlySet<string> = new Set<keyof InProcessTransactionOptions>(['isolation', 'dryRun'])

/**
 * Runs `use` in a transaction: commits when it resolves, rolls back when it throws. `use` may run again after a deadlock or if the tables have
 * changed, so it must have no effects other than those of its requests. @throws ServiceError; what `use` throws
 */
export async function runInProcess<T> ({ databases, limits }: InProcess, name: string, { use, ...options }: InProcessTransactionOptions & { use: (tx: InProcessTransaction) => Promise<T> }): Promise<T> {
  requireKnown(options, OPTIONS, 'transaction')
  const { isolation = 'repeatableRead', dryRun = false } = options
  const database = databases.get(name)
  if (database === undefined) throw databaseNotFound(name)
  if (!ISOLATIONS.includes(isolation)) throw invalidBody(`"isolation" must be one of ${ISOLATIONS.join(', ')}`)
  const moved: MovedCall[] = []
  const run = (before?: MovedCall): Promise<T> => database.dialect.transaction(async (tx) => {
    const calls = createCalls({ tx, database, limits, dryRun, isHooked: true, before, onMoved: (call) => { moved.push(call) } })
    const result = await use({ attempt: tx.attempt + moved.length, execute: calls.execute })
    await calls.end()
    return result
  }, { readOnly: false, isolation, dryRun, isShared: true })
  database.running.begin()
  try {
    return await run()
  } catch (error) {
    // a table without transactions may keep its changes
    if (moved.length === 0 || (error as ServiceError).code === 'OUTCOME_UNKNOWN') throw error
    await database.refresh()
    return await run(moved.at(-1)).catch((again: unknown) => { throw again instanceof SchemaMoved ? withReason(databaseUnavailable(), again.reason) : again })
  } finally {
    database.running.end()
  }
}
