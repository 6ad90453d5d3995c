/** The dialect of MySQL, MariaDB and compatible servers, by mysql2. */
import type { ServiceError } from '../../errors.ts'
import { STREAM_TIMEOUT, type Dialect, type ReadOptions } from '../dialect.ts'
import { findAccountRisks, findDenied } from './privileges.ts'
import { createReplicaOrder, runWithRetries, runStream, type Route } from './execute/read.ts'
import { toConnectError, type MysqlError } from './errors.ts'
import { watch } from '../waiters.ts'
import { createDifferences } from './connection/definitions.ts'
import { runStatement, type ExecutionOptions } from './execute/execution.ts'
import { runTransaction } from './transaction/transaction.ts'
import { introspectMysql } from './introspect.ts'
import type { MysqlAddress } from './options.ts'
import { createMysqlPool, type MysqlPool, type PoolLimits } from './pool/pool.ts'
import { requirePrivateMethods } from './connection/statement-command.ts'
import { ask, within, type Ask } from './connection/session.ts'
import { stopStatement } from './connection/kill.ts'

export interface MysqlSettings {
  readonly address: MysqlAddress
  /** The replicas to which selects are sent. */
  readonly replicas?: readonly MysqlAddress[]
  /** Applies to the primary and to each replica. */
  readonly pool: PoolLimits
  /** Time limit of a statement, in milliseconds. */
  readonly statementTimeout: number
  /** Time limit of a stream, in milliseconds. */
  readonly streamTimeout?: number
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
  streamTimeout = STREAM_TIMEOUT
}: MysqlSettings): Dialect {
  requirePrivateMethods()
  const [primary, ...copies] = [address, ...replicas].map((each) =>
    createMysqlPool(each, limits, statementTimeout)
  ) as [MysqlPool, ...MysqlPool[]]
  const readPools = createReplicaOrder(primary, copies)
  const primaryOnly = [primary]
  const all = [primary, ...copies]
  const differences = createDifferences()
  const options: ExecutionOptions = {
    watch: (client, stop) => watch(statementTimeout, client, stop),
    known: new WeakMap(),
    differences
  }
  const replicaOptions: ExecutionOptions = { ...options, known: new WeakMap(), differences: differences.ofReplicas }
  const routeOf = (pools: readonly MysqlPool[]): Route => ({
    pools, attempts: pools.length + address.hosts.length, options, replicaOptions
  })
  /** `consistency`: whether no replica is used. */
  const routeToRead = (consistency: ReadOptions['consistency']): Route =>
    routeOf(consistency === undefined ? readPools() : primaryOnly)
  return {
    engine: 'mysql',
    async introspect () {
      const since = performance.now()
      const tables = await withSession(primary, statementTimeout, introspectMysql)
      differences.review(tables, since)
      return tables
    },
    privileges: () =>
      withSession(primary, statementTimeout, async (asked) =>
        (await asked('show grants')).map(([grant]) => withoutSecrets(grant as string))
      ),
    findRisks: (configured) =>
      withSession(primary, statementTimeout, (asked) => findAccountRisks(asked, address, configured)),
    findDenied: (uses) =>
      withSession(primary, statementTimeout, (_asked, run) =>
        findDenied(run, uses).catch((error: MysqlError) => {
          throw error.code === undefined ? error : toConnectError(error)
        })
      ),
    read: (statement, sink, { client, consistency } = {}) =>
      runWithRetries(routeToRead(consistency), { statement, sink, client }, runStatement),
    stream: (statement, stream, { client, consistency } = {}) =>
      runWithRetries(routeToRead(consistency), { statement, stream, client }, (run) => runStream(run, streamTimeout)),
    write: (statement, { client } = {}) =>
      runWithRetries(routeOf(primaryOnly), { statement, sink: undefined, client }, runStatement),
    transaction: (use, { consistency, ...transaction }) =>
      runWithRetries(
        transaction.readOnly ? routeToRead(consistency) : routeOf(primaryOnly),
        { use, client: undefined, ...transaction },
        runTransaction
      ),
    async check () {
      // if all connections are in use, they are about to answer or to reach their time limit
      if (!primary.isBusy) primary.release(await primary.acquire())
    },
    poolUse: () => all.map(({ use }) => use),
    close: async () => {
      await Promise.all(all.map((pool) => pool.close()))
    }
  }
}

/** Discards the session after an error, because a late answer would be read as that of the next statement. */
async function withSession<T> (
  pool: MysqlPool,
  timeout: number,
  use: (ask: Ask, run: (sql: string) => Promise<unknown>) => Promise<T>
): Promise<T> {
  const session = await pool.acquire()
  const since = performance.now()
  try {
    const run = (sql: string) => within(timeout, ask(session.connection, sql))
    const result = await use(
      (sql) =>
        run(sql).catch((error: MysqlError) => {
          throw toConnectError(error)
        }),
      run
    )
    pool.putBack(session)
    return result
  } catch (error) {
    if ((error as ServiceError).reason === 'ETIMEDOUT') stopStatement({ pool, session, since, onGivenUp: () => {} })
    else pool.discard(session)
    throw error
  }
}

/** Removes the hash of the account's password, which MariaDB shows in its grants. */
function withoutSecrets (grant: string): string {
  return grant.replace(/ IDENTIFIED (BY|VIA) .*?(?= REQUIRE| WITH|$)/, '')
}
