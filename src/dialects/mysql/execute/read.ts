/**
 * Runs statements with retries on the primary and the replicas. A stream runs in a session that has the time limits of
 * streams.
 */
import type { ServiceError } from '../../../errors.ts'
import type { Statement } from '../../../sql/statement.ts'
import { type Client, clientGone, type StatementResult, type PausableSink, StaleCatalog } from '../../dialect.ts'
import { watch } from '../../waiters.ts'
import { streamStatement } from '../connection/session-settings.ts'
import { send, within } from '../connection/session.ts'
import type { MysqlError } from '../errors.ts'
import type { MysqlPool } from '../pool/pool.ts'
import { type ExecutionOptions, type Run, runStatement } from './execution.ts'
import { Retryable, toFailure } from './failure.ts'

/** The servers on which a statement may run. */
export interface Route {
  /** The pools in the order of the attempts; the last one is the primary, which further attempts use. */
  readonly pools: readonly MysqlPool[]
  /** The maximum number of attempts; more occur only if servers send the service back and forth. */
  readonly attempts: number
  /** The options for the primary and for the replicas. */
  readonly options: ExecutionOptions
  readonly replicaOptions: ExecutionOptions
}

/** Errors of a replica that is behind or has another version, so that it may lack tables, columns and grants. */
const OF_REPLICAS = new Set(['PERMISSION_DENIED', 'NOT_SUPPORTED'])
const mayDiffer = (error: unknown): boolean =>
  error instanceof StaleCatalog || OF_REPLICAS.has((error as ServiceError).code)

/**
 * Runs a request (a statement or a transaction), and retries it once if it only read and its connection was lost. A
 * request that did not run is sent to the next server that may accept it. One that a replica rejects as unknown is sent
 * to the primary. A stream is never sent again once a row has been passed on.
 * @throws ServiceError; StaleCatalog; what the sink throws
 */
export async function runWithRetries<
  Request extends {
    readonly client: Client | undefined
    readonly readOnly?: boolean
    readonly stream?: PausableSink | undefined
  },
  T
> (route: Route, request: Request, run: (run: Run<Request>) => Promise<T>): Promise<T> {
  const { attempts, options, replicaOptions } = route
  let { pools } = route
  let losses = 0
  const primary = pools.at(-1) as MysqlPool
  for (let count = 1; ; count++) {
    const pool = pools[count - 1] ?? primary
    const isPrimary = pool === primary
    const acquired = pool.acquire(request.client)
    // a request that has waited for a slow replica is not passed on to the other servers
    const session =
      acquired instanceof Promise
        ? await acquired.catch((error: unknown) => {
          if (isPrimary || pool.isUp) throw error
        })
        : acquired
    if (session === undefined) continue
    if (request.client?.destroyed === true) {
      pool.release(session)
      throw clientGone()
    }
    try {
      return await run({ pool, session, request, options: isPrimary ? options : replicaOptions })
    } catch (error) {
      const isFinal = request.stream?.hasPassed === true
      if (error instanceof Retryable) {
        losses += Number(error.wasLost)
        if (isFinal || count >= attempts || losses > 1) throw error.refusal
      } else if (!isPrimary && !isFinal && mayDiffer(error)) {
        pools = [primary]
        count = 0
      } else throw error
    }
  }
}

/**
 * Returns a function that lists the pools for a select in the order of the attempts: the replicas that answer, rotated
 * for each select, then the primary.
 */
export function createReplicaOrder (primary: MysqlPool, replicas: readonly MysqlPool[]): () => readonly MysqlPool[] {
  const primaryOnly = [primary]
  let first = 0
  return () => {
    if (replicas.length === 0) return primaryOnly
    first = (first + 1) % replicas.length
    const pools = [...replicas.slice(first), ...replicas.slice(0, first)].filter((pool) => {
      // probes a failed replica, without making this request wait for it
      if (!pool.isUp) pool.probe()
      return pool.isUp
    })
    return [...pools, primary]
  }
}

interface StreamRequest {
  readonly statement: Statement
  readonly client: Client | undefined
  readonly stream: PausableSink
}

/** How long setting the session's variables may take, in milliseconds. */
const MOMENT = 5000

/**
 * Runs the statement, restores the session and returns it to its pool. `timeout`: the time limit of the stream, in
 * milliseconds; that of statements applies until the first row. @throws Retryable, ServiceError or StaleCatalog; what
 * the sink throws
 */
export async function runStream (run: Run<StreamRequest>, timeout: number): Promise<StatementResult> {
  const { pool, session, options, request: { statement, client, stream } } = run
  try {
    await within(MOMENT, send(session.connection, streamStatement(timeout)))
  } catch (error) {
    pool.discard(session)
    throw toFailure(error as MysqlError, { pool, session, statement, request: { client }, isStopped: false })
  }
  session.memory.free()
  let onStarted = (): void => {}
  const watchBoth: ExecutionOptions['watch'] = (client, stop) => {
    onStarted = options.watch(undefined, stop)
    const end = watch(timeout, client, stop)
    return () => {
      onStarted()
      end()
    }
  }
  return await runStatement({
    session,
    pool: { ...pool, release: pool.restore },
    options: { ...options, watch: watchBoth, onStarted: () => onStarted() },
    request: { statement, sink: stream, client, stream }
  })
}
