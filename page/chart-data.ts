/** What of the groups of an answer is drawn: a chart for each number, with one line or row of bars, or one for each value of a second group. */
import { Digits, isList, isObject, memberOf, writeLine, type Json, type JsonObject } from './json.ts'

interface Series { readonly name: string, readonly values: ReadonlyArray<number | undefined> }

export interface ChartData {
  readonly kind: 'bars' | 'line'
  /** What the numbers are, and what they are for. */
  readonly title: string
  readonly labels: readonly string[]
  readonly series: readonly Series[]
  /** What of the rows is not drawn. */
  readonly notes: readonly string[]
}

/** Bars, points of a line, series and charts at most. */
const MAX_BARS = 200
const MAX_POINTS = 1500
const MAX_SERIES = 6
const MAX_CHARTS = 3

const toNumber = (value: Json | undefined): number | undefined => {
  const text = value instanceof Digits ? value.text : value
  const number = typeof text === 'number' ? text : typeof text === 'string' && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  return Number.isFinite(number) ? number : undefined
}
const toLabel = (value: Json | undefined): string => value === null || value === undefined ? 'NULL' : typeof value === 'string' ? value : writeLine(value)

interface Group { readonly name: string, readonly part: string | undefined }

function groupsOf (body: JsonObject): Group[] {
  const groupBy = memberOf(body, 'groupBy')
  return (isList(groupBy) ? groupBy : []).map((entry) => {
    const [[name = '', value] = []] = isObject(entry) ? Object.entries(entry) : [[entry as string]]
    const part = isObject(value) ? Object.keys(value)[0] : undefined
    return { name, part: part?.startsWith('$') === true ? part : undefined }
  })
}

/** The numbers of the rows: the names of the aggregates that are some. */
export function numbersOf (body: JsonObject, rows: readonly JsonObject[]): string[] {
  const aggregates = memberOf(body, 'aggregates')
  return Object.keys(isObject(aggregates) ? aggregates : {}).filter((name) => rows.some((row) => toNumber(memberOf(row, name)) !== undefined))
}

/** The greatest number of each column of numbers. */
export const greatestOf = (names: readonly string[], rows: readonly JsonObject[]): ReadonlyMap<string, number> =>
  new Map(names.map((name) => [name, Math.max(...rows.map((row) => toNumber(memberOf(row, name)) ?? 0))]))

/** `isPart`: there are more groups than these rows. Empty where there is nothing to draw. */
export function readCharts (body: JsonObject, rows: readonly JsonObject[], isPart: boolean): ChartData[] {
  const groups = groupsOf(body)
  const time = groups.find(({ part }) => part !== undefined)
  const first = time ?? groups[0]
  if (first === undefined || groups.length > 2) return []
  const second = groups.find((group) => group !== first)
  const drawn = time === undefined ? rows : rows.filter((row) => memberOf(row, time.name) !== null)
  const found = [...new Set(drawn.map((row) => toLabel(memberOf(row, first.name))))]
  const labels = time === undefined ? found.slice(0, MAX_BARS) : fillTime(found.sort((one, other) => one < other ? -1 : 1), time.part as string).slice(-MAX_POINTS)
  if (labels.length < 2) return []
  const place = new Map(labels.map((label, index) => [label, index]))
  const shared = [
    ...isPart ? ['only the groups of this page'] : [],
    ...drawn.length < rows.length ? [`without the rows that have no ${first.name}`] : [],
    ...time === undefined && found.length > labels.length ? [`the first ${MAX_BARS} of ${found.length}`] : []
  ]
  const aggregates = memberOf(body, 'aggregates')
  return numbersOf(body, rows).slice(0, MAX_CHARTS).map((number): ChartData => {
    // no rows are a count and a sum of 0, unless rows of the answer may be missing
    const call = Object.keys(memberOf(aggregates, number) as JsonObject).find((key) => key.startsWith('$')) ?? ''
    const nothing = ['$count', '$countDistinct', '$sum'].includes(call) && !isPart && memberOf(body, 'having') === undefined ? 0 : undefined
    const fill = (chosen: readonly JsonObject[]): Array<number | undefined> => {
      const values = new Array<number | undefined>(labels.length).fill(nothing)
      for (const row of chosen) {
        const index = place.get(toLabel(memberOf(row, first.name)))
        if (index !== undefined) values[index] = toNumber(memberOf(row, number))
      }
      return values
    }
    const all = second === undefined ? [{ name: number, values: fill(drawn) }] : [...Map.groupBy(drawn, (row) => toLabel(memberOf(row, second.name)))].map(([name, own]) => ({ name, values: fill(own) }))
    const sum = ({ values }: Series): number => values.reduce<number>((total, value) => total + Math.abs(value ?? 0), 0)
    const series = all.length > MAX_SERIES ? all.toSorted((one, other) => sum(other) - sum(one)).slice(0, MAX_SERIES) : all
    const notes = [...shared, ...series.length < all.length ? [`the ${series.length} greatest of ${all.length} ${second?.name ?? ''}`] : []]
    return { kind: time === undefined ? 'bars' : 'line', title: `${number} by ${[first, ...second === undefined ? [] : [second]].map(({ name }) => name).join(', ')}`, labels, series, notes }
  })
}

