/** Connections of a pool: how they are given, opened, stopped and replaced by those of another host. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Session } from '../../../src/dialects/mysql/session.ts'
import {
  createFailover, createMysqlPool, type Failover, type MysqlPool, type PoolLimits
} from '../../../src/dialects/mysql/pool.ts'
import { createTestDatabase, engines } from '../../servers/engines.ts'
import { allConnections } from '../../support/connections.ts'
import { movableClock } from '../../support/clock.ts'
import { addressOf, run } from '../../support/mysql.ts'
import { createProxy, type Proxy } from '../../support/recorder.ts'
import { until } from '../../support/until.ts'
import { createUser } from '../../support/users.ts'

const STATEMENT_TIMEOUT = 1000

function createPool (t: Test, url: string, limits: Partial<PoolLimits>): MysqlPool {
  const pool = createMysqlPool(addressOf(url), { size: 1, queue: 10, wait: 5000, ...limits }, STATEMENT_TIMEOUT)
  t.teardown(() => pool.close())
  return pool
}
/** `acquire` gives what it has at once, and a promise of what it has not. */
const acquire = async (pool: MysqlPool): Promise<Session> => pool.acquire()
const ask = async ({ connection }: Session, sql: string): Promise<Record<string, unknown>> =>
  (await run(connection, sql) as Array<Record<string, unknown>>)[0] as Record<string, unknown>

t.test('a database that accepts connections and never greets is unavailable, not overloaded', async (t) => {
  const sockets: Socket[] = []
  const server = createServer((socket) => { sockets.push(socket.on('error', () => {})) })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const pool = createPool(t as Test, `mysql://root@127.0.0.1:${(server.address() as AddressInfo).port}/shop`, {
    wait: 50
  })
  await t.rejects(acquire(pool), { code: 'DATABASE_UNAVAILABLE', reason: 'ETIMEDOUT' })
})

for (const engine of await engines()) {
  t.test(`sessions of ${engine.name}`, async (t) => {
    const database = await createTestDatabase(engine)
    t.teardown(() => database.drop())

    t.test('have the settings of the service', async (t) => {
      const pool = createPool(t, database.url, {})
      const session = await acquire(pool)
      const settings = await ask(session, 'select @@sql_mode as mode, @@time_zone as zone, @@autocommit as auto, ' +
        '@@sql_safe_updates as safe, @@foreign_key_checks as fk, @@character_set_client as cs')
      pool.release(session)
      t.match(settings, { zone: '+00:00', auto: 1, safe: 0, fk: 1, cs: 'utf8mb4' })
      const modes = new Set(String(settings['mode']).split(','))
      for (const mode of ['STRICT_ALL_TABLES', 'NO_AUTO_VALUE_ON_ZERO']) t.ok(modes.has(mode), mode)
      for (const mode of ['ANSI_QUOTES', 'NO_BACKSLASH_ESCAPES', 'NO_ZERO_DATE', 'PIPES_AS_CONCAT']) {
        t.notOk(modes.has(mode), `no ${mode}`)
      }
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
      await t.rejects(acquire(createPool(t, url, {})), {
        code: 'DATABASE_UNAVAILABLE', reason: 'ER_USER_LIMIT_REACHED'
      })
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

    t.test('that were lost before their statement was stopped leave the count once', async (t) => {
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

    t.test('do not count while their statement is being stopped on a server that was ' +
      'left for another one', async (t) => {
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
      await until(
        'it has ended', async () => (await allConnections(database.query)).every((connection) => connection.id !== id)
      )
    })
  })
}

const settle = async (sessions: Array<Session | Promise<Session>>) => {
  const results = await Promise.allSettled(sessions)
  return {
    sessions: results.flatMap((result) => result.status === 'fulfilled' ? [result.value] : []),
    codes: [...new Set(
      results.flatMap((result) => result.status === 'rejected' ? [`${result.reason.code} ${result.reason.reason}`] : [])
    )]
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

    t.test('is attempted again beside an attempt without an answer, so that the end of an ' +
      'outage is noticed soon', async (t) => {
      const { pool, proxy } = await start(t, { size: 1 })
      proxy.silent = true
      const early = settle([pool.acquire()])
      await sleep(300)
      proxy.silent = false
      const { sessions } = await early
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
      await until('both have come', () => pool.use.open === 1 &&
        proxy.statements.filter((sql) => sql.startsWith('set session transaction')).length === 2)
      await sleep(100)
      t.match(pool.use, { open: 1, idle: 1 })
    })
  })
}

const createHosts = (...names: string[]): Failover => createFailover(names.map((host) => ({ host, port: 3306 })))
const failing = (hosts: Failover): string => {
  hosts.fail(hosts.current)
  return hosts.current.host
}
const refusing = (hosts: Failover): string | false => hosts.refuse(hosts.epoch) && hosts.current.host

t.test('the first host is used until it fails, then the next one, cyclically', async (t) => {
  const hosts = createHosts('a', 'b', 'c')
  t.equal(hosts.current.host, 'a')
  t.same([failing(hosts), failing(hosts), failing(hosts)], ['b', 'c', 'a'])
})

t.test('several simultaneous failures of a host count once', async (t) => {
  const hosts = createHosts('a', 'b', 'c')
  const { current, epoch } = hosts
  hosts.fail(current)
  hosts.fail(current)
  t.equal(hosts.current.host, 'b')
  t.equal(hosts.epoch, epoch + 1, 'what was opened before is of the past')
})

t.test('a single host stays current when it fails, and its sessions stay valid', async (t) => {
  const hosts = createHosts('a')
  const { epoch } = hosts
  t.equal(failing(hosts), 'a')
  t.equal(hosts.epoch, epoch)
})

t.test('after a refusal, a host that has not refused recently is used', async (t) => {
  const clock = movableClock(t)
  const hosts = createHosts('a', 'b', 'c')
  t.same([refusing(hosts), refusing(hosts), refusing(hosts), refusing(hosts)], ['b', 'c', 'c', false])
  clock.pass(150)
  t.equal(refusing(hosts), false)
  clock.pass(250)
  t.equal(refusing(hosts), 'a', 'they are asked again later')
})

t.test('after refusals of a single host, sessions are reopened at an interval, because its address may lead ' +
  'to another server', async (t) => {
  const hosts = createHosts('a')
  const { epoch } = hosts
  t.same([refusing(hosts), refusing(hosts)], ['a', false])
  t.equal(hosts.epoch, epoch + 1)
})

t.test('a refused session of an earlier epoch is replaced by one of the current epoch', async (t) => {
  const hosts = createHosts('a')
  const { epoch } = hosts
  t.ok(hosts.refuse(epoch))
  t.ok(hosts.refuse(epoch))
  t.equal(hosts.epoch, epoch + 1, 'and nothing changes by it')
})

t.test('how long a host rests does not depend on the time of the day, which may be set back', async (t) => {
  const { now } = Date
  const clock = movableClock(t)
  t.teardown(() => { Date.now = now })
  const hosts = createHosts('a')
  t.equal(refusing(hosts), 'a')
  Date.now = () => now() - 3_600_000
  clock.pass(250)
  t.equal(refusing(hosts), 'a')
})
