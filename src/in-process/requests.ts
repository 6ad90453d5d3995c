/** Types of requests and of their results, for calls in process, operations and the client. */
import type {
  AggregatesIn, AnyMemberColumn, AnyMembers, FiltersIn, GroupColumns, GroupMembers, GroupRow, IdOf, Keys, MemberColumn,
  MemberColumns, Members, ReturnedMembers, RowWith, TableName
} from './related.ts'
import type {
  Aggregates, AnyOrder, Bigints, Changes, Expect, Filters, Insert, KeyChoice, KeysOf, Large, LargeIn, Name, Of,
  OnConflict, OrderOf, Part, PathTerm, Position, Row, ValueAt
} from './field-types.ts'

/** The options of an import (docs/imports.md). */
export interface ImportFields {
  /** The format of bytes and texts; rows as objects need none. */
  format?: 'csv' | 'ndjson'
  onConflict?: readonly string[]
  set?: readonly string[]
  dryRun?: boolean
  transaction?: 'whole' | 'batch'
  separator?: ',' | ';' | 'tab'
}

/** The numbers of rows of an import. */
export interface LoadResult { inserted: number, updated: number, unchanged: number, dryRun?: true }

/** Takes a value from an earlier result: a JSON Pointer such as `/0/id`. */
export interface Reference { readonly $ref: string }

/** A value as the type of a `const` literal, or `X`. */
type Given<V, X> = (V extends ReadonlyArray<infer E> ? readonly E[] : V) | X
type GivenData<D, X> = [D] extends [never] ? never : { readonly [K in keyof D]: Given<D[K], X> }

// Lists of columns have `keyof T & string` instead of `Name<T>`, because TypeScript then names the columns in errors.

type FieldOf<B, K extends string> = K extends keyof B ? B[K] : undefined

/** The fields of any select that do not depend on each other. `X`: an additional type of operands. */
interface AnySelect<Tables, T extends Name<Tables>, X = never>
  extends PageFields<Tables[T]>, Pick<RowsFields<Tables, T, unknown, X>, 'filters' | 'columns' | 'limit'> {
  readonly orderBy?: AnyOrder<string>
  readonly include?: AnyMembers<Tables>
  readonly groupBy?: ReadonlyArray<(keyof Tables[T] & string) | Part<Tables[T], AnyMemberColumn>>
  readonly aggregates?: Aggregates<Tables[T], X, AnyMemberColumn>
  readonly having?: object
}

/**
 * The fields of a select of rows without those for pages. `B`: the request, by whose members and order they are
 * checked.
 */
export interface RowsFields<Tables, T extends Name<Tables>, B = unknown, X = never> {
  readonly filters?: Filters<Tables[T], X>
  readonly columns?: ReadonlyArray<keyof Tables[T] & string>
  readonly limit?: number
  readonly orderBy?: 'orderBy' extends keyof B
    ? OrderOf<
      B[keyof B & 'orderBy'],
      Name<Tables[T]>,
      MemberColumns<Tables, T, FieldOf<B, 'include'>>,
      Name<Tables[T]> | '$match',
      PathTerm<Tables[T]>
    >
    : AnyOrder<Name<Tables[T]> | '$match'>
  /** Rows of other tables by their names in a row. */
  readonly include?: Members<Tables, T, Of<B, 'include'>, X>
  readonly groupBy?: never
  readonly aggregates?: never
}

/** The fields of a select that are answered behind the rows (`needsAllRows` in schemas/fields.ts). */
interface ResponseFields {
  readonly expect?: Expect
  readonly total?: true | number
}

/** The fields of a select of rows that belong to the response as a whole. */
interface PageFields<T> extends ResponseFields {
  readonly after?: Position<T> | null
  readonly offset?: number
}

type GroupsOf<B> = B extends { readonly groupBy: ReadonlyArray<infer G> } ? G : never
type AggregatesOf<B> = B extends { readonly aggregates: infer A } ? A : {}
type ColumnsOfGroups<Tables, T extends Name<Tables>, B> =
  GroupColumns<Tables, T, FieldOf<B, 'include'>, GroupsOf<B>, AggregatesOf<B>>

