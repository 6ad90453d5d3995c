import type { Measure } from './measure.ts'

/** What was measured, and how much was answered since the time before. */
export interface Sample extends Measure {
  readonly seconds: number
  readonly requests: number
}

const MIB = 2 ** 20
/**
 * Heap that may be gained in a minute once the service is warm, in bytes: a thousand requests a second that lose one
 * byte each.
 */
export const MAX_SLOPE = 0.06 * MIB

const mib = (bytes: number): string => (bytes / MIB).toFixed(1)

/** A line of the table that is printed. */
export function lineOf ({ seconds, requests, heap, external, rss, handles }: Sample): string {
  const cells = [seconds, requests, mib(heap), mib(external), mib(rss), handles]
  return `| ${cells.map((cell) => String(cell).padStart(8)).join(' | ')} |`
}
export const HEAD = ['s', 'requests', 'heap', 'external', 'rss', 'handles'].map((name) => name.padStart(8))

/** Bytes of heap gained each minute: the line through the second half of the samples with the least squares. */
export function slopeOf (samples: readonly Sample[]): number {
  const warm = samples.slice(Math.floor(samples.length / 2))
  const mean = (of: (sample: Sample) => number): number =>
    warm.reduce((sum, sample) => sum + of(sample), 0) / warm.length
  const [time, heap] = [mean(({ seconds }) => seconds), mean((sample) => sample.heap)]
  const covariance = mean((sample) => (sample.seconds - time) * (sample.heap - heap))
  const variance = mean(({ seconds }) => (seconds - time) ** 2)
  return 60 * covariance / variance
}
