/**
 * Types of the members of `include`. In addition to its tables, the interface that `row-query types` writes has an
 * entry whose name is a symbol: the unique keys of each table, and its relations to others. They determine whether a
 * member is one row or a list.
 */
import type {
  Aggregate, Aggregates, AnyOrder, Bigints, Comparable, Filters, KeysOf, LargeIn, Name, Of, OrderOf, PathTerm, Related,
  Row, SelectOf, Summable, SumOf, ValueAt
} from './field-types.ts'

export type IsAny<T> = 0 extends 1 & T ? true : false

/**
 * Table -> its keys and relations. Unknown if the interface of the tables lacks them, because it was written by hand.
 */
type Relations<Tables> =
  IsAny<Tables> extends true
    ? unknown
    : [Extract<keyof Tables, symbol>] extends [never]
        ? unknown
        : NonNullable<Tables[Extract<keyof Tables, symbol>]>
type IsKnown<Tables> = unknown extends Relations<Tables> ? false : true

/** The tables without the views. */
export type TableName<Tables> =
  IsKnown<Tables> extends true ? Extract<Name<Tables>, keyof Relations<Tables>> : Name<Tables>

/** The unique keys of a table: tuples of columns. Never for a view, which has none. */
export type Keys<Tables, O extends Name<Tables>> =
  Relations<Tables> extends { readonly [K in O]: { readonly keys: infer K } }
    ? K
    : IsKnown<Tables> extends true ? never : ReadonlyArray<Name<Tables[O]>>

/**
 * The value that an insert into a table returns as `id`: the value of the column by which the interface says that rows
 * are identified, if it says so.
 */
export type IdOf<Tables, O extends Name<Tables>> =
  Relations<Tables> extends { readonly [K in O]: { readonly id: infer C } }
    ? C extends Name<Tables[O]> ? SelectOf<Tables[O][C]> : null
    : number | bigint | string | null

/**
 * The only relation of rows of `T` to the table `O` by foreign keys: column to column of `O`. Never if there is none or
 * more than one.
 */
type OnlyRelation<Tables, T, O extends string> = T extends keyof Relations<Tables>
  ? Relations<Tables>[T] extends { readonly related: { readonly [K in O]: infer On } }
    ? On
    : never
  : never

/** The form of a member in a row. */
type Form = 'list' | 'object'

/** Any members by their names: rows of other tables, or aggregates of them. */
export interface AnyMembers<Tables> {
  readonly [name: string]: {
    readonly table?: Name<Tables>
    readonly on?: Readonly<Record<string, string>>
    readonly as?: Form
    readonly filters?: object
    readonly columns?: readonly string[]
    readonly limit?: number
    readonly orderBy?: AnyOrder<string>
    readonly aggregates?: object
    readonly include?: AnyMembers<Tables>
  }
}

/**
 * The table of a member: the one that it names, or else the one with the member's name. Never if there is no such
 * table.
 */
type TableOf<Tables, M, B> = 'table' extends keyof B
  ? B[keyof B & 'table'] extends infer O extends Name<Tables>
    ? O
    : never
  : M extends Name<Tables>
    ? M
    : never

/** The allowed members of rows of `T`, given the members `I`. `X`: an additional type of operands in their filters. */
export type Members<Tables, T extends Name<Tables>, I, X> = string extends keyof I
  ? AnyMembers<Tables>
  : { readonly [M in keyof I]: MemberFields<Tables, T, TableOf<Tables, M, I[M]>, I[M], X> }

/** The allowed members of the rows that a write returns. */
export type ReturnedMembers<Tables, T extends Name<Tables>, I, X> = string extends keyof I
  ? AnyMembers<Tables>
  : Members<Tables, T, I, X> & WithoutAggregates<I>
type WithoutAggregates<I> = {
  readonly [M in keyof I]: {
    readonly aggregates?: never
    readonly include?: WithoutAggregates<Of<I[M], 'include'>>
  }
}

type MemberFields<Tables, T extends Name<Tables>, O extends Name<Tables>, B, X> = [O] extends [never]
  ? { readonly table: Name<Tables> }
  : CheckedRows<Tables, T, O, B, X, never> &
      ('aggregates' extends keyof B
        ? { readonly aggregates: Aggregates<Tables[O], X> }
        : FieldsOfForm<Tables, T, O, B> & {
          readonly as?: Form
          readonly columns?: ReadonlyArray<Name<Tables[O]>>
          readonly include?: Members<Tables, O, Of<B, 'include'>, X>
        })

