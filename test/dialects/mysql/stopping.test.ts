/** Statements that are killed. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { parseReplicaUrl } from '../../../src/config/database-url.ts'
import { createDifferences } from '../../../src/dialects/mysql/definitions.ts'
import { type Progress, type Stop, stopStatement } from '../../../src/dialects/mysql/kill.ts'
import { ReadMemory, type Session } from '../../../src/dialects/mysql/session.ts'
import { runStatement } from '../../../src/dialects/mysql/execution.ts'
import { createMysqlPool, type MysqlPool } from '../../../src/dialects/mysql/pool.ts'
import { queryTimeout } from '../../../src/errors.ts'
import { createTestDatabase, engines } from '../../servers/engines.ts'
import { stoppedClock } from '../../support/clock.ts'
import { addressOf, run } from '../../support/mysql.ts'
import { mysqlColumn, statementOf, tableOf } from '../../support/tables.ts'
import { until } from '../../support/until.ts'

const PATIENCE = 400

/** Ends a statement on a server that answers as told, the last answer again and again, while time passes as told. */
function stopOn (t: Test, ...answers: Progress[]) {
  const { pass } = stoppedClock(t)
  const told = { kills: 0, givenUp: 0, stopping: false, gone: [] as boolean[] }
  const session = { open: true } as Session
  const pool = {
    startStopping: () => { told.stopping = true },
    isStopping: () => told.stopping,
    endStopping: (_session: Session, { isUsable }: { isUsable: boolean }) => {
      told.stopping = false
      told.gone.push(isUsable)
    }
  }
  const kill = async (): Promise<Progress> => answers[Math.min(told.kills++, answers.length - 1)] as Progress
  const stop: Stop = stopStatement({
    pool, session, since: 0, onGivenUp: () => { told.givenUp++ }, patience: PATIENCE, kill
  })
  return { told, stop, session, pass }
}

t.test('a statement that ends when it is killed is not given up', async (t) => {
  const { told, stop, pass } = stopOn(t, 'running')
  await pass(50)
  t.ok(told.stopping)
  await stop.replied()
  t.same(told, { kills: 1, givenUp: 0, stopping: false, gone: [true] })
})

t.test('a statement that had not arrived when it was killed is killed again', async (t) => {
  const { told, stop, pass } = stopOn(t, 'ended', 'running')
  await pass(249)
  t.equal(told.kills, 1)
  await pass(1)
  t.equal(told.kills, 2)
  await stop.replied()
  t.match(told, { givenUp: 0, gone: [true] })
})

t.test('a statement whose server cannot be reached is given up at once, and counts for a while', async (t) => {
  const { told, pass } = stopOn(t, 'unknown')
  await pass(0)
  t.equal(told.givenUp, 1)
  await pass(PATIENCE)
  t.ok(told.stopping)
  await pass(1000)
  t.match(told, { stopping: false, givenUp: 1, gone: [false] })
})

t.test('a statement counts while the server reports it as running, and a while longer', async (t) => {
  const { told, pass } = stopOn(t, 'unknown', 'running', 'running', 'unknown')
  // it is killed at 0, 250, 750 and 1750 ms: the while begins anew with each word of the server
  await pass(750 + PATIENCE)
  t.match(told, { kills: 3, stopping: true })
  await pass(1000)
  t.match(told, { kills: 4, stopping: false })
})

t.test('a statement that a server still runs 5 seconds after it was killed is given up', async (t) => {
  const { told, pass } = stopOn(t, 'running')
  await pass(4990)
  t.match(told, { givenUp: 0, stopping: true })
  await pass(20)
  t.match(told, { givenUp: 1, stopping: true })
})

t.test('a statement whose connection was lost is given up, and counts until the server reports its end', async (t) => {
  const { told, stop, session, pass } = stopOn(t, 'running', 'running', 'ended')
  await pass(50)
  session.open = false
  stop.connectionLost()
  await pass(0)
  t.match(told, { givenUp: 1, stopping: true })
  await pass(2000)
  t.match(told, { kills: 3, givenUp: 1, stopping: false, gone: [false] })
})

