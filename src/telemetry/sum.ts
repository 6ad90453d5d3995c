/** Adds up the metrics of several processes. */
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'

/** The metrics of one process, as `registry.getMetricsAsJSON()` returns them. */
export type Snapshot = Array<MetricObjectWithValues<MetricValue<string>>>

/** Each metric says by its `aggregator` how it is added up; by default, it is the sum. */
export function sumMetrics (snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate([...snapshots])
}

/**
 * Returns what must still be counted when a process has ended: its counters and histograms. Without them the sums would decrease, and
 * Prometheus would take the rest for an increase since a restart.
 */
export async function keepCounts (snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const sum = await sumMetrics(snapshots).getMetricsAsJSON()
  return sum.filter(({ type }) => String(type) !== 'gauge')
}
