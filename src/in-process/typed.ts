/** The types of `execute`: the body, and the answer that belongs to it. */
import type { CallGrant } from '../access/host-grant.ts'
import type { Consistency } from '../request/consistency.ts'
import type {
  Aggregates, AnyDatabases, Bigints, DeleteFields, DeleteResult, GroupFields, Grouping, GroupsResult, InsertFields, InsertResult, Name, OnConflict, Paging, Position, Returning,
  SelectFields, SelectResult, UpdateFields, UpdateResult, Writing
} from './fields.ts'

interface Request<D extends string, T extends string, B, N extends Bigints = Bigints> {
  database: D
  table: T
  body: B
  /** Permissions of the request, as in the configuration of a token. */
  grant: CallGrant
  /** Type of integers beyond 2^53 in the result; `bigint` if omitted, which `JSON.stringify` does not accept. */
  bigints?: N
}

interface Reading {
  /** `primary` reads from the primary, because replicas can lag behind. */
  consistency?: Consistency
}

/** Runs a request in process. @throws ServiceError: the errors that HTTP would return, in the same order */
export interface Execute<All extends AnyDatabases> {
  <D extends Name<All>, T extends Name<All[D]>, const C extends Name<All[D][T]> = Name<All[D][T]>, N extends Bigints = 'bigint', A extends Position<All[D][T]> | null | undefined = undefined, O extends number | undefined = undefined, S extends true | number | undefined = undefined>(request: Request<D, T, { verb: 'select' } & SelectFields<All[D][T], C> & Paging<A, O, S>, N> & Reading): Promise<SelectResult<All[D][T], C, A, O, S, N>>
  <D extends Name<All>, T extends Name<All[D]>, const G extends Grouping<All[D][T]> = never, const A extends Aggregates<All[D][T]> = {}, N extends Bigints = 'bigint', O extends number | undefined = undefined>(request: Request<D, T, { verb: 'select', offset?: O } & GroupFields<All[D][T], G, A>, N> & Reading): Promise<GroupsResult<All[D][T], G, A, O, N>>
  <D extends Name<All>, T extends Name<All[D]>, const R extends Returning<All[D][T]> = undefined, X extends boolean | undefined = undefined, N extends Bigints = 'bigint', const K extends OnConflict<All[D][T]> | undefined = undefined>(request: Request<D, T, { verb: 'insert' } & InsertFields<All[D][T], K> & Writing<R, X>, N>): Promise<InsertResult<All[D][T], K, R, X, N>>
  <D extends Name<All>, T extends Name<All[D]>, const R extends Returning<All[D][T]> = undefined, X extends boolean | undefined = undefined, N extends Bigints = 'bigint'>(request: Request<D, T, { verb: 'update' } & UpdateFields<All[D][T]> & Writing<R, X>, N>): Promise<UpdateResult<All[D][T], R, X, N>>
  <D extends Name<All>, T extends Name<All[D]>, const R extends Returning<All[D][T]> = undefined, X extends boolean | undefined = undefined, N extends Bigints = 'bigint'>(request: Request<D, T, { verb: 'delete' } & DeleteFields<All[D][T]> & Writing<R, X>, N>): Promise<DeleteResult<All[D][T], R, X, N>>
}

/** A body whose rows are streamed: without what is known only when all rows are. */
type Streamed<Fields> = { verb: 'select' } & Omit<Fields, 'expect'>

/** Reads the rows of a request in process, one by one. Leaving the loop ends the statement. @throws ServiceError, also between rows */
export interface Stream<All extends AnyDatabases> {
  <D extends Name<All>, T extends Name<All[D]>, const C extends Name<All[D][T]> = Name<All[D][T]>, N extends Bigints = 'bigint'>(request: Request<D, T, Streamed<SelectFields<All[D][T], C>> & { after?: Position<All[D][T]> | null, offset?: number }, N> & Reading): AsyncGenerator<SelectResult<All[D][T], C, undefined, undefined, undefined, N>['rows'][number], void, undefined>
  <D extends Name<All>, T extends Name<All[D]>, const G extends Grouping<All[D][T]> = never, const A extends Aggregates<All[D][T]> = {}, N extends Bigints = 'bigint'>(request: Request<D, T, { verb: 'select', offset?: number } & GroupFields<All[D][T], G, A>, N> & Reading): AsyncGenerator<GroupsResult<All[D][T], G, A, undefined, N>['rows'][number], void, undefined>
}
