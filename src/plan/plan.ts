/**
 * A plan is a request that has passed every check: frozen plain data whose names are resolved to columns of the catalog
 * and whose values are converted to parameters. It contains no SQL and no request object.
 */
import type { Column, ForeignKey, Index, Table } from '../catalog/catalog.ts'
import type { Pair } from '../catalog/relations.ts'
import type { Path } from '../errors.ts'
import type { SqlTemplate, Parameter, Scalar, Value } from '../types/column-type.ts'
import type { Given, Hole } from './holes.ts'

export interface Assignment {
  readonly column: Column
  readonly parameter: Given
  /**
   * Such as `$inc`: computes the new value from the stored one and the parameter (src/types/update-operators.ts). If
   * omitted, the parameter is the new value.
   */
  readonly operator?: string
}

export type Operator = '=' | '<>' | '>' | '>=' | '<' | '<='

/** Null for a moment that the column cannot hold, for which no comparison is true. */
export type Compared = Given

export type Condition =
  /**
   * `isPosition`: compares with stored values, which may be others than the service writes. `isText`: compares as
   * texts.
   */
  | {
    readonly kind: 'compare'
    readonly column: Column
    readonly operator: Operator
    readonly parameter: Compared
    readonly isPosition?: true
    readonly isText?: true
  }
  /** Byte by byte. Always beside an equality, which can use an index. */
  | { readonly kind: 'exact'; readonly column: Column; readonly parameter: Value | Hole }
  /** Compares with the default of the column, which is a constant. */
  | { readonly kind: 'default'; readonly column: Column }
  | {
    readonly kind: 'in'
    readonly column: Column
    readonly negated: boolean
    readonly parameters: ReadonlyArray<Value | Hole>
    /** Byte by byte, as `exact`. */
    readonly isExact?: true
  }
  | { readonly kind: 'between'; readonly column: Column; readonly low: Compared; readonly high: Compared }
  | { readonly kind: 'like'; readonly column: Column; readonly negated: boolean; readonly pattern: string | Hole }
  | { readonly kind: 'columns'; readonly column: Column; readonly operator: Operator; readonly other: Column }
  /** Compares the texts in lower case. */
  | {
    readonly kind: 'lower'
    readonly column: Column
    readonly comparison: Extract<Condition, { readonly kind: 'compare' | 'in' | 'like' }>
  }
  /** `isCompared`: unknown for NULL, as a comparison is, in place of false. */
  | { readonly kind: 'null'; readonly column: Column; readonly negated: boolean, readonly isCompared?: true }
  /** A SET has all members with these bits. */
  | { readonly kind: 'has'; readonly column: Column; readonly bits: bigint | Hole }
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'constant'; readonly value: boolean }
  | Match
  | At
  | Exists

/** The columns of a full-text index contain words (filters/match.ts). */
export interface Match {
  readonly kind: 'match'
  readonly index: Index
  /** The columns, in the order of the index. */
  readonly columns: readonly Column[]
  /** The text in the language of the engine. */
  readonly parameter: string | Hole
  /** SQLite: the rowid, if the table has one. */
  readonly rowid?: Column | undefined
  /** The path of the text in the body, for a text that the engine refuses. */
  readonly path: Path
}

/** A part of a path, which begins at the value to which the part before it leads. */
export interface JsonPart {
  readonly jsonPath: string
  /** Counts from the end of a list. */
  readonly isFromEnd?: true
}

/** One part, unless the engine must be led step by step. */
export type JsonParts = readonly [JsonPart, ...JsonPart[]]

export interface JsonPlace {
  readonly jsonParts: JsonParts
  /** Where there must be lists, for engines that find elements of other values as well. */
  readonly lists: readonly JsonParts[]
}

/** The value at a place inside a JSON column passes a test (filters/json-paths.ts). */
export interface At extends JsonPlace {
  readonly kind: 'at'
  readonly column: Column
  readonly test: JsonTest
}

/** Other types pass `compare` and `in` if these are negated; without a value, all but the first two are NULL. */
export type JsonTest =
  | { readonly kind: 'exists' | 'null'; readonly negated: boolean }
  | { readonly kind: 'compare'; readonly scalar: Scalar; readonly operator: Operator; readonly parameter: Value }
  | {
    readonly kind: 'in'
    readonly scalar: Scalar
    readonly negated: boolean
    readonly parameters: readonly Value[]
  }
  /** The text begins with the parameter, or contains it. */
  | { readonly kind: 'find'; readonly scalar: 'text'; readonly isStart: boolean; readonly parameter: Value }

