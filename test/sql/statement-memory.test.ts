// alone: measures memory
// night: measures memory
/** The memory of kept statements, and of the tables that they are of. */
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Table } from '../../src/catalog/catalog.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { statementCache, createStatementCache, type CachedStatement, type StatementCounts } from '../../src/sql/statement-cache.ts'
import { compilePlan, LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const times = <T> (count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))
const createTable = (): Table => tableOf({ columns: times(50, (index) => mysqlColumn(index === 0 ? 'id' : `column_${index}`, 'int')) })
const ask = (table: Table, values: number, use?: StatementCounts): void => { compilePlan(createPlan({ verb: 'select', filters: { id: times(values, (id) => id) } }, alone(table), LIMITS), 'mysql', use) }
const statement = (length: number): CachedStatement => ({ sql: 'x'.repeat(length), pieces: ['x'] })

t.test('statements of 1,000 tables stay within the limit of the process, and are released with their tables', async (t) => {
  const bound = 16 * 1024 * 1024
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  let tables = times(1000, createTable)
  collectGarbage()
  const empty = process.memoryUsage().heapUsed
  for (const table of tables) for (let length = 1; length <= 6; length++) ask(table, length)
  collectGarbage()
  const full = process.memoryUsage().heapUsed
  t.comment(`${tables.length} tables: ${empty - before} bytes; ${statementCache.size} statements: ${full - empty} bytes, counted as ${statementCache.bytes}`)
  t.ok(statementCache.bytes <= bound && statementCache.bytes > bound * 0.9, 'the bound is used')
  t.ok(statementCache.size < 20_000)
  // what each table has for itself, columns by place above all, is part of it
  t.ok(full - empty < 2 * bound, `${full - empty} bytes`)
  tables = []
  // the last one may still be in a register
  const one = 100_000
  for (let tries = 0; statementCache.bytes > one && tries < 50; tries++) {
    collectGarbage()
    await sleep(20)
  }
  t.ok(statementCache.bytes < one, `${statementCache.bytes} bytes`)
})

t.test('a kept statement does not keep its table, so that the memory of earlier catalogs is freed', async (t) => {
  const size = 250 + 2 + 2000 + 40
  const cache = createStatementCache<CachedStatement & { table: object }>(2 * size)
  const fill = (count: number): void => {
    for (let each = 0; each < count; each++) {
      const table = {}
      cache.forTable(table).set('a', { ...statement(1000), table })
    }
  }
  fill(2)
  t.equal(cache.bytes, 2 * size)
  await sleep(1)
  collectGarbage()
  fill(1) // before the cache has learned of the collection
  t.ok(cache.bytes <= 2 * size)
  for (let tries = 0; cache.bytes > 0 && tries < 50; tries++) {
    await sleep(20)
    collectGarbage()
  }
  t.same([cache.bytes, cache.size], [0, 0])
})