/** The fields of a select of groups. */
interface GroupFields<Tables, T extends Name<Tables>, B, X> {
  readonly filters?: Filters<Tables[T], X>
  readonly groupBy?: ReadonlyArray<
    (keyof Tables[T] & string) | Part<Tables[T], MemberColumn<Tables, FieldOf<B, 'include'>>>
  >
  readonly include?: GroupMembers<Tables, T, Of<B, 'include'>, X>
  readonly aggregates?: AggregatesIn<Tables, T, Of<B, 'aggregates'>, X, FieldOf<B, 'include'>>
  readonly having?: Filters<ColumnsOfGroups<Tables, T, B>, X, never>
  readonly limit?: number
  readonly offset?: number
  readonly orderBy?: 'orderBy' extends keyof B
    ? OrderOf<B[keyof B & 'orderBy'], Name<ColumnsOfGroups<Tables, T, B>>>
    : AnyOrder<string>
}

/** Whether a request is a select of groups; `boolean` if that is only known at run time. */
type HasGroups<B> = IsGiven<B, 'groupBy'> extends true
  ? true
  : IsGiven<B, 'aggregates'> extends true ? true : IsGiven<B, 'groupBy'> | IsGiven<B, 'aggregates'>
type IsGiven<B, K extends string> = K extends keyof B ? undefined extends B[K] ? boolean : true : false

/** The fields of a select. `B`: the request; unknown for any. */
export type SelectFields<Tables, T extends Name<Tables>, B = unknown, X = never> = unknown extends B
  ? AnySelect<Tables, T, X>
  : FiltersIn<Tables, T, B, X> &
      ([HasGroups<B>] extends [true]
        ? GroupFields<Tables, T, B, X>
        : [HasGroups<B>] extends [false]
            ? RowsFields<Tables, T, B, X> & PageFields<Tables[T]> &
              // a page is named by its position or by its offset
              ([IsGiven<B, 'after'>, IsGiven<B, 'offset'>] extends [true, true] ? { readonly offset?: never } : unknown)
            : AnySelect<Tables, T, X>)

/** The fields of every write. `D`: the type of `dryRun`, which is never if it belongs to the whole request. */
interface Writing<T, D> {
  /** Columns to return. */
  readonly returning?: ReadonlyArray<keyof T & string> | '*'
  readonly dryRun?: D
}

/** The members of the rows that a write returns. `B`: the request; unknown for any. */
interface Returning<Tables, T extends Name<Tables>, B = unknown, X = never> {
  readonly include?: 'include' extends keyof B
    ? 'returning' extends keyof B ? ReturnedMembers<Tables, T, Of<B, 'include'>, X> : never
    : AnyMembers<Tables>
}

interface InsertFields<Tables, T extends Name<Tables>, B = unknown, X = never, D = boolean>
  extends Writing<Tables[T], D>, Returning<Tables, T, B, X> {
  readonly data: GivenData<Insert<Tables[T]>, X> | ReadonlyArray<GivenData<Insert<Tables[T]>, X>>
  readonly onConflict?: OnConflict<Tables[T], Keys<Tables, T>>
  /** What became of each row, beside `onConflict`. */
  readonly outcomes?: 'onConflict' extends keyof B ? boolean : unknown extends B ? boolean : never
}

/** `B`: the request, by whose filters and members they are checked; unknown for any. */
interface DeleteFields<Tables, T extends Name<Tables>, B = unknown, X = never, D = boolean>
  extends Writing<Tables[T], D>, Returning<Tables, T, B, X> {
  readonly filters: Filters<Tables[T], X> & FiltersIn<Tables, T, B, X>['filters']
  readonly expect?: Expect
}

