import type { ServiceError } from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import {
  type Client, clientGone, type Dialect, type Isolation, type PausableSink, type ReadOptions, type ServerFacts,
  StaleCatalog, type StatementResult, STREAM_TIMEOUT
} from '../dialect.ts'
import { watch } from '../time-limits.ts'
import { createDifferences } from './definitions.ts'
import { stopStatement } from './kill.ts'
import { streamStatement, type MysqlAddress } from './session-settings.ts'
import { ask, send, within, type Ask, type Session } from './session.ts'
import { requirePrivateMethods } from './statement-command.ts'
import { ofClosed, toConnectError, type MysqlError } from './errors.ts'
import { ownerOf, runStatement, type ExecutionOptions, type Run } from './execution.ts'
import { Retryable, toFailure } from './failure.ts'
import { introspectMysql } from './introspect.ts'
import { createMysqlPool, type MysqlPool, type PoolLimits } from './pool.ts'
import { findAccountRisks, findDenied } from './privileges.ts'
import { runTransaction } from './transaction.ts'

export interface MysqlSettings {
  readonly address: MysqlAddress
  readonly replicas?: readonly MysqlAddress[]
  /** Applies to the primary and to each replica. */
  readonly pool: PoolLimits
  /** In milliseconds. */
  readonly statementTimeout: number
  /** In milliseconds. */
  readonly streamTimeout?: number
  /** Called when the catalog came from a server with other facts than the last one. */
  readonly onServer?: ((server: ServerFacts) => void) | undefined
}

/**
 * Connects only when a connection is needed, because the database may start after the service. @throws Error if the
 * installed mysql2 cannot be used
 */
export function createMysqlDialect ({
  address,
  replicas = [],
  pool: limits,
  statementTimeout,
  streamTimeout = STREAM_TIMEOUT,
  onServer
}: MysqlSettings): Dialect {
  requirePrivateMethods()
  let told = ''
  const [primary, ...copies] = [address, ...replicas].map((each) =>
    createMysqlPool(each, limits, statementTimeout)
  ) as [MysqlPool, ...MysqlPool[]]
  const readPools = createReplicaOrder(primary, copies)
  const all = [primary, ...copies]
  const differences = createDifferences()
  const options: ExecutionOptions = {
    watch: (client, stop) => watch(statementTimeout, client, stop),
    definitionsCache: new WeakMap(),
    differences
  }
  const replicaOptions: ExecutionOptions = {
    ...options, definitionsCache: new WeakMap(), differences: differences.ofReplicas
  }
  const routeOf = (pools: readonly MysqlPool[]): Route => ({
    first: { pools, count: 1, losses: 0 }, attempts: pools.length + address.hosts.length, options, replicaOptions
  })
  const tell = (): void => {
    const server = primary.newest?.facts
    const text = JSON.stringify(server)
    if (server === undefined || text === told) return
    told = text
    onServer?.(server)
  }
  const toPrimary = routeOf([primary])
  const streaming = { timeout: streamTimeout, settings: streamStatement(streamTimeout) }
  const routeToRead = (consistency: ReadOptions['consistency']): Route =>
    copies.length === 0 || consistency !== undefined ? toPrimary : routeOf(readPools())
  return {
    engine: 'mysql',
    get traits () { return primary.newest?.traits },
    get server () { return primary.newest?.facts },
    async introspect () {
      const since = performance.now()
      const tables = await withSession(primary, statementTimeout, introspectMysql)
      differences.review(tables, since)
      tell()
      return tables
    },
    privileges: () =>
      withSession(primary, statementTimeout, async (ask) =>
        (await ask('show grants')).map(([grant]) => withoutSecrets(grant as string))
      ),
    findRisks: (configured) =>
      withSession(primary, statementTimeout, (ask) => findAccountRisks(ask, address, configured)),
    findDenied: (uses) => withSession(primary, statementTimeout, (ask) => findDenied(ask, uses)),
    read: (statement, sink, { client, consistency } = {}) =>
      runWithRetries(routeToRead(consistency), { statement, sink, client }, runStatement),
    stream: (statement, stream, { client, consistency } = {}) =>
      runWithRetries(routeToRead(consistency), { statement, stream, client }, (run) => runStream(run, streaming)),
    write: (statement, { client } = {}) =>
      runWithRetries(toPrimary, {
        statement,
        sink: undefined,
        client,
        // rows of other tables must stay as they are
        isolation: statement.isRelated === true ? 'repeatableRead' : 'readCommitted'
      }, runStatement),
    transaction: (use, { consistency, isolation, ...transaction }) =>
      runWithRetries(
        transaction.readOnly ? routeToRead(consistency) : toPrimary,
        { use, ...transaction, isolation: transaction.readOnly ? 'repeatableRead' : isolation },
        runTransaction
      ),
    async check () {
      // if all connections are in use, they are about to reply or to reach their time limit
      if (!primary.isBusy) primary.release(await primary.acquire())
    },
    poolUse: () => all.map(({ use }) => use),
    close: async () => {
      await Promise.all(all.map((pool) => pool.close()))
    }
  }
}