/** The order and the limit of a member, by the form that it asks for. Without one, an object has neither. */
type FieldsOfForm<Tables, T extends Name<Tables>, O extends Name<Tables>, B> = [Of<B, 'as'>] extends [never]
  ? [IsOne<Tables, T, O, B>] extends [true] ? unknown : ListFields<Tables, O, B>
  : [Of<B, 'as'>] extends ['object'] ? OrderField<Tables, O, B> : ListFields<Tables, O, B>

/**
 * What `$some` and `$none` in the filters `F` of rows of `T` must be besides: tables, relations and columns that are
 * there.
 */
export type RelatedFilters<Tables, T extends Name<Tables>, F, X> =
  IsAny<Tables> extends true
    ? unknown
    : {
        readonly [C in keyof F as Extract<C, '$some' | '$none' | '$not' | '$and' | '$or'>]: C extends '$some' | '$none'
          ? RelatedMembers<Tables, T, F[C], X, C extends '$some' ? Related['count'] : never>
          : C extends '$not'
            ? RelatedFilters<Tables, T, F[C], X>
            : F[C] extends readonly unknown[]
              ? { readonly [I in keyof F[C]]: RelatedFilters<Tables, T, F[C][I], X> }
              : unknown
      }

/** Members that are only known at run time are checked there. `N`: how many rows may be asked for. */
type RelatedMembers<Tables, T extends Name<Tables>, S, X, N> = S extends object
  ? string extends keyof S
    ? unknown
    : {
        readonly [M in keyof S]: undefined extends ValueAt<S[M], 'table'>
          ? unknown
          : CheckedRows<Tables, T, TableOf<Tables, M, S[M]>, S[M], X, N>
      }
  : unknown

type CheckedRows<Tables, T extends Name<Tables>, O extends Name<Tables>, B, X, N> = [O] extends [never]
  ? { readonly table: Name<Tables> }
  : {
    readonly table?: O
    readonly filters?: Filters<Tables[O], X> & FiltersIn<Tables, O, B, X>['filters']
    readonly count?: N
  } & OnField<Tables, T, O>

/** RelatedFilters, for the filters of `B`. */
export interface FiltersIn<Tables, T extends Name<Tables>, B, X = never> {
  readonly filters?: 'filters' extends keyof B ? RelatedFilters<Tables, T, B[keyof B & 'filters'], X> : unknown
}

/** `on` may be omitted if there is only one relation. */
type OnField<Tables, T extends Name<Tables>, O extends Name<Tables>> =
  [IsKnown<Tables>, OnlyRelation<Tables, T, O>] extends [true, never]
    ? { readonly on: On<Tables[T], Tables[O]> }
    : { readonly on?: On<Tables[T], Tables[O]> }

/** Pairs of columns whose values can be equal. */
type On<T, O> = {
  readonly [C in Name<T>]?: {
    [K in Name<O>]: [Exclude<SelectOf<T[C]>, null> & Exclude<SelectOf<O[K]>, null>] extends [never] ? never : K
  }[Name<O>]
}

/** The fields of a member that is a list. */
interface ListFields<Tables, O extends Name<Tables>, B> extends OrderField<Tables, O, B> {
  readonly limit?: number
}

interface OrderField<Tables, O extends Name<Tables>, B> {
  readonly orderBy?: 'orderBy' extends keyof B
    ? OrderOf<
      B[keyof B & 'orderBy'],
      Name<Tables[O]>,
      ColumnsOfOnes<Tables, O, Of<B, 'include'>>,
      Name<Tables[O]>,
      PathTerm<Tables[O]>
    >
    : AnyOrder<Name<Tables[O]>>
}

/** Whether a filter holds its column equal to a value other than null; `boolean` if that is only known at run time. */
type IsEqual<V> = V extends null | undefined | readonly unknown[]
  ? false
  : V extends { readonly $eq: infer E }
    ? IsEqual<E>
    : V extends { readonly $now: unknown } | { readonly $ref: unknown } ? true : V extends object ? false : true

/**
 * The columns that filters hold equal, at the top or in `$and`. `Certainty`: true for those that certainly are, boolean
 * for those that possibly are.
 */
type Held<F, Certainty> = keyof {
  [C in KeysOf<F> as C extends '$and'
    ? HeldInList<FieldOfAny<F, C>, Certainty>
    : [true, IsEqual<FieldOfAny<F, C>>] extends [IsEqual<FieldOfAny<F, C>>, Certainty]
        ? C extends `$$${infer Rest}` ? `$${Rest}` : C
        : never]: unknown
}
/** Also undefined if a member of the union lacks it. */
type FieldOfAny<F, C> = F extends unknown ? C extends keyof F ? F[C] : undefined : never
/** The same for a list; any name is possible in one that is only known at run time. */
type HeldInList<L, Certainty> = [L] extends [readonly unknown[]]
  ? number extends L['length'] ? AnyName<Certainty> : { [I in keyof L]: Held<L[I], Certainty> }[number]
  : AnyName<Certainty>