/** An update of all rows that the filters select, or of a list of rows with values of their own. */
type UpdateFields<Tables, T extends Name<Tables>, B = unknown, X = never, D = boolean> =
  DeleteFields<Tables, T, B, X, D> & (
    | { readonly data: GivenData<Changes<Tables[T]>, X>, readonly key?: never }
    | {
      /** The key of each row, and what to change in it. */
      readonly data: ReadonlyArray<GivenData<Changes<Tables[T]>, X> & { readonly [C in Name<Tables[T]>]?: unknown }>
      readonly key: KeyChoice<Keys<Tables, T>>
    }
  )

/** The fields of writes by their verbs. */
export interface WriteFields<Tables, T extends Name<Tables>, B = unknown> {
  insert: InsertFields<Tables, T, B>
  update: UpdateFields<Tables, T, B>
  delete: DeleteFields<Tables, T, B>
}

/** The bodies of requests by their verbs. `L`: additional fields of a select. */
interface Bodies<Tables, T extends Name<Tables>, B, X, D, L> {
  // `B` is any body where TypeScript infers none, as for a misspelt column
  select: { readonly verb: 'select' } & L &
    SelectFields<Tables, T, unknown extends B ? B : Extract<B, { readonly verb: 'select' }>, X>
  insert: { readonly verb: OfTable<Tables, T, 'insert'> } & InsertFields<Tables, T, B, X, D>
  update: { readonly verb: OfTable<Tables, T, 'update'> } & UpdateFields<Tables, T, B, X, D>
  delete: { readonly verb: OfTable<Tables, T, 'delete'> } & DeleteFields<Tables, T, B, X, D>
}
type Verb = 'select' | 'insert' | 'update' | 'delete'
/** `V` for a table, never for a view, which can only be read. */
type OfTable<Tables, T extends Name<Tables>, V> = T extends TableName<Tables> ? V : never
/** The verbs of the request; all of them if it is unknown. */
type VerbOf<B> = 'verb' extends keyof B ? Extract<B[keyof B & 'verb'], Verb> : Verb

/** The body of a request. `B`: the request; unknown for any. */
export type BodyOf<Tables, T extends Name<Tables>, B = unknown> =
  Bodies<Tables, T, B, never, boolean, unknown>[VerbOf<B>]

/** The body of a request in a transaction. */
export type BodyInTransaction<Tables, T extends Name<Tables>, B = unknown, X = never> =
  Bodies<Tables, T, B, X, never, { readonly lock?: boolean }>[VerbOf<B>]

/** An operation: the body of a request with its table. */
export type OperationOf<Tables, B = unknown> = {
  [T in Name<Tables>]: { readonly table: T } & BodyInTransaction<Tables, T, B, Reference>
}[Name<Tables>]

/** Whether any object is allowed, as in a JSON column. */
type AnyObject<A> = A extends unknown ? [keyof A] extends [never] ? object extends A ? true : never : never : never

/**
 * `unknown` for allowed values, `never` for members that no type of `Allowed` has, because TypeScript does not check
 * inferred types for them.
 */
type Only<V, Allowed> =
  [Allowed] extends [V] ? unknown
    : V extends object
      ? true extends AnyObject<Allowed> ? unknown
        : V extends readonly unknown[] ? { readonly [I in keyof V]: Only<V[I], ValueAt<Allowed, number>> }
          : { readonly [K in keyof V]: K extends KeysOf<Allowed> ? Only<V[K], ValueAt<Allowed, K>> : never }
      : unknown

/** Whether `B` has no other members than `Allowed`. */
type IsExact<B, Allowed> = [B] extends [Allowed & Only<B, Allowed>] ? true : false

/**
 * `B`, which TypeScript infers from an argument, if it is exact. Otherwise `Allowed`, so that TypeScript compares the
 * argument with it and reports the difference.
 */
export type Exactly<B, Allowed> = IsExact<B, Allowed> extends true ? B : Allowed

/**
 * The constraint from which TypeScript infers an operation. The union of all operations would be too large in a
 * database of hundreds of tables.
 */
export interface AnyOperation<Tables> { readonly table: Name<Tables>, readonly verb: Verb }

