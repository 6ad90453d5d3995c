/** Bodies and answers of one table for who says what its columns are, by interfaces as `row-query types` writes them. */
import type { Consistency } from '../request/consistency.ts'
import type { GrantOptions } from '../access/grant.ts'
import type { Bigints } from './to-values.ts'

/** What a select gives, an insert takes and an update takes. Kysely's ColumnType is made the same way, so that each passes for the other. */
export interface Column<Select, Insert, Update> {
  readonly __select__: Select
  readonly __insert__: Insert
  readonly __update__: Update
}

/** Database to table to column. Without interfaces of one's own every name and value is let through to be checked as over HTTP. */
export type AnyDatabases = Record<string, any>

type Name<T> = keyof T & string
type SelectOf<C> = C extends Column<infer Select, any, any> ? Select : C
type InsertOf<C> = C extends Column<any, infer Insert, any> ? Insert : C
type UpdateOf<C> = C extends Column<any, any, infer Update> ? Update : C

/** A row with every column. */
export type Row<T> = { [K in keyof T]: SelectOf<T[K]> }

type Needed<T> = { [K in keyof T]: [InsertOf<T[K]>] extends [never] ? never : undefined extends InsertOf<T[K]> ? never : K }[keyof T]
type Possible<T> = { [K in keyof T]: undefined extends InsertOf<T[K]> ? K : never }[keyof T]
type Changeable<T> = { [K in keyof T]: [UpdateOf<T[K]>] extends [never] ? never : K }[keyof T]

/** Columns to insert: what has no default must be there. */
export type Insert<T> = { [K in Needed<T>]: InsertOf<T[K]> } & { [K in Possible<T>]?: Exclude<InsertOf<T[K]>, undefined> }
/** Columns to change. */
export type Update<T> = { [K in Changeable<T>]?: UpdateOf<T[K]> }

type ValueOf<C> = Exclude<SelectOf<C> | InsertOf<C> | UpdateOf<C>, null | undefined>

export interface Operators<V> {
  $eq?: V | null
  /** As `$eq`, but texts are compared to the byte. */
  $is?: V | null
  $ne?: V | null
  $in?: ReadonlyArray<V | null>
  $nin?: ReadonlyArray<V | null>
  $gt?: V
  $gte?: V
  $lt?: V
  $lte?: V
  $between?: readonly [V, V]
  $like?: string
  $nlike?: string
  $startsWith?: string
  $contains?: string
  $null?: boolean
}

/** A column whose name begins with `$` has one `$` more in filters. */
type Dollars<T> = { [K in Extract<keyof T, `$${string}`> as `$${K}`]?: ColumnFilter<T[K]> }

type ColumnFilter<C> = ValueOf<C> | null | ReadonlyArray<ValueOf<C> | null> | Operators<ValueOf<C>>

export type Filters<T> = { [K in keyof T]?: ColumnFilter<T[K]> } & {
  $and?: ReadonlyArray<Filters<T>>
  $or?: ReadonlyArray<Filters<T>>
  $not?: Filters<T>
  /** A row as a select gave it, or some of its columns. */
  $is?: { readonly [K in keyof T]?: ValueOf<T[K]> | null }
} & Dollars<T>

type Direction = 'ASC' | 'DESC' | 'asc' | 'desc'

/** A column and its direction, one in each object. */
export type OrderTerm<T> = { [K in Name<T>]: { readonly [Column in K]: Direction } }[Name<T>]

interface Select<T, C extends Name<T>> { verb: 'select', filters?: Filters<T>, columns?: readonly C[], limit?: number, orderBy?: string | ReadonlyArray<OrderTerm<T>> }

/** What a value is where numbers beyond 2^53 are wanted as strings. */
type Large<V, N extends Bigints> = N extends 'string' ? V extends bigint ? string : V : V
/** The same for each column of a row. */
type LargeIn<R, N extends Bigints> = N extends 'string' ? { [K in keyof R]: Large<R[K], N> } : R

/** Where, what and for whom. */
interface Request<D extends string, T extends string, B, N extends Bigints = Bigints> {
  database: D
  table: T
  body: B
  /** Who it is done for: permissions as a token has them. */
  grant: GrantOptions
  /** What whole numbers beyond 2^53 are in the answer; `bigint`, which `JSON.stringify` does not take, if left out. */
  bigints?: N
}

interface Reading {
  /** Reads from the primary although there are replicas, which may be late. */
  consistency?: Consistency
}

/** A walk in process, typed by interfaces of the tables. @throws ServiceError: the refusals that HTTP would answer, in the same order */
export interface Execute<All extends AnyDatabases> {
  <D extends Name<All>, T extends Name<All[D]>, const C extends Name<All[D][T]> = Name<All[D][T]>, N extends Bigints = 'bigint'>(request: Request<D, T, Select<All[D][T], C>, N> & Reading): Promise<{ rows: Array<LargeIn<Pick<Row<All[D][T]>, C>, N>>, count: number }>
  <D extends Name<All>, T extends Name<All[D]>, N extends Bigints = 'bigint'>(request: Request<D, T, { verb: 'insert', data: Insert<All[D][T]> }, N>): Promise<{ inserted: number, id: Large<number | bigint | string | null, N> }>
  <D extends Name<All>, T extends Name<All[D]>>(request: Request<D, T, { verb: 'update', data: Update<All[D][T]>, filters: Filters<All[D][T]> }>): Promise<{ updated: number }>
  <D extends Name<All>, T extends Name<All[D]>>(request: Request<D, T, { verb: 'delete', filters: Filters<All[D][T]> }>): Promise<{ deleted: number }>
}