type AnyName<Certainty> = boolean extends Certainty ? string : never

/** False for a union. */
type IsSingle<V, All = V> = V extends unknown ? [All] extends [V] ? true : false : never
type Values<On, Certainty> = { [C in keyof On]-?: IsSingle<On[C]> extends Certainty ? On[C] : never }[keyof On]

/** The columns of the other table that have the same value in all rows related to a row. */
type Fixed<Tables, T extends Name<Tables>, O extends Name<Tables>, B, Certainty> =
  | Values<'on' extends keyof B ? B[keyof B & 'on'] : OnlyRelation<Tables, T, O>, Certainty>
  | ('filters' extends keyof B ? Held<B[keyof B & 'filters'], Certainty> : never)

/** The unique keys whose columns are all among these. */
type KeysIn<Keys, Columns> = Keys extends readonly unknown[] ? [Keys[number]] extends [Columns] ? Keys : never : never

/** Whether there is at most one row; `boolean` if that, or the keys, are only known at run time. */
type IsOne<Tables, T extends Name<Tables>, O extends Name<Tables>, B> = IsKnown<Tables> extends false
  ? boolean
  : [KeysIn<Keys<Tables, O>, Fixed<Tables, T, O, B, true>>] extends [never]
      ? [KeysIn<Keys<Tables, O>, Fixed<Tables, T, O, B, boolean>>] extends [never] ? false : boolean
      : true

/** Whether a member is an object or null; `boolean` if that is only known at run time. */
type IsObject<Tables, T extends Name<Tables>, O extends Name<Tables>, B> = 'as' extends keyof B
  ? B[keyof B & 'as'] extends infer A
    ? A extends 'object' ? true : A extends 'list' ? false : IsOne<Tables, T, O, B>
    : never
  : IsOne<Tables, T, O, B>

/** The requested columns, with the members. */
export type RowWith<Tables, T extends Name<Tables>, B, N extends Bigints> =
  LargeIn<Pick<
    Row<Tables[T]>,
    B extends { readonly columns: ReadonlyArray<infer C extends Name<Tables[T]>> } ? C : Name<Tables[T]>
  >, N> &
  ('include' extends keyof B ? MembersIn<Tables, T, Of<B, 'include'>, N> : unknown)

type MembersIn<Tables, T extends Name<Tables>, I, N extends Bigints> = {
  -readonly [M in keyof I]: MemberIn<Tables, T, TableOf<Tables, M, I[M]>, I[M], N>
}

type MemberIn<Tables, T extends Name<Tables>, O extends Name<Tables>, B, N extends Bigints> =
  IsAny<Tables> extends true
    ? any
    : B extends { readonly aggregates: infer A }
      ? LargeIn<AggregateValues<Tables, O, unknown, A>, N>
      : OneOrList<IsObject<Tables, T, O, B>, RowWith<Tables, O, B, N>>

type OneOrList<One, R> = One extends true ? R | null : R[]

/** The names by which the columns of a one-row member, and the aggregates of any, can sort the rows that have it. */
export type MemberColumns<Tables, T extends Name<Tables>, I> = {
  [M in Extract<keyof I, string>]: `${M}.${I[M] extends { readonly aggregates: infer A }
    ? Name<A>
    : ColumnsOfOne<Tables, T, TableOf<Tables, M, I[M]>, I[M]>}`
}[Extract<keyof I, string>]
/** The same without aggregates, by which lists are not sorted. */
type ColumnsOfOnes<Tables, T extends Name<Tables>, I> =
  MemberColumns<Tables, T, { [M in keyof I as I[M] extends { readonly aggregates: unknown } ? never : M]: I[M] }>
type ColumnsOfOne<Tables, T extends Name<Tables>, O extends Name<Tables>, B> = [O] extends [never]
  ? never
  : [IsObject<Tables, T, O, B>, IsOne<Tables, T, O, B>] extends [false, unknown] | [unknown, false]
      ? never
      : Name<Tables[O]> | (B extends { readonly include: infer I }
        ? string extends keyof I ? string : ColumnsOfOnes<Tables, O, I>
        : never)