/** A related row satisfies the condition; negated: no such row exists. */
export interface Exists {
  readonly kind: 'exists'
  readonly negated: boolean
  /** Rows that do not count. */
  readonly offset?: number
  readonly table: Table
  readonly on: readonly Pair[]
  /** The filters and the rules of the grant. */
  readonly condition: Condition
  /** Finds related rows. */
  readonly index: Index | undefined
}

export interface Order {
  readonly column: Column
  readonly direction: 'asc' | 'desc'
  /** NULL is the greatest value; otherwise the lowest. */
  readonly isNullGreatest?: true
  /** The member that has it; the table of the plan if omitted. */
  readonly of?: OneMember | ComputedMember
  /** The place inside a JSON column whose values are sorted; JSON's null is there as NULL. */
  readonly inside?: JsonPlace
}

export type InsideOrder = Order & { readonly inside: JsonPlace }

export const isInside = (order: Order): order is InsideOrder => order.inside !== undefined

/** An aggregate of the rows of a group, or a part of time by which rows are grouped. */
export interface ComputedColumn extends Column {
  /** `$sum`, `$month`. */
  readonly call: string
  readonly sql: SqlTemplate
  /** The column in `sql`; undefined for the number of rows. */
  readonly source: Column | RelatedColumn | undefined
  /** The rows that an aggregate is computed from; all of them if omitted. */
  readonly condition?: Condition
}

/** A column of a member, in groups; NULL in rows without such a row. */
export interface RelatedColumn extends Column {
  readonly member: OneMember
  readonly origin: Column
}

export const isRelated = (column: Column): column is RelatedColumn => 'member' in column

/** How well rows match a search: a column that no table has. */
export interface Relevance extends Column { readonly match: Match }

export const isRelevance = (column: Column): column is Relevance => 'match' in column

export const isComputed = (column: Column): column is ComputedColumn => 'call' in column

/** The columns of the plan are `by`, then `aggregates`. Without columns in `by` all rows are one group. */
export interface Groups {
  readonly by: ReadonlyArray<Column | ComputedColumn | RelatedColumn>
  readonly aggregates: readonly ComputedColumn[]
  /** The members of which they use columns, and the members of these that are in between. */
  readonly members?: readonly OneMember[]
  readonly having: Condition
}

/** The whole numbers from `least` to `most`; none if `most` is smaller. */
export interface RowRange {
  readonly least: number
  /** Infinity without an upper bound. */
  readonly most: number
}

interface Common {
  readonly table: Table
  /** Of a statement, for tables with virtual columns and rules (second-form.ts). */
  readonly isSecondForm?: true
  /** One plain statement is not enough: several must run or the change may have to be undone. */
  readonly inTransaction?: true
  /** Checks of foreign keys to tables for which the grant has rules. The rows are looked up after the write. */
  readonly foreignKeyChecks?: readonly ForeignKeyCheck[]
  /** Only the written rows show whether they satisfy the rules of the grant; they are looked up after the write. */
  readonly afterWrite?: AfterWrite
}

/** The written rows are found again by a key of the table. */
export interface AfterWrite {
  readonly rules: Condition
  readonly foreignKeys: readonly WrittenForeignKey[]
  /** The checks of the same foreign keys with the values of the request, as far as those are known. */
  readonly ofRequest: readonly ForeignKeyCheck[]
}

/** A foreign key to a table for which a grant has rules. */
interface ForeignKeyTarget {
  readonly key: ForeignKey
  /** The table of the catalog that the key refers to. */
  readonly table: Table
  readonly columns: readonly Column[]
}

/** A foreign key whose values only the written rows show. */
export interface WrittenForeignKey extends ForeignKeyTarget {
  /** The columns of the key in the written rows. */
  readonly from: readonly Column[]
  /** The rules of the table that the key refers to. */
  readonly rules: Condition
}

/** The rows of the other table must exist. */
export interface ForeignKeyCheck extends ForeignKeyTarget {
  readonly lookups: readonly Lookup[]
  /** Selects the rows of all look-ups at once, if they can be distinguished. */
  readonly all?: Condition | undefined
}

export interface Lookup {
  /** Selects the row, if it satisfies the rules. */
  readonly condition: Condition
  /** The position in `data` of the first row that refers to it; undefined if `data` is not a list. */
  readonly index: number | undefined
  /** Whether the row that is referred to may be one of the same statement. */
  readonly isOwn: boolean
}

/**
 * Locks rows until the end of the transaction against changes (`share`) or also against other locks (`update`). SQLite
 * locks the whole database.
 */
export type RowLock = 'share' | 'update' | undefined

