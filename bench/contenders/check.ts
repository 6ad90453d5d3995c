/** Checks, before the measurement, that a contender works correctly. */
import { deepStrictEqual } from 'node:assert/strict'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { normalizeOrder } from '../database/orders.ts'
import type { Operation, Workload } from '../workloads.ts'
import type { Contender, Running } from './contender.ts'

/** The number of operations of a workload that are checked. */
const SAMPLE = 3

/** @throws if the contender accepts a request without a token or with an invalid value, or returns or writes wrong rows */
export async function checkContender ({ withoutRows }: Contender, running: Running, { operations }: Workload, database: Connection): Promise<void> {
  for (const status of await running.refusals()) {
    if (status < 400 || status > 499) throw new Error(`it should have refused a request and answered ${status}`)
  }
  for (const operation of operations.slice(0, SAMPLE)) {
    const rows = await running.run(operation)
    if (withoutRows) continue
    const { actual, expected } = await compare(operation, rows, database)
    deepStrictEqual(actual, expected)
  }
}

async function compare (operation: Operation, rows: Array<Record<string, unknown>>, database: Connection): Promise<{ actual: unknown, expected: unknown }> {
  const read = async (sql: string, values: number[] = []): Promise<unknown[]> =>
    (await database.query<RowDataPacket[]>(sql, values))[0].map(normalizeOrder)
  switch (operation.kind) {
    case 'key': return { actual: rows.map(normalizeOrder), expected: await read('select * from orders where id = ?', [operation.id]) }
    case 'list': return { actual: rows.map(normalizeOrder), expected: await read('select * from orders where id > ? order by id limit ?', [operation.after, operation.limit]) }
    case 'update': {
      const { id, status, quantity } = operation
      const [stored] = await read('select * from orders where id = ?', [id]) as object[]
      return { actual: stored, expected: { ...stored, status, quantity } }
    }
    case 'insert': {
      const [stored] = await read('select * from new_orders order by id desc limit 1') as object[]
      return { actual: stored, expected: { ...stored, ...operation.order, ordered_at: operation.order.ordered_at + 'Z' } }
    }
  }
}
