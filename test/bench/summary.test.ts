import t from 'tap'
import { summarize } from '../../bench/measure/summary.ts'
import type { Figures } from '../../bench/measure/rounds.ts'

/** A contender whose turns of 1000 requests took so many CPU seconds. */
const figures = (name: string, ...cpu: number[]): Figures => ({
  name,
  peakMemory: 100,
  turns: cpu.map((cpuSeconds, round) => ({ requests: 1000, seconds: 0.5, bad: round, latencies: [1, 2 + round, 30 + round], p50: 0, p99: 0, cpuSeconds, clientCpuSeconds: 0.1 }))
})
const groups = { baseline: ['execute', 'query'], alternatives: { name: 'bare', of: ['bare a', 'bare b'] } }

t.test('CPU is told for 10,000 requests, it and the rate as the median of the rounds, latencies of all requests together', async (t) => {
  const [row] = summarize([figures('execute', 0.1, 0.3, 0.2)], groups)
  t.match(row, { name: 'execute', cpu: 2, requestsPerSecond: 2000, p50: 3, p99: 32, peakMemory: 100 })
})

t.test('the ratio compares rounds one by one with the better of the hand-written routes', async (t) => {
  const rows = summarize([figures('service', 0.1, 0.1, 0.1), figures('execute', 0.5, 0.4, 0.9), figures('query', 0.2, 0.1, 0.4)], groups)
  t.same(rows.map(({ name, ratio }) => [name, ratio]), [
    ['service', { median: 0.5, min: 0.25, max: 1 }],
    ['execute', { median: 2.5, min: 2.25, max: 4 }],
    ['query', { median: 1, min: 1, max: 1 }]
  ])
})

t.test('of two ways to do the same only the cheaper one is shown, under the name of both', async (t) => {
  const rows = summarize([figures('bare a', 0.3), figures('query', 0.2), figures('bare b', 0.1)], groups)
  t.same(rows.map(({ name }) => name), ['query', 'bare'])
})

t.test('there is no ratio without a hand-written route', async (t) => {
  t.same(summarize([figures('service', 0.1)], groups).map(({ ratio }) => ratio), [undefined])
})

t.test('answers that were no success are added up', async (t) => {
  t.same(summarize([figures('service', 1, 1, 1)], groups).map(({ bad }) => bad), [3])
})
