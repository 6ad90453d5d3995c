/**
 * Value checks, OpenAPI schemas, filters and the encoding of rows are derived from them; no code outside `src/types/`
 * depends on the name of a SQL type.
 */
import type { TSchema } from '@sinclair/typebox'
import type { LongWork } from '../in-pieces.ts'

/** Never an array or an object: mysql2 expands those into SQL. */
export type Parameter = Value | null

/** Stands for the default of a column that a row of a list omits. */
export const DEFAULT = Symbol('default')

/** The value of a placeholder in a statement. */
export type Cell = Parameter | Moment | typeof DEFAULT

export interface MomentForm {
  /** `moment`: date and time. */
  readonly kind: 'moment' | 'date' | 'time' | 'year'
  /** Digits after the second; `padded`: trailing zeros are kept. */
  readonly digits: number
  readonly padded: boolean
  /** The first and the last second that a column can store, since 1970. */
  readonly first: number
  readonly last: number
  /** Filters can compare the column with a moment. */
  readonly isComparable: boolean
}

/** The present time by the clock of the database, moved by an offset (moment.ts). */
export interface Moment {
  readonly form: MomentForm
  /** Added first; the day becomes at most the last one of the month. */
  readonly months: number
  readonly seconds: number
  /** A moment that the column cannot store is an error in `data` and compares as NULL in `filters`. */
  readonly use: 'data' | 'filters'
}

/** Most values are none. */
export function hasMoment (cells: readonly unknown[]): boolean {
  for (const cell of cells) if (typeof cell === 'object' && isMoment(cell)) return true
  return false
}

export const isMoment = (cell: unknown): cell is Moment =>
  typeof cell === 'object' && cell !== null && 'months' in cell

/** A parameter that is not NULL. */
export type Value = string | number | bigint | Buffer

/** A text of SQLite that is not valid in the encoding of its file, in place of the value. */
export const NOT_TEXT = false

/** A value from the driver: bytes of MySQL's text protocol, native values of SQLite. */
export type DriverValue = Buffer | Uint8Array | string | number | bigint | typeof NOT_TEXT

/** SQL text before and after a column or a placeholder. Always a constant of this folder, never text of a request. */
export type Wrapping = readonly [before: string, after: string]

/** The column and the parameter in a template. */
export const COLUMN = Symbol('column')
export const GIVEN = Symbol('given')
/** After a call of an aggregate function, for SQLite's FILTER clause. */
export const FILTER = Symbol('filter')

/** Its texts are constants of this folder, never text of a request. */
export type SqlTemplate = ReadonlyArray<string | typeof COLUMN | typeof GIVEN | typeof FILTER>

/** An object in place of a value in `data`: `{"$inc": 5}` computes the new value from the stored one. */
export interface UpdateOperator {
  /** Such as `$inc`. */
  readonly name: string
  /** Of the operand, with the name of the form in `title`, because columns of the same kind share it. */
  readonly schema: TSchema
  /** @throws ValueRefused */
  readonly read: (operand: unknown) => Parameter | Moment
  /**
   * The new value from the stored one and the parameter. If omitted, the new value is the parameter, and inserts also
   * accept the form.
   */
  readonly sql?: SqlTemplate
}

/** The filter operators of a type are those that need this level (schemas/filters.ts) or an earlier one. */
export type Comparison = typeof COMPARISONS[number]

export const COMPARISONS = ['none', 'equality', 'order', 'text'] as const

/**
 * How the bytes of MySQL's text protocol are copied into JSON without creating a string. The result equals the text of
 * `write`. `plain`: unchanged; `quoted`: in quotes; `escaped`: in quotes, with JSON escapes; `moment`: in quotes, with
 * a `T` between date and time; `instant`: as `moment`, with a `Z` at the end; `json`: unchanged if the bytes are valid
 * JSON, otherwise `escaped`.
 */
export type WireFormat = 'plain' | 'quoted' | 'escaped' | 'moment' | 'instant' | 'json'

/**
 * A long value in parts of some kilobytes: in strings, or in bytes of UTF-8 that no part divides within a character.
 */
export interface LongValue {
  /** A JSON string without its quotes and escapes; otherwise JSON text. */
  readonly isText: boolean
  readonly parts: Iterable<string | Buffer>
}

