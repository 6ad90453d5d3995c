/** Databases without a server: their dialect does what a test says. */
import type { Test } from 'tap'
import { createDatabase, type Database } from '../../src/databases/database.ts'
import type { Dialect } from '../../src/dialects/dialect.ts'

async function isNotUsed (): Promise<never> {
  throw new Error('the test says nothing of this call')
}

/** `calls`: what the dialect does; it is MySQL without privileges and risks, and other statements fail. */
export function createFakeDatabase (t: Test, calls: Partial<Dialect>): Database {
  const dialect: Dialect = {
    engine: 'mysql',
    introspect: isNotUsed,
    check: async () => {},
    read: isNotUsed,
    stream: isNotUsed,
    transaction: isNotUsed,
    write: isNotUsed,
    privileges: async () => [],
    findRisks: async () => ({ excess: [], risks: [], enough: [] }),
    findDenied: async () => [],
    close: async () => {},
    ...calls
  }
  const database = createDatabase({
    name: 'shop', dialect, resultLimit: 1e6, refreshInterval: 60_000, onRefreshError: () => {}
  })
  t.teardown(() => database.close())
  return database
}
