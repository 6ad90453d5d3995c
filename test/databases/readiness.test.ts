import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createDatabase, type Database } from '../../src/databases/database.ts'
import type { Dialect } from '../../src/dialects/dialect.ts'
import { databaseUnavailable } from '../../src/errors.ts'
import { createReadiness } from '../../src/databases/readiness.ts'

interface Behaviour { introspect?: () => Promise<[]>, check?: () => Promise<void> }

/** A database that does as told, and counts how often it was asked. */
function databaseThat (t: Test, { introspect = async () => [], check = async () => {} }: Behaviour = {}) {
  const asked = { catalog: 0, check: 0 }
  const dialect: Dialect = {
    engine: 'mysql',
    introspect: () => {
      asked.catalog++
      return introspect()
    },
    check: () => {
      asked.check++
      return check()
    },
    read: async () => { throw new Error('never') },
    stream: async () => { throw new Error('never') },
    transaction: async () => { throw new Error('not used') },
    write: async () => { throw new Error('never') },
    privileges: async () => [],
    findRisks: async () => ({ excess: [], risks: [], enough: [] }),
    findDenied: async () => [],
    close: async () => {}
  }
  const database = createDatabase({ name: 'shop', dialect, resultLimit: 1e6, refreshInterval: 60_000, onRefreshError: () => {} })
  t.teardown(() => database.close())
  return { asked, database }
}

const readinessOf = (...databases: Database[]) => createReadiness(() => new Map(databases.map((database, index) => [String(index), database])))

t.test('the service is ready if every database is available, and never without a database', async (t) => {
  const good = databaseThat(t)
  const bad = databaseThat(t, { check: async () => { throw databaseUnavailable() } })
  const unread = databaseThat(t, { introspect: async () => { throw databaseUnavailable() } })
  t.equal(await readinessOf(good.database).isReady(), true)
  t.equal(await readinessOf(good.database, good.database).isReady(), true)
  t.equal(await readinessOf(good.database, bad.database).isReady(), false)
  t.equal(await readinessOf(unread.database).isReady(), false)
  t.equal(await readinessOf().isReady(), false)
})

t.test('a result is cached for one second', async (t) => {
  const { asked, database } = databaseThat(t)
  const { isReady } = readinessOf(database)
  for (let each = 0; each < 100; each++) t.equal(await isReady(), true)
  t.equal(asked.check, 1)
  await sleep(1100)
  t.equal(await isReady(), true)
  t.equal(asked.check, 2)
})

t.test('concurrent checks ask the database once', async (t) => {
  const { asked, database } = databaseThat(t, { check: () => sleep(50) })
  const { isReady } = readinessOf(database)
  t.same(new Set(await Promise.all(Array.from({ length: 100 }, isReady))), new Set([true]))
  t.same(asked, { catalog: 1, check: 1 })
})

t.test('a database that hangs is not ready within a limited time, and is not asked again meanwhile', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { asked, database } = databaseThat(t, { check: () => promise })
  const { isReady } = readinessOf(database)
  t.equal(await Promise.race([isReady(), sleep(5000, 'hangs')]), false)
  await sleep(1100)
  t.equal(await isReady(), false)
  t.equal(asked.check, 1)
  await sleep(1100)
  const answer = isReady()
  resolve()
  t.equal(await answer, true, 'the check of before has come to its end')
  await sleep(1100)
  t.equal(await isReady(), true)
  t.equal(asked.check, 2)
})

t.test('the service is not ready once the shutdown has begun, whatever is cached or being checked', async (t) => {
  const { database } = databaseThat(t, { check: () => sleep(50) })
  const readiness = readinessOf(database)
  const answer = readiness.isReady()
  readiness.end()
  t.equal(await answer, false)
  t.equal(await readiness.isReady(), false)
})
