import { ISOLATIONS } from '../../schemas/fields.ts'
import type { CallGrant } from '../access/grant.ts'
import { type Isolation, StaleCatalog } from '../dialects/dialect.ts'
import {
  databaseNotFound, databaseUnavailable, didYouMean, invalidBody, type ServiceError, withReason
} from '../errors.ts'
import { withFreshCatalog } from '../databases/stale-catalog.ts'
import type { Consistency } from '../http/stream.ts'
import type { RequestLimits } from '../plan/limits.ts'
import { type Calls, createCalls, type TransactionRequest } from './on-write.ts'
import { type InProcess, requireKnown, type TransactionLoadRequest } from './calls.ts'
import type { AnyDatabases, Bigints, Name } from './field-types.ts'
import type { IsAny, TableName } from './related.ts'
import type {
  BodyInTransaction, BodyOf, Exactly, LoadResult, ResultOf, Results, SelectFields, SelectResult, Streamed, WriteFields
} from './requests.ts'

// The types of `execute`, `as` and `transaction`: the body, and the result that belongs to it.

/** Options of a call with a bound grant. */
interface BoundOptions<N> {
  /** Type of integers beyond 2^53 in the result; `bigint` if omitted, which `JSON.stringify` does not accept. */
  bigints?: N
}

interface Request<T, B, N> extends BoundOptions<N> {
  table: T
  body: B
  /** Permissions of the request, as in the configuration of a token. */
  grant: CallGrant
}

interface DatabaseRequest<D, B> {
  database: D
  /** For a select: `primary` reads from the primary, because replicas can lag behind. */
  consistency?: B extends { readonly verb: 'select' } ? Consistency : never
}

/** Runs a request in process. @throws ServiceError: the errors that HTTP would return, in the same order */
export type Execute<All extends AnyDatabases> = <
  D extends Name<All>,
  T extends Name<All[D]>,
  const B extends BodyOf<All[D], T>,
  N extends Bigints = 'bigint'
>(
  request: Request<T, Exactly<B, BodyOf<All[D], T, B>>, N> & DatabaseRequest<D, B>
) => Promise<ResultOf<All[D], T, B, N>>

/** A body whose rows are streamed. */
type StreamBody<Tables, T extends Name<Tables>, B = unknown> = { readonly verb: 'select' } & Streamed<
  SelectFields<Tables, T, B>
>

/**
 * Reads the rows of a request in process, one by one. Leaving the loop ends the statement. @throws ServiceError, also
 * between rows
 */
export type Stream<All extends AnyDatabases> = <
  D extends Name<All>,
  T extends Name<All[D]>,
  const B extends StreamBody<All[D], T>,
  N extends Bigints = 'bigint'
>(
  request: Request<T, Exactly<B, StreamBody<All[D], T, B>>, N> & DatabaseRequest<D, B>
) => AsyncGenerator<SelectResult<All[D], T, B, N>['rows'][number], void, undefined>

interface BoundReadOptions<N> extends BoundOptions<N> {
  /** `primary` reads from the primary, because replicas can lag behind. */
  consistency?: Consistency
}

type BoundWrite<All extends AnyDatabases, V extends keyof WriteFields<any, any>> = <
  D extends Name<All>,
  T extends Name<All[D]>,
  const F extends WriteFields<All[D], T>[V],
  N extends Bigints = 'bigint'
>(
  database: D,
  table: T & TableName<All[D]>,
  fields: Exactly<F, WriteFields<All[D], T, F>[V]>,
  options?: BoundOptions<N>
) => Promise<Results<All[D], T, F, N>[V]>

/**
 * Requests with one grant, without HTTP. Each call takes the database, the table and the fields of the body without its
 * verb. @throws ServiceError: the errors that HTTP would return, in the same order
 */
