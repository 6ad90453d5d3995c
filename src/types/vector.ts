import { Type } from '@sinclair/typebox'
import { numberText } from '../json/exact-json.ts'
import { createType, expected, ValueRefused, ValueUnreadable, type ColumnType } from './column-type.ts'
import { MAX_FLOAT, shortestFloat } from './float.ts'

const FLOAT_BYTES = 4

/** VECTOR: a list of 32-bit floats. MySQL has no `=` for vectors, so their bytes are compared. */
export function vectorType (bytes: number): ColumnType {
  const dimensions = bytes / FLOAT_BYTES
  return createType({
    schema: Type.Array(Type.Number({ format: 'float', minimum: -MAX_FLOAT, maximum: MAX_FLOAT }), { title: `Vector${dimensions}`, minItems: 1, maxItems: dimensions, examples: [[1, 0.5, 0].slice(0, dimensions)] }),
    read: (value) => {
      if (!Array.isArray(value) || value.length === 0) throw expected('a list of numbers')
      if (value.length > dimensions) throw new ValueRefused(`can have at most ${dimensions} numbers`)
      const packed = Buffer.alloc(value.length * FLOAT_BYTES)
      value.forEach((entry, index) => packed.writeFloatLE(readEntry(entry), index * FLOAT_BYTES))
      return packed
    },
    write: (value) => {
      const packed = value as Buffer
      // ALTER TABLE fills a new NOT NULL column with empty values, which no statement can write
      if (packed.length === 0) return 'null'
      if (packed.length % FLOAT_BYTES !== 0) throw new ValueUnreadable('contains bytes that are not a vector')
      const entries = Array.from({ length: packed.length / FLOAT_BYTES }, (_, index) => writeEntry(packed.readFloatLE(index * FLOAT_BYTES)))
      return `[${entries.join(',')}]`
    },
    comparison: 'equality',
    structured: true,
    comparedColumn: ['cast(', ' as binary)']
  })
}

function writeEntry (entry: number): string {
  if (!Number.isFinite(entry)) throw new ValueUnreadable('contains a vector with an entry that is not a number')
  return shortestFloat(entry)
}

function readEntry (entry: unknown): number {
  const number = Math.fround(Number(numberText(entry) ?? NaN))
  if (!Number.isFinite(number)) throw expected('a list of numbers that fit a FLOAT')
  return number
}
