/** Whether other rows have the keys that a write gives, so that rows with those keys are not the written ones. */
import t from 'tap'
import type { Database } from '../../src/databases/database.ts'
import { areTaken, givenKeys, Runner, STEP } from '../../src/execute/runner.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const columns = [mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('code', 'varchar(5)', { nullable: false })]
const table = tableOf({ columns, primaryKey: ['id'] })
const [id, code] = columns as [typeof columns[0] & {}, typeof columns[0] & {}]
const database = {
  dialect: { engine: 'mysql' }, statementCounts: { cached: 0, built: 0 }, resultLimit: 10_000
} as unknown as Database

/** The numbers of the selects, which find those of these keys that are asked for. */
function runnerOver (stored: readonly bigint[]): { runner: Runner, asked: number[] } {
  const asked: number[] = []
  const runner = new Runner(async ({ parameters, columns }, sink) => {
    // the last one is the limit
    const keys = parameters.slice(0, -1)
    asked.push(keys.length)
    sink?.begin(columns)
    for (const key of keys) if (stored.includes(key as bigint)) sink?.row([Buffer.from(String(key))])
    return { rows: 0, changed: 0 }
  }, database)
  return { runner, asked }
}

t.test('a key is taken if another row has it, not if the row itself has', async (t) => {
  const { runner } = runnerOver([1n, 2n])
  const taken = (keys: bigint[], ownKeys?: bigint[]): Promise<boolean> => areTaken(runner, {
    table, key: [id], keys: keys.map((each) => [each]), ...ownKeys && { ownKeys: ownKeys.map((each) => [each]) }
  })
  t.equal(await taken([3n]), false)
  t.equal(await taken([3n, 2n]), true)
  t.equal(await taken([3n, 2n], [2n]), false)
  t.equal(await taken([1n, 2n], [2n]), true)
  t.equal(await taken([]), false)
})

t.test('all keys are looked up, a step at a time, up to the first that is taken', async (t) => {
  const keys = Array.from({ length: 2 * STEP + 1 }, (_, index) => [BigInt(index)])
  for (const [stored, taken, steps] of [
    [[], false, [STEP, STEP, 1]], [[BigInt(2 * STEP)], true, [STEP, STEP, 1]], [[0n], true, [STEP]]
  ] as const) {
    const { runner, asked } = runnerOver(stored)
    t.equal(await areTaken(runner, { table, key: [id], keys }), taken)
    t.same(asked, steps)
  }
})

t.test('the keys of rows are those that the rows give whole', async (t) => {
  const rows = [
    { index: 0, columns: [id, code], parameters: [1n, 'a'] }, { index: 1, columns: [code], parameters: ['b'] },
    { index: 2, columns: [code, id], parameters: [null, 3n] }, { index: 3, columns: [code, id], parameters: ['d', 4n] }
  ]
  t.same(givenKeys([id, code], rows), [[1n, 'a'], [4n, 'd']])
  t.same(givenKeys([id], rows), [[1n], [3n], [4n]])
})
