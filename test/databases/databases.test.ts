/**
 * Databases by dialects that do as told: whether they are ready, how they open and close, and what is known to be
 * broken.
 */
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { TableFacts } from '../../src/catalog/catalog.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { BrokenDefinitions, toUnresolved } from '../../src/databases/stale-catalog.ts'
import { allEnded, type Database } from '../../src/databases/database.ts'
import { createReadiness } from '../../src/databases/readiness.ts'
import { openDatabases } from '../../src/databases/open.ts'
import { createShop } from '../../src/demo/shop.ts'
import { StaleCatalog } from '../../src/dialects/dialect.ts'
import { databaseUnavailable } from '../../src/errors.ts'
import { movableClock } from '../support/clock.ts'
import { createFakeDatabase } from '../support/fake-database.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

interface Behaviour { introspect?: () => Promise<[]>, check?: () => Promise<void> }

/** A database that does as told, and counts how often it was asked. */
function databaseThat (t: Test, { introspect = async () => [], check = async () => {} }: Behaviour = {}) {
  const asked = { catalog: 0, check: 0 }
  const database = createFakeDatabase(t, {
    introspect: () => {
      asked.catalog++
      return introspect()
    },
    check: () => {
      asked.check++
      return check()
    }
  })
  return { asked, database }
}

const readinessOf = (...databases: Database[]) =>
  createReadiness(() => new Map(databases.map((database, index) => [String(index), database])))

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
  const clock = movableClock(t)
  const { isReady } = readinessOf(database)
  for (let each = 0; each < 100; each++) t.equal(await isReady(), true)
  clock.pass(900)
  t.equal(await isReady(), true)
  t.equal(asked.check, 1)
  clock.pass(101)
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
  const clock = movableClock(t)
  const { isReady } = readinessOf(database)
  // the timer of a check keeps no process, and nothing else here does
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => { clearInterval(alive) })
  t.equal(await isReady(), false)
  clock.pass(1001)
  t.equal(await isReady(), false)
  t.equal(asked.check, 1)
  clock.pass(1001)
  const answer = isReady()
  resolve()
  t.equal(await answer, true, 'the check of before has come to its end')
  clock.pass(1001)
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

/** What the MySQL dialects of `openDatabases` do. */
const mysql = { introspect: async (): Promise<TableFacts[]> => [], closed: 0 }
const REPLACED = 'replaced:mysql'
Object.assign(globalThis, {
  [REPLACED]: () => ({ introspect: () => mysql.introspect(), close: async () => { mysql.closed++ } })
})
const hooks = registerHooks({
  resolve: (specifier, context, next) => specifier.endsWith('/mysql/dialect.ts') &&
    context.parentURL?.endsWith('/src/databases/open.ts') === true
    ? { url: REPLACED, format: 'module', shortCircuit: true }
    : next(specifier, context),
  load: (url, context, next) => url === REPLACED
    ? { format: 'module', shortCircuit: true, source: `export const createMysqlDialect = globalThis['${REPLACED}']` }
    : next(url, context)
})
t.teardown(() => hooks.deregister())

/** `openDatabases` with MySQL dialects that do as told, and a log to read. */
function withMysql (introspect: () => Promise<TableFacts[]>) {
  Object.assign(mysql, { introspect, closed: 0 })
  const lines: string[] = []
  const { log } = Fastify({ logger: { stream: { write: (line: string) => { lines.push(line) } } } })
  const open = (urls: Record<string, string>) => openDatabases(resolveSettings({
    databases: Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }]))
  }).databases, { log })
  return { open, lines }
}

t.test('SQLite files that cannot be opened are reported together, and open databases are closed again', async (t) => {
  const folder = t.testdir()
  createShop(join(folder, 'good.db'))
  writeFileSync(join(folder, 'bad.db'), 'no database'.repeat(100))
  const { open } = withMysql(async () => { throw new Error('never asked') })
  const error = await t.rejects(open({
    good: `sqlite:${folder}/good.db`,
    server: 'mysql://h/d',
    bad: `sqlite:${folder}/bad.db`,
    none: `sqlite:${folder}/none.db`
  })) as unknown as Error
  t.match(error, {
    code: 'ROW_QUERY_INVALID_CONFIG',
    errors: [
      /^databases\.bad\.url: .*bad\.db cannot be opened: file is not a database$/,
      /^databases\.none\.url: .*none\.db does not exist$/
    ]
  })
  t.equal(mysql.closed, 1)
})

t.test('a bug while reading a catalog does not stop the start, and is logged without its message', async (t) => {
  const { open, lines } = withMysql(async () => { throw new TypeError('with a value in it') })
  t.same([...(await open({ shop: 'mysql://h/d' })).keys()], ['shop'])
  t.match(lines, [/"database":"shop","code":"INTERNAL","reason":"TypeError","msg":"the catalog could not be read"/])
  t.notMatch(lines.join(''), 'with a value')
})

t.test('a catalog that takes longer than Fastify would wait does not stop the start; the first ' +
  'request waits for it', async (t) => {
  const { promise, resolve } = Promise.withResolvers<TableFacts[]>()
  const { open, lines } = withMysql(() => promise)
  const databases = await open({ shop: 'mysql://h/d' })
  const answer = databases.get('shop')?.getCatalog() as Promise<unknown>
  t.equal(await Promise.race([answer, sleep(100, 'waits')]), 'waits')
  resolve([])
  t.match(await answer, { tables: new Map() }, 'answered out of the catalog, which has no table')
  t.same(lines, [])
})