export interface Computation {
  readonly type: ColumnType
  readonly sql: SqlTemplate
}

export interface Totals { readonly sum: Computation, readonly avg: Computation }

/**
 * The values of positions (`next` and `after`), which are read as stored values: a column can have others than those
 * that clients may write, each with its place in an order. On SQLite it can have values of any storage class.
 */
export interface Positions {
  /** Never of null. @throws ValueRefused */
  readonly read: (value: unknown) => Value
  /** `read` returns the value exactly from the text. @throws ValueUnreadable */
  readonly write: (value: DriverValue) => string
  /** The pattern of texts that `read` accepts, if the schema has another one. */
  readonly pattern?: string
  /**
   * For a value that the server refuses as a constant, and compares as a text only: two others that it accepts, a lower
   * and a higher one. Undefined for all other values.
   */
  readonly around?: (value: Value) => readonly [low: Value, high: Value] | undefined
  /** SQL around the column for such a value, whose texts have the order of the column. */
  readonly asText?: Wrapping
}

/** The types of values inside JSON that can be compared. `large`: a number beyond 2^53 that may be a 64-bit integer. */
export type Scalar = 'text' | 'number' | 'large' | 'boolean'

/** How conditions compare values inside the JSON of a column. The slot GIVEN stands for a path. */
export interface JsonInside {
  /** Omitted if the stored value always is JSON. */
  readonly isJson?: SqlTemplate
  /** NULL if there is no value at the path. */
  readonly typeAt: SqlTemplate
  /** The type of JSON's null. */
  readonly nullName: string
  /** The type of lists, if the engine finds the first and the last element of other values as well. */
  readonly listName?: string
  readonly scalars: Readonly<Record<Scalar, ScalarInside>>
  /** Values of these types in an order, after their type: NULL for all others. */
  readonly sorted: ReadonlyArray<Pick<ScalarInside, 'types' | 'value'>>
  /** Paths in an order, if the engine has a lower one than the service. */
  readonly maxSorted?: number
  /** Converts a JSON number to a parameter. @throws ValueRefused if the engine cannot hold it */
  readonly readNumber: (value: unknown) => string | number | bigint
  readonly booleans: readonly [no: Value, yes: Value]
  /**
   * The value at one step of a path, if the engine must be led step by step: MariaDB finds the later one of two equal
   * keys where a path leads on in that one only.
   */
  readonly step?: SqlTemplate
  /** Steps of a path that the engine accepts. */
  readonly maxSteps: number
  /** The step to the element of a list that so many others follow. */
  readonly fromEnd: (others: number) => string
  /** A path with such a step, if the engine must read it anew for each row. */
  readonly perRow?: SqlTemplate
  /** The engine does not find them. */
  readonly unreachable?: { readonly keys: RegExp, readonly reason: string }
}

export interface ScalarInside {
  /** Names of the engine. */
  readonly types: readonly string[]
  readonly value: SqlTemplate
  /** Compared where `value` is equal. */
  readonly exact?: SqlTemplate
  /** SQL around the parameter. */
  readonly operand?: Wrapping
}