t.test('a statement on a server that the address no longer leads to does not count', async (t) => {
  const { told, pass } = stopOn(t, 'elsewhere')
  await pass(0)
  t.match(told, { kills: 1, givenUp: 1, stopping: false, gone: [false] })
})

t.test('KILL is not repeated after the pool has removed the session', async (t) => {
  const { told, pass } = stopOn(t, 'running')
  await pass(50)
  told.stopping = false
  await pass(500)
  t.match(told, { kills: 1, givenUp: 0 })
})

for (const engine of await engines()) {
  t.test(`a statement of a server that was replaced (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine)
    const pool = createMysqlPool(addressOf(database.url), { size: 1, queue: 1, wait: 1000 }, 5000)
    t.teardown(async () => {
      await pool.close()
      await database.drop()
    })

    t.test('is not killed if the server was started later: another client may have its thread id', async (t) => {
      const session = await pool.acquire()
      const ended = run(session.connection, 'select sleep(1) as slept')
      const stop = stopStatement({ pool, session, since: -1e12, onGivenUp: () => t.fail('it is not given up yet') })
      t.match(await ended, [{ slept: 0 }])
      await stop.replied()
      pool.release(session)
    })

    t.test('is not killed if the address leads to another server, and does not count', async (t) => {
      const session = await pool.acquire()
      const elsewhere = Object.assign(session, { server: 'another one' })
      const state = { givenUp: false }
      run(session.connection, 'select sleep(1)').catch(() => {})
      stopStatement({ pool, session: elsewhere, since: performance.now(), onGivenUp: () => { state.givenUp = true } })
      t.match(pool.use, { open: 1, ending: 1 })
      await until('its place is free', () => pool.use.open === 0)
      t.ok(state.givenUp)
      t.match(pool.use, { ending: 0 })
    })
  })
}

t.test('a statement that ends while KILL fails is answered once and its connection is reused, even if mysql2 ' +
  'reports the end twice', async (t) => {
  // takes whoever wants to end the statement, and sends them away later
  const server = createServer((socket) => { setTimeout(() => socket.destroy(), 150) }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const events: string[] = []
  const ok = Buffer.from([0, 3, 0, 2, 0, 0, 0])
  const connection = {
    threadId: 1,
    destroy: () => { events.push('given up') },
    stream: { destroy: () => {} },
    addCommand: (command: { execute (packet: object, connection: object): boolean, onResult (error: Error): void }) => {
      setTimeout(() => command.execute(
        { buffer: ok, offset: 0, end: ok.length, sequenceId: 1, numPackets: 1, isError: () => false },
        { serverCapabilityFlags: 0, sequenceId: 2 }
      ), 60)
      setTimeout(() => command.onResult(new Error('closed')), 200)
    }
  }
  const address = parseReplicaUrl(`mysql://root@127.0.0.1:${(server.address() as AddressInfo).port}/shop`)
  const session = {
    connection, memory: new ReadMemory(), address, host: address.hosts[0], server: 'here'
  } as unknown as Session
  const pool = {
    startStopping: () => { events.push('stopping') },
    isStopping: () => true,
    endStopping: (_session: Session, { isUsable }: { isUsable: boolean }) => {
      events.push(`stopped, ${isUsable ? 'usable' : 'lost'}`)
    },
    release: () => { events.push('released') }
  } as unknown as MysqlPool

  const outcome = await runStatement({
    pool,
    session,
    request: {
      statement: statementOf('update', tableOf({ columns: [mysqlColumn('id', 'int')] }), { pieces: ['do 1'] }),
      sink: undefined,
      client: undefined
    },
    options: {
      watch: (_client, stop) => {
        const timer = setTimeout(() => stop(queryTimeout()), 20)
        return () => clearTimeout(timer)
      },
      definitionsCache: new WeakMap(),
      differences: createDifferences()
    }
  })
  t.match(outcome, { changed: 3 })
  await sleep(100)
  t.same(events, ['stopping', 'stopped, usable', 'released'], 'once each')
})
