import { Type } from '@sinclair/typebox'
import { createType, expected, naturalOrder, textOf, ValueRefused, type ColumnType, type Value } from './column-type.ts'
import { readDigits, withoutZerofill } from './decimal.ts'

interface IntegerBounds { min: bigint, max: bigint }

export function integerBounds (bits: number, unsigned: boolean): IntegerBounds {
  const size = BigInt(bits)
  return unsigned ? { min: 0n, max: (1n << size) - 1n } : { min: -(1n << (size - 1n)), max: (1n << (size - 1n)) - 1n }
}

/** Exact. `1.0` and `1e2` are integers too (JSON Schema 2020-12, 4.2.3). @throws ValueRefused */
export function readInteger (value: unknown, { min, max }: IntegerBounds): bigint {
  const number = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : readWhole(value)
  if (number < min || number > max) throw new ValueRefused(`must be from ${min} to ${max}`)
  return number
}

function readWhole (value: unknown): bigint {
  const digits = readDigits(value)
  if (digits === undefined || digits.fraction !== '' || (typeof value === 'string' && value.includes('.'))) {
    throw expected('an integer or a string of digits')
  }
  return BigInt(digits.whole) * (digits.negative ? -1n : 1n)
}

/** Bounds beyond 2^53 are omitted, because most JSON parsers would round them. Client generators use the format. */
function integerSchema (title: string, { min, max }: IntegerBounds) {
  const number = (bound: bigint): number | undefined => Number.isSafeInteger(Number(bound)) ? Number(bound) : undefined
  const [minimum, maximum] = [number(min), number(max)]
  const format = max < 1n << 31n ? 'int32' : 'int64'
  return Type.Integer({
    title,
    format,
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    examples: [1]
  })
}

/** TINYINT to BIGINT: exact to 64 bits in responses and statements. */
export function integerType (bits: number, unsigned: boolean, zerofill = false): ColumnType {
  const bounds = integerBounds(bits, unsigned)
  return createType({
    schema: integerSchema(`${unsigned ? 'Unsigned' : 'Integer'}${bits}`, bounds),
    read: (value) => readInteger(value, bounds),
    write: (value) => withoutZerofill(textOf(value)),
    wireFormat: zerofill ? undefined : 'plain',
    wholeNumbers: true,
    maximum: bounds.max,
    order: naturalOrder
  })
}

/**
 * TINYINT(1), MySQL's BOOL: an integer column that also accepts true and false. It can store 2, so it is returned as a
 * number.
 */
export function tinyBoolType (unsigned: boolean): ColumnType {
  const integer = integerType(8, unsigned)
  return createType({
    ...integer,
    schema: Type.Union([integer.schema, Type.Boolean({ writeOnly: true })], {
      title: unsigned ? 'UnsignedBoolean' : 'Boolean',
      examples: [true]
    }),
    read: (value): Value => (typeof value === 'boolean' ? BigInt(value) : integer.read(value))
  })
}

/**
 * YEAR: 0 or 1901 to 2155. MySQL would convert 1 to 99 to years from 1970 to 2069. The parameter is a text of four
 * digits, because a number would be equal to `abc` if the column has become a text since the catalog was read, and the
 * text `0` would be the year 2000.
 */
export function yearType (): ColumnType {
  return createType({
    schema: Type.Integer({
      title: 'Year',
      format: 'int32',
      minimum: 0,
      maximum: 2155,
      not: { type: 'integer', minimum: 1, maximum: 1900 },
      description: 'A year from 1901 to 2155, or 0.',
      examples: [2026]
    }),
    read: (value) => {
      const year = readInteger(value, { min: 0n, max: 2155n })
      if (year > 0n && year < 1901n) throw new ValueRefused('must be 0 or from 1901 to 2155')
      return String(year).padStart(4, '0')
    },
    write: (value) => withoutZerofill(textOf(value)),
    order: naturalOrder
  })
}
