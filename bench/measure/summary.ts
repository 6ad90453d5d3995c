/** Summarizes the turns: one row per contender, with its ratio to the better hand-written route. */
import type { TurnResult } from '../load/loop.ts'
import type { ColdRow, Row } from '../report/results.ts'
import { type ColdStart, type Figures, FIRST } from './rounds.ts'
import { median, percentile, spread } from './statistics.ts'

export interface Groups {
  /** The others are compared with the better one of these. */
  readonly baseline: readonly string[]
  /** Variants of one contender; only the cheapest is shown, under the common name. */
  readonly alternatives: { readonly name: string, readonly of: readonly string[] }
}

export function summarize (figures: readonly Figures[], { baseline, alternatives }: Groups): Row[] {
  const best = cheapest(figures, baseline)
  const shown = cheapest(figures, alternatives.of)
  return figures
    .filter((each) => each === shown || !alternatives.of.includes(each.name))
    .map((each) => toRow(each === shown ? { ...each, name: alternatives.name } : each, best))
}

/** What the first requests of each start have cost. Of so few only the CPU says something. */
export function summarizeCold (figures: readonly Figures[], baseline: readonly string[]): ColdRow[] {
  const cost = ({ cold }: Figures): number => median(cold.map(cpuOf))
  const [best] = figures.filter(({ name }) => baseline.includes(name)).toSorted((a, b) => cost(a) - cost(b))
  return figures.map(({ name, cold }) => ({
    name: `${name}, first ${FIRST.toLocaleString('en')}`,
    cpu: median(cold.map(cpuOf)),
    ratio: best && spread(cold.map((each, start) => cpuOf(each) / cpuOf(best.cold[start] as ColdStart)))
  }))
}

/** CPU seconds for 10,000 requests. */
export function cpuOf ({ cpuSeconds, requests }: ColdStart): number {
  return cpuSeconds / requests * 10_000
}

export function toRow ({ name, turns, peakMemory }: Figures, baseline: Figures | undefined): Row {
  const middle = (value: (turn: TurnResult) => number): number => median(turns.map(value))
  const latencies = Float64Array.from(turns.flatMap((turn) => turn.latencies)).sort()
  return {
    name,
    requestsPerSecond: middle(({ requests, seconds }) => requests / seconds),
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    cpu: middle(cpuOf),
    peakMemory,
    ratio: baseline === undefined ? undefined : spread(turns.map((turn, round) => cpuOf(turn) / cpuOf(baseline.turns[round] as TurnResult))),
    bad: turns.reduce((sum, { bad }) => sum + bad, 0)
  }
}

function cheapest (figures: readonly Figures[], names: readonly string[]): Figures | undefined {
  const cost = ({ turns }: Figures): number => median(turns.map(cpuOf))
  return figures.filter(({ name }) => names.includes(name)).toSorted((a, b) => cost(a) - cost(b))[0]
}
