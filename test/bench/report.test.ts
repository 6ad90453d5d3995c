import t from 'tap'
import { toChart } from '../../bench/report/chart.ts'
import { toReport, toSummary } from '../../bench/report/markdown.ts'
import type { Results, Row } from '../../bench/report/results.ts'

const row = (name: string, median: number | undefined): Row => ({
  name, requestsPerSecond: 1234.4, p50: 1.25, p99: 20, cpu: 0.456, peakMemory: 99.6, bad: 0, ratio: median === undefined ? undefined : { median, min: median / 2, max: median * 2 }
})
const turn = { requests: 1000, seconds: 2, bad: 0, latencies: [1, 2], p50: 1, p99: 2, cpuSeconds: 1, clientCpuSeconds: 0.5 }
const results: Results = {
  stamp: { date: '2026-11-20 10:00 UTC', commit: 'abc1234', machine: '2 cores of <Some> & Other', load: 0.125, versions: { Node: '24.0.0', mysql2: '3.0.0' }, effort: '3 rounds' },
  workloads: [{ workload: 'row by key', rows: [row('service', 0.5), { ...row('slow', 9), cpu: 12.345 }, row('apart', undefined)], turns: [{ name: 'service', peakMemory: 99.6, turns: [turn] }] }],
  growth: [{ title: 'Tables', columns: ['tables', 'ms'], rows: [['10', '500'], ['1000', '900']], summary: 'It starts in 500 ms.' }]
}

t.test('the table has a line for everybody, under the machine, the commit and the versions', async (t) => {
  const lines = toReport(results, '##').split('\n').map((line) => line.replace(/ +/g, ' '))
  t.ok(lines.includes('3 rounds. Measured 2026-11-20 10:00 UTC at commit abc1234 on 2 cores of <Some> & Other (load before it 0.13), with Node 24.0.0, mysql2 3.0.0.'))
  t.ok(lines.includes('| service | 1234 | 1.3 | 20.0 | 0.46 | 100 | 0 | 0.50 (0.25-1.00) |'))
  t.ok(lines.includes('| slow | 1234 | 1.3 | 20.0 | 12.3 | 100 | 0 | 9.00 (4.50-18.00) |'))
  t.ok(lines.includes('| apart | 1234 | 1.3 | 20.0 | 0.46 | 100 | 0 | |'))
  t.ok(lines.includes('## Tables'))
  t.ok(lines.includes('| 1000 | 900 |'))
})

t.test('the report tells how busy the load generator was', async (t) => {
  t.match(toReport(results, '##'), 'busy for at most 25 % of the time')
})

t.test('the summary has a line for everybody and a column for every workload', async (t) => {
  const [other] = results.workloads as [Results['workloads'][number]]
  const more = { ...results, workloads: [...results.workloads, { ...other, workload: 'insert', rows: [row('service', 2)] }] }
  const lines = toSummary(more).split('\n').map((line) => line.replace(/ +/g, ' '))
  t.ok(lines.includes('| CPU s for 10,000 requests (ratio) | row by key | insert |'))
  t.ok(lines.includes('| service | 0.46 (0.50) | 0.46 (2.00) |'))
  t.ok(lines.includes('| slow | 12.3 (9.00) | |'))
  t.ok(lines.includes('| apart | 0.46 | |'))
  t.ok(lines.includes('It starts in 500 ms.'))
})

t.test('every line of a table has as many cells as its head', async (t) => {
  const lines = toReport(results, '##').split('\n').filter((line) => line.startsWith('|'))
  t.same(lines.map((line) => line.split('|').length), [...Array<number>(6).fill(10), ...Array<number>(4).fill(4)])
})

t.test('the chart has a bar for every ratio and marks our own', async (t) => {
  const svg = toChart(results, 'service')
  t.equal(svg.match(/<rect class="own"/g)?.length, 1)
  t.equal(svg.match(/<rect class="bar"/g)?.length, 1)
  t.match(svg, />0\.50<\/text>/)
  t.notMatch(svg, /apart/)
})

t.test('a bar that would leave the chart is cut and keeps its number', async (t) => {
  const svg = toChart(results, 'service')
  t.equal(svg.match(/<path class="page"/g)?.length, 1)
  t.match(svg, />9\.00<\/text>/)
  for (const [, x = '', width = ''] of svg.matchAll(/<rect class="(?:bar|own)" x="(\d+)" y="\d+" width="([\d.]+)"/g)) {
    t.ok(Number(x) + Number(width) <= 860)
  }
})

t.test('the chart tells who does not see it what it shows, and escapes names', async (t) => {
  const svg = toChart(results, 'service')
  t.match(svg, /<title id="title">CPU of service for a request against the better hand-written route: row by key 0\.50<\/title>/)
  t.match(svg, /&lt;Some&gt; &amp; Other/)
  t.match(svg, /prefers-color-scheme: dark/)
})
