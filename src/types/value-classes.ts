/**
 * Value classes: groups of values that are read in the same way. Each column type lists the classes that it can read.
 * The definitions of a result show the class that the server sends, and so whether a column has changed.
 */
import type { TypeFacts } from './column-type.ts'
import { GEOMETRY_TYPES } from './geometry.ts'

/** A column definition of a result (MySQL manual, "Protocol::ColumnDefinition41"). */
export interface ColumnDefinition {
  readonly type: number
  /** Collation id; 63 for binary data. */
  readonly charset: number
  readonly flags: number
  /** Maximum length of a value, in bytes. */
  readonly length: number
  /** MariaDB's extended metadata: the name of a type that is sent with the code of another type, such as `uuid`. */
  readonly extendedType: string
  /** MariaDB's extended metadata: the format of a text, such as `json`. */
  readonly format: string
}

const BINARY_CHARSET = 63
const [ZEROFILL, ENUM, SET] = [0x40, 0x100, 0x800] as const

const [NULL, YEAR, BIT] = [6, 13, 16] as const
const numbers = new Map([
  [0, 'decimal'],
  [246, 'decimal'],
  [1, 'integer'],
  [2, 'integer'],
  [3, 'integer'],
  [8, 'integer'],
  [9, 'integer'],
  [4, 'float'],
  [5, 'double']
])
const classesOfOneType = new Map([
  [7, 'timestamp'],
  [10, 'date'],
  [14, 'date'],
  [11, 'time'],
  [12, 'datetime'],
  [242, 'vector'],
  [245, 'json'],
  [255, 'geometry']
])
/** MariaDB's extended types that are classes of their own; its geometry types are sent as geometry. */
const extended = new Set(['uuid', 'inet4', 'inet6', 'vector'])

export function valueClass ({ type, charset, flags, length, extendedType, format }: ColumnDefinition): string {
  const number = numbers.get(type)
  if (number !== undefined) return (flags & ZEROFILL) === 0 ? number : `${number} zerofill`
  if (type === NULL) return 'null'
  if (type === YEAR) return 'year'
  if (type === BIT) return length === 1 ? 'bit' : 'bits'
  const onlyClass = classesOfOneType.get(type)
  if (onlyClass !== undefined) return onlyClass
  if (extended.has(extendedType)) return extendedType
  if ((flags & ENUM) !== 0) return 'enum'
  if ((flags & SET) !== 0) return 'set'
  if (charset === BINARY_CHARSET) return 'bytes'
  return format === 'json' ? 'json' : 'text'
}

export const INTEGERS: readonly string[] = ['tinyint', 'smallint', 'mediumint', 'int', 'bigint']

/**
 * Types of information_schema, and the value classes that the server may send for each. There are several if they are
 * read in the same way (an address is a text without MariaDB's extended metadata), or if information_schema knows less
 * than the definition (a view of a JSON column).
 */
const groups: ReadonlyArray<readonly [types: readonly string[], classes: readonly string[]]> = [
  [INTEGERS, ['integer']],
  [['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext'], ['text', 'json']],
  [['binary', 'varbinary', 'tinyblob', 'blob', 'mediumblob', 'longblob'], ['bytes']],
  [['geometry', 'geomcollection', ...GEOMETRY_TYPES.map((name) => name.toLowerCase())], ['geometry']],
  ...['decimal', 'float', 'double', 'date', 'time', 'datetime', 'timestamp', 'enum', 'set', 'json'].map(
    (name) => [[name], [name]] as const
  ),
  ...['uuid', 'inet4', 'inet6'].map((name) => [[name], [name, 'text']] as const),
  [['year'], ['year', 'integer']],
  [['vector'], ['vector', 'bytes']]
]
const classes = new Map(groups.flatMap(([types, all]) => types.map((type) => [type, all] as const)))

/** Returns the value classes that the server may send for a column; undefined for any. */
export function valueClassesOf ({ name, declaration, length }: TypeFacts): ReadonlySet<string> | undefined {
  if (name === 'bit') return new Set(['null', length === 1 ? 'bit' : 'bits'])
  const all = classes.get(name)
  if (all === undefined) return undefined
  return new Set(['null', ...all, ...(/ zerofill/i.test(declaration) ? all.map((each) => `${each} zerofill`) : [])])
}
