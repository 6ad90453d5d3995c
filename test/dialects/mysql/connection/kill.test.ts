import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createMysqlPool } from '../../../../src/dialects/mysql/pool/pool.ts'
import type { Session } from '../../../../src/dialects/mysql/connection/session.ts'
import { stopStatement, type Progress, type Stop } from '../../../../src/dialects/mysql/connection/kill.ts'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { addressOf, run } from '../../../support/mysql.ts'
import { until } from '../../../support/until.ts'

const PATIENCE = 400

/** Ends a statement on a server that answers as told, the last answer again and again. */
function stopOn (...answers: Progress[]) {
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
  const stop: Stop = stopStatement({ pool, session, since: 0, onGivenUp: () => { told.givenUp++ }, patience: PATIENCE, kill })
  return { told, stop, session }
}

t.test('a statement that ends when it is killed is not given up', async (t) => {
  const { told, stop } = stopOn('running')
  await sleep(50)
  t.ok(told.stopping)
  await stop.answered()
  t.same(told, { kills: 1, givenUp: 0, stopping: false, gone: [true] })
})

t.test('a statement that had not arrived when it was killed is killed again', async (t) => {
  const { told, stop } = stopOn('ended', 'running')
  await until('it is killed again', () => told.kills === 2)
  await stop.answered()
  t.match(told, { givenUp: 0, gone: [true] })
})

t.test('a statement whose server cannot be reached is given up at once, and counts for a while', async (t) => {
  const begin = performance.now()
  const { told } = stopOn('unknown')
  await until('it is given up', () => told.givenUp === 1)
  t.ok(performance.now() - begin < PATIENCE)
  t.ok(told.stopping)
  await until('its place is free', () => !told.stopping)
  t.ok(performance.now() - begin > PATIENCE)
  t.match(told, { givenUp: 1, gone: [false] })
})

t.test('a statement counts while the server reports it as running, and a while longer', async (t) => {
  const begin = performance.now()
  const { told } = stopOn('unknown', 'running', 'running', 'unknown')
  await until('its place is free', () => !told.stopping)
  t.ok(performance.now() - begin > 250 + 500 + PATIENCE, 'the while begins anew with each word of the server')
})

t.test('a statement whose connection was lost is given up, and counts until the server reports its end', async (t) => {
  const { told, stop, session } = stopOn('running', 'running', 'ended')
  await sleep(50)
  session.open = false
  stop.lost()
  await until('it is given up', () => told.givenUp === 1)
  t.ok(told.stopping)
  await until('its place is free', () => !told.stopping)
  t.match(told, { kills: 3, givenUp: 1, gone: [false] })
})

t.test('a statement on a server that the address no longer leads to does not count', async (t) => {
  const { told } = stopOn('elsewhere')
  await until('its place is free', () => !told.stopping)
  t.match(told, { kills: 1, givenUp: 1, gone: [false] })
})

t.test('KILL is not repeated after the pool has removed the session', async (t) => {
  const { told } = stopOn('running')
  await sleep(50)
  told.stopping = false
  await sleep(500)
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
      const begin = performance.now()
      const ended = run(session.connection, 'select sleep(1) as slept')
      const stop = stopStatement({ pool, session, since: -1e12, onGivenUp: () => t.fail('it is not given up yet') })
      t.match(await ended, [{ slept: 0 }])
      t.ok(performance.now() - begin > 900)
      await stop.answered()
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
