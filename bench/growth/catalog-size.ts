import type { Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import { createOrders, fillOrders } from '../database/orders.ts'
import { createDatabase, type BenchDatabase } from '../database/start.ts'
import { memory } from '../measure/process.ts'
import { median } from '../measure/statistics.ts'
import type { GrowthResult } from '../report/results.ts'

/** The numbers of tables in the summary. */
const TOLD = ['10', '1000']

/** The time from the start of the process to its first row, and the memory at that time, by the number of tables in the database. */
export async function growCatalog (database: BenchDatabase, stage: Stage, sizes: readonly number[], starts: number): Promise<GrowthResult> {
  const name = 'catalog'
  const databaseUrl = await createDatabase(database, name)
  await database.connection.query(createOrders(`${name}.orders`))
  await database.connection.query(fillOrders(`${name}.orders`, 1, 100))
  const rows: string[][] = []
  let tables = 1
  for (const size of sizes) {
    for (; tables < size; tables++) await database.connection.query(createOrders(`${name}.orders_${tables}`))
    const seen = await startAgain({ ...stage, databaseUrl }, name, starts)
    rows.push([String(size), (median(seen.map(({ seconds }) => seconds)) * 1000).toFixed(0), median(seen.map(({ megabytes }) => megabytes)).toFixed(0)])
  }
  return {
    title: 'Tables in the database: start to the first answer',
    columns: ['tables', 'ms', 'memory MB'],
    rows,
    summary: `From the start of the process to its first answer: ${rows.filter(([size]) => TOLD.includes(size as string)).map(([size, ms]) => `${ms} ms with ${size} tables`).join(', ')}.`
  }
}

async function startAgain (stage: Stage, name: string, starts: number): Promise<Array<{ seconds: number, megabytes: number }>> {
  const seen = []
  for (let start = 0; start < starts; start++) {
    const running = await serviceContender(name).start(stage)
    seen.push({ seconds: running.startSeconds, megabytes: memory(running.pid, 'VmRSS') })
    await running.stop()
  }
  return seen
}
