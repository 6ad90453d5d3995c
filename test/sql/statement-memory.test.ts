// alone: measures memory
// night: measures memory
/** The memory of kept statements, and of the tables that they are of. */
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Table } from '../../src/catalog/catalog.ts'
import { statementCache } from '../../src/sql/statement-cache.ts'
import { ask, createTable, times } from '../support/wide-tables.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

t.test('statements of 1,000 tables stay within the limit of the process, and are released ' +
  'with their tables', async (t) => {
  const bound = 16 * 1024 * 1024
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  let tables = times(1000, createTable)
  collectGarbage()
  const empty = process.memoryUsage().heapUsed
  for (const table of tables) for (let length = 1; length <= 6; length++) ask(table, length)
  collectGarbage()
  const full = process.memoryUsage().heapUsed
  t.comment(
    `${tables.length} tables: ${empty - before} bytes; statements: ${full - empty} bytes, ` +
      `the last ones counted as ${statementCache.bytes}`
  )
  t.ok(statementCache.bytes <= bound)
  t.ok(full - empty < 2 * bound, `${full - empty} bytes`)
  const last = new WeakRef(tables.at(-2) as Table)
  tables = []
  for (let tries = 0; last.deref() !== undefined && tries < 50; tries++) {
    await sleep(20)
    collectGarbage()
  }
  t.equal(
    last.deref(), undefined, 'a kept statement does not keep its table, so that the memory of earlier catalogs is freed'
  )
})
