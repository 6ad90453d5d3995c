/** The types of `execute` and `transaction`: the body, and the result that belongs to it. */
import type { CallGrant } from '../access/host-grant.ts'
import type { Consistency } from '../request/stream-request.ts'
import type { AnyDatabases, Bigints, Name } from './fields.ts'
import type { TransactionRequest } from './execute-in.ts'
import type { BodyInTransaction, BodyOf, Exactly, ResultOf, SelectFields, SelectResult, Streamed } from './requests.ts'

interface Request<T, B, N> {
  table: T
  body: B
  /** Permissions of the request, as in the configuration of a token. */
  grant: CallGrant
  /** Type of integers beyond 2^53 in the result; `bigint` if omitted, which `JSON.stringify` does not accept. */
  bigints?: N
}

interface DatabaseRequest<D, B> {
  database: D
  /** For a select: `primary` reads from the primary, because replicas can lag behind. */
  consistency?: B extends { readonly verb: 'select' } ? Consistency : never
}

/** Runs a request in process. @throws ServiceError: the errors that HTTP would return, in the same order */
export type Execute<All extends AnyDatabases> =
  <D extends Name<All>, T extends Name<All[D]>, const B extends BodyOf<All[D], T>, N extends Bigints = 'bigint'>(request: Request<T, Exactly<B, BodyOf<All[D], T, B>>, N> & DatabaseRequest<D, B>) => Promise<ResultOf<All[D], T, B, N>>

/** Runs a request in a transaction, and returns `data` of the response. The body of a select may have `lock`; none may have `dryRun`. Without interfaces, all types are accepted. */
export type TransactionExecute<Tables> = 0 extends 1 & Tables ? (request: TransactionRequest) => Promise<any> : TypedExecute<Tables>
type TypedExecute<Tables> =
  <T extends Name<Tables>, const B extends BodyInTransaction<Tables, T>, N extends Bigints = 'bigint'>(request: Request<T, Exactly<B, BodyInTransaction<Tables, T, B>>, N>) => Promise<ResultOf<Tables, T, B, N>>

/** A body whose rows are streamed. */
type StreamBody<Tables, T extends Name<Tables>, B = unknown> = { readonly verb: 'select' } & Streamed<SelectFields<Tables, T, B>>

/** Reads the rows of a request in process, one by one. Leaving the loop ends the statement. @throws ServiceError, also between rows */
export type Stream<All extends AnyDatabases> =
  <D extends Name<All>, T extends Name<All[D]>, const B extends StreamBody<All[D], T>, N extends Bigints = 'bigint'>(request: Request<T, Exactly<B, StreamBody<All[D], T, B>>, N> & DatabaseRequest<D, B>) => AsyncGenerator<SelectResult<All[D], T, B, N>['rows'][number], void, undefined>
