/** Before anything is measured: does it do what it is measured for? */
import { deepStrictEqual } from 'node:assert/strict'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { normalizeOrder } from '../database/orders.ts'
import type { Operation, Workload } from '../workloads.ts'
import type { Contender, Running } from './contender.ts'

/** How many of a workload's operations are tried. */
const SAMPLE = 3

/** @throws where the contender lets anybody in, takes a wrong value, or gives or writes other rows than it should */
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
