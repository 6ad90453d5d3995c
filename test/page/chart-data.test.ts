/** What the page draws of the groups of an answer. */
import t from 'tap'
import { readCharts } from '../../page/chart-data.ts'
import type { JsonObject } from '../../page/json.ts'

/** The labels and the values of the charts of a summary by a part of time. */
function draw (
  part: string, rows: Array<readonly [time: string | number | null, value: number | string]>,
  { call = '$count', isPart = false, ...more }: { call?: string, isPart?: boolean, having?: JsonObject } = {}
) {
  const body = {
    verb: 'select', groupBy: [{ time: { [part]: 'at' } }], aggregates: { n: { [call]: 'x' } }, ...more
  } as JsonObject
  return readCharts(body, rows.map(([time, n]) => ({ time, n })), isPart).map(
    ({ labels, series, notes }) => ({ labels, values: series[0]?.values, notes })
  )[0]
}

t.test('an axis of time has no gaps, whatever the order of the rows', async (t) => {
  t.same(draw('$month', [['2026-02', 5], ['2025-11', 3]])?.labels, ['2025-11', '2025-12', '2026-01', '2026-02'])
  t.same(draw('$week', [
    ['2020-W52', 1], ['2021-W02', 1]
  ])?.labels, ['2020-W52', '2020-W53', '2021-W01', '2021-W02'], 'a year of 53 weeks')
  t.same(draw('$week', [['2021-W51', 1], ['2022-W01', 1]])?.labels, ['2021-W51', '2021-W52', '2022-W01'])
  t.same(draw('$date', [['2024-02-28', 1], ['2024-03-01', 1]])?.labels, ['2024-02-28', '2024-02-29', '2024-03-01'])
  t.same(draw('$hour', [['2026-11-23T22', 1], ['2026-11-24T01', 1]])?.labels, [
    '2026-11-23T22', '2026-11-23T23', '2026-11-24T00', '2026-11-24T01'
  ])
  t.same(draw('$year', [[2024, 1], [2026, 1]])?.labels, ['2024', '2025', '2026'])
  t.same(draw('$date', [
    ['0000-00-00', 1], ['2026-01-01', 1]
  ])?.labels, ['0000-00-00', '2026-01-01'], 'a date that is none has no place on it')
  t.same(draw('$hour', [
    ['1970-01-01T00', 1], ['2026-01-01T00', 1]
  ])?.labels, ['1970-01-01T00', '2026-01-01T00'], 'nor have too many')
  t.match(draw('$month', [[null, 5], ['2026-01', 1], ['2026-02', 2]]), {
    labels: ['2026-01', '2026-02'], notes: ['without the rows that have no time']
  })
})

t.test('no rows are a count and a sum of 0, and no average; where rows may be missing, they are nothing', async (t) => {
  const rows: Array<[string, string]> = [['2026-01', '10.50'], ['2026-03', '4']]
  t.same(draw('$month', rows, { call: '$sum' })?.values, [10.5, 0, 4])
  t.same(draw('$month', rows, { call: '$avg' })?.values, [10.5, undefined, 4])
  t.same(draw('$month', rows, { having: { n: { $gt: 1 } } })?.values, [10.5, undefined, 4])
  t.match(draw('$month', rows, { isPart: true }), {
    values: [10.5, undefined, 4], notes: ['only the groups of this page']
  })
})

t.test('each number has a chart, and each value of a second group a series', async (t) => {
  const body: JsonObject = {
    groupBy: ['status', { month: { $month: 'at' } }],
    aggregates: {
      n: { $count: '*' }, sum: { $sum: 'total' }, note: { $max: 'note' }
    }
  }
  const charts = readCharts(body, [
    { status: 'paid', month: '2026-01', n: 1, sum: '2.50', note: 'a' },
    { status: 'new', month: '2026-02', n: 3, sum: '4.00', note: 'b' }
  ], false)
  t.same(charts.map(({ title, kind, series }) => [title, kind, series]), [
    ['n by month, status', 'line', [{ name: 'paid', values: [1, 0] }, { name: 'new', values: [0, 3] }]],
    ['sum by month, status', 'line', [{ name: 'paid', values: [2.5, 0] }, { name: 'new', values: [0, 4] }]]
  ], 'a text is no number')
  const many = readCharts({ groupBy: [{ month: { $month: 'at' } }, 'sku'], aggregates: { n: { $count: '*' } } },
    Array.from(
      { length: 20 }, (_, index) => ({ month: `2026-0${index % 2 + 1}`, sku: `sku ${Math.floor(index / 2)}`, n: index })
    ), false)
  t.match(many[0], {
    series: [9, 8, 7, 6, 5, 4].map((index) => ({ name: `sku ${index}` })), notes: ['the 6 greatest of 10 sku']
  })
  t.match(readCharts(
    { groupBy: ['status'], aggregates: { n: { $count: '*' } } }, [{ status: 'new', n: 1 }, { status: null, n: 2 }],
    false
  )[0], { kind: 'bars', labels: ['new', 'NULL'] })
  t.same(readCharts({ aggregates: { n: { $count: '*' } } }, [{ n: 1 }], false), [])
})
