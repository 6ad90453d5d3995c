/** The benchmarks: who takes part and when, statistics, and the report. */
import t from 'tap'
import { CONTENDERS, HAND_WRITTEN, MAIN } from '../../bench/contenders/contenders.ts'
import { SERVICE } from '../../bench/contenders/service.ts'
import { turnOrder } from '../../bench/measure/order.ts'
import type { Figures } from '../../bench/measure/rounds.ts'
import { median, percentile, spread } from '../../bench/measure/statistics.ts'
import { summarize, summarizeCold } from '../../bench/measure/summary.ts'
import { isWanted, readOptions } from '../../bench/options.ts'
import { toChart } from '../../bench/report/chart.ts'
import { toReport, toSummary } from '../../bench/report/markdown.ts'
import type { Results, Row } from '../../bench/report/results.ts'
import { replaceSection } from '../../bench/report/sections.ts'
import { WORKLOADS } from '../../bench/workloads.ts'

t.test('everything takes part unless parts of names say otherwise', async (t) => {
  const all = readOptions([])
  t.match(all, { quick: false, workloads: undefined, contenders: undefined })
  t.ok(CONTENDERS.every(({ name }) => isWanted(name, all?.contenders)))
  const some = readOptions([
    '--workloads', 'by key, insert', '--contenders', 'service,hand', '--rounds', '2', '--seconds', '0.5'
  ])
  t.match(some, { rounds: 2, seconds: 0.5 })
  t.same(WORKLOADS.filter(({ name }) => isWanted(name, some?.workloads)).map(({ name }) => name), [
    'row by key', 'insert', 'update by key', 'insert of 100 rows'
  ])
  t.same(CONTENDERS.filter(({ name }) => isWanted(name, some?.contenders)).map(({ name }) => name), [
    SERVICE, ...HAND_WRITTEN
  ])
})

t.test('a quick run is shorter in every way', async (t) => {
  const [quick, full] = [readOptions(['--quick']), readOptions([])]
  for (const key of [
    'starts', 'rounds', 'seconds', 'longestWarmUp', 'warmUpRequests'
  ] as const) t.ok((quick?.[key] as number) < (full?.[key] as number), key)
})

t.test('what is no option, or no number, is told', async (t) => {
  t.throws(() => readOptions(['--fast']), /--fast/)
  t.throws(() => readOptions(['--rounds', 'many']), { message: '--rounds many: must be a number above 0' })
  t.throws(() => readOptions(['--seconds', '0']), { message: '--seconds 0: must be a number above 0' })
  t.equal(readOptions(['--help']), undefined)
})

t.test('those that are compared before all come first, so that their turns stand together', async (t) => {
  t.same(CONTENDERS.slice(0, MAIN.length).map(({ name }) => name), MAIN)
})

const everybody = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const rounds = Array.from({ length: 6 }, (_, round) => turnOrder(everybody, round, 3))

t.test('everybody has one turn in each round', async (t) => {
  for (const order of rounds) t.same(order.toSorted(), everybody)
})

t.test('the first three stay neighbours, and six rounds have them in every order', async (t) => {
  const orders = rounds.map((order) => {
    const close = order.filter((name) => 'abc'.includes(name)).join('')
    t.ok(order.join('').includes(close))
    return close
  })
  t.same(orders.toSorted(), ['abc', 'acb', 'bac', 'bca', 'cab', 'cba'])
})

t.test('they begin a round, end one and stand between the others', async (t) => {
  const places = Array.from(
    { length: 5 }, (_, round) => turnOrder(everybody, round, 3).findIndex((name) => 'abc'.includes(name))
  )
  t.same(places, [0, 1, 2, 3, 4])
})

t.test('without neighbours the list goes round, forwards and backwards', async (t) => {
  t.same([0, 1, 2, 3].map((round) => turnOrder(['x', 'y', 'z'], round, 0).join('')), ['xyz', 'zyx', 'yzx', 'xzy'])
  t.same(turnOrder([], 1, 0), [])
})

t.test('who takes part alone has every turn', async (t) => {
  t.same([0, 1].map((round) => turnOrder(['x'], round, 1)), [['x'], ['x']])
})