/** Discards the session after an error, because a late reply would be read as a reply to the next statement. */
async function withSession<T> (pool: MysqlPool, timeout: number, use: (ask: Ask) => Promise<T>): Promise<T> {
  const session = await pool.acquire()
  const since = performance.now()
  try {
    const result = await use((sql) => within(timeout, ask(session.connection, sql)))
    pool.putBack(session)
    return result
  } catch (error) {
    const { code } = error as MysqlError
    if (code === 'ETIMEDOUT') stopStatement({ pool, session, since, onGivenUp: () => {} })
    else pool.discard(session)
    throw code === undefined ? ofClosed(error as MysqlError) : toConnectError({ code })
  }
}

/** Removes the hash of the account's password, which MariaDB shows in its grants. */
function withoutSecrets (grant: string): string {
  return grant.replace(/ IDENTIFIED (BY|VIA) .*?(?= REQUIRE| WITH|$)/, '')
}

interface Attempt {
  /** The pools in the order of the attempts; the last one is the primary, which further attempts use. */
  readonly pools: readonly MysqlPool[]
  /** From 1, in these pools. */
  readonly count: number
  /** The connections that were lost before it. */
  readonly losses: number
}

interface Route {
  readonly first: Attempt
  /** More occur only if servers send the service back and forth. */
  readonly attempts: number
  readonly options: ExecutionOptions
  readonly replicaOptions: ExecutionOptions
}

/** Errors of a replica that is behind or has another version. */
const OF_REPLICAS = new Set(['PERMISSION_DENIED', 'NOT_SUPPORTED'])
const mayDiffer = (error: unknown): boolean =>
  error instanceof StaleCatalog || OF_REPLICAS.has((error as ServiceError).code)

/**
 * Runs a request; again on the next server if it did not run, on the primary if a replica does not know its tables, and
 * once more if it only read and its connection was lost; a stream only before a row was passed on. No async
 * function, whose frame takes more memory than promises: every statement has one.
 * @throws StaleCatalog; what the sink throws
 */
function runWithRetries<
  Request extends {
    readonly client?: Client | undefined
    readonly stream?: PausableSink | undefined
    readonly isolation?: Isolation | undefined
  },
  T
> (route: Route, request: Request, run: (run: Run<Request>) => Promise<T>, attempt = route.first): Promise<T> {
  const { pools, count } = attempt
  const isPrimary = count >= pools.length
  const pool = (isPrimary ? pools.at(-1) : pools[count - 1]) as MysqlPool
  const start = (session: Session): Promise<T> => {
    if (request.client?.destroyed === true) {
      pool.release(session)
      return Promise.reject(clientGone())
    }
    return run({ pool, session, request, options: isPrimary ? route.options : route.replicaOptions })
      .catch((error: unknown) => runWithRetries(route, request, run, nextAfter(error, attempt, route, request.stream)))
  }
  const acquired = pool.acquire(request.client, request.isolation)
  if (!(acquired instanceof Promise)) return start(acquired)
  return acquired.then(start, (error: unknown) => {
    // a request that has waited for a slow replica is not passed on to the other servers
    if (isPrimary || pool.isUp) throw error
    return runWithRetries(route, request, run, { ...attempt, count: count + 1 })
  })
}

/** @throws the error of the request, if there is no further attempt */
function nextAfter (
  error: unknown,
  { pools, count, losses }: Attempt,
  { attempts }: Route,
  stream: PausableSink | undefined
): Attempt {
  const isFinal = stream?.hasPassed === true
  let next: Attempt
  if (error instanceof Retryable) {
    next = { pools, count: count + 1, losses: losses + Number(error.wasLost) }
    if (isFinal || count >= attempts || next.losses > 1) throw error.refusal
  } else {
    if (isFinal || count >= pools.length || !mayDiffer(error)) throw error
    next = { pools: pools.slice(-1), count: 1, losses }
  }
  // at once: the stream would pass them on while the next run waits for its session
  stream?.giveUp()
  return next
}

/** The pools for a select: the replicas that reply, rotated for each select, then the primary. */
function createReplicaOrder (primary: MysqlPool, replicas: readonly MysqlPool[]): () => readonly MysqlPool[] {
  let first = 0
  return () => {
    first = (first + 1) % replicas.length
    const pools = [...replicas.slice(first), ...replicas.slice(0, first)].filter((pool) => {
      // probes a failed replica, without making this request wait for it
      if (!pool.isUp) pool.probe()
      return pool.isUp
    })
    return [...pools, primary]
  }
}

/** Limit of setting the session's variables, in milliseconds. */
const MOMENT = 5000

/**
 * `timeout`: the limit of the stream, in milliseconds; the limit of statements applies until the first row. `settings`:
 * the statement that prepares the session. @throws Retryable or StaleCatalog; what the sink throws
 */
async function runStream (run: Run<{
  readonly statement: Statement
  readonly client: Client | undefined
  readonly stream: PausableSink
}>, { timeout, settings }: { readonly timeout: number, readonly settings: string }): Promise<StatementResult> {
  const { pool, session, options, request: { statement, client, stream } } = run
  try {
    await within(MOMENT, send(session.connection, settings))
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
    pool: ownerOf(pool, { release: pool.restore }),
    options: { ...options, watch: watchBoth, onStarted: () => onStarted() },
    request: { statement, sink: stream, client, stream }
  })
}
