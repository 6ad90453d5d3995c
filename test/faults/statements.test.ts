import { createConnection } from 'mysql2/promise'
import t, { type Test } from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { insert, ROWS } from './load.ts'
import { BOUND, connectionsOfService, kinds, ownShop, serve } from './service.ts'

const TABLES = [
  ROWS, "insert into rows_written (name) values ('one')",
  'create view slow as select id, sleep(30) as slept from rows_written'
]
const read = ['slow', { verb: 'select', columns: ['id', 'slept'] }] as const
const write = ['rows_written', { verb: 'update', data: { name: 'changed' }, filters: { id: 1 } }] as const

for (const kind of kinds) {
  t.test(`a statement that is given up ends in ${kind} too`, async (t) => {
    const { sql, url, server } = await ownShop(t, kind, TABLES)
    const running = async () => (await connectionsOfService(sql)).filter(({ info }) => info !== null)
    const hasEnded = async (t: Test): Promise<void> => {
      await until('it has ended', async () => (await running()).length === 0)
      t.match(await sql('select name from rows_written where id = 1'), [{ name: 'one' }], 'nothing was changed')
    }
    // what writes waits for this one, which never goes on
    const holder = await createConnection({ uri: `${server.url}/shop` })
    t.teardown(() => holder.destroy())
    await holder.query('begin')
    await holder.query('select id from rows_written where id = 1 for update')

    for (const [table, body] of [read, write]) {
      await t.test(`where the client of a slow ${body.verb} goes away`, async (t) => {
        const program = await serve(t, { url })
        const client = new AbortController()
        const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
        const answer = fetch(`${program.address}/api/shop/${table}`, {
          method: 'POST', headers, body: JSON.stringify(body), signal: client.signal
        })
        await until('it runs', async () => (await running()).length === 1)
        client.abort()
        await t.rejects(answer)
        await hasEnded(t)
        t.equal((await program.ask('rows_written', insert('next'))).status, 200)
        t.ok(program.lives())
      })

      await t.test(`where a ${body.verb} takes longer than it may`, async (t) => {
        const program = await serve(t, { url, statementTimeout: 1000, pool: { size: 2 } })
        const begin = Date.now()
        const answers = await Promise.all([1, 2, 3, 4].map(async () => await program.ask(table, body)))
        for (const answer of answers) isRefusal(t, answer, { status: 504, code: 'QUERY_TIMEOUT', why: 'too long' })
        t.comment(`four answers on two connections after ${Date.now() - begin} ms`)
        t.ok(Date.now() - begin < BOUND)
        await hasEnded(t)
        t.equal((await program.ask('rows_written', insert('next'))).status, 200, 'the connection is as good as new')
        t.ok(program.lives())
      })
    }
  })
}