/** Describes one SQL type: its JSON Schema, its conversions and its comparison. */
export interface ColumnType {
  /** JSON Schema of a value that is not null. */
  readonly schema: TSchema
  /** That of a value of any length, which an equality in filters accepts, if the length of the column is bounded. */
  readonly unbounded?: TSchema
  /** Never of null. @throws ValueRefused */
  readonly read: (value: unknown) => Value
  /** Of insert and update: `read`, then `stored`. @throws ValueRefused */
  readonly store: (value: unknown) => Value
  /** Never of NULL. @throws ValueUnreadable */
  readonly write: (value: DriverValue) => string
  /**
   * The alternative to `write` for long values; omitted if there are none. The parts may throw ValueUnreadable, too.
   * @throws ValueUnreadable
   */
  readonly long?: ((value: DriverValue) => LongWork<LongValue>) | undefined
  /** The fast alternative to `write`, if there is one. */
  readonly wireFormat?: WireFormat | undefined
  /** As a select shows a stored parameter; the text `null` if that cannot be known. */
  readonly storedJson: (parameter: Value) => string
  /** The value, which `read` accepts, is certainly stored unchanged. Always if omitted. */
  readonly keeps?: (value: unknown) => boolean
  /**
   * From the text of a default in the catalog, a JSON value for `read`; undefined if the text does not show the value.
   * Omitted if the text is that value.
   */
  readonly defaultOf?: (text: string) => unknown
  /** The catalog's texts of defaults do not show the stored value. */
  readonly roundsDefaults?: true
  /** For insert and update, if they need another parameter than conditions. */
  readonly stored?: (parameter: Value) => Value
  /** None if omitted. */
  readonly updates?: readonly UpdateOperator[]
  /** For columns of time. */
  readonly moment?: MomentForm
  readonly comparison: Comparison
  /** As the database does, for numbers and times. Negative if `one` is lower, 0 if they are equal. */
  readonly order?: (one: Value, other: Value) => number
  /** Parts of time, by name. */
  readonly parts?: ReadonlyMap<string, Computation>
  /** `orderBy`, `groupBy` and `$countDistinct` accept the column. */
  readonly sortable: boolean
  /** `$min` and `$max` accept the column. */
  readonly ranked: boolean
  /** `$sum` and `$avg`, which are refused if omitted. */
  readonly totals?: () => Totals
  /** False for unknown types. */
  readonly writable: boolean
  /** Values are JSON arrays or objects, which a filter reads as one value, not as `$in` or operators. */
  readonly structured: boolean
  /** Every JSON value is one of the type: objects that look like operators must be sent under `$eq`. */
  readonly holdsJson?: true
  /** For a JSON column: how values inside it are compared (`$at`). */
  readonly inside?: JsonInside
  /** The parameter for null in a NOT NULL column: a JSON column can store JSON's null. */
  readonly ownNull?: Value
  /** For a SET: the bit of a member (`$has`). @throws ValueRefused */
  readonly readMember?: (value: unknown) => bigint
  /** Converts a JSON value to a LIKE pattern, if not every text is accepted. @throws ValueRefused */
  readonly readPattern?: (value: unknown) => string
  /** Values are sorted by their index in a list, not as `>` compares them. */
  readonly ranking?: Ranking
  /** A value does not determine its place in the order, as for an ENUM with members that the server shows alike. */
  readonly unplaced?: true
  /** All values are JSON integers. */
  readonly wholeNumbers?: true
  /** The largest value, of an integer. */
  readonly maximum?: bigint
  /** SQL around the column in the select list. */
  readonly selected?: Wrapping
  /** Classes that the server may send for the bare column; any if omitted. */
  readonly sentAs?: ReadonlySet<string> | undefined
  /** Classes that the server may send for the column inside `selected`. */
  readonly selectedAs?: ReadonlySet<string> | undefined
  /** SQL around the parameter in a condition. */
  readonly compared?: Wrapping
  /** Around the parameter in an equality with a column, if it differs from `compared`. */
  readonly equated?: Wrapping
  /**
   * MySQL and MariaDB: around the parameter in a list of values that is read like a table, if it differs from
   * `compared`: it has the type of the column, or comparing both is slow.
   */
  readonly listed?: Wrapping | undefined
  /** Around a column of `groupBy` in `having`, if the bare column cannot be used. */
  readonly grouped?: Wrapping
  /**
   * Around the parameter in a comparison with an expression, whose type the server does not know, if it differs from
   * `compared`.
   */
  readonly computed?: Wrapping
  /** Around the column in a condition; only for types for which no index can be used. */
  readonly comparedColumn?: Wrapping
  /**
   * SQLite: true for a stored value of the class and form that the service writes for the type. Other values pass no
   * comparison, and sums and `$min` pass over them, as over NULL. It is true if an equality with a parameter of the
   * type is, unless `comparedColumn` is set.
   */
  readonly ownClassSql?: SqlTemplate
  /** The values of positions, if they may be others than those that `read` accepts. */
  readonly positions?: Positions
  /**
   * `=` can treat different values as equal, as collations do: SQL around the column and the parameter that compares
   * their bytes (`$is`).
   */
  readonly exact?: { readonly column?: Wrapping, readonly parameter: Wrapping }
  /**
   * Columns of two tables can be related if both have the same value here; texts also need the same collation. Omitted
   * for types that cannot relate rows.
   */
  readonly relatedAs?: string | undefined
  /** Columns of a row can be compared if both have the same value here; `relatedAs` if omitted. */
  readonly comparedAs?: string | undefined
}

