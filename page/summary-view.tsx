/** Groups: each number with a bar in its cell, and a chart beside the table. */
import { useMemo } from 'preact/hooks'
import { Chart } from './chart.tsx'
import { readChart } from './chart-data.ts'
import { Grid } from './grid.tsx'
import { memberOf, writeLine, type Json, type JsonObject } from './json.ts'
import { readOrder } from './order.ts'
import { columnsOf } from './rows.ts'
import type { Table } from './table.ts'

interface SummaryProps {
  readonly table: Table
  readonly body: JsonObject
  readonly rows: readonly JsonObject[]
  readonly onOrder: (name: string, isAdded: boolean) => void
}

export function Summary ({ table, body, rows, onOrder }: SummaryProps) {
  const columns = useMemo(() => columnsOf(undefined, body, rows), [rows])
  const data = useMemo(() => readChart(body, rows), [rows])
  const draw = (name: string, value: Json | undefined) => {
    const most = data?.most.get(name)
    const number = Number(typeof value === 'string' ? value : value === undefined || value === null ? NaN : writeLine(value))
    if (most === undefined || !Number.isFinite(number) || number < 0 || most <= 0) return undefined
    return <span class='measured'><span class='measure' aria-hidden='true' style={{ width: `${Math.round(100 * number / most)}%` }} /><span>{typeof value === 'string' ? value : writeLine(value as Json)}</span></span>
  }
  return (
    <div class='groups'>
      <Grid label={`Rows of ${table.name}`} rows={rows} columns={columns} order={readOrder(body)} onOrder={memberOf(body, 'verb') === 'select' ? onOrder : undefined} draw={draw} />
      {data !== undefined && <Chart data={data} name={table.name} />}
    </div>
  )
}
