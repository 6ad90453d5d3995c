/** Numbers of rows: what a request expects. */
import type { Expect } from '../../schemas/body.ts'
import { at, expectationFailed, type ServiceError } from '../errors.ts'

/** Whole numbers from `least` to `most`; none if `most` is the smaller one. */
export interface RowRange {
  readonly least: number
  /** Infinity if there is no upper bound. */
  readonly most: number
}

/** Plans `expect`: a number, or bounds of which all have to hold. */
export function planRange (expect: Expect): RowRange {
  const { $eq, $gt, $gte, $lt, $lte } = typeof expect === 'number' ? { $eq: expect } as Exclude<Expect, number> : expect
  return {
    least: Math.max(0, ...[$eq, $gte, $gt === undefined ? undefined : $gt + 1].filter(isGiven)),
    most: Math.min(Infinity, ...[$eq, $lte, $lt === undefined ? undefined : $lt - 1].filter(isGiven))
  }
}

const thereAre = (bound: string, count: number): string => count === 1 ? `there is ${bound}1 row` : `there are ${bound}${count} rows`

const isGiven = (bound: number | undefined): bound is number => bound !== undefined

/** EXPECTATION_FAILED if a number of rows is not in the range, else undefined. */
export function findUnexpected ({ least, most }: RowRange, count: number): ServiceError | undefined {
  if (count >= least && count <= most) return undefined
  // beyond the upper bound rows are not counted to the end
  return at(['expect'], expectationFailed(count > most ? thereAre('more than ', Math.max(most, 0)) : thereAre('', count)))
}
