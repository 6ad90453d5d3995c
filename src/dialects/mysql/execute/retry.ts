import type { ServiceError } from '../../../errors.ts'
import { SchemaMoved, type Result } from '../../dialect.ts'
import { executeOn, type ExecutionOptions, type Statement } from './statement.ts'
import { clientGone, type Interruption } from './interruption.ts'
import type { MysqlPool } from '../pool/pool.ts'
import type { Session } from '../connection/session.ts'

/** Where a statement may run. */
export interface Ways {
  /** One after the other; the last one for good. */
  readonly pools: readonly MysqlPool[]
  /** Attempts at most: more can only be servers that send us from one to the other. */
  readonly attempts: number
  /** For the last one, and for the replicas before it. */
  readonly options: ExecutionOptions
  readonly replicaOptions: ExecutionOptions
}

/** Which attempt it is, and how many before it lost their connection. */
const FIRST = { count: 1, losses: 0 }

/** What a replica may say because it is late, or made otherwise: tables, columns and grants that have not arrived yet, an older version. */
const OF_REPLICAS = new Set(['PERMISSION_DENIED', 'NOT_SUPPORTED'])
const mayDiffer = (error: unknown): boolean => error instanceof SchemaMoved || OF_REPLICAS.has((error as ServiceError).code)

/**
 * Runs a statement, and once more where its connection was lost while it read. What did not run at all is sent to wherever it
 * may run yet, and to the primary what a replica does not know. @throws ServiceError, or SchemaMoved
 */
export function attempt (ways: Ways, statement: Statement, { count, losses } = FIRST): Promise<Result> {
  const { pools, attempts, options, replicaOptions } = ways
  const last = pools.at(-1) as MysqlPool
  const pool = pools[count - 1] ?? last

  const onInterruption = ({ refusal, wasLost }: Interruption): Promise<Result> => {
    const lost = losses + Number(wasLost)
    if (count >= attempts || lost > 1) return Promise.reject(refusal)
    return attempt(ways, statement, { count: count + 1, losses: lost })
  }
  // one promise for it all: each one more takes its time, and one that waits for another twice that
  return new Promise((resolve, reject) => {
    const askPrimary = (error: unknown): void => {
      if (mayDiffer(error)) resolve(attempt({ ...ways, pools: [last] }, statement, { count: 1, losses }))
      else reject(error)
    }
    const run = (session: Session): void => {
      if (statement.client?.destroyed !== true) {
        const isPrimary = pool === last
        return executeOn({ pool, session, statement, options: isPrimary ? options : replicaOptions, onInterruption, resolve, reject: isPrimary ? reject : askPrimary })
      }
      pool.release(session)
      reject(clientGone())
    }
    const acquired = pool.acquire()
    if (!(acquired instanceof Promise)) return run(acquired)
    acquired.then(run, (error: unknown) => {
      // one that is slow is no reason to burden the others
      if (pool === last || pool.isUp) reject(error)
      else resolve(attempt(ways, statement, { count: count + 1, losses }))
    }).catch(reject)
  })
}