/** The allowed operation for the table that `B` names. */
type AllowedOperation<Tables, B> = B extends { readonly table: infer T extends Name<Tables> }
  ? { readonly table: T } & BodyInTransaction<Tables, T, B, Reference>
  : never
type IsExactOperation<Tables, B> =
  AnyOperation<Tables> extends B ? true : B extends unknown ? IsExact<B, AllowedOperation<Tables, B>> : never

/** `Exactly` for each operation of a list. */
export type ExactList<Tables, All extends readonly unknown[]> = [
  { [I in keyof All]: IsExactOperation<Tables, All[I]> }[number]
] extends [true]
  ? All
  : { readonly [I in keyof All]: AllowedOperation<Tables, All[I]> }

/** The result of a request with the body `B`. */
export type ResultOf<Tables, T extends Name<Tables>, B, N extends Bigints> = B extends {
  readonly verb: infer V extends keyof Results<Tables, T, B, N>
}
  ? Results<Tables, T, B, N>[V]
  : never

/** The result of an operation. */
export type OperationResult<Tables, B, N extends Bigints> = B extends { readonly table: infer T extends Name<Tables> }
  ? ResultOf<Tables, T, B, N>
  : never

/** The results of requests by their verbs. */
export interface Results<Tables, T extends Name<Tables>, B, N extends Bigints> {
  select: SelectResult<Tables, T, B, N>
  insert: {
    inserted: number
    // the id of a row that exists may be unknown, and a list with `onConflict` has none
    id: [FieldOf<B, 'onConflict'>] extends [undefined]
      ? Large<IdOf<Tables, T>, N>
      : FieldOf<B, 'data'> extends readonly unknown[] ? null : Large<IdOf<Tables, T>, N> | null
  } & ([FieldOf<B, 'onConflict'>] extends [undefined] ? unknown : { updated: number; unchanged: number }) &
    ([FieldOf<B, 'outcomes'>] extends [true]
      ? { outcomes: RowOutcome[] }
      : [FieldOf<B, 'outcomes'>] extends [undefined | false] ? unknown : { outcomes?: RowOutcome[] }) &
    WrittenOf<Tables, T, B, N>
  update: { updated: number } & WrittenOf<Tables, T, B, N>
  delete: { deleted: number } & WrittenOf<Tables, T, B, N>
}

export type SelectResult<Tables, T extends Name<Tables>, B, N extends Bigints> =
  HasGroups<B> extends infer Groups
    ? Groups extends true
      ? {
        rows: Array<LargeIn<GroupRow<Tables, T, FieldOf<B, 'include'>, GroupsOf<B>, AggregatesOf<B>>, N>>
        count: number
      } & NextOf<Tables[T], undefined, FieldOf<B, 'offset'>, N>
      : { rows: Array<RowWith<Tables, T, B, N>>, count: number } &
        NextOf<Tables[T], FieldOf<B, 'after'>, FieldOf<B, 'offset'>, N> &
        ([FieldOf<B, 'total'>] extends [undefined] ? unknown : { total: number })
    : never

/** The part that `after` or `offset` adds to a result. */
type NextOf<T, A, O, N extends Bigints> = [A] extends [undefined]
  ? [O] extends [undefined] ? unknown : { next: number | null }
  : { next: LargeIn<Partial<Row<T>>, N> | null }

/** What became of a row of an upsert. */
type RowOutcome = 'inserted' | 'updated' | 'unchanged'

/** The part that `returning` and `dryRun` add to a result. */
type WrittenOf<Tables, T extends Name<Tables>, B, N extends Bigints> =
  ([FieldOf<B, 'returning'>] extends [undefined]
    ? unknown
    : { rows: Array<RowWith<Tables, T, Omit<B, 'columns'> & { columns: FieldOf<B, 'returning'> }, N>> }) &
  ([FieldOf<B, 'dryRun'>] extends [undefined] ? unknown : { dryRun?: true })

/** The fields of a select whose rows are streamed, without those that need all rows. */
export type Streamed<Fields> = Fields extends unknown ? Omit<Fields, keyof ResponseFields> : never