export interface SelectPlan extends Common {
  readonly verb: 'select'
  readonly columns: readonly Column[]
  readonly groups?: Groups
  readonly condition: Condition
  readonly order: readonly Order[]
  readonly limit: number
  /** Another number of rows: one more shows whether another page follows. */
  readonly read?: number
  readonly lock?: RowLock
  /** The response says where the next page begins. */
  readonly page?: Page
  /** The response has the number of selected rows, counted up to a limit. */
  readonly total?: { readonly limit: number | undefined }
  /** The number of rows that the response may have. */
  readonly expect?: RowRange
  readonly members?: readonly Member[]
  /** Rows are ordered by the first of these conditions that they satisfy. */
  readonly sequence?: readonly Condition[]
}

export interface MemberOf {
  readonly name: string
  readonly table: Table
  readonly on: readonly Pair[]
  /** The filters and the rules of the grant. */
  readonly condition: Condition
}

/** At most one row of another table, joined to the statement of the row. */
export interface OneMember extends MemberOf {
  readonly kind: 'one'
  readonly columns: readonly Column[]
  readonly members: readonly Member[]
}

/** Read by statements of their own. */
export interface ManyMember extends MemberOf {
  readonly kind: 'many'
  readonly columns: readonly Column[]
  readonly members: readonly Member[]
  /** Has no columns that have the same value in all related rows. */
  readonly order: readonly Order[]
  /** The most related rows for each row. */
  readonly limit: number
  /** The response has the first row, or null, in place of a list. The limit is 1. */
  readonly isObject?: true
  /** Finds related rows, if the engine might use another one. */
  readonly index: MemberIndex | undefined
}

/** Computed from all related rows, by statements of their own. */
export interface ComputedMember extends MemberOf {
  readonly kind: 'computed'
  readonly columns: readonly ComputedColumn[]
  readonly index: MemberIndex | undefined
}

export type Member = OneMember | ManyMember | ComputedMember

/** Read by statements of their own. */
export type ListMember = ManyMember | ComputedMember

export interface MemberIndex {
  readonly index: Index
  /**
   * The columns of `on` are read in this direction together with the order; undefined if the index does not have the
   * order.
   */
  readonly direction: Order['direction'] | undefined
}

/**
 * A page of rows. `position`: begins after a position, which has a value for each column of the order; `after` is true
 * for the rows after it, and `orderOnly` has the columns of the order not in `columns`. `nullableKey`: the columns of a
 * primary key that can be NULL, on SQLite, and then in several rows. `offset`: skips rows.
 */
export type Page =
  | {
    readonly by: 'position'
    readonly after: Condition
    readonly orderOnly: readonly Column[]
    readonly nullableKey: readonly Column[]
  }
  | { readonly by: 'offset', readonly offset: number }

export interface CountPlan extends Pick<Common, 'table' | 'isSecondForm'> {
  readonly verb: 'count'
  readonly condition: Condition
  /** The count stops there; undefined to count all rows. */
  readonly limit: number | undefined
  readonly lock?: RowLock
}

export interface InsertPlan extends Common, WriteOptions {
  readonly verb: 'insert'
  /** In the order in which they are written: one, unless `data` is a list. */
  readonly rows: readonly PlannedRow[]
  readonly isList: boolean
  /** Set for an upsert. */
  readonly conflict?: Conflict | undefined
  /** The response says what became of each row. */
  readonly outcomes?: true
  /**
   * How rows are written, by their columns (src/plan/writes.ts). Empty until the plan is complete, and for one plain
   * new row.
   */
  readonly decisions: ReadonlyMap<readonly Column[], WriteDecision>
  /** Unique; the rows to return are found by it. */
  readonly key?: readonly Column[]
  /** Rows of an upsert are written singly, because only the number that the database reports identifies them. */
  readonly isFoundByNumber?: true
}

export type UpsertPlan = InsertPlan & { readonly conflict: Conflict }

export const isUpsert = (plan: InsertPlan): plan is UpsertPlan => plan.conflict !== undefined

/** The way in which a row is written, and the reason for it. */
export interface ReasonedWay {
  /**
   * `insert`: the row is new. `guarded`: by the statement of an upsert, which changes no row with another named key:
   * SQLite's names that key, and that of MySQL and MariaDB fails. `look-up`: the row that exists is found by the named
   * key and updated; otherwise it is inserted. `insert-first`: by the statement of an upsert if an insert fails.
   */
  readonly way: 'insert' | 'guarded' | 'look-up' | 'insert-first'
  readonly why: string
}

