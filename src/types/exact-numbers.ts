/** Integers and DECIMAL, which are exact, and YEAR. */
import { Type } from '@sinclair/typebox'
import { numberText } from '../json/exact-json.ts'
import { createType, expected, naturalOrder, textOf, ValueRefused, type ColumnType, type Value } from './column-type.ts'

/** Without leading and trailing zeros: `-12.50` is { negative: true, whole: '12', fraction: '5' }. */
export interface Digits { negative: boolean, whole: string, fraction: string }

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,5}))?$/
/** Larger exponents are clamped: numbers with them do not fit a column of at most 65 digits. */
const MAX_SHIFT = 400

/** Longer texts are refused: no column can store them, and the regular expressions would take quadratic time. */
const MAX_LENGTH = 400

/** Exact, with or without an exponent. Undefined if the text is not a number. */
export function parseDigits (text: string): Digits | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const match = NUMBER.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', exponent] = match
  const [left, right] = exponent === undefined ? [whole, fraction] : movePoint(whole, fraction, Number(exponent))
  return { negative: sign === '-', whole: left.replace(/^0+/, ''), fraction: right.replace(/0+$/, '') }
}

/** The digits before and after the decimal point. */
function movePoint (whole: string, fraction: string, exponent: number): [string, string] {
  const digits = whole + fraction
  const point = whole.length + Math.max(-MAX_SHIFT, Math.min(MAX_SHIFT, exponent))
  const padded = point < 0 ? '0'.repeat(-point) + digits : digits.padEnd(point, '0')
  const split = Math.max(point, 0)
  return [padded.slice(0, split), padded.slice(split)]
}

/** A JSON number, or a string with a number without an exponent. */
export function readDigits (value: unknown): Digits | undefined {
  const text = typeof value === 'string' && !/e/i.test(value) ? value : numberText(value)
  return text === undefined ? undefined : parseDigits(text)
}

interface DecimalBounds { precision: number, scale: number, unsigned: boolean, zerofill?: boolean }

/** With the scale of the column. @throws ValueRefused if it does not fit */
export function readDecimal (value: unknown, { precision, scale, unsigned }: DecimalBounds): string {
  const digits = readDigits(value)
  if (digits === undefined) throw expected('a decimal number, as a string or a number')
  if (digits.fraction.length > scale) throw new ValueRefused(`can have at most ${scale} digits after the decimal point`)
  if (digits.whole.length > precision - scale) {
    throw new ValueRefused(`can have at most ${precision - scale} digits before the decimal point`)
  }
  const negative = digits.negative && (digits.whole + digits.fraction) !== ''
  if (negative && unsigned) throw new ValueRefused('must not be negative')
  const fraction = scale > 0 ? '.' + digits.fraction.padEnd(scale, '0') : ''
  return (negative ? '-' : '') + (digits.whole || '0') + fraction
}

/** Bounds of JSON numbers with these digits. They are exact, as powers of ten are. */
function digitBounds ({ precision, scale, unsigned }: DecimalBounds) {
  const beyond = Number(`1e${precision - scale}`)
  return {
    multipleOf: Number(`1e-${scale}`),
    ...(unsigned ? { minimum: 0 } : { exclusiveMinimum: -beyond }),
    exclusiveMaximum: beyond
  }
}

/** The suffix for the names of schemas of columns with these digits. */
export const digitsName = ({ precision, scale }: Pick<DecimalBounds, 'precision' | 'scale'>): string =>
  `${precision}x${scale}`

/**
 * Also accepts strings, because some validators compute `multipleOf` in binary floating point and refuse 1.13 as a
 * multiple of 0.01.
 */
export function decimalSchema (bounds: DecimalBounds, title = 'Decimal') {
  const { precision, scale, unsigned } = bounds
  const whole = precision > scale ? `\\d{1,${precision - scale}}` : '0'
  const fraction = scale > 0 ? `(\\.\\d{1,${scale}})?` : ''
  return Type.Union(
    [
      Type.String({ format: 'decimal', pattern: `^${unsigned ? '' : '-?'}${whole}${fraction}$` }),
      Type.Number({ ...digitBounds(bounds), writeOnly: true })
    ],
    {
      title: `${unsigned ? 'Unsigned' : ''}${title}${digitsName(bounds)}`,
      examples: [(precision > scale ? '1' : '0') + (scale > 0 ? '.' + '5'.padEnd(scale, '0') : '')]
    }
  )
}

/**
 * DECIMAL and NUMERIC: returned as strings, which keep all digits. The parameter is cast to the column's type, because
 * MySQL compares a DECIMAL with a string as doubles (MySQL manual, "Type Conversion in Expression Evaluation").
 */
export function decimalType (bounds: DecimalBounds): ColumnType {
  const canonical = canonicalForm(bounds)
  return createType({
    schema: decimalSchema(bounds),
    read: (value) => typeof value === 'string' && canonical.test(value) ? value : readDecimal(value, bounds),
    write: (value) => `"${withoutZerofill(textOf(value))}"`,
    wireFormat: bounds.zerofill === true ? undefined : 'quoted',
    order: (one, other) => naturalOrder(unscaled(one), unscaled(other)),
    compared: ['cast(', ` as decimal(${bounds.precision},${bounds.scale}))`]
  })
}

/** The form in which a select returns most values, which needs no conversion. */
function canonicalForm ({ precision, scale }: DecimalBounds): RegExp {
  const whole = precision > scale ? `(?:0|[1-9]\\d{0,${precision - scale - 1}})` : '0'
  return new RegExp(`^${whole}${scale > 0 ? `\\.\\d{${scale}}` : ''}$`)
}

/** All parameters of a column have the same number of digits after the point. */
const unscaled = (parameter: Value): bigint => BigInt(String(parameter).replace('.', ''))

/** The server pads ZEROFILL columns with zeros: JSON numbers have no leading zeros. */
export function withoutZerofill (text: string): string {
  return text.startsWith('0') ? text.replace(/^0+(?=\d)/, '') : text
}

// Integers.

export interface IntegerBounds { min: bigint, max: bigint }

export function integerBounds (bits: number, unsigned: boolean): IntegerBounds {
  const size = BigInt(bits)
  return unsigned ? { min: 0n, max: (1n << size) - 1n } : { min: -(1n << (size - 1n)), max: (1n << (size - 1n)) - 1n }
}

export const INT64 = integerBounds(64, false)

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
