import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createMysqlPool, type MysqlPool, type PoolLimits } from '../../../../src/dialects/mysql/pool/pool.ts'
import type { Session } from '../../../../src/dialects/mysql/connection/session.ts'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { addressOf, run } from '../../../support/mysql.ts'
import { createProxy, type Proxy } from '../../../support/recorder.ts'
import { until } from '../../../support/until.ts'

const settle = async (sessions: Array<Session | Promise<Session>>) => {
  const results = await Promise.allSettled(sessions)
  return {
    sessions: results.flatMap((result) => result.status === 'fulfilled' ? [result.value] : []),
    codes: [...new Set(results.flatMap((result) => result.status === 'rejected' ? [`${result.reason.code} ${result.reason.reason}`] : []))]
  }
}
const many = (pool: MysqlPool, count: number) => settle(Array.from({ length: count }, () => pool.acquire()))

for (const engine of await engines()) {
  t.test(`connecting to ${engine.name}`, async (t) => {
    const database = await createTestDatabase(engine)
    t.teardown(() => database.drop())

    const start = async (t: Test, limits: Partial<PoolLimits> = {}): Promise<{ pool: MysqlPool, proxy: Proxy }> => {
      const proxy = await createProxy(database.url)
      const pool = createMysqlPool(addressOf(proxy.url), { size: 10, queue: 1000, wait: 5000, ...limits }, 5000)
      t.teardown(async () => {
        await pool.close()
        await proxy.close()
      })
      return { pool, proxy }
    }

    t.test('is not attempted for each of many requests while the server is full', async (t) => {
      const { pool, proxy } = await start(t)
      proxy.full = true
      const { sessions, codes } = await many(pool, 500)
      t.same([sessions.length, codes], [0, ['DATABASE_UNAVAILABLE ER_CON_COUNT_ERROR']])
      t.ok(proxy.connections <= 15)
      await many(pool, 500)
      t.ok(proxy.connections <= 20, 'one at a time while it fails')
      proxy.full = false
      const again = await many(pool, 10)
      t.equal(again.sessions.length, 10, 'and when there is room again, the first request has it')
      t.ok(pool.isUp)
      again.sessions.forEach(pool.release)
    })

    t.test('is not needed while a full server keeps the existing connections', async (t) => {
      const { pool, proxy } = await start(t)
      const { sessions } = await many(pool, 2)
      proxy.full = true
      const use = async (): Promise<void> => {
        const session = await pool.acquire()
        await run(session.connection, 'do sleep(0.005)')
        pool.release(session)
      }
      const uses = Array.from({ length: 50 }, use)
      sessions.forEach(pool.release)
      await Promise.all(uses)
      t.ok(proxy.connections < 20)
      t.equal(pool.use.open, 2)
    })

    t.test('is attempted again beside an attempt without an answer, so that the end of an outage is noticed soon', async (t) => {
      const { pool, proxy } = await start(t, { size: 1 })
      proxy.silent = true
      const early = settle([pool.acquire()])
      await sleep(300)
      proxy.silent = false
      const begin = Date.now()
      const { sessions } = await early
      t.ok(Date.now() - begin < 3000)
      t.equal(sessions.length, 1)
      t.match(pool.use, { open: 1 })
      sessions.forEach(pool.release)
    })

    t.test('does not exceed the maximum, even if a slow attempt succeeds late', async (t) => {
      const { pool, proxy } = await start(t, { size: 1 })
      proxy.delay = 700
      const first = pool.acquire()
      await until('another attempt is made', () => proxy.connections === 2)
      proxy.delay = 0
      pool.release(await first)
      await until('both have come', () => pool.use.open === 1 && proxy.statements.filter((sql) => sql.startsWith('set session transaction')).length === 2)
      await sleep(100)
      t.match(pool.use, { open: 1, idle: 1 })
    })
  })
}