/** How rows with the same columns are written. It depends on no value, so requests share it. */
export interface WriteDecision extends ReasonedWay {
  /** NULL in them, or a computed value, makes the way `ofNull`. */
  readonly nulls: readonly Column[]
  readonly ofNull?: ReasonedWay
  readonly columns: readonly Column[]
  /** Written to a row that exists. */
  readonly written: readonly Column[]
  /** The column of the named key in which the database numbers rows that omit it. */
  readonly numberColumn: Column | undefined
  /** The id, if the statement reports it for a row that exists: of one row, or of each if rows are found by it. */
  readonly reported: Column | undefined
  /** Whether a row is looked up if a unique key refuses its guarded statement: that may be another key. */
  readonly looksUpRefused: boolean
  /**
   * The same if a value is out of range: the database takes a number for the row before it finds the row that exists,
   * and may have none left, or it computes a virtual column of a row that others have (second-form.ts).
   */
  readonly looksUpOutOfRange: boolean
  /**
   * Whether a row has its guarded statement if a unique key refuses it after its look-up: a trigger may have given it
   * the key of a row that exists, which only the statement finds.
   */
  readonly guardsRefused: boolean
  /** Why rows are written in the order of `data`; undefined if they may be sorted by the key. */
  readonly whyInOrder: string | undefined
  /** Why each row has a statement of its own; undefined if it needs none. */
  readonly whyApart: string | undefined
  /** Why one statement cannot have rows of another `likeness`: the names of their columns. */
  readonly whyAlike: string | undefined
  readonly likeness: string
}

export interface PlannedRow {
  /** The position in `data`. */
  readonly index: number
  /** Rows with the same columns share it, unless there are many forms of rows. */
  readonly columns: readonly Column[]
  /** In the order of `columns`. */
  readonly parameters: readonly Given[]
}

/** The change of a row that exists in the unique key `key`. */
export interface Conflict {
  readonly key: readonly Column[]
  /**
   * `given`: writes the columns of the row outside of the key, except those that rules have given, which the existing
   * row already satisfies. `columns`: writes these columns of the row; none of them leaves the existing row unchanged.
   */
  readonly set:
    | { readonly kind: 'given', readonly except?: ReadonlySet<Column> }
    | { readonly kind: 'columns', readonly columns: readonly Column[] }
    | { readonly kind: 'assignments', readonly assignments: readonly Assignment[] }
  /** The rules of the grant: the row that exists must satisfy it, or the key is violated. */
  readonly condition?: Condition
}

/** What the response has of each written row. */
export interface Returned {
  readonly columns: readonly Column[]
  /** None is computed. */
  readonly members?: readonly Member[] | undefined
}

export interface WriteOptions {
  readonly inTransaction?: true
  readonly returning?: Returned
  /** The change is undone. */
  readonly dryRun?: true
}

export interface ChangeOptions extends WriteOptions {
  /** Rows that the condition may match. */
  readonly expect?: RowRange
  /** Rows that the condition may match, by the setting `limits.changed`. */
  readonly maximum?: number
}

export interface UpdatePlan extends Common, ChangeOptions {
  readonly verb: 'update'
  readonly assignments: readonly Assignment[]
  readonly condition: Condition
  /** Unique; the rows to check or to return are found again by it. */
  readonly key?: readonly Column[]
  /** Rows that get values of their own; `assignments` is empty, and `condition` applies to all of them. */
  readonly keyed?: KeyedUpdates
  /** Most changed rows, for engines that have LIMIT here. */
  readonly limit?: number
}

/** The entries of an update of many rows, in the order of `data`. */
export interface KeyedUpdates {
  /** Unique, without nullable columns. */
  readonly key: readonly Column[]
  /** `values`: of the key. `update`: what is written to the row that has them; its condition is of the rules. */
  readonly entries: ReadonlyArray<{ readonly values: ReadonlyArray<Parameter | Hole>, readonly update: UpdatePlan }>
}

export interface DeletePlan extends Common, ChangeOptions {
  readonly verb: 'delete'
  readonly condition: Condition
  /** Most deleted rows, for engines that have LIMIT here. */
  readonly limit?: number
}

export type Plan = SelectPlan | InsertPlan | UpdatePlan | DeletePlan

/** The columns that rows of the response can have, by name: those of the table or, with groups, of the result. */
export function resultColumns (plan: Plan): ReadonlyMap<string, Column> {
  const isGrouped = plan.verb === 'select' && plan.groups !== undefined
  return isGrouped ? new Map(plan.columns.map((column) => [column.name, column])) : plan.table.columns
}