const [HOUR, DAY] = [3_600_000, 86_400_000]
const two = (value: number): string => String(value).padStart(2, '0')
/** The Thursday of a week has its year. */
const thursday = (at: Date): Date => new Date(at.getTime() + (4 - (at.getUTCDay() || 7)) * DAY)

/** How the texts of a part are read, written and counted on. */
const STEPS: Readonly<Record<string, { read (text: string): number, write (at: Date): string, next (at: Date): number }>> = {
  $year: { read: (text) => Date.UTC(Number(text)), write: (at) => String(at.getUTCFullYear()), next: (at) => Date.UTC(at.getUTCFullYear() + 1) },
  $month: { read: (text) => Date.parse(`${text}-01T00:00Z`), write: (at) => at.toISOString().slice(0, 7), next: (at) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1) },
  $week: {
    read: (text) => {
      const [year = '', week = ''] = text.split('-W')
      return thursday(new Date(`${year}-01-04T00:00Z`)).getTime() + (Number(week) - 1) * 7 * DAY
    },
    write: (at) => `${at.getUTCFullYear()}-W${two(1 + Math.floor((at.getTime() - Date.UTC(at.getUTCFullYear())) / DAY / 7))}`,
    next: (at) => at.getTime() + 7 * DAY
  },
  $date: { read: (text) => Date.parse(`${text}T00:00Z`), write: (at) => at.toISOString().slice(0, 10), next: (at) => at.getTime() + DAY },
  $hour: { read: (text) => Date.parse(`${text}:00Z`), write: (at) => at.toISOString().slice(0, 13), next: (at) => at.getTime() + HOUR }
}

/** The parts of time from the first to the last one, also those without rows: an axis of time has no gaps. As they are, where that would be too many. */
function fillTime (labels: readonly string[], part: string): readonly string[] {
  const step = STEPS[part]
  const [first, last] = [labels[0], labels.at(-1)].map((label) => step?.read(label ?? '') ?? NaN) as [number, number]
  if (step === undefined || Number.isNaN(first) || Number.isNaN(last)) return labels
  const all: string[] = []
  for (let at = first; at <= last; at = step.next(new Date(at))) {
    if (all.length === MAX_POINTS) return labels
    all.push(step.write(new Date(at)))
  }
  // such as dates that are none
  const known = new Set(all)
  return labels.every((label) => known.has(label)) ? all : labels
}

/** Round numbers for an axis that begins at 0, or below the least value. */
export function ticksOf (least: number, most: number): number[] {
  const span = Math.max(most, 0) - Math.min(least, 0) || 1
  const raw = span / 4
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 2.5, 5, 10].find((each) => each * power >= raw) ?? 10) * power
  const from = Math.floor(Math.min(least, 0) / step)
  const to = Math.ceil(Math.max(most, 0) / step) || 1
  return Array.from({ length: to - from + 1 }, (_, index) => Number(((from + index) * step).toPrecision(12)))
}