t.test('the median is the middle value, or halfway between the two in the middle', async (t) => {
  t.equal(median([3]), 3)
  t.equal(median([9, 1, 4]), 4)
  t.equal(median([10, 1, 4, 2]), 3)
})

t.test('a spread is the median with the interval in which it lies, of few values all, and leaves ' +
  'the list as it was', async (t) => {
  const values = [3, 1, 2]
  t.same(spread(values), { median: 2, min: 1, max: 3 })
  t.same(values, [3, 1, 2])
  // as in tables of the sign test: between the 2nd of 9 values, the 5th of 18, and those before the last ones
  for (const [count, place] of [[8, 1], [9, 2], [18, 5], [36, 12]] as const) {
    const { min, max } = spread(Array.from({ length: count }, (_, index) => index + 1))
    t.same([min, max], [place, count + 1 - place], `${count}`)
  }
})

t.test('the first requests are compared with those of the better hand-written route, start by start', async (t) => {
  const cold = (name: string, ...cpu: number[]): Figures => ({
    ...figures(name), cold: cpu.map((cpuSeconds) => ({ requests: 1500, cpuSeconds }))
  })
  const rows = summarizeCold([cold('service', 3, 1.5), cold('execute', 1.5, 1.5), cold('query', 3, 3)], groups.baseline)
  t.same(rows, [
    { name: 'service, first 1,500', cpu: 15, ratio: { median: 1.5, min: 1, max: 2 } },
    { name: 'execute, first 1,500', cpu: 10, ratio: { median: 1, min: 1, max: 1 } },
    { name: 'query, first 1,500', cpu: 20, ratio: { median: 2, min: 2, max: 2 } }
  ])
})

t.test('a percentile is a value that was seen, at or below which so many lie', async (t) => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1)
  t.equal(percentile(hundred, 0.5), 50)
  t.equal(percentile(hundred, 0.99), 99)
  t.equal(percentile(hundred, 1), 100)
  t.equal(percentile([7], 0.99), 7)
  t.equal(percentile([1, 2, 3], 0), 1)
})

/** A contender whose turns of 1000 requests took so many CPU seconds. */
const figures = (name: string, ...cpu: number[]): Figures => ({
  name,
  peakMemory: 100,
  cold: [],
  turns: cpu.map((cpuSeconds, round) => ({
    requests: 1000,
    seconds: 0.5,
    bad: round,
    latencies: [1, 2 +
    round, 30 + round],
    p50: 0,
    p99: 0,
    cpuSeconds,
    clientCpuSeconds: 0.1
  }))
})
const groups = { baseline: ['execute', 'query'], alternatives: { name: 'bare', of: ['bare a', 'bare b'] } }

t.test('CPU is told for 10,000 requests, it and the rate as the median of the rounds, latencies of all ' +
  'requests together', async (t) => {
  const [row] = summarize([figures('execute', 0.1, 0.3, 0.2)], groups)
  t.match(row, { name: 'execute', cpu: 2, requestsPerSecond: 2000, p50: 3, p99: 32, peakMemory: 100 })
})

