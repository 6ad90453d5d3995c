/**
 * What a column type is: the one place where a SQL type meets JSON. Body checks, OpenAPI, filters and the
 * writing of rows are all derived from these objects; nothing outside `src/types/` knows a type by name.
 */
import type { TSchema } from '@sinclair/typebox'

/** What may reach a driver as a parameter. Never an array or an object: drivers expand those. */
export type Parameter = Value | null

/** A parameter that is not NULL. */
export type Value = string | number | bigint | Buffer

/** A value as a driver gives it: bytes from MySQL's text protocol, native values from SQLite. */
export type DriverValue = Buffer | Uint8Array | string | number | bigint

/** SQL text to stand before and after a column or a placeholder. Written here, never made from a request. */
export type Wrapping = readonly [before: string, after: string]

/**
 * Which filter operators a type has. Each level has those before it too: `none` only `$null`; `equality` `$eq
 * $is $ne $in $nin`; `order` `$gt $gte $lt $lte $between`; `text` `$like $nlike $startsWith $contains`.
 */
export type Comparison = 'none' | 'equality' | 'order' | 'text'

/**
 * How the bytes of MySQL's text protocol become the JSON text that `write` gives, without making a string: as they are
 * (`plain`), in quotes (`quoted`), in quotes with what JSON must escape (`escaped`), in quotes with a `T` between day and time
 * (`moment`), and with a `Z` besides (`instant`); as they are where they are JSON, else `escaped` (`json`).
 */
export type WireFormat = 'plain' | 'quoted' | 'escaped' | 'moment' | 'instant' | 'json'

/** How one SQL type is described, read, written, stored and compared. */
export interface ColumnType {
  /** JSON Schema of a value that is not null, as clients see it. */
  readonly schema: TSchema
  /** JSON value (never null) -> parameter. @throws ValueRefused */
  readonly read: (value: unknown) => Value
  /** Value from the driver (never null) -> JSON text. @throws ValueUnreadable */
  readonly write: (value: DriverValue) => string
  /** The short way to what `write` gives, where there is one. */
  readonly wireFormat?: WireFormat | undefined
  /** A parameter made by `read`, as it is stored -> the JSON text that a select of it would give; `null` where that is not known. */
  readonly echo: (parameter: Value) => string
  /** What insert and update send for a parameter made by `read`, where a condition sends something else. */
  readonly stored?: (parameter: Value) => Value
  readonly comparison: Comparison
  /** Whether rows can be put in the order of the column. */
  readonly sortable: boolean
  /** False for types that are not known well enough to be written. */
  readonly writable: boolean
  /** Where a JSON array or object is one value of this type, a filter takes it as that and not as `$in` or operators. */
  readonly structured: boolean
  /** Set where every JSON value is a value of the type. An object that looks like operators or a form is then sent under `$eq`. */
  readonly holdsJson?: true
  /** What JSON null means in a column that does not take SQL NULL (a JSON column has a null of its own). */
  readonly ownNull?: Value
  /** JSON value -> pattern of LIKE, where that takes less than any text. @throws ValueRefused */
  readonly readPattern?: (value: unknown) => string
  /** Set where every value of the column is a JSON number without a fraction. */
  readonly wholeNumbers?: true
  /** SQL around the column in the list of what is selected. */
  readonly selected?: Wrapping
  /** Classes of values (wire.ts) that a server may send for the column as it is; any if left out. */
  readonly sentAs?: ReadonlySet<string> | undefined
  /** The same for what `selected` makes of it. */
  readonly selectedAs?: ReadonlySet<string> | undefined
  /** SQL around the parameter in a condition. */
  readonly compared?: Wrapping
  /** The same where it is compared for equality, if that differs. */
  readonly equated?: Wrapping
  /** SQL around the column in a condition; only for types that no index can help. */
  readonly comparedColumn?: Wrapping
  /**
   * Set where `=` may hold two different values equal, as a collation does with texts: SQL around the column and around the
   * parameter that compares their bytes (`$is`).
   */
  readonly exact?: { readonly column?: Wrapping, readonly parameter: Wrapping }
}

/** What introspection says about a column's type; each dialect fills in what its engine knows. */
export interface TypeFacts {
  /** Name of the type in lower case without its arguments: `decimal`, `varchar`. */
  readonly name: string
  /** The declaration as the engine writes it: `decimal(10,2) unsigned`, `enum('a','b')`. */
  readonly declaration: string
  /** Characters for character types, bits for BIT, digits for DECIMAL; null where the type has none. */
  readonly length: number | null
  /** Bytes that a character or binary value may have at most. */
  readonly bytes: number | null
  /** Digits after the point of a DECIMAL, or of a second's fraction. */
  readonly scale: number | null
  /** Character set of a character type. */
  readonly charset: string | null
  /** Spatial reference system that the column is restricted to (MySQL's SRS_ID). */
  readonly srid: number | null
  /** The last second that a TIMESTAMP may be, in seconds since 1970; that of 2038-01-19 if left out. */
  readonly lastTimestamp?: number | undefined
  /** What the column's values must be, where a declared type says less (MariaDB's JSON is a LONGTEXT with a check). */
  readonly json: boolean
}

/** A value that does not fit its column. The message is for a person and continues 'Column "x": '. */
export class ValueRefused extends Error {
  constructor (message: string) {
    super(message)
    this.name = 'ValueRefused'
  }
}

/** Stored bytes that are no value of their column's type. The message is for a person and continues 'Column "x" ': it never has the value. */
export class ValueUnreadable extends Error {
  constructor (message: string) {
    super(message)
    this.name = 'ValueUnreadable'
  }
}

type Required = 'schema' | 'read' | 'write'

/** Fills in what most types share. */
export function createType (own: Pick<ColumnType, Required> & Partial<ColumnType>): ColumnType {
  const { comparison = 'order', structured = false } = own
  return Object.freeze({
    echo: (parameter: Value) => own.write(Buffer.isBuffer(parameter) ? parameter : Buffer.from(String(parameter))),
    comparison,
    sortable: comparison !== 'none' && !structured,
    writable: true,
    structured,
    ...own
  } satisfies ColumnType)
}

/** Refuses with "expected X". */
export function expected (what: string): ValueRefused {
  return new ValueRefused(`expected ${what}`)
}

/** The bytes of a driver value as text: MySQL's numbers, dates and the like are ASCII, its strings UTF-8. */
export function textOf (value: DriverValue): string {
  return (value as Buffer).toString()
}
