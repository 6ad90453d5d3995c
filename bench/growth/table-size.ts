import type { Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import { createOrders, fillOrders } from '../database/orders.ts'
import { createDatabase, type BenchDatabase } from '../database/start.ts'
import type { Effort, Entry } from '../measure/rounds.ts'
import type { GrowthResult } from '../report/results.ts'
import { byKey } from '../workloads.ts'
import { measureConditions } from './conditions.ts'

/** A row by key: the cost should not depend on the size of the table. */
export async function growTable (database: BenchDatabase, stage: Stage, sizes: readonly number[], effort: Effort): Promise<GrowthResult> {
  const entries: Entry[] = []
  for (const size of sizes) {
    const name = `rows_${size}`
    const databaseUrl = await createDatabase(database, name)
    await database.connection.query(createOrders(`${name}.orders`))
    await database.connection.query(fillOrders(`${name}.orders`, 1, size))
    entries.push({ name: size.toLocaleString('en'), contender: serviceContender(name), stage: { ...stage, databaseUrl }, workload: byKey(size) })
  }
  return measureConditions({ title: 'Rows in the table (row by key)', what: 'rows', entries }, effort)
}
