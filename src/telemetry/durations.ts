import type { Metric, Registry } from 'prom-client'

/** Upper bounds of the buckets, in seconds: from a row by its key to what a statement timeout ends. */
const BOUNDS: readonly number[] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** How many durations fell into each bucket, and their sum. */
export class Durations {
  readonly counts: number[] = new Array(BOUNDS.length + 1).fill(0)
  sum = 0

  add (seconds: number): void {
    let bucket = 0
    while (seconds > (BOUNDS[bucket] as number)) bucket++
    (this.counts[bucket] as number)++
    this.sum += seconds
  }
}

type Labels = Record<string, string | number>
interface Value { readonly metricName: string, readonly labels: Labels, readonly value: number }

export interface DurationsMetric {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  /** What there is at a scrape. */
  readonly read: () => Iterable<readonly [labels: Labels, durations: Durations]>
}

/**
 * Shows durations as a histogram. prom-client's own one hashes its labels for each observation, which takes longer than all the rest
 * of what is noted of a request (docs/operations.md has the figures); here it is asked at a scrape only.
 */
export function showDurations (registry: Registry, { name, help, labelNames, read }: DurationsMetric): void {
  const metric = {
    name,
    help,
    labelNames,
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: Array.from(read()).flatMap(([labels, durations]) => valuesOf(name, labels, durations)) }),
    reset: () => { for (const [, durations] of read()) Object.assign(durations, new Durations()) }
  }
  registry.registerMetric(metric as unknown as Metric)
}

/** As the text format has them: each bucket counts those below it too. */
function valuesOf (name: string, labels: Labels, { counts, sum }: Durations): Value[] {
  let count = 0
  const buckets = counts.map((each, index): Value => {
    count += each
    return { metricName: `${name}_bucket`, labels: { ...labels, le: BOUNDS[index] ?? '+Inf' }, value: count }
  })
  return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }]
}
