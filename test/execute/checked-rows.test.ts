/** Rows of a write that are looked up afterwards: to be returned, or because only they show what a rule forbids. */
import t from 'tap'
import { alone } from '../../src/catalog/catalog.ts'
import type { Database } from '../../src/databases/database.ts'
import type { Executor } from '../../src/dialects/dialect.ts'
import { databaseUnavailable, valueOutOfRange } from '../../src/errors.ts'
import { requireRows } from '../../src/execute/after-write.ts'
import { runInsert } from '../../src/execute/execute-insert.ts'
import { hasKey, readRows, Runner } from '../../src/execute/runner.ts'
import { combine } from '../../src/plan/filters/scope.ts'
import type { InsertPlan } from '../../src/plan/plan.ts'
import { ResponseSink } from '../../src/response/response-sink.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const columns = [mysqlColumn('id', 'int', { nullable: false, optional: false }), mysqlColumn('n', 'int')]
const table = tableOf({ columns, primaryKey: ['id'], uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }] })
const key = columns.slice(0, 1)
const database = {
  dialect: { engine: 'mysql' }, statementCounts: { cached: 0, built: 0 }, resultLimit: 10_000
} as unknown as Database
const runnerOf = (run: Executor['run']): Runner => new Runner(run, database)

/** Each select has so many rows, the last number repeatedly. */
const finding = (...counts: number[]): Runner => runnerOf(async ({ columns }, sink) => {
  const rows = counts.length > 1 ? counts.shift() as number : counts[0] as number
  sink?.begin(columns)
  for (let row = 0; row < rows; row++) sink?.row(columns.map(() => Buffer.from('1')))
  return { rows, changed: 0 }
})

t.test('more rows than keys mean that the key is none any more', async (t) => {
  const read = (counts: number[], keys: bigint[], optional?: number[]): Promise<void> =>
    readRows(finding(...counts), new ResponseSink(columns, 10_000), {
      table, columns, key, keys: keys.map((id) => [id]), optional: optional && new Set(optional)
    })
  await read([2], [1n, 2n])
  await t.rejects(read([3], [1n, 2n]), { name: 'StaleCatalog' })
  await t.rejects(read([2], [1n]), { name: 'StaleCatalog' })
  await read([1, 1, 1], [1n, 1n])
  await t.rejects(read([1, 1, 0], [1n, 2n]), { code: 'NOT_SUPPORTED', details: [{ path: '/returning' }] })
  await read([1, 1, 0], [1n, 2n], [1])
})

t.test('every written row must satisfy the rules', async (t) => {
  const conditions = [1n, 2n, 3n].map((id) => hasKey(key, [id]))
  const plan = { table, afterWrite: { rules: combine('and', []), foreignKeys: [], ofRequest: [] } } as never
  const require = (found: number): Promise<void> => requireRows(runnerOf(async ({ columns }, sink) => {
    sink?.begin(columns)
    sink?.row([Buffer.from(String(found))])
    return { rows: 1, changed: 0 }
  }), plan, conditions, { areNew: false })
  await require(3)
  for (const found of [0, 1, 2, 4]) await t.rejects(require(found), { code: 'PERMISSION_DENIED' }, String(found))
})

t.test('a statement of several rows runs again row by row only if a row was refused', async (t) => {
  const plan = createPlan(
    { verb: 'insert', data: [{ id: 1, n: 1 }, { id: 2, n: 2 }] } as never, alone(table), LIMITS
  ) as InsertPlan
  const sent = async (error: Error): Promise<number> => {
    let statements = 0
    await t.rejects(runInsert({
      plan,
      runner: runnerOf(async () => {
        statements++
        throw error
      })
    }), error)
    return statements
  }
  t.equal(await sent(databaseUnavailable()), 1)
  t.equal(await sent(new Error('a bug')), 1)
  t.equal(await sent(valueOutOfRange()), 2, 'the first row by itself')
})
