import { Type } from '@sinclair/typebox'
import { numberText } from '../exact-json.ts'
import { createType, expected, textOf, ValueRefused, type ColumnType, type Value } from './column-type.ts'
import { withoutZerofill } from './decimal.ts'

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

const numberSchema = (format: 'float' | 'double', unsigned: boolean) =>
  Type.Number({ title: 'Number', format, ...(unsigned && { minimum: 0 }), examples: [1.5] })

/** DOUBLE and REAL: the server's own text reads back as the same value. */
export function doubleType (unsigned: boolean, zerofill = false): ColumnType {
  return createType({
    schema: numberSchema('double', unsigned),
    read: (value) => doubleParameter(signed(readDouble(value), unsigned)),
    write: (value) => withoutZerofill(textOf(value)),
    byteForm: zerofill ? undefined : 'plain'
  })
}

/**
 * FLOAT: the server's text form of it is rounded to six digits, so it is selected as a double, written here as the
 * shortest number that gives the same 32 bits, and compared with exactly the double that those 32 bits are.
 */
export function floatType (unsigned: boolean): ColumnType {
  return createType({
    schema: numberSchema('float', unsigned),
    read: (value) => {
      const float = Math.fround(signed(readDouble(value), unsigned))
      if (!Number.isFinite(float)) throw new ValueRefused('is too large for a FLOAT')
      return doubleParameter(float)
    },
    write: (value) => shortestFloat(Number(textOf(value))),
    selected: ['cast(', ' as double)'],
    selectedAs: DOUBLE
  })
}

const DOUBLE: ReadonlySet<string> = new Set(['double'])

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
