/**
 * Counts are integers; sums and averages of integers and decimals are exact decimals, of floats doubles; `$min` and
 * `$max` have the type of their column.
 */
import { Type } from '@sinclair/typebox'
import {
  COLUMN, type ColumnType, type Computation, createType, FILTER, type SqlTemplate, type Totals
} from './column-type.ts'
import { decimalType, integerType } from './exact-numbers.ts'
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

/** Digits of a DECIMAL, in total and after the point (MySQL manual, "DECIMAL Data Type Characteristics"). */
const MAX_PRECISION = 65
const MAX_SCALE = 30
/** Digits of an average beyond its column's: `div_precision_increment` (session-settings.ts). */
const MORE_DIGITS = 4
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
  return [
    ...sqlOf`if(sum(abs(${COLUMN}) div ${divisor}) + count(${COLUMN}) > ${limit}, `,
    ...OVERFLOW,
    ', ',
    ...sql,
    ')'
  ]
}
/** The number of leading digits, which fit a BIGINT. */
const LEADING_DIGITS = 18

/**
 * FLOAT and DOUBLE, with all digits also for FLOAT(M,D) and DOUBLE(M,D). Guards against an infinite sum, which the
 * servers would show as 0 or as the largest double.
 */
export const doubleTotals = (): Totals => {
  const type = createType({ ...doubleType({ unsigned: false }), sentAs: new Set(['double']) })
  const guard = (sql: SqlTemplate): SqlTemplate => [
    'cast(if(abs(',
    ...sql,
    `) > ${Number.MAX_VALUE}, `,
    ...OVERFLOW,
    ', ',
    ...sql,
    ') as double)'
  ]
  return { sum: { type, sql: guard(sqlOf`sum(${COLUMN})`) }, avg: { type, sql: guard(sqlOf`avg(${COLUMN})`) } }
}
