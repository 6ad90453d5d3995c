import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { insert, reconcile, ROWS, startLoad } from './load.ts'
import { BOUND, kinds, MEMORY, ownShop, serve, SOON } from './service.ts'

const RESTARTS = 12

for (const kind of kinds) {
  t.test(`under load, over ${RESTARTS} restarts of ${kind} in a row, no row is lost and none is there twice`, async (
    t
  ) => {
    const { server, sql, url } = await ownShop(t, kind, [ROWS])
    const program = await serve(t, { url })
    const load = startLoad(t, program, '/api/shop/rows_written')
    const slow: number[] = []
    for (let restart = 0; restart < RESTARTS; restart++) {
      await sleep(300)
      await server.end(restart % 2 === 0 ? 'SIGKILL' : 'SIGTERM')
      await sleep(restart % 4 * 100)
      await server.start()
      const begin = Date.now()
      const { status } = await program.ask('rows_written', { verb: 'select', limit: 1 })
      t.equal(status, 200, 'the first request after it is back')
      slow.push(Date.now() - begin)
    }
    await sleep(300)
    await load.stop()
    t.ok(program.lives())
    t.comment(
      `the first select after each restart: ${Math.max(...slow)} ms at most; the slowest answer of all: ` +
        `${load.slowest} ms`
    )
    t.comment(`memory at the end: ${program.memory().toFixed()} MB`)
    t.ok(Math.max(...slow) < SOON)
    t.ok(program.memory() < MEMORY)
    t.ok(load.slowest < BOUND)
    reconcile(t, load, (await sql('select name from rows_written')).map(({ name }) => name))
    t.equal((await program.ask('rows_written', insert('the end'))).status, 200)
    t.match(await program.stop(), { code: 0, stderr: '' }, 'and it ends as it should')
  })
}
