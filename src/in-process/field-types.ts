/**
 * Types of columns, and of the fields of requests for them, derived from the interfaces that `row-query types` writes.
 * Imports only the grammar of filters, so that the client can use it anywhere.
 */
import type {
  BOUNDS, CasedOperator, CASES, CombinatorName, MATCH_MODES, OperandForm, OperatorName, OPERATORS, PATH_OPERATORS
} from '../../schemas/filters.ts'

/**
 * Type of integers that a double cannot represent exactly. `JSON.stringify`, and therefore `reply.send`, does not
 * accept bigints.
 */
export type Bigints = 'bigint' | 'string'

/**
 * The types of a column in select, insert and update, and of the sum of its values, if it has one. It has the structure
 * of Kysely's ColumnType, so that both are compatible.
 */
export interface Column<Select, Insert, Update, Sum = never> {
  readonly __select__: Select
  readonly __insert__: Insert
  readonly __update__: Update
  readonly __sum__?: Sum
}

/** Database -> table -> column. The default, which accepts all names and values; they are checked at run time. */
export type AnyDatabases = Record<string, any>

export type Name<T> = keyof T & string
/** The field `K` of a request without undefined; never if it has none. */
export type Of<B, K extends string> = K extends keyof B ? Exclude<B[K], undefined> : never
/** The keys of the members of a union. */
export type KeysOf<A> = A extends unknown ? keyof A : never
/** The values of `K` in the members of a union that have it. */
export type ValueAt<A, K> = A extends unknown ? K extends keyof A ? A[K] : never : never
export type SelectOf<C> = C extends Column<infer Select, any, any, any> ? Select : C
type InsertOf<C> = C extends Column<any, infer Insert, any, any> ? Insert : C
export type SumOf<C> = C extends { readonly __sum__?: infer Sum } ? Exclude<Sum, undefined> : string | number
type UpdateOf<C> = C extends Column<any, any, infer Update, any> ? Update : C

/** A row with every column. */
export type Row<T> = { [K in keyof T]: SelectOf<T[K]> }

type Needed<T> = {
  [K in keyof T]: [InsertOf<T[K]>] extends [never] ? never : undefined extends InsertOf<T[K]> ? never : K
}[keyof T]
type Possible<T> = { [K in keyof T]: undefined extends InsertOf<T[K]> ? K : never }[keyof T]
type Changeable<T> = { [K in keyof T]: [UpdateOf<T[K]>] extends [never] ? never : K }[keyof T]

/** The present time by the clock of the database, moved by an offset. */
export interface Now { $now: true | Offset }
/** Whole numbers. Years and months are added first, the day at most the last of its month, then the rest. */
export interface Offset {
  years?: number
  months?: number
  days?: number
  hours?: number
  minutes?: number
  seconds?: number
}
/** Allowed for every column of strings, because texts and times have the same type here. */
type NowOf<V> = string extends V ? Now : never

/** Data of an insert: columns without a default are required. Never for a view, which has no columns to write. */
export type Insert<T> = [Needed<T> | Possible<T>] extends [never]
  ? never
  : { [K in Needed<T>]: InsertOf<T[K]> | NowOf<InsertOf<T[K]>> } & {
    [K in Possible<T>]?: Exclude<InsertOf<T[K]>, undefined> | NowOf<InsertOf<T[K]>>
  }
/** Data of an update. */
export type Update<T> = { [K in Changeable<T>]?: UpdateOf<T[K]> }

/** Data of an update, with the forms that compute a new value. */
export type Changes<T> = [Changeable<T>] extends [never]
  ? never
  : {
      [K in Changeable<T>]?:
        | UpdateOf<T[K]>
        | ([SumOf<T[K]>] extends [never] ? never : { $inc: number | bigint | string })
        | NowOf<UpdateOf<T[K]>>
        | (object extends SelectOf<T[K]> ? { $merge: object } : never)
        | { $default: true }
    }

/** A number of rows, or its bounds. */
export type Expect = number | { [B in typeof BOUNDS[number]]?: number }

type ValueOf<C> = Exclude<SelectOf<C> | InsertOf<C> | UpdateOf<C>, null | undefined>

