import t, { type Test } from 'tap'
import { createMysqlPool, type MysqlPool, type PoolLimits } from '../../../../src/dialects/mysql/pool/pool.ts'
import type { Session } from '../../../../src/dialects/mysql/connection/session.ts'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { allConnections } from '../../../support/connections.ts'
import { addressOf, run } from '../../../support/mysql.ts'
import { until } from '../../../support/until.ts'
import { createUser } from '../../../support/users.ts'

const STATEMENT_TIMEOUT = 1000

function createPool (t: Test, url: string, limits: Partial<PoolLimits>): MysqlPool {
  const pool = createMysqlPool(addressOf(url), { size: 1, queue: 10, wait: 5000, ...limits }, STATEMENT_TIMEOUT)
  t.teardown(() => pool.close())
  return pool
}
/** `acquire` gives what it has at once, and a promise of what it has not. */
const acquire = async (pool: MysqlPool): Promise<Session> => pool.acquire()
const ask = async ({ connection }: Session, sql: string): Promise<Record<string, unknown>> => (await run(connection, sql) as Array<Record<string, unknown>>)[0] as Record<string, unknown>

for (const engine of await engines()) {
  t.test(`sessions of ${engine.name}`, async (t) => {
    const database = await createTestDatabase(engine)
    t.teardown(() => database.drop())

    t.test('have the settings of the service', async (t) => {
      const pool = createPool(t, database.url, {})
      const session = await acquire(pool)
      const settings = await ask(session, 'select @@sql_mode as mode, @@time_zone as zone, @@autocommit as auto, @@sql_safe_updates as safe, @@foreign_key_checks as fk, @@character_set_client as cs')
      pool.release(session)
      t.match(settings, { zone: '+00:00', auto: 1, safe: 0, fk: 1, cs: 'utf8mb4' })
      const modes = new Set(String(settings['mode']).split(','))
      for (const mode of ['STRICT_ALL_TABLES', 'NO_AUTO_VALUE_ON_ZERO']) t.ok(modes.has(mode), mode)
      for (const mode of ['ANSI_QUOTES', 'NO_BACKSLASH_ESCAPES', 'NO_ZERO_DATE', 'PIPES_AS_CONCAT']) t.notOk(modes.has(mode), `no ${mode}`)
    })

    t.test('run one statement at a time, and cannot read local files', async (t) => {
      const pool = createPool(t, database.url, {})
      const session = await acquire(pool)
      await t.rejects(ask(session, 'select 1; select 2'), { code: 'ER_PARSE_ERROR' })
      await t.rejects(ask(session, "load data local infile '/etc/passwd' into table nowhere"))
      pool.release(session)
    })

    t.test('are used by one request at a time and reused', async (t) => {
      const pool = createPool(t, database.url, {})
      const first = await acquire(pool)
      const { id } = await ask(first, 'select connection_id() as id')
      let got = false
      const second = acquire(pool).then((session) => {
        got = true
        return session
      })
      await ask(first, 'select sleep(0.05)')
      t.notOk(got)
      t.match(pool.use, { size: 1, open: 1, idle: 0, waiting: 1 })
      pool.release(first)
      t.equal((await ask(await second, 'select connection_id() as id'))['id'], id)
      pool.release(await second)
      t.match(pool.use, { size: 1, open: 1, idle: 1, waiting: 0 })
    })

    t.test('are refused with OVERLOADED if too many requests wait', async (t) => {
      const pool = createPool(t, database.url, { queue: 2 })
      const first = await acquire(pool)
      const waiting = [acquire(pool), acquire(pool)]
      await t.rejects(acquire(pool), { code: 'OVERLOADED' })
      pool.release(first)
      for (const each of waiting) pool.release(await each)
      pool.release(await acquire(pool))
    })

    t.test('that arrive too late are given to the next request', async (t) => {
      const pool = createPool(t, database.url, { wait: 1000 })
      const first = await acquire(pool)
      await t.rejects(acquire(pool), { code: 'OVERLOADED' })
      pool.release(first)
      for (let round = 0; round < 3; round++) pool.release(await acquire(pool))
    })

    t.test('that the server refuses fail with its error', async (t) => {
      const url = await createUser(t, database, { limits: 'max_user_connections 1' })
      const pool = createPool(t, url, {})
      const first = await acquire(pool)
      await t.rejects(acquire(createPool(t, url, {})), { code: 'DATABASE_UNAVAILABLE', reason: 'ER_USER_LIMIT_REACHED' })
      pool.release(first)
    })

    t.test('count while their statement is being stopped, even if they are lost meanwhile', async (t) => {
      const pool = createPool(t, database.url, { wait: 300 })
      const first = await acquire(pool)
      pool.startStopping(first)
      pool.discard(first)
      t.match(pool.use, { open: 1, idle: 0, ending: 1 })
      t.notOk(pool.isUp, 'such a replica is not used')
      await t.rejects(acquire(pool), { code: 'OVERLOADED' })
      pool.endStopping(first, { isUsable: true })
      t.match(pool.use, { open: 0, ending: 0 })
      const second = await acquire(pool)
      pool.startStopping(second)
      pool.endStopping(second, { isUsable: true })
      pool.release(second)
      t.match(pool.use, { open: 1, idle: 1, ending: 0 })
      t.ok(pool.isUp)
    })

    t.test('that were lost before their statement was stopped left the count twice, so that one too many was opened', async (t) => {
      const pool = createPool(t, database.url, { wait: 300 })
      const first = await acquire(pool)
      pool.discard(first)
      t.match(pool.use, { open: 0, ending: 0 })
      pool.startStopping(first)
      t.match(pool.use, { open: 1, ending: 1 }, 'the server may still run it')
      pool.endStopping(first, { isUsable: false })
      t.match(pool.use, { open: 0, ending: 0 })
      const second = await acquire(pool)
      t.ok(pool.isBusy)
      await t.rejects(acquire(pool), { code: 'OVERLOADED' })
      pool.release(second)
      t.match(pool.use, { open: 1, idle: 1 })
    })

    t.test('do not count while their statement is being stopped on a server that was left for another one', async (t) => {
      const pool = createPool(t, database.url, { wait: 1000 })
      const first = await acquire(pool)
      pool.startStopping(first)
      pool.moveOn(first)
      const second = await acquire(pool)
      t.match(pool.use, { open: 2, ending: 1 })
      pool.endStopping(first, { isUsable: false })
      pool.release(second)
      t.match(pool.use, { open: 1, idle: 1, ending: 0 })
    })

    t.test('are closed with the pool, which provides none afterwards', async (t) => {
      const pool = createPool(t, database.url, {})
      const session = await acquire(pool)
      const id = Number((await ask(session, 'select connection_id() as id'))['id'])
      pool.release(session)
      await pool.close()
      await t.rejects(acquire(pool), { code: 'DATABASE_UNAVAILABLE' })
      await until('it has ended', async () => (await allConnections(database.query)).every((connection) => connection.id !== id))
    })
  })
}
