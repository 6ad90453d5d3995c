/** The types of the client: the fields of each method, and the result that belongs to them. */
import type {
  Aggregates, AnyDatabases, Bigints, DeleteFields, DeleteResult, GroupFields, Grouping, GroupsResult, InsertFields, InsertResult, Name, OnConflict, Paging, Position, Returning,
  SelectFields, SelectResult, UpdateFields, UpdateResult, Writing
} from '../in-process/fields.ts'
import type { Checked, OperationOf, ResultOf } from './operations.ts'
import type { RequestOptions } from './options.ts'

export interface Client<All extends AnyDatabases = AnyDatabases, N extends Bigints = 'bigint'> {
  /** The methods of a database, without a request. */
  database<D extends Name<All>>(name: D): DatabaseClient<All[D], N>
}

/** The fields of several operations besides these. */
export interface OperationsFields<X> {
  isolation?: 'repeatableRead' | 'serializable'
  dryRun?: X
}

/** How a select is sent. */
export type ReadOptions = Omit<RequestOptions, 'idempotencyKey'>
/** How a write is sent. */
export type WriteOptions = Omit<RequestOptions, 'consistency'>

/**
 * The methods of a database. Each takes the table, the fields of the request without its verb, and how it is sent. It returns `data` of the
 * answer. @throws RowQueryError; the reason of the signal
 */
export interface DatabaseClient<Tables, N extends Bigints = 'bigint'> {
  /** Returns rows, or groups with `groupBy` and `aggregates`. */
  select<T extends Name<Tables>, const C extends Name<Tables[T]> = Name<Tables[T]>, A extends Position<Tables[T]> | null | undefined = undefined, O extends number | undefined = undefined, S extends true | number | undefined = undefined>(table: T, fields?: SelectFields<Tables[T], C> & Paging<A, O, S>, options?: ReadOptions): Promise<SelectResult<Tables[T], C, A, O, S, N>>
  select<T extends Name<Tables>, const G extends Grouping<Tables[T]> = never, const A extends Aggregates<Tables[T]> = {}, O extends number | undefined = undefined>(table: T, fields: GroupFields<Tables[T], G, A> & { offset?: O }, options?: ReadOptions): Promise<GroupsResult<Tables[T], G, A, O, N>>
  /** Inserts a row or a list of rows. `onConflict` updates those that exist. */
  insert<T extends Name<Tables>, const R extends Returning<Tables[T]> = undefined, X extends boolean | undefined = undefined, const K extends OnConflict<Tables[T]> | undefined = undefined>(table: T, fields: InsertFields<Tables[T], K> & Writing<R, X>, options?: WriteOptions): Promise<InsertResult<Tables[T], K, R, X, N>>
  /** Updates the rows that the filters select. */
  update<T extends Name<Tables>, const R extends Returning<Tables[T]> = undefined, X extends boolean | undefined = undefined>(table: T, fields: UpdateFields<Tables[T]> & Writing<R, X>, options?: WriteOptions): Promise<UpdateResult<Tables[T], R, X, N>>
  /** Deletes the rows that the filters select. */
  delete<T extends Name<Tables>, const R extends Returning<Tables[T]> = undefined, X extends boolean | undefined = undefined>(table: T, fields: DeleteFields<Tables[T]> & Writing<R, X>, options?: WriteOptions): Promise<DeleteResult<Tables[T], R, X, N>>
  /** Iterates over all rows that the filters select. `limit` is the number of rows of each request; `after` where to begin. `timeout` applies to each request. */
  pages<T extends Name<Tables>, const C extends Name<Tables[T]> = Name<Tables[T]>>(table: T, fields?: Omit<SelectFields<Tables[T], C>, 'expect'> & { after?: Position<Tables[T]> | null }, options?: ReadOptions): AsyncGenerator<SelectResult<Tables[T], C, undefined, undefined, undefined, N>['rows'][number], void, undefined>
  /**
   * Reads any number of rows, or groups, with one request: the service reads them from the database as the loop takes them. Leaving the loop, and the signal, end
   * the request. `timeout` applies to the first row. @throws RowQueryError also between rows, where not all of them arrive
   */
  rows<T extends Name<Tables>, const C extends Name<Tables[T]> = Name<Tables[T]>>(table: T, fields?: Omit<SelectFields<Tables[T], C>, 'expect'> & { after?: Position<Tables[T]> | null, offset?: number }, options?: ReadOptions): AsyncGenerator<SelectResult<Tables[T], C, undefined, undefined, undefined, N>['rows'][number], void, undefined>
  rows<T extends Name<Tables>, const G extends Grouping<Tables[T]> = never, const A extends Aggregates<Tables[T]> = {}>(table: T, fields: GroupFields<Tables[T], G, A> & { offset?: number }, options?: ReadOptions): AsyncGenerator<GroupsResult<Tables[T], G, A, undefined, N>['rows'][number], void, undefined>
  /** Runs operations in one transaction, up to 100 if the service has no other limit: all of them happen, or none. `{ $ref: '/0/id' }` takes a value from an earlier result. */
  transaction<const Operations extends ReadonlyArray<OperationOf<Tables>>, X extends boolean | undefined = undefined>(operations: Operations & Checked<Tables, Operations>, fields?: OperationsFields<X>, options?: RequestOptions): Promise<{ results: { -readonly [I in keyof Operations]: ResultOf<Tables, Operations[I], N> } } & ([X] extends [undefined] ? unknown : { dryRun?: true })>
}