t.test('the ratio compares rounds one by one with the better of the hand-written routes', async (t) => {
  const rows = summarize([
    figures('service', 0.1, 0.1, 0.1), figures('execute', 0.5, 0.4, 0.9), figures('query', 0.2, 0.1, 0.4)
  ], groups)
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

const row = (name: string, median: number | undefined): Row => ({
  name,
  requestsPerSecond: 1234.4,
  p50: 1.25,
  p99: 20,
  cpu: 0.456,
  peakMemory: 99.6,
  bad: 0,
  ratio: median === undefined ? undefined : { median, min: median / 2, max: median * 2 }
})
const turn = {
  requests: 1000, seconds: 2, bad: 0, latencies: [1, 2], p50: 1, p99: 2, cpuSeconds: 1, clientCpuSeconds: 0.5
}
const results: Results = {
  stamp: {
    date: '2026-11-20 10:00 UTC',
    commit: 'abc1234',
    machine: '2 cores of <Some> & Other',
    load: 0.125,
    versions: { Node: '24.0.0', mysql2: '3.0.0' },
    effort: '3 rounds'
  },
  workloads: [{
    workload: 'row by key',
    rows: [row('service', 0.5), { ...row('slow', 9), cpu: 12.345 }, row('apart', undefined)],
    cold: [{ name: 'service, first 1,500', cpu: 1.5, ratio: { median: 2, min: 1, max: 3 } }],
    turns: [{ name: 'service', peakMemory: 99.6, turns: [turn], cold: [] }]
  }],
  growth: [{
    title: 'Tables', columns: ['tables', 'ms'], rows: [['10', '500'], ['1000', '900']], summary: 'It starts in 500 ms.'
  }]
}

t.test('the table has a line for everybody, under the machine, the commit and the versions', async (t) => {
  const lines = toReport(results, '##').split('\n').map((line) => line.replace(/ +/g, ' '))
  t.ok(lines.includes('3 rounds. Measured 2026-11-20 10:00 UTC at commit abc1234 on 2 cores of <Some> & Other (load ' +
    'before it 0.13), with Node 24.0.0, mysql2 3.0.0.'))
  t.ok(lines.includes('| service | 1234 | 1.3 | 20.0 | 0.46 | 100 | 0 | 0.50 (0.25-1.00) |'))
  t.ok(lines.includes('| slow | 1234 | 1.3 | 20.0 | 12.3 | 100 | 0 | 9.00 (4.50-18.00) |'))
  t.ok(lines.includes('| apart | 1234 | 1.3 | 20.0 | 0.46 | 100 | 0 | |'))
  t.ok(lines.includes('| service, first 1,500 | | | | 1.50 | | | 2.00 (1.00-3.00) |'))
  t.ok(lines.includes('## Tables'))
  t.ok(lines.includes('| 1000 | 900 |'))
})

t.test('the report tells how busy the load generator was', async (t) => {
  t.match(toReport(results, '##'), 'busy for at most 25 % of the time')
})

t.test('the summary has a line for everybody and a column for every workload', async (t) => {
  const [other] = results.workloads as [Results['workloads'][number]]
  const more = {
    ...results, workloads: [...results.workloads, { ...other, workload: 'insert', rows: [row('service', 2)] }]
  }
  const lines = toSummary(more).split('\n').map((line) => line.replace(/ +/g, ' '))
  t.ok(lines.includes('| CPU s for 10,000 requests (ratio) | row by key | insert |'))
  t.ok(lines.includes('| service | 0.46 (0.50) | 0.46 (2.00) |'))
  t.ok(lines.includes('| slow | 12.3 (9.00) | |'))
  t.ok(lines.includes('| apart | 0.46 | |'))
  t.ok(lines.includes('It starts in 500 ms.'))
})

t.test('every line of a table has as many cells as its head', async (t) => {
  const lines = toReport(results, '##').split('\n').filter((line) => line.startsWith('|'))
  t.same(lines.map((line) => line.split('|').length), [...Array<number>(7).fill(10), ...Array<number>(4).fill(4)])
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
  t.match(
    svg,
    /<title id="title">CPU of service for a request against the better hand-written route: row by key 0\.50<\/title>/
  )
  t.match(svg, /&lt;Some&gt; &amp; Other/)
  t.match(svg, /prefers-color-scheme: dark/)
})

t.test('what stands between the marks is replaced, and nothing else', async (t) => {
  const document = '# Title\n\n<!-- benchmark -->\nold\n<!-- /benchmark -->\n\nMore.\n'
  const once = replaceSection(document, 'new\n', 'benchmark')
  t.equal(once, '# Title\n\n<!-- benchmark -->\n\nnew\n\n<!-- /benchmark -->\n\nMore.\n')
  t.equal(replaceSection(once, 'new', 'benchmark'), once)
})

t.test('a document without marks is refused', async (t) => {
  t.throws(() => replaceSection('# Title', 'new', 'benchmark'), { message: /there is no <!-- benchmark -->/ })
  t.throws(() => replaceSection('<!-- /benchmark --> <!-- benchmark -->', 'new', 'benchmark'))
})
