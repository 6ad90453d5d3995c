/**
 * What a column definition says of the values that follow it (MySQL manual, "Protocol::ColumnDefinition41"), as far as it matters for reading
 * them. Each column type knows the classes that it can read; a column that has become another one since the catalog was read is found by it.
 */
import type { TypeFacts } from './column-type.ts'

/** A column definition of a result. */
export interface ColumnDefinition {
  /** The number of the type. */
  readonly type: number
  /** The number of the collation; 63 for bytes. */
  readonly charset: number
  readonly flags: number
  /** Bytes that a value has at most. */
  readonly length: number
  /** MariaDB's name of a type that it sends as another one: `uuid`. */
  readonly extendedType: string
  /** MariaDB's name of what a text is: `json`. */
  readonly format: string
}

const BINARY_CHARSET = 63
const [ZEROFILL, ENUM, SET] = [0x40, 0x100, 0x800] as const

const [NULL, YEAR, BIT] = [6, 13, 16] as const
const numbers = new Map([[0, 'decimal'], [246, 'decimal'], [1, 'integer'], [2, 'integer'], [3, 'integer'], [8, 'integer'], [9, 'integer'], [4, 'float'], [5, 'double']])
const others = new Map([[7, 'timestamp'], [10, 'date'], [14, 'date'], [11, 'time'], [12, 'datetime'], [242, 'vector'], [245, 'json'], [255, 'geometry']])
/** MariaDB's geometry types all come as geometry. */
const extended = new Set(['uuid', 'inet4', 'inet6', 'vector'])

/** The class of the values: two columns of one class are read in the same way. */
export function valueClass ({ type, charset, flags, length, extendedType, format }: ColumnDefinition): string {
  const number = numbers.get(type)
  if (number !== undefined) return (flags & ZEROFILL) === 0 ? number : `${number} zerofill`
  if (type === NULL) return 'null'
  if (type === YEAR) return 'year'
  if (type === BIT) return length === 1 ? 'bit' : 'bits'
  const other = others.get(type)
  if (other !== undefined) return other
  if (extended.has(extendedType)) return extendedType
  if ((flags & ENUM) !== 0) return 'enum'
  if ((flags & SET) !== 0) return 'set'
  if (charset === BINARY_CHARSET) return 'bytes'
  return format === 'json' ? 'json' : 'text'
}

const INTEGERS = ['tinyint', 'smallint', 'mediumint', 'int', 'bigint']
const TEXTS = ['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext']
const BYTES = ['binary', 'varbinary', 'tinyblob', 'blob', 'mediumblob', 'longblob']
const GEOMETRIES = ['geometry', 'point', 'linestring', 'polygon', 'multipoint', 'multilinestring', 'multipolygon', 'geomcollection', 'geometrycollection']

/**
 * The classes that may come for a type of information_schema. More than one where they are read alike (an address that a server without
 * MariaDB's extended metadata calls a text), or where information_schema knows less than the definition (a view of a JSON column).
 */
const classes = new Map<string, readonly string[]>([
  ...INTEGERS.map((name): [string, string[]] => [name, ['integer']]),
  ...TEXTS.map((name): [string, string[]] => [name, ['text', 'json']]),
  ...BYTES.map((name): [string, string[]] => [name, ['bytes']]),
  ...GEOMETRIES.map((name): [string, string[]] => [name, ['geometry']]),
  ...['decimal', 'float', 'double', 'date', 'time', 'datetime', 'timestamp', 'enum', 'set', 'json'].map((name): [string, string[]] => [name, [name]]),
  ...['uuid', 'inet4', 'inet6'].map((name): [string, string[]] => [name, [name, 'text']]),
  ['year', ['year', 'integer']],
  ['vector', ['vector', 'bytes']]
])

/** The classes of values that a column of the type may be sent as; undefined where any may come. */
export function valueClassesOf ({ name, declaration, length }: TypeFacts): ReadonlySet<string> | undefined {
  if (name === 'bit') return new Set(['null', length === 1 ? 'bit' : 'bits'])
  const found = classes.get(name)
  if (found === undefined) return undefined
  return new Set(['null', ...found, ...(/ zerofill/i.test(declaration) ? found.map((each) => `${each} zerofill`) : [])])
}
