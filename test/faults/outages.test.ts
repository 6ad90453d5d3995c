import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createProxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { until } from '../support/until.ts'
import { insert, reconcile, ROWS, startLoad } from './load.ts'
import { BOUND, killAll, kinds, MEMORY, ownShop, serve, SOON, type Program, type Sql } from './service.ts'

const TABLES = [ROWS, 'create view slow as select id, sleep(30) as slept from rows_written']
/** Longer than a connection is trusted to be there still: a write on one that is would be of unknown outcome. */
const TRUST = 1200
const select = { verb: 'select', limit: 1 }

/** Every verb is refused, in a bounded time, several at once. */
async function isDown (t: Test, { ask }: Program, why: string): Promise<void> {
  const begin = Date.now()
  const bodies = [select, insert('never'), { verb: 'update', data: { name: 'never' }, filters: { id: 1 } }, {
    verb: 'delete', filters: { id: 1 }
  }]
  const answers = await Promise.all([...bodies, ...bodies].map((body) => ask('rows_written', body)))
  for (const answer of answers) {
    isRefusal(t, answer, {
      status: 503, code: answer.json.error.code === 'OVERLOADED' ? 'OVERLOADED' : 'DATABASE_UNAVAILABLE', why
    })
    t.equal(answer.headers['retry-after'], '1')
  }
  t.comment(`${why}: refused within ${Date.now() - begin} ms`)
  t.ok(Date.now() - begin < BOUND)
}

/** The very first requests after it is back are answered, and soon. */
async function isBack (t: Test, { ask, lives }: Program, why: string): Promise<void> {
  for (const body of [insert(why), select]) {
    const begin = Date.now()
    const { status, text } = await ask('rows_written', body)
    t.equal(status, 200, `${why}: it is back; ${text}`)
    t.comment(`${why}: ${body.verb} after ${Date.now() - begin} ms`)
    t.ok(Date.now() - begin < SOON)
  }
  t.ok(lives())
}

/** A load names its rows by numbers. */
const OF_LOAD = "name regexp '^[0-9]+-[0-9]+$'"

async function rowsOf (sql: Sql): Promise<string[]> {
  return (await sql(`select name from rows_written where ${OF_LOAD}`)).map(({ name }) => name as string)
}

for (const kind of kinds) {
  t.test(`${kind} goes away and comes back`, async (t) => {
    const { server, sql, url } = await ownShop(t, kind, TABLES)
    const proxy = await createProxy(url)
    t.teardown(() => proxy.close())
    await server.end()
    const program = await serve(t, { url: proxy.url, statementTimeout: 2000, pool: { wait: 2000 } })

    await t.test('after the service has started', async (t) => {
      await isDown(t, program, 'not there yet')
      await server.start()
      await isBack(t, program, 'started later')
    })

    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await t.test(`ended by ${signal} while statements run`, async (t) => {
        const running = Array.from({ length: 3 }, () => program.ask('slow', { verb: 'select' }))
        await sleep(300)
        await server.end(signal)
        await isDown(t, program, signal)
        for (const answer of running) t.match((await answer).status, /503|504/)
        await server.start()
        await isBack(t, program, signal)
      })
    }

    await t.test('frozen: it takes connections and says nothing', async (t) => {
      t.teardown(() => server.freeze(false))
      server.freeze(true)
      await sleep(TRUST)
      await isDown(t, program, 'frozen')
      server.freeze(false)
      await isBack(t, program, 'frozen')
    })

    await t.test('with every connection killed, again and again', async (t) => {
      for (let round = 0; round < 5; round++) {
        await Promise.all(Array.from({ length: 5 }, () => program.ask('rows_written', select)))
        await killAll(sql)
        await sleep(TRUST)
        await isBack(t, program, `killed ${round}`)
      }
    })

    await t.test('with every connection killed, again and again, under load', async (t) => {
      const load = startLoad(t, program, '/api/shop/rows_written')
      for (let round = 0; round < 10; round++) {
        await sleep(200)
        await killAll(sql)
      }
      await sleep(200)
      await load.stop()
      reconcile(t, load, await rowsOf(sql))
      await isBack(t, program, 'killed under load')
      await sql(`delete from rows_written where ${OF_LOAD}`)
    })

    await t.test('behind a network that drops every packet', async (t) => {
      const running = [program.ask('slow', { verb: 'select' }), program.ask('rows_written', select)]
      await sleep(300)
      proxy.silent = true
      await sleep(TRUST)
      await isDown(t, program, 'silent network')
      const [slow] = await Promise.all(running)
      t.match([slow?.status, slow?.json.error.code], [/503|504/, /DATABASE_UNAVAILABLE|QUERY_TIMEOUT/])
      proxy.silent = false
      await isBack(t, program, 'silent network')
    })

    await t.test('behind a network that drops every packet of a load for a while', async (t) => {
      const load = startLoad(t, program, '/api/shop/rows_written')
      await sleep(300)
      proxy.silent = true
      await sleep(3000)
      proxy.silent = false
      await sleep(300)
      const { written } = load
      await until('rows are written again', () => load.written > written)
      await load.stop()
      t.comment(`the slowest answer: ${load.slowest} ms`)
      t.ok(load.slowest < BOUND)
      reconcile(t, load, await rowsOf(sql))
      await isBack(t, program, 'silence under load')
    })

    await t.test('behind a network that drops packets for a moment', async (t) => {
      for (let round = 0; round < 5; round++) {
        proxy.silent = true
        const answers = Array.from({ length: 10 }, () => program.ask('rows_written', select))
        await sleep(200)
        proxy.silent = false
        for (const answer of answers) t.match((await answer).status, /200|503|504/)
      }
      await isBack(t, program, 'a shaky network')
    })

    t.comment(`memory at the end: ${program.memory().toFixed()} MB`)
    t.ok(program.memory() < MEMORY)
    t.match(await program.stop(), { code: 0, stderr: '' })
  })
}
