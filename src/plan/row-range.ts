/** The number of rows that a request expects. */
import type { Expect } from '../../schemas/body.ts'
import { at, expectationFailed, type ServiceError } from '../errors.ts'

/** The whole numbers from `least` to `most`; none if `most` is smaller. */
export interface RowRange {
  readonly least: number
  /** Infinity if there is no upper bound. */
  readonly most: number
}

/** Plans `expect`: a number, or bounds that must all hold. */
export function planRange (expect: Expect): RowRange {
  const { $eq, $gt, $gte, $lt, $lte } = typeof expect === 'number' ? { $eq: expect } as Exclude<Expect, number> : expect
  return {
    least: Math.max(0, ...[$eq, $gte, $gt === undefined ? undefined : $gt + 1].filter(isGiven)),
    most: Math.min(Infinity, ...[$eq, $lte, $lt === undefined ? undefined : $lt - 1].filter(isGiven))
  }
}

const thereAre = (bound: string, count: number): string =>
  count === 1 ? `there is ${bound}1 row` : `there are ${bound}${count} rows`

/** Describes the expected number of rows, for messages. */
function describeRange ({ least, most }: RowRange): string {
  if (most < least) return 'no number is within its bounds'
  const range =
    least === most
      ? `${least}`
      : most === Infinity
        ? `at least ${least}`
        : least === 0
          ? `at most ${most}`
          : `${least} to ${most}`
  return `${range} ${range === '1' || range.endsWith(' 1') ? 'is' : 'are'} expected`
}

const isGiven = (bound: number | undefined): bound is number => bound !== undefined

/** Returns EXPECTATION_FAILED if the number of rows is not in the range, else undefined. */
export function findUnexpected (range: RowRange, count: number, table: string): ServiceError | undefined {
  const { least, most } = range
  if (count >= least && count <= most) return undefined
  // rows beyond the upper bound are not counted to the end
  const found = count > most ? thereAre('more than ', Math.max(most, 0)) : thereAre('', count)
  return at(['expect'], expectationFailed(`${found} in "${table}" for these filters, and ${describeRange(range)}`))
}
