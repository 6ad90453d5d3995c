/** Medians and percentiles. */

/** A median, and the interval in which it lies with a confidence of 95 %. */
export interface Spread { readonly median: number, readonly min: number, readonly max: number }

const CONFIDENCE = 0.95

export function median (values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
}

/**
 * The interval follows from the order of the values, whatever their distribution: beyond its ends lie so few that the
 * median is improbable there. Of fewer than nine values it is all of them.
 */
export function spread (values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const count = sorted.length
  let beyond = 0
  // how probable it is that so many values, each with one half, are less than the median
  for (let less = 0, chance = 0.5 ** count, sum = chance; 2 * sum <= 1 - CONFIDENCE; less++, sum += chance) {
    beyond = less
    chance *= (count - less) / (less + 1)
  }
  return { median: median(sorted), min: sorted[beyond] as number, max: sorted[count - 1 - beyond] as number }
}

/** The percentile of values in ascending order: the smallest value that the given share of values does not exceed. */
export function percentile (sorted: ArrayLike<number>, part: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] as number
}
