import { Type } from '@sinclair/typebox'
import { numberText } from '../json/exact-json.ts'
import { createType, expected, numericOrder, textOf, ValueRefused, type ColumnType, type Value } from './column-type.ts'
import { digitsName, parseDigits, withoutZerofill } from './exact-numbers.ts'

/** Keeps -0. @throws ValueRefused if it is not a number or too large */
function readDouble (value: unknown): number {
  const text = numberText(value)
  if (text === undefined) throw expected('a number')
  const number = Number(text)
  if (!Number.isFinite(number)) throw new ValueRefused('is too large for a floating-point number')
  return number
}

/** -0 as a string, because the driver would write 0. */
function doubleParameter (number: number): Value {
  return Object.is(number, -0) ? '-0' : number
}

export const MAX_FLOAT = 3.4028235e38

function numberSchema (format: 'float' | 'double', { unsigned, fixed }: FloatBounds) {
  const title = `${unsigned ? 'Unsigned' : ''}${format === 'float' ? 'Float' : 'Double'}`
  if (fixed !== undefined) {
    const limit = format === 'float' ? floatLimit(fixed) : largest(fixed)
    return Type.Number({
      title: title + digitsName(fixed),
      format,
      minimum: unsigned ? 0 : -limit,
      maximum: limit,
      ...digitsOf(fixed)
    })
  }
  return Type.Number({
    title,
    format,
    ...(unsigned ? { minimum: 0 } : format === 'float' && { minimum: -MAX_FLOAT }),
    ...(format === 'float' && { maximum: MAX_FLOAT }),
    examples: [1.5]
  })
}

function digitsOf ({ precision, scale }: FixedPoint) {
  const example = (precision > scale ? 1 : 0) + (scale > 0 ? 0.5 : 0)
  return {
    description: `At most ${precision - scale} digits before the decimal point and ${scale} after it.`,
    examples: [example]
  }
}

/** `precision` digits at most, `scale` of them after the decimal point. */
export interface FixedPoint { readonly precision: number, readonly scale: number }

/** The servers compare with the double nearest to it. */
export const largest = ({ precision, scale }: FixedPoint): number =>
  Number(`${'9'.repeat(precision - scale)}.${'9'.repeat(scale)}`)

/** The largest number that a FLOAT(M,D) accepts or shows: 999999.99 in a FLOAT(8,2) is stored as the float 1000000. */
const floatLimit = (fixed: FixedPoint): number =>
  Math.max(largest(fixed), Number(shortestFloat(Math.fround(largest(fixed)))))

export interface FloatBounds {
  readonly unsigned: boolean
  readonly zerofill?: boolean
  readonly fixed?: FixedPoint | undefined
}

/** DOUBLE and REAL: the server's text converts back to the same double. */
export function doubleType (bounds: FloatBounds): ColumnType {
  const { unsigned, zerofill = false, fixed } = bounds
  return createType({
    schema: numberSchema('double', bounds),
    read: (value) => doubleParameter(signed(readFixed(value, fixed, fixed && largest(fixed)), unsigned)),
    keeps: (value) => areSameDigits(numberText(value), jsonNumber(readDouble(value))),
    ...(fixed !== undefined && { storedJson: (parameter: Value) => Number(parameter).toFixed(fixed.scale) }),
    write: (value) => withoutZerofill(textOf(value)),
    wireFormat: zerofill ? undefined : 'plain',
    defaultOf: defaultNumber,
    order: numericOrder
  })
}

/**
 * FLOAT: the server rounds its text to six digits. The column is therefore selected as a double, written as the
 * shortest number with the same 32-bit value, and compared with the double that equals the 32-bit value. FLOAT(M,D)
 * refuses this double if it has more digits than the column; the stored value is then written as the largest number of
 * the column.
 */