/** `comparedAs` of integers and decimals. */
export const EXACT_NUMBER = 'exact number'

/** `relatedAs` of texts. */
export const RELATED_TEXT = 'text'

/** The order of the members of an ENUM. */
export interface Ranking {
  /** The lowest first; undefined if some of them are not known exactly. */
  readonly values: readonly Value[] | undefined
  /** The database sorts by it. The column can be compared with it, but without an index. */
  readonly rank: (value: Value) => number
}

/** For messages. Columns of SQLite can have none, and computed ones of its views do. */
export const describeType = ({ declaration }: { readonly declaration: string }): string =>
  declaration === '' ? 'a column without a declared type' : `the type ${declaration}`

export interface TypeFacts {
  /** Name of the type in lower case, without arguments: `decimal`, `varchar`. */
  readonly name: string
  /** As the engine reports it: `decimal(10,2) unsigned`, `enum('a','b')`. */
  readonly declaration: string
  /** Characters of character types, bits of BIT, digits of DECIMAL; null for other types. */
  readonly length: number | null
  /** Maximum length of a character or binary value, in bytes. */
  readonly bytes: number | null
  /** Digits after the decimal point of a DECIMAL or of the seconds of a time. */
  readonly scale: number | null
  /** Character set of a character type. */
  readonly charset: string | null
  /** SRID to which the column is restricted (MySQL's SRS_ID). */
  readonly srid: number | null
  /** Upper bound of TIMESTAMP in seconds since 1970; 2038-01-19 if omitted. */
  readonly lastTimestamp?: number | undefined
  /** A column of a view: its value may have more digits than its declaration. */
  readonly computed?: boolean | undefined
  /** MariaDB's JSON is a LONGTEXT with a check on json_valid(). */
  readonly json: boolean
}

/** The message continues 'Column "x": '. */
export class ValueRefused extends Error {
  override readonly name = 'ValueRefused'
}

/** A text, or bytes, longer than the column. No row has it, so that an equality in filters is a constant. */
export class ValueTooLong extends ValueRefused {}

/**
 * Stored bytes that are not a value of the column's type. The message continues 'Column "x" ' and never contains the
 * value.
 */
export class ValueUnreadable extends Error {
  override readonly name = 'ValueUnreadable'
}

/** Omitted properties get the defaults of most types. */
export function createType (
  definition: Pick<ColumnType, 'schema' | 'read' | 'write'> & Partial<ColumnType>
): ColumnType {
  const { comparison = 'order', structured = false, read, stored } = definition
  return Object.freeze({
    storedJson: (parameter: Value) =>
      definition.write(Buffer.isBuffer(parameter) ? parameter : Buffer.from(String(parameter))),
    comparison,
    sortable: comparison !== 'none' && !structured,
    ranked: comparison === 'order' || comparison === 'text',
    writable: true,
    structured,
    ...definition,
    store: stored === undefined ? read : (value) => stored(read(value))
  } satisfies ColumnType)
}

/**
 * JavaScript compares these parameters as the database does: integers, and texts of digits in one format, such as
 * dates.
 */
export function naturalOrder (one: Value, other: Value): number {
  return one < other ? -1 : Number(one > other)
}

export function numericOrder (one: Value, other: Value): number {
  return Number(one) - Number(other)
}

/** Texts and bytes exactly, numbers and times by their order. */
export function isSame ({ order }: Pick<ColumnType, 'order'>, one: Value, other: Value): boolean {
  if (order !== undefined) return order(one, other) === 0
  return Buffer.isBuffer(one) && Buffer.isBuffer(other) ? one.equals(other) : one === other
}

/** The message is "expected X". */
export function expected (what: string): ValueRefused {
  return new ValueRefused(`expected ${what}`)
}

/** MySQL sends numbers and dates as ASCII, strings as UTF-8. */
export function textOf (value: DriverValue): string {
  return (value as Buffer).toString()
}
