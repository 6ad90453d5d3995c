/** Groups: each number with a bar in its cell, and a chart beside the table. */
import { useMemo } from 'preact/hooks'
import { Chart } from './chart.tsx'
import { greatestOf, numbersOf, readCharts } from './chart-data.ts'
import { Grid } from './grid.tsx'
import { memberOf, writeLine, type Json, type JsonObject } from './json.ts'
import { readOrder } from './order.ts'
import { columnsOf } from './rows.ts'
import type { Table } from './table.ts'

interface SummaryProps {
  readonly table: Table
  readonly body: JsonObject
  readonly rows: readonly JsonObject[]
  /** Whether there are more groups than these rows. */
  readonly isPart: boolean
  readonly onOrder: (name: string, isAdded: boolean) => void
}

export function Summary ({ table, body, rows, isPart, onOrder }: SummaryProps) {
  const columns = useMemo(() => columnsOf(undefined, body, rows), [rows])
  const greatest = useMemo(() => greatestOf(numbersOf(body, rows), rows), [rows])
  const charts = useMemo(() => readCharts(body, rows, isPart), [rows])
  const draw = (name: string, value: Json | undefined) => {
    const most = greatest.get(name)
    const number = Number(typeof value === 'string' ? value : value === undefined || value === null ? NaN : writeLine(value))
    if (most === undefined || !Number.isFinite(number) || number < 0 || most <= 0) return undefined
    return <span class='measured'><span class='measure' aria-hidden='true' style={{ width: `${Math.round(100 * number / most)}%` }} /><span>{typeof value === 'string' ? value : writeLine(value as Json)}</span></span>
  }
  return (
    <div class='groups'>
      <Grid label={`Rows of ${table.name}`} rows={rows} columns={columns} order={readOrder(body)} onOrder={memberOf(body, 'verb') === 'select' ? onOrder : undefined} draw={draw} />
      {charts.length > 0 && <div class='charts'>{charts.map((data) => <Chart key={data.title} data={data} name={`${table.name} ${data.title}`.replaceAll(/\W+/g, '-')} isOneOfSeveral={charts.length > 1} />)}</div>}
    </div>
  )
}
