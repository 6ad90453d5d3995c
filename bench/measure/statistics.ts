/** Medians and percentiles. */

export interface Spread { readonly median: number, readonly min: number, readonly max: number }

export function median (values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
}

export function spread (values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** The percentile of values in ascending order: the smallest value that the given share of values does not exceed. */
export function percentile (sorted: ArrayLike<number>, part: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] as number
}
