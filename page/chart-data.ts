/** What of the groups of an answer is drawn: one line or row of bars for each number, or for each value of a second group. */
import { Digits, isList, isObject, memberOf, writeLine, type Json, type JsonObject } from './json.ts'

export interface Series { readonly name: string, readonly values: ReadonlyArray<number | undefined> }

export interface ChartData {
  readonly kind: 'bars' | 'line'
  /** What the numbers are, and what they are for. */
  readonly title: string
  readonly labels: readonly string[]
  readonly series: readonly Series[]
  /** The greatest number of each column of numbers. */
  readonly most: ReadonlyMap<string, number>
}

const MAX_LABELS = 200
const MAX_SERIES = 6

const toNumber = (value: Json | undefined): number | undefined => {
  const text = value instanceof Digits ? value.text : value
  const number = typeof text === 'number' ? text : typeof text === 'string' && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  return Number.isFinite(number) ? number : undefined
}
const toLabel = (value: Json | undefined): string => value === null || value === undefined ? 'NULL' : typeof value === 'string' ? value : writeLine(value)

/** Undefined where there is nothing to draw. */
export function readChart (body: JsonObject, rows: readonly JsonObject[]): ChartData | undefined {
  const [groupBy, aggregates] = [memberOf(body, 'groupBy'), memberOf(body, 'aggregates')]
  const groups = (isList(groupBy) ? groupBy : []).map((entry) => typeof entry === 'string' ? { name: entry, isTime: false } : { name: Object.keys(entry as object)[0] ?? '', isTime: Object.keys(Object.values(entry as object)[0] ?? {})[0]?.startsWith('$') === true })
  const numbers = Object.keys(isObject(aggregates) ? aggregates : {}).filter((name) => rows.some((row) => toNumber(memberOf(row, name)) !== undefined))
  const most = new Map(numbers.map((name) => [name, Math.max(...rows.map((row) => toNumber(memberOf(row, name)) ?? 0))]))
  const time = groups.find(({ isTime }) => isTime)
  const [first = time] = [time ?? groups[0]]
  const [number] = numbers
  if (first === undefined || number === undefined || groups.length > 2) return undefined
  const second = groups.find((group) => group !== first)
  const labels = [...new Set(rows.map((row) => toLabel(memberOf(row, first.name))))]
  // time goes from left to right, whatever the order of the rows
  if (time !== undefined) labels.sort((one, other) => one < other ? -1 : 1)
  const shown = labels.slice(0, MAX_LABELS)
  if (shown.length < 2) return undefined
  const place = new Map(shown.map((label, index) => [label, index]))
  const fill = (chosen: readonly JsonObject[], column: string): Array<number | undefined> => {
    const values = new Array<number | undefined>(shown.length).fill(undefined)
    for (const row of chosen) {
      const index = place.get(toLabel(memberOf(row, first.name)))
      if (index !== undefined) values[index] = toNumber(memberOf(row, column))
    }
    return values
  }
  const series = second === undefined
    ? [{ name: number, values: fill(rows, number) }]
    : [...Map.groupBy(rows, (row) => toLabel(memberOf(row, second.name)))].slice(0, MAX_SERIES).map(([name, own]) => ({ name, values: fill(own, number) }))
  return { kind: time === undefined ? 'bars' : 'line', title: `${number} by ${groups.map(({ name }) => name).join(', ')}`, labels: shown, series, most }
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
