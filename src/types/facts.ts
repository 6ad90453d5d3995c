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