export function floatType (bounds: FloatBounds): ColumnType {
  const { unsigned, fixed } = bounds
  return createType({
    schema: numberSchema('float', bounds),
    read: (value) => {
      const float = Math.fround(signed(readFixed(value, fixed, fixed && floatLimit(fixed)), unsigned))
      if (!Number.isFinite(float)) throw new ValueRefused('is too large for a FLOAT')
      return doubleParameter(float)
    },
    keeps: (value) => areSameDigits(numberText(value), shortestFloat(Math.fround(readDouble(value)))),
    write: (value) => shortestFloat(Number(textOf(value))),
    ...(fixed !== undefined && {
      stored: (parameter: Value) =>
        Math.abs(Number(parameter)) > largest(fixed) ? Math.sign(Number(parameter)) * largest(fixed) : parameter,
      storedJson: (parameter: Value) => shortestFloat(Math.fround(Number(parameter))),
      // MySQL would compare the bare column with the largest number of the column
      comparedColumn: AS_DOUBLE
    }),
    selected: AS_DOUBLE,
    selectedAs: DOUBLE,
    defaultOf: (text) =>
      text.replace(/\D|^[-0.]+|e.*/gi, '').length < FLOAT_DIGITS ? defaultNumber(text) : undefined,
    roundsDefaults: true,
    order: numericOrder
  })
}

/** Reads a default, which the servers pad with zeros for a ZEROFILL column. */
const defaultNumber = (text: string): number | undefined => parseDigits(text) === undefined ? undefined : Number(text)

/** Digits to which the servers round the default of a FLOAT. A text with fewer digits is most likely not rounded. */
const FLOAT_DIGITS = 6

/**
 * A DOUBLE(M,D) of a view, such as `pi()`: the servers show only the digits that they expect of the expression, but
 * compare all that it has, so that both are done with the double.
 */
export const computedDoubleType = (): ColumnType =>
  createType({ ...doubleType({ unsigned: false }), selected: AS_DOUBLE, selectedAs: DOUBLE, comparedColumn: AS_DOUBLE })

const AS_DOUBLE = ['cast(', ' as double)'] as const

const DOUBLE: ReadonlySet<string> = new Set(['double'])

/**
 * Rounds to the digits of DOUBLE(M,D) with the server's arithmetic, so that a condition finds the stored value.
 * @throws ValueRefused if the number has more digits after the point, which the server would drop silently, or is
 * larger than `limit`
 */
function readFixed (value: unknown, fixed: FixedPoint | undefined, limit = Infinity): number {
  const number = readDouble(value)
  if (fixed === undefined) return number
  const { precision, scale } = fixed
  const { fraction } = parseDigits(numberText(value) as string) ?? { fraction: numberText(value) as string }
  if (fraction.length > scale) throw new ValueRefused(`can have at most ${scale} digits after the decimal point`)
  if (Math.abs(number) > limit) {
    throw new ValueRefused(`can have at most ${precision - scale} digits before the decimal point`)
  }
  const floor = Math.floor(number)
  const unit = Number(`1e${scale}`)
  return floor + Math.round((number - floor) * unit) / unit
}

function areSameDigits (one: string | undefined, other: string): boolean {
  const [a, b] = [parseDigits(one ?? ''), parseDigits(other)]
  return (
    a !== undefined && b !== undefined && a.negative === b.negative && a.whole === b.whole && a.fraction === b.fraction
  )
}

function signed (number: number, unsigned: boolean): number {
  if (unsigned && number < 0) throw new ValueRefused('must not be negative')
  return number
}

/** It rounds to the 32-bit float (at most 9 digits, IEEE 754); other doubles are written in full. */
export function shortestFloat (float: number): string {
  if (float === 0) return jsonNumber(float)
  const candidates = [6, 7, 8, 9].map((digits) => Number(float.toPrecision(digits)))
  return jsonNumber(candidates.find((number) => Math.fround(number) === float) ?? float)
}

export function jsonNumber (number: number): string {
  return Object.is(number, -0) ? '-0' : String(number)
}