/**
 * The allowed members beside `groupBy` and `aggregates`: each is one row, and has none of the fields of rows. `I`: the
 * given members.
 */
export type GroupMembers<Tables, T extends Name<Tables>, I, X> = string extends keyof I
  ? AnyMembers<Tables>
  : { readonly [M in keyof I]: GroupMember<Tables, T, TableOf<Tables, M, I[M]>, I[M], X> }
type GroupMember<Tables, T extends Name<Tables>, O extends Name<Tables>, B, X> = [O] extends [never]
  ? { readonly table: Name<Tables> }
  : IsOne<Tables, T, O, B> extends false
    ? never
    : CheckedRows<Tables, T, O, B, X, never> & { readonly include?: GroupMembers<Tables, O, Of<B, 'include'>, X> }

/** A column of a member that is known only at run time. */
export interface AnyMemberColumn { readonly [member: string]: string | AnyMemberColumn }

/**
 * The columns of members that groups may use: `{"customer": "country"}`, or `{"customer": {"land": "region"}}`.
 * `Which`: all of them, or those that have a sum.
 */
export type MemberColumn<Tables, I, Which extends 'all' | 'sums' = 'all'> = [I] extends [undefined]
  ? never
  : string extends keyof I
    ? AnyMemberColumn
    : {
        [M in keyof I]: {
          readonly [K in M]:
            | ColumnOf<Tables[TableOf<Tables, M, I[M]>], Which>
            | MemberColumn<Tables, Of<I[M], 'include'>, Which>
        }
      }[keyof I]
type ColumnOf<T, Which> = Which extends 'sums' ? Summable<T> : Name<T>

/** The column of `T` that `P` names, or a column of a member of `I`; unknown for what is only known at run time. */
type ColumnAt<Tables, T extends Name<Tables>, I, P> = unknown extends P
  ? unknown
  : P extends string
    ? P extends Name<Tables[T]> ? Tables[T][P] : unknown
    : {
        [M in keyof P]: M extends keyof I
          ? ColumnAt<Tables, TableOf<Tables, M, I[M]>, Of<I[M], 'include'>, P[M]>
          : unknown
      }[keyof P]

/** The named entries of `groupBy`: parts of time, and columns of members, which are null if there is no such row. */
type NamedGroups<Tables, T extends Name<Tables>, I, G> = {
  [K in KeysOf<G>]: Exclude<ValueAt<G, K>, undefined> extends infer P
    ? P extends { readonly $year: unknown }
      ? number | null
      : [Extract<keyof P, `$${string}`>] extends [never] ? SelectOf<ColumnAt<Tables, T, I, P>> | null : string | null
    : never
}

/** The values of aggregates. */
type AggregateValues<Tables, T extends Name<Tables>, I, A> = {
  -readonly [K in keyof A]: AggregateValue<Tables, T, I, A[K]>
}
/** Of each member of a union. Without rows there is no sum. */
type AggregateValue<Tables, T extends Name<Tables>, I, A> =
  A extends { readonly $count: unknown } | { readonly $countDistinct: unknown }
    ? number
    : A extends { readonly $sum: infer P } | { readonly $avg: infer P }
      ? SumOf<ColumnAt<Tables, T, I, P>> | null
      : A extends { readonly $min: infer P } | { readonly $max: infer P }
        ? SelectOf<ColumnAt<Tables, T, I, P>> | null
        : never

/** A row of groups. `I`: the members whose columns it has. */
export type GroupRow<Tables, T extends Name<Tables>, I, G, A> = Row<Pick<Tables[T], Extract<G, keyof Tables[T]>>> &
  NamedGroups<Tables, T, I, Exclude<G, string>> & AggregateValues<Tables, T, I, A>
/** The columns that `having` and `orderBy` can name. */
export type GroupColumns<Tables, T extends Name<Tables>, I, G, A> = Pick<Tables[T], Extract<G, keyof Tables[T]>> &
  NamedGroups<Tables, T, I, Exclude<G, string>> & Comparable<AggregateValues<Tables, T, I, A>>

/**
 * The allowed aggregates of groups, given the aggregates `A` and the members `I`: their filters may have `$some` and
 * `$none`.
 */
export type AggregatesIn<Tables, T extends Name<Tables>, A, X, I> = string extends keyof A
  ? Aggregates<Tables[T], X, AnyMemberColumn>
  : {
      readonly [K in keyof A]: Aggregate<Tables[T], X, MemberColumn<Tables, I>, MemberColumn<Tables, I, 'sums'>> &
        FiltersIn<Tables, T, A[K], X>
    }