t.test('closing waits until no request runs, also one that began meanwhile', async (t) => {
  const running = new Set<Promise<void>>()
  const begin = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    running.add(promise)
    return () => {
      running.delete(promise)
      resolve()
    }
  }
  await allEnded(running, 60_000)
  const endFirst = begin()
  const ended = allEnded(running, 60_000)
  const endSecond = begin()
  endFirst()
  t.equal(await Promise.race([ended, sleep(10, 'it waits')]), 'it waits')
  endSecond()
  await ended
})

t.test('closing waits once for what has ended and is still listed', async (t) => {
  const running = new Set([Promise.resolve(), Promise.reject(new Error('of a request'))])
  // the loop would not end, nor let a time limit pass
  let looks = 0
  const { size } = Object.getOwnPropertyDescriptors(Set.prototype)
  Object.defineProperty(running, 'size', {
    get () {
      if (++looks > 5) throw new Error('it looks again and again')
      return size.get?.call(running)
    }
  })
  await allEnded(running, 60_000)
  t.equal(running.size, 0)
})

t.test('closing does not wait longer than its time limit', async () => {
  await allEnded(new Set([new Promise(() => {})]), 20)
})

const table = (name: string, declaration = 'int') => tableOf({ name, columns: [mysqlColumn('a', declaration)] })

t.test('a broken definition is known for five seconds, for the same table with the same error', async (t) => {
  let now = 0
  const broken = new BrokenDefinitions(() => now)
  t.notOk(broken.has([table('t')], 'why'))
  broken.note([table('t')], 'why')
  t.ok(broken.has([table('t')], 'why'), 'another reading that says the same')
  t.notOk(broken.has([table('t')], 'another'))
  t.notOk(broken.has([table('t', 'bigint')], 'why'))
  broken.note([table('t')], 'another')
  now = 4999
  t.ok(broken.has([table('t')], 'why'))
  now = 5000
  t.notOk(broken.has([table('t')], 'why'))
})

t.test('an error without a reason is not remembered', async (t) => {
  const broken = new BrokenDefinitions()
  broken.note([table('t')], undefined)
  t.notOk(broken.has([table('t')], undefined))
})

t.test('the latest thousand tables are remembered', async (t) => {
  const broken = new BrokenDefinitions()
  for (let index = 0; index <= 1000; index++) broken.note([table(`t${index}`)], 'why')
  t.notOk(broken.has([table('t0')], 'why'))
  t.ok(broken.has([table('t1')], 'why'))
  t.ok(broken.has([table('t1000')], 'why'))
})

t.test('an error that may pass is permanent once it has lasted for four seconds, for the same table ' +
  'with the same error', async (t) => {
  let now = 0
  const broken = new BrokenDefinitions(() => now)
  const leftAfter = (milliseconds: number, ...args: [name?: string, declaration?: string, reason?: string]): number => {
    const [name = 't', declaration = 'int', reason = 'why'] = args
    now += milliseconds
    return broken.suspect([table(name, declaration)], reason)
  }
  t.same([leftAfter(0), leftAfter(1000), leftAfter(3000)], [4000, 3000, 0])
  t.same([leftAfter(0, 't', 'int', 'another'), leftAfter(0, 'u')], [4000, 4000])
  t.ok(leftAfter(14_999) < 0)
  t.equal(leftAfter(15_000), 4000, 'it has begun anew')
  t.equal(leftAfter(1000, 't', 'bigint'), 4000, 'the table has changed')
  for (let index = 0; index < 1000; index++) leftAfter(0, `t${index}`)
  t.equal(leftAfter(4000, 't', 'bigint'), 4000, 'of a thousand others it is forgotten')
})

t.test('the time that is left does not depend on the time of the clock', async (t) => {
  const clocks = Array.from({ length: 1000 }, (_, index) => 7 * index + index / 3)
  t.same(clocks.filter((now) => new BrokenDefinitions(() => now).suspect([table('t')], 'why') !== 4000), [])
})

t.test('a table that was rebuilt is no broken definition', async (t) => {
  const broken = new BrokenDefinitions()
  const tables = [table('t')]
  const answer = (isRebuilt: boolean) => toUnresolved({ broken, catalog: undefined }, {
    stale: new StaleCatalog('why', { isRebuilt }), tables
  }, tables)
  t.match(answer(true), { code: 'DATABASE_UNAVAILABLE', reason: 'why' })
  t.notOk(broken.has(tables, 'why'))
  t.match(answer(false), { code: 'BROKEN_DEFINITION', reason: 'why' })
})

t.test('a column of another type than in the catalog, which has not changed, is no broken definition', async (t) => {
  const broken = new BrokenDefinitions()
  const tables = [table('t')]
  t.match(toUnresolved({ broken, catalog: undefined }, { stale: new StaleCatalog(), tables }, tables), {
    code: 'DATABASE_UNAVAILABLE', reason: 'a column has another type than in the catalog'
  })
})
