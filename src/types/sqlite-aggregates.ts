/** `$sum` and `$avg` in SQLite, whose own sums of decimals are doubles. */
import {
  COLUMN, type ColumnType, type Computation, createType, FILTER, type SqlTemplate, type Totals, ValueRefused,
  ValueUnreadable
} from './column-type.ts'
import { decimalSchema, INT64, parseDigits, readDecimal } from './exact-numbers.ts'
import { doubleType } from './float.ts'
import { sqlOf } from './update-operators.ts'

/** Decimal digits of a 64-bit integer. */
const INTEGER_DIGITS = 19
/** Digits after the point of a scaled integer: every DECIMAL that the service writes has at most 15. */
const MAX_SCALE = 15
/** Digits of an average beyond its column's, as in MySQL. */
const MORE_DIGITS = 4
/** Digits before the point that an operand of `having` can have. */
const WHOLE_DIGITS = 20

/**
 * Fails with "integer overflow", in each row and in a group. It depends on the column, so that it is not computed in
 * advance.
 */
const OVERFLOW = sqlOf`abs(-9223372036854775807 - 1 + (${COLUMN} is null))`
const GROUP_OVERFLOW = sqlOf`abs(-9223372036854775807 - 1 + 0 * count(${COLUMN}))`

/** Integers: SQLite's sum is exact, or fails with "integer overflow". */
export const integerTotals = (): Totals => ({
  sum: { type: scaledType({ scale: 0, padded: true }), sql: sqlOf`sum(${COLUMN})${FILTER}` },
  avg: average({ scale: 0, padded: true })
})

/** The digits after the point. `padded`: whether trailing zeros are written. */
interface Fraction { readonly scale: number, readonly padded: boolean }

/** Decimals: the sum of the values as integers without their point. */
export const decimalTotals = (given: Fraction) => (): Totals => {
  const fraction = { ...given, scale: Math.min(given.scale, MAX_SCALE) }
  const { scale } = fraction
  const factor = `1${'0'.repeat(scale)}.0`
  const sql = [
    ...sqlOf`sum(case when abs(${COLUMN} * ${factor}) >= 9.2e18 then `,
    ...OVERFLOW,
    ...sqlOf` else cast(round(${COLUMN} * ${factor}) as integer) end)${FILTER}`
  ]
  return { sum: { type: scaledType(fraction), sql }, avg: average(fraction) }
}

export const doubleTotals = (write: ColumnType['write']) => (): Totals => {
  const type = createType({ ...doubleType({ unsigned: false }), wireFormat: undefined, write, storedJson: write })
  const guard = (sql: SqlTemplate): SqlTemplate => [
    'case when abs(',
    ...sql,
    `) > ${Number.MAX_VALUE} then `,
    ...GROUP_OVERFLOW,
    ' else ',
    ...sql,
    ' end'
  ]
  return {
    sum: { type, sql: guard(sqlOf`sum(${COLUMN})${FILTER}`) },
    avg: { type, sql: guard(sqlOf`avg(${COLUMN})${FILTER}`) }
  }
}

/** The statement returns an integer: 1250 is 12.50. */
function scaledType (fraction: Fraction): ColumnType {
  const { scale } = fraction
  const bounds = { precision: INTEGER_DIGITS, scale, unsigned: false }
  const { min, max } = INT64
  return createType({
    schema: decimalSchema(bounds),
    read: (value) => {
      const scaled = BigInt(readDecimal(value, bounds).replace('.', ''))
      if (scaled < min || scaled > max) {
        throw new ValueRefused(`must be from ${withPoint(min, scale)} to ${withPoint(max, scale)}`)
      }
      return scaled
    },
    // an INTEGER column can also contain other numbers, whose sum is a double
    write: (value) => writeDecimal(typeof value === 'bigint' ? withPoint(value, scale) : String(value), fraction)
  })
}

function withPoint (value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const split = digits.length - scale
  return `${value < 0n ? '-' : ''}${digits.slice(0, split)}${scale === 0 ? '' : '.'}${digits.slice(split)}`
}

/** As a double, rounded as MySQL rounds an average of such a column. */
function average ({ scale: columnScale, padded }: Fraction): Computation {
  const scale = columnScale + MORE_DIGITS
  const bounds = { precision: WHOLE_DIGITS + scale, scale, unsigned: false }
  const type = createType({
    schema: decimalSchema(bounds),
    read: (value) => Number(readDecimal(value, bounds)),
    write: (value) => writeDecimal(digitsOf(value as number), { scale, padded })
  })
  return { type, sql: sqlOf`round(avg(${COLUMN})${FILTER}, ${String(scale)})` }
}

/** All digits of a large whole number, which JavaScript would round. */
function digitsOf (value: number): string {
  return Number.isInteger(value) ? String(BigInt(value)) : String(value)
}

/** @throws ValueUnreadable for infinity */
export function writeDecimal (text: string, { scale, padded }: Fraction): string {
  const digits = parseDigits(text)
  if (digits === undefined) throw new ValueUnreadable('contains an infinite number')
  const { negative, whole, fraction } = digits
  const shown = padded ? fraction.padEnd(scale, '0') : fraction
  return `"${negative ? '-' : ''}${whole || '0'}${shown === '' ? '' : '.'}${shown}"`
}
