import { Type } from '@sinclair/typebox'
import { numberText } from '../request/exact-json.ts'
import { createType, expected, textOf, ValueRefused, type ColumnType, type Value } from './column-type.ts'
import { parseDigits, withoutZerofill } from './decimal.ts'

/** The double that a JSON number means, -0 kept. @throws ValueRefused where there is none or it is too large */
export function readDouble (value: unknown): number {
  const text = numberText(value)
  if (text === undefined) throw expected('a number')
  const number = Number(text)
  if (!Number.isFinite(number)) throw new ValueRefused('is too large for a floating-point number')
  return number
}

/** A double as a parameter. The driver would write -0 as 0. */
export function doubleParameter (number: number): Value {
  return Object.is(number, -0) ? '-0' : number
}

function numberSchema (format: 'float' | 'double', { unsigned, fixed }: FloatBounds) {
  return Type.Number({ title: 'Number', format, ...(unsigned && { minimum: 0 }), ...fixed === undefined ? { examples: [1.5] } : digitsOf(fixed) })
}

function digitsOf ({ precision, scale }: FixedPoint) {
  const example = (precision > scale ? 1 : 0) + (scale > 0 ? 0.5 : 0)
  return { description: `At most ${precision - scale} digits before the point and ${scale} after it.`, examples: [example] }
}

/** The digits of DOUBLE(M,D) and FLOAT(M,D): at most `precision` in all and `scale` after the point. */
export interface FixedPoint { readonly precision: number, readonly scale: number }

export interface FloatBounds {
  readonly unsigned: boolean
  readonly zerofill?: boolean
  readonly fixed?: FixedPoint | undefined
}

/** DOUBLE and REAL: the server's own text reads back as the same value. */
export function doubleType (bounds: FloatBounds): ColumnType {
  const { unsigned, zerofill = false, fixed } = bounds
  return createType({
    schema: numberSchema('double', bounds),
    read: (value) => doubleParameter(signed(readFixed(value, fixed), unsigned)),
    ...(fixed !== undefined && { echo: (parameter: Value) => Number(parameter).toFixed(fixed.scale) }),
    write: (value) => withoutZerofill(textOf(value)),
    wireFormat: zerofill ? undefined : 'plain'
  })
}

/**
 * FLOAT: the server's text form of it is rounded to six digits, so it is selected as a double, written here as the
 * shortest number that gives the same 32 bits, and compared with exactly the double that those 32 bits are.
 */
export function floatType (bounds: FloatBounds): ColumnType {
  const { unsigned, fixed } = bounds
  return createType({
    schema: numberSchema('float', bounds),
    read: (value) => {
      const float = Math.fround(signed(readFixed(value, fixed), unsigned))
      if (!Number.isFinite(float)) throw new ValueRefused('is too large for a FLOAT')
      return doubleParameter(float)
    },
    write: (value) => shortestFloat(Number(textOf(value))),
    selected: ['cast(', ' as double)'],
    selectedAs: DOUBLE
  })
}

const DOUBLE: ReadonlySet<string> = new Set(['double'])

/**
 * The double that a column of so many digits keeps. Digits that the server would round off without a word are refused, and what is left
 * is computed as the server does it, so that a condition finds the value. @throws ValueRefused
 */
function readFixed (value: unknown, fixed: FixedPoint | undefined): number {
  const number = readDouble(value)
  if (fixed === undefined) return number
  const { precision, scale } = fixed
  const { whole, fraction } = parseDigits(numberText(value) as string) ?? { whole: '', fraction: numberText(value) as string }
  if (fraction.length > scale) throw new ValueRefused(`keeps ${scale} digits after the point`)
  if (whole.length > precision - scale) throw new ValueRefused(`keeps ${precision - scale} digits before the point`)
  const floor = Math.floor(number)
  const unit = Number(`1e${scale}`)
  return floor + Math.round((number - floor) * unit) / unit
}

function signed (number: number, unsigned: boolean): number {
  if (unsigned && number < 0) throw new ValueRefused('is unsigned')
  return number
}

/** The shortest decimal text that rounds to the given 32-bit float (at most 9 digits, IEEE 754); a number that is none is written in full. */
export function shortestFloat (float: number): string {
  if (float === 0) return jsonNumber(float)
  const candidates = [6, 7, 8, 9].map((digits) => Number(float.toPrecision(digits)))
  return jsonNumber(candidates.find((number) => Math.fround(number) === float) ?? float)
}

export function jsonNumber (number: number): string {
  return Object.is(number, -0) ? '-0' : String(number)
}