/** The types of operands by their form. */
interface OperandTypes<V, X, N, O> extends Record<OperandForm, unknown> {
  compared: V | X | N | O
  comparedOrNull: V | X | N | O | null
  valueOrNull: V | X | null
  values: ReadonlyArray<V | X | null>
  pair: readonly [V | X | N, V | X | N]
  pattern: string
  boolean: boolean
  members: V extends ReadonlyArray<infer M> ? M | X | ReadonlyArray<M | X> : never
  paths: object extends V ? Paths : never
}

/** Values inside a JSON column. */
type Inside = string | number | bigint | boolean

/** Path such as `$.tags[0]` -> the value there, or operators. */
export type Paths = Readonly<Record<`$${string}`, Inside | null | {
  readonly [O in keyof typeof PATH_OPERATORS]?: OperandTypes<Inside, never, never, never>[(typeof PATH_OPERATORS)[O]]
}>>

/** `X`: an additional type of operands; `N`: an additional type of compared operands; `C`: that of other columns. */
export type Operators<V, X = never, N = never, C = never> = {
  -readonly [O in OperatorName]?: OperandTypes<V, X, N, C>[(typeof OPERATORS)[O]['operand']]
} & { $case?: never }

/** `V`: the type of the column, `O`: of another column. */
type ColumnFilter<V, X, N, O> =
  | V
  | X
  | N
  | null
  | ReadonlyArray<V | X | null>
  | Operators<V, X, N, O>
  // operators that ignore the letter case of texts, which have the type of times here
  | (string extends V
    ? Pick<Operators<V, X>, CasedOperator> & { [O in Exclude<OperatorName, CasedOperator>]?: never } &
      { $case: typeof CASES[number] }
    : never)

/** `N`: never where neither the present time nor another column is allowed. */
type FilterOf<T, K extends keyof T, X, N> = ColumnFilter<
  ValueOf<T[K]>, X, N & NowOf<ValueOf<T[K]>>, [N] extends [never] ? never : { readonly $column: Name<T> }
>

/**
 * Columns whose names begin with `$` get another `$`. All columns in one type with `as` would be hidden from inference,
 * and `Exclude` would only leave those that all members of a union of tables have.
 */
export type Filters<T, X = never, N = Now> = {
  [K in keyof T]?: K extends `$${string}` ? K extends CombinatorName ? unknown : never : FilterOf<T, K, X, N>
} & { [K in Extract<keyof T, `$${string}`> as `$${K}`]?: FilterOf<T, K, X, N> } & Partial<Combinators<T, X, N>>

/** A member of `$some` or `$none`: rows of another table, which is known only at run time. */
export interface Related {
  readonly table?: string
  readonly on?: Readonly<Record<string, string>>
  readonly filters?: object
  /** How many related rows pass, in `$some`. */
  readonly count?: number | { [B in typeof BOUNDS[number]]?: number } & { $between?: readonly [number, number] }
}

interface Combinators<T, X, N> extends Record<CombinatorName, unknown> {
  $and: ReadonlyArray<Filters<T, X, N>>
  $or: ReadonlyArray<Filters<T, X, N>>
  $not: Filters<T, X, N>
  $is: Position<T>
  $some: Readonly<Record<string, Related>>
  $none: Readonly<Record<string, Omit<Related, 'count'>>>
  $match: Match<T, X>
}

/** Full text in the columns of one index. */
export interface Match<T, X = never> {
  readonly columns: ReadonlyArray<Timed<T>>
  readonly text: string | X
  readonly mode?: typeof MATCH_MODES[number]
}

type Direction = `${'ASC' | 'DESC' | 'Asc' | 'Desc' | 'asc' | 'desc'}${
  '' | ' NULLS FIRST' | ' NULLS LAST' | ' nulls first' | ' nulls last'
}`

/** One column with its direction. */
export type OrderTerm<C extends string> = { [K in C]: { readonly [Column in K]: Direction } }[C]
/** An order of any columns, also of members. */
export type AnyOrder<C extends string> = string |
  ReadonlyArray<OrderTerm<C> | Readonly<Record<string, UnderMember>>>

/** A path in a JSON column with its direction. */
export type PathTerm<T> = {
  [K in Name<T>]: object extends ValueOf<T[K]>
    ? { readonly [Column in K]: Readonly<Record<`$${string}`, Direction>> }
    : never
}[Name<T>]

/** A column of a member with its direction, or of a member of that. */
interface UnderMember { readonly [name: string]: Direction | UnderMember }

