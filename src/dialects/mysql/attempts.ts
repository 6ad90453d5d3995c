import type { Result } from '../dialect.ts'
import { clientGone, executeOn, Interruption, type ExecutionOptions, type Statement } from './execute.ts'
import type { MysqlPool } from './pool.ts'
import type { Session } from './session.ts'

/** Where a statement may run. */
export interface Ways {
  /** One after the other; the last one for good. */
  readonly pools: readonly MysqlPool[]
  /** Attempts at most: more can only be servers that send us from one to the other. */
  readonly attempts: number
}

/**
 * Runs a statement, and once more where its connection was lost while it read. What did not run at all is sent to wherever it
 * may run yet. @throws ServiceError, or SchemaMoved
 */
export async function attempt ({ pools, attempts }: Ways, statement: Statement, options: ExecutionOptions): Promise<Result> {
  const last = pools.at(-1) as MysqlPool
  let losses = 0
  for (let count = 1; ; count++) {
    const pool = pools[count - 1] ?? last
    let session: Session
    try {
      const acquired = pool.acquire()
      session = acquired instanceof Promise ? await acquired : acquired
    } catch (error) {
      // one that is slow is no reason to burden the others
      if (pool === last || pool.isUp) throw error
      continue
    }
    if (statement.client?.destroyed === true) {
      pool.release(session)
      throw clientGone()
    }
    const outcome = await executeOn(pool, session, statement, options)
    if (!(outcome instanceof Interruption)) return outcome
    if (count >= attempts || (outcome.wasLost && ++losses > 1)) throw outcome.refusal
  }
}
