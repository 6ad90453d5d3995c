/** The types of operations in one transaction, and of their results. */
import type {
  Aggregates, Bigints, Changes, DeleteFields, DeleteResult, Filters, GroupFields, Grouping, GroupsResult, Insert, InsertResult, Name, OnConflict, Paging, Position, Returning,
  SelectFields, SelectResult, UpdateResult, Writing
} from '../in-process/fields.ts'

/** Takes a value from an earlier result: a JSON Pointer such as `/0/id`. */
export interface Reference { readonly $ref: string }

/** A value as a literal with `const` has it, or a reference. */
type Given<V> = (V extends ReadonlyArray<infer E> ? readonly E[] : V) | Reference
type GivenData<D> = { readonly [K in keyof D]: Given<D[K]> }
type GivenFilters<T> = Filters<T, Reference>

type Fields<T> =
  | ({ verb: 'select', lock?: boolean } & SelectFields<T, Name<T>, Reference> & Paging<Position<T> | null | undefined, number | undefined, true | number | undefined>)
  | ({ verb: 'select', lock?: boolean, offset?: number } & GroupFields<T, Grouping<T>, Aggregates<T, Reference>, Reference>)
  | ({ verb: 'insert', data: GivenData<Insert<T>> | ReadonlyArray<GivenData<Insert<T>>>, onConflict?: OnConflict<T> } & Writing<Returning<T>, false>)
  | ({ verb: 'update', data: GivenData<Changes<T>>, filters: GivenFilters<T> } & Omit<DeleteFields<T>, 'filters'> & Writing<Returning<T>, false>)
  | ({ verb: 'delete', filters: GivenFilters<T> } & Omit<DeleteFields<T>, 'filters'> & Writing<Returning<T>, false>)

/** An operation: the fields of a request with its table and verb. */
export type OperationOf<Tables> = { [T in Name<Tables>]: { table: T } & Fields<Tables[T]> }[Name<Tables>]

type KeysOf<A> = A extends unknown ? keyof A : never
type MemberOf<A, K> = A extends unknown ? K extends keyof A ? A[K] : never : never
/** `true` if any object is allowed, as in a JSON column. */
type AnyObject<A> = A extends unknown ? [keyof A] extends [never] ? object extends A ? true : never : never : never
type ElementOf<A> = A extends ReadonlyArray<infer E> ? E : never

/** `unknown` for what is allowed, `never` for members that no type of `Allowed` has: TypeScript does not look for them in what it infers. */
type Only<V, Allowed> =
  V extends object
    ? true extends AnyObject<Allowed> ? unknown
      : V extends readonly unknown[] ? { readonly [I in keyof V]: Only<V[I], ElementOf<Allowed>> }
        : { readonly [K in keyof V]: K extends KeysOf<Allowed> ? Only<V[K], MemberOf<Allowed, K>> : never }
    : unknown

/** Refuses misspelt members. */
export type Checked<Tables, Operations> = { readonly [I in keyof Operations]: Operations[I] extends { table: infer T extends Name<Tables>, verb: infer V } ? Only<Operations[I], Extract<{ table: T } & Fields<Tables[T]>, { verb: V }>> : unknown }

type FieldOf<O, K extends string> = O extends { readonly [Key in K]: infer V } ? V : undefined
type ColumnsOf<O, T, K extends string> = O extends { readonly [Key in K]: ReadonlyArray<infer C extends Name<T>> } ? C : Name<T>

/** The result of an operation. */
export type ResultOf<Tables, O, N extends Bigints> = O extends { table: infer T extends Name<Tables>, verb: infer V } ? ResultIn<Tables[T], V, O, N> : never

type ResultIn<T, V, O, N extends Bigints> =
  V extends 'insert' ? InsertResult<T, FieldOf<O, 'onConflict'>, FieldOf<O, 'returning'>, undefined, N>
    : V extends 'update' ? UpdateResult<T, FieldOf<O, 'returning'>, undefined, N>
      : V extends 'delete' ? DeleteResult<T, FieldOf<O, 'returning'>, undefined, N>
        : O extends { readonly groupBy: unknown } | { readonly aggregates: unknown }
          ? GroupsResult<T, O extends { readonly groupBy: ReadonlyArray<infer G> } ? G : never, O extends { readonly aggregates: infer A } ? A : {}, FieldOf<O, 'offset'>, N>
          : SelectResult<T, ColumnsOf<O, T, 'columns'>, FieldOf<O, 'after'>, FieldOf<O, 'offset'>, FieldOf<O, 'total'>, N>