export interface BoundCalls<All extends AnyDatabases = AnyDatabases> {
  /** Returns rows, or groups with `groupBy` and `aggregates`. */
  select<
    D extends Name<All>,
    T extends Name<All[D]>,
    const F extends SelectFields<All[D], T> = {},
    N extends Bigints = 'bigint'
  >(
    database: D,
    table: T,
    fields?: Exactly<F, SelectFields<All[D], T, F>>,
    options?: BoundReadOptions<N>
  ): Promise<SelectResult<All[D], T, F, N>>
  /** Inserts a row or a list of rows. `onConflict` updates rows that exist. */
  insert: BoundWrite<All, 'insert'>
  /** Updates the rows that the filters select, or a list of rows by their key. */
  update: BoundWrite<All, 'update'>
  /** Deletes the rows that the filters select. */
  delete: BoundWrite<All, 'delete'>
  /** Reads any number of rows one by one. Leaving the loop ends the statement. */
  stream<
    D extends Name<All>,
    T extends Name<All[D]>,
    const F extends Streamed<SelectFields<All[D], T>> = {},
    N extends Bigints = 'bigint'
  >(
    database: D,
    table: T,
    fields?: Exactly<F, Streamed<SelectFields<All[D], T, F>>>,
    options?: BoundReadOptions<N>
  ): AsyncGenerator<SelectResult<All[D], T, F, N>['rows'][number], void, undefined>
}

/** `Tables`: the interface of the database that `row-query types` prints. */
export interface InProcessTransaction<Tables = any> {
  /** How often the function has run, with this time: more than 1 after a deadlock, or if tables have changed. */
  readonly attempt: number
  /**
   * Runs a request in the transaction, and returns `data` of the response. The body of a select may have `lock`; none
   * may have `dryRun`. A refused request leaves the transaction as it was before, and the next one may run. Without
   * interfaces, all types are accepted.
   */
  readonly execute: IsAny<Tables> extends true
    ? (request: TransactionRequest) => Promise<any>
    : <T extends Name<Tables>, const B extends BodyInTransaction<Tables, T>, N extends Bigints = 'bigint'>(
    request: Request<T, Exactly<B, BodyInTransaction<Tables, T, B>>, N>
  ) => Promise<ResultOf<Tables, T, B, N>>
  /**
   * Inserts the rows of a source, as `load` does, as a part of the transaction; other requests wait. The time limit is
   * that of the transaction. @throws what the source throws
   */
  load(
    request: TransactionLoadRequest & { table: Name<Tables> },
    source: AsyncIterable<unknown> | Iterable<unknown>
  ): Promise<LoadResult>
}

export interface InProcessTransactionOptions {
  readonly isolation?: Exclude<Isolation, 'readCommitted'>
  /** Rolls the transaction back at the end. */
  readonly dryRun?: boolean
}

const OPTIONS: ReadonlySet<string> = new Set<keyof InProcessTransactionOptions>(['isolation', 'dryRun'])

/**
 * Runs `use` in a transaction: commits when it resolves, rolls back when it throws. `use` may run again after a
 * deadlock or if the tables have changed, so it must have no effects other than those of its requests. @throws what
 * `use` throws
 */
export async function runInProcess<T> (
  { databases, limits }: InProcess & { readonly limits: RequestLimits },
  name: string,
  { use, ...options }: InProcessTransactionOptions & { use: (tx: InProcessTransaction) => Promise<T> }
): Promise<T> {
  requireKnown(options, OPTIONS, 'transaction')
  const { isolation = 'repeatableRead', dryRun = false } = options
  const database = databases.get(name)
  if (database === undefined) throw databaseNotFound(name, didYouMean(name, databases.keys()))
  if (!ISOLATIONS.includes(isolation)) throw invalidBody(`"isolation" must be one of ${ISOLATIONS.join(', ')}`)
  let attempt = 0
  return await withFreshCatalog(database, async () => {
    let calls: Calls | undefined
    try {
      return await database.dialect.transaction(
        async (tx) => {
          calls = createCalls({ tx, database, limits, dryRun, isHooked: true })
          const result = await use({ attempt: ++attempt, execute: calls.execute, load: calls.load })
          await calls.end()
          return result
        },
        { readOnly: false, isolation, dryRun, isShared: true }
      )
    } catch (error) {
      const stale = calls?.stale()
      // a table without transactions may keep its changes
      if (stale !== undefined && (error as ServiceError).code !== 'OUTCOME_UNKNOWN') throw stale
      throw error instanceof StaleCatalog ? withReason(databaseUnavailable(), error.reason) : error
    }
  })
}
