/**
 * Counts are integers; sums and averages of integers and decimals are exact decimals, of floats doubles; `$min` and
 * `$max` have the type of their column.
 */
import { Type } from '@sinclair/typebox'
import {
  COLUMN, type ColumnType, type Computation, createType, FILTER, type SqlTemplate, type Totals, ValueRefused,
  ValueUnreadable
} from './column-type.ts'
import { decimalSchema, decimalType, INT64, integerType, parseDigits, readDecimal } from './exact-numbers.ts'
import { doubleType } from './float.ts'
import { sqlOf } from './update-operators.ts'

const COUNT = createType({
  ...integerType(64, false),
  schema: Type.Integer({ title: 'Integer', format: 'int64', minimum: 0, examples: [1] }),
  sentAs: new Set(['integer'])
})

/** The number of values that are not NULL; of rows, with `*` in place of the column. */
export const COUNT_VALUES: Computation = { type: COUNT, sql: sqlOf`count(${COLUMN})${FILTER}` }
export const COUNT_DISTINCT: Computation = { type: COUNT, sql: sqlOf`count(distinct ${COLUMN})${FILTER}` }

/** The result has the type of the column. */
export const MIN = sqlOf`min(${COLUMN})${FILTER}`
export const MAX = sqlOf`max(${COLUMN})${FILTER}`

/** Digits of an average beyond its column's: `div_precision_increment` (session-settings.ts). */
const MORE_DIGITS = 4

const MAX_DOUBLE = String(Number.MAX_VALUE)

/** Of doubles. `guard`: fails if the result is infinite. */
const totalsOf = (type: ColumnType, guard: (sql: SqlTemplate) => SqlTemplate): Totals => ({
  sum: { type, sql: guard(sqlOf`sum(${COLUMN})${FILTER}`) },
  avg: { type, sql: guard(sqlOf`avg(${COLUMN})${FILTER}`) }
})

// MySQL and MariaDB.

/** Digits of a DECIMAL, in total and after the point (MySQL manual, "DECIMAL Data Type Characteristics"). */
const MAX_PRECISION = 65
const MAX_SCALE = 30
/** Decimal digits of 2^64, the most rows. */
const DIGITS_OF_COUNT = 20

const decimalResult = (scale: number): ColumnType =>
  createType({ ...decimalType({ precision: MAX_PRECISION, scale, unsigned: false }), sentAs: new Set(['decimal']) })

/** Digits of the column, in total and after the point. */
export const exactTotals = ({ precision, scale }: { precision: number, scale: number }) => (): Totals => {
  const whole = precision - scale
  const averageScale = Math.min(scale + MORE_DIGITS, MAX_SCALE, MAX_PRECISION - whole)
  const sum = sqlOf`sum(${COLUMN})`
  // the server would compare more digits of an average in `having` than it shows
  const avg = sqlOf`cast(avg(${COLUMN}) as decimal(${String(MAX_PRECISION)},${String(averageScale)}))`
  const isSafe = precision + DIGITS_OF_COUNT <= MAX_PRECISION
  return {
    sum: { type: decimalResult(scale), sql: isSafe ? sum : guardDecimals(sum, MAX_PRECISION - scale) },
    avg: { type: decimalResult(averageScale), sql: isSafe ? avg : guardDecimals(avg, MAX_PRECISION - scale) }
  }
}

/** Fails with "BIGINT value is out of range" (1690). */
const OVERFLOW = sqlOf`9223372036854775807 + count(${COLUMN})`

/**
 * While the servers group rows, they set a sum of more than 65 digits to 65 nines, with only a warning. The guard sums
 * the 18 leading digits of the absolute values, each rounded up. `whole`: the maximum number of digits of a sum before
 * the point, at least 35.
 */
function guardDecimals (sql: SqlTemplate, whole: number): SqlTemplate {
  const [divisor, limit] = [`1${'0'.repeat(whole - LEADING_DIGITS)}`, `1${'0'.repeat(LEADING_DIGITS)}`]
  return sqlOf`if(sum(abs(${COLUMN}) div ${divisor}) + count(${COLUMN}) > ${limit}, ${OVERFLOW}, ${sql})`
}
/** The number of leading digits, which fit a BIGINT. */
const LEADING_DIGITS = 18

/**
 * FLOAT and DOUBLE, with all digits also for FLOAT(M,D) and DOUBLE(M,D). Guards against an infinite sum, which the
 * servers would show as 0 or as the largest double.
 */
export const doubleTotals = (): Totals => {
  const type = createType({ ...doubleType({ unsigned: false }), sentAs: new Set(['double']) })
  return totalsOf(type, (sql) => sqlOf`cast(if(abs(${sql}) > ${MAX_DOUBLE}, ${OVERFLOW}, ${sql}) as double)`)
}

// SQLite, whose own sums of decimals are doubles.

/** Decimal digits of a 64-bit integer. */
const INTEGER_DIGITS = 19
/** Digits after the point of a scaled integer: every DECIMAL that the service writes has at most 15. */
const MAX_SCALED = 15
/** Digits before the point that an operand of `having` can have. */
const WHOLE_DIGITS = 20

/**
 * Fails with "integer overflow", in each row and in a group. It depends on the column, so that it is not computed in
 * advance.
 */
const ROW_OVERFLOW = sqlOf`abs(-9223372036854775807 - 1 + (${COLUMN} is null))`
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
  const fraction = { ...given, scale: Math.min(given.scale, MAX_SCALED) }
  const { scale } = fraction
  const factor = `1${'0'.repeat(scale)}.0`
  const whole = sqlOf`cast(round(${COLUMN} * ${factor}) as integer)`
  const sql = sqlOf`sum(case when abs(${COLUMN} * ${factor}) >= 9.2e18 then ${ROW_OVERFLOW} else ${whole} end)${FILTER}`
  return { sum: { type: scaledType(fraction), sql }, avg: average(fraction) }
}

export const realTotals = (write: ColumnType['write']) => (): Totals => {
  const type = createType({ ...doubleType({ unsigned: false }), wireFormat: undefined, write, storedJson: write })
  return totalsOf(type, (sql) => sqlOf`case when abs(${sql}) > ${MAX_DOUBLE} then ${GROUP_OVERFLOW} else ${sql} end`)
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