type Trimmed<S extends string> = S extends ` ${infer R}` | `${infer R} ` ? Trimmed<R> : S
/**
 * Whether a term is one of these names, with or without a direction. A text that is only known at run time is checked
 * there.
 */
type IsTerm<S extends string, C extends string> = string extends S
  ? true
  : S extends C
    ? true
    : true extends (
      Direction extends infer D extends string
        ? S extends `${infer Rest} ${D}` ? string extends Rest ? true : Trimmed<Rest> extends C ? true : false : false
        : never
    ) ? true : false
type IsOrder<S extends string, C extends string> = string extends S
  ? true
  : S extends `${infer Term},${infer Rest}`
    ? IsTerm<Trimmed<Term>, C> extends true ? IsOrder<Rest, C> : false
    : IsTerm<Trimmed<S>, C>

/**
 * The order `B` if it names columns of `C`, and in a text also of `M`; otherwise all allowed orders, so that an error
 * lists them. `L`: the names in a list, which can also have the terms `P`.
 */
export type OrderOf<B, C extends string, M extends string = never, L extends string = C, P = never> = B extends string
  ? [IsOrder<B, C | M>] extends [true]
      ? B
      : `${C | M}${'' | ' ASC' | ' DESC'}`
  : ReadonlyArray<OrderTerm<L> | MemberTerm<M> | P>

/** One column or aggregate of a member with its direction; `M`: their names with a dot. */
type MemberTerm<M extends string> = M extends `${infer Member}.${infer Column}`
  ? { readonly [K in Member]: Column extends `${string}.${string}`
      ? MemberTerm<Column> | { readonly [C in Column]: Direction }
      : { readonly [C in Column]: Direction } }
  : never

/** A position in an order: a value for each of its columns. */
export type Position<T> = { readonly [K in keyof T]?: ValueOf<T[K]> | null }

/** The columns that have a sum. */
export type Summable<T> = { [K in Name<T>]: [SumOf<T[K]>] extends [never] ? never : K }[Name<T>]

/**
 * One function with its column, and the filters of the rows that it is computed from. `M`: columns of members; `S`:
 * those of them that have a sum.
 */
export type Aggregate<T, X = never, M = never, S = M> = { readonly filters?: Filters<T, X> } & (
  | { readonly $count: Name<T> | '*' | M } | { readonly $countDistinct: Name<T> | M }
  | { readonly $sum: Summable<T> | S } | { readonly $avg: Summable<T> | S }
  | { readonly $min: Name<T> | M } | { readonly $max: Name<T> | M }
)

/** The columns that can be times, because texts and times have the same type here. */
type Timed<T> = { [K in Name<T>]: string extends SelectOf<T[K]> ? K : never }[Name<T>]

/**
 * Parts of time by their names in the rows. `undefined`, because TypeScript gives each object in a list the names of
 * all others. `M`: the columns of members, which may stand in their place.
 */
export type Part<T, M = never> = Readonly<Record<
  string,
  | undefined | M | { readonly $year: Timed<T> } | { readonly $month: Timed<T> } | { readonly $week: Timed<T> }
  | { readonly $date: Timed<T> } | { readonly $hour: Timed<T> }
>>
/** Name to function. */
export type Aggregates<T, X = never, M = never> = Readonly<Record<string, Aggregate<T, X, M>>>
/** The results of aggregates as columns. A sum that is a string may be compared with a number. */
export type Comparable<R> = { [K in keyof R]: Column<R[K], R[K] extends string | null ? number : never, never> }

/** The type of a value with the given type of integers beyond 2^53. */
export type Large<V, N extends Bigints> = N extends 'string' ? V extends bigint ? string : V : V
/** `Large` for each column of a row. */
export type LargeIn<R, N extends Bigints> = N extends 'string' ? { [K in keyof R]: Large<R[K], N> } : R

/** The columns of one unique key, in any order. */
export type KeyChoice<K> = K extends readonly unknown[] ? { readonly [I in keyof K]: K[number] } : never

/** The change of a row that exists in a unique key. `K`: the keys of the table. */
export interface OnConflict<T, K = ReadonlyArray<Name<T>>> {
  readonly key: KeyChoice<K>
  readonly set?: ReadonlyArray<Changeable<T>> | Changes<T>
}
