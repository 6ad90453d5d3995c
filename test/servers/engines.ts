import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { obtain } from './obtain.ts'
import type { Engine } from './answer.ts'

export type { Engine } from './answer.ts'

let own: Promise<Engine[]> | undefined

/**
 * The servers to test with. `npm test` has started them and says so in TEST_ENGINES; a test file run
 * by itself (`npx tap test/x.test.ts`) starts one of its own, which ends with this process.
 */
export async function engines (): Promise<Engine[]> {
  const announced = process.env.TEST_ENGINES
  if (announced !== undefined) return JSON.parse(announced) as Engine[]
  own ??= obtain([{ kind: 'mariadb' }, { kind: 'mysql' }]).then(({ engine }) => [engine])
  return await own
}

/** What a test of every engine runs on. */
export async function enginesAndSqlite (only?: readonly string[]): Promise<ReadonlyArray<Engine | 'sqlite'>> {
  const all = ['sqlite' as const, ...await engines()]
  return all.filter((engine) => only?.includes(typeof engine === 'string' ? engine : engine.name) !== false)
}

export interface TestDatabase {
  /** The URL of the server with this database as its path. */
  url: string
  name: string
  /** Runs one statement on the connection that belongs to this database, as `root`, with the server's defaults. */
  query: (sql: string, values?: unknown[]) => Promise<any[]>
  drop: () => Promise<void>
}

/**
 * A database that no other test has. Its connection gives dates as text and whole numbers beyond
 * 2^53 as text, so that a test sees what is stored and not what JavaScript makes of it.
 */
export async function createTestDatabase (engine: Engine, sql: string[] = []): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString('hex')}`
  const connection = await createConnection({
    uri: engine.url, charset: 'utf8mb4', supportBigNumbers: true, dateStrings: true
  })
  const query = async (statement: string, values: unknown[] = []) =>
    (await connection.query(statement, values))[0] as any[]
  const drop = async () => {
    await query('SET SESSION lock_wait_timeout = 10') // of a forgotten transaction: an error, not a year of waiting
    await query(`DROP DATABASE IF EXISTS ${name}`)
    await connection.end()
  }
  try {
    await query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
    await query(`USE ${name}`)
    for (const statement of sql) await query(statement)
  } catch (error) {
    await drop()
    throw error
  }
  return { url: `${engine.url}/${name}`, name, query, drop }
}
