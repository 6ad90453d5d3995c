import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection, type Connection } from 'mysql2/promise'
import t from 'tap'
import { createProxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { until } from '../support/until.ts'
import { insert, reconcile, ROWS, startLoad } from './load.ts'
import { killAll, kinds, ownShop, serve } from './service.ts'

const select = { verb: 'select', columns: ['name'], orderBy: 'id DESC', limit: 1 }
const UNAVAILABLE = { status: 503, code: 'DATABASE_UNAVAILABLE' }

/** Who may not do everything may not write. MySQL's second one holds for everybody. */
const READ_ONLY = {
  mariadb: { on: 'set global read_only = 1', off: 'set global read_only = 0' },
  mysql: { on: 'set global super_read_only = 1', off: 'set global read_only = 0' }
}

for (const kind of kinds) {
  t.test(`${kind} is there and refuses`, async (t) => {
    const { sql, url, server } = await ownShop(t, kind, [ROWS])
    const program = await serve(t, { url, pool: { size: 10, wait: 2000 } })
    const { ask } = program

    await t.test('what would write, while it is read-only', async (t) => {
      t.equal((await ask('rows_written', insert('before'))).status, 200)
      await sql(READ_ONLY[kind].on)
      for (let each = 0; each < 30; each++) {
        isRefusal(t, await ask('rows_written', insert('never')), {
          ...UNAVAILABLE, why: 'read-only'
        })
      }
      t.match(
        await ask('rows_written', select), { status: 200, json: { data: { rows: [{ name: 'before' }] } } },
        'what reads is answered'
      )
      await sql(READ_ONLY[kind].off)
      t.equal((await ask('rows_written', insert('after'))).status, 200, 'the first write after it')
      t.match(await sql('select name from rows_written order by id'), [{ name: 'before' }, { name: 'after' }])
    })

    await t.test('more connections than the account may have', async (t) => {
      await sql("alter user app@'%' with max_user_connections 2")
      await killAll(sql)
      const answers = await Promise.all(Array.from({ length: 50 }, () => ask('rows_written', select)))
      t.same([...new Set(answers.map(({ status }) => status))], [200], 'the two that it may have serve everybody')
      await sql("alter user app@'%' with max_user_connections 0")
    })

    await t.test('everybody but its administrators', {
      skip: kind === 'mysql'
        ? false
        : 'MariaDB has no offline mode'
    }, async (t) => {
      await sql('set global offline_mode = 1')
      for (const body of [select, insert('never')]) {
        isRefusal(t, await ask('rows_written', body), {
          ...UNAVAILABLE, why: 'offline'
        })
      }
      await sql('set global offline_mode = 0')
      t.equal((await ask('rows_written', insert('online'))).status, 200, 'the first write after it')
    })

    await t.test('more connections than it may have', async (t) => {
      const hogs: Connection[] = []
      await sql('set global max_connections = 20')
      await killAll(sql)
      const hog = async () => { hogs.push(await createConnection({ uri: url })) }
      while (await hog().then(() => true, () => false));
      const begin = Date.now()
      const answers = await Promise.all(Array.from({ length: 100 }, () => ask('rows_written', select)))
      for (const answer of answers) isRefusal(t, answer, { ...UNAVAILABLE, why: 'no room' })
      t.comment(`a hundred refusals within ${Date.now() - begin} ms`)
      for (const each of hogs.splice(0, 3)) each.destroy()
      await until('there is room', async () => (await ask('rows_written', select)).status === 200)
      // on a busy machine the server takes a while to give the free ones
      await until('the connections that it gives serve everybody', async () => {
        const served = await Promise.all(Array.from({ length: 100 }, () => ask('rows_written', select)))
        return served.every(({ status }) => status === 200)
      })
      hogs.forEach((each) => each.destroy())
      // the server may not have ended them yet
      await until(
        'it has room for an administrator', () => sql('set global max_connections = 300').then(() => true, () => false)
      )
    })

    t.ok(program.lives())
    t.match(await program.stop(), { code: 0, stderr: '' })
    await server.end()
  })

  t.test(`${kind} has no room on its disk`, async (t) => {
    const disk = (megabytes: number): string[] => [
      '--innodb-file-per-table=0', `--innodb-data-file-path=ibdata1:12M:autoextend:max:${megabytes}M`
    ]
    const { server, url } = await ownShop(t, kind, [
      'create table big (id int not null auto_increment primary key, data longblob)'
    ], disk(24))
    const { ask, lives } = await serve(t, { url })
    const fill = { verb: 'insert', data: { data: 'x'.repeat(400_000) } }
    let refused
    for (let row = 0; row < 100 && refused === undefined; row++) {
      const answer = await ask('big', fill)
      if (answer.status !== 200) refused = answer
    }
    isRefusal(t, refused as never, { ...UNAVAILABLE, why: 'the disk is full' })
    t.equal((await ask('big', { verb: 'select', columns: ['id'] })).status, 200, 'what reads is answered')
    await server.end()
    await server.start(disk(48))
    t.equal((await ask('big', fill)).status, 200, 'with a larger one it goes on')
    t.ok(lives())
  })

  t.test(`the address of a ${kind} server leads to another one by now`, async (t) => {
    const one = await ownShop(t, kind, [ROWS])
    const two = await ownShop(t, kind, [ROWS])
    await two.sql('set global read_only = 1')
    const proxy = await createProxy(one.url)
    t.teardown(() => proxy.close())
    const program = await serve(t, { url: proxy.url })
    const load = startLoad(t, program, '/api/shop/rows_written', 8)
    await sleep(300)

    // the replica is where the address leads before it takes writes
    proxy.target = two.url
    proxy.cut()
    await until('writes are refused', async () => (await program.ask('rows_written', insert('probe'))).status === 503)
    t.equal((await program.ask('rows_written', select)).status, 200, 'what reads is answered')
    await sleep(500)
    await two.sql('set global read_only = 0')
    await sleep(250)
    t.equal(
      (await program.ask('rows_written', insert('first'))).status, 200, 'the first write that came a moment later'
    )

    // the other way round: the connections stay with a server that has become read-only
    await one.sql('set global read_only = 0')
    proxy.target = one.url
    await two.sql('set global read_only = 1')
    await sleep(100)
    t.equal((await program.ask('rows_written', insert('second'))).status, 200, 'it is where the address leads')
    await load.stop()
    const names = [
      ...await one.sql('select name from rows_written'), ...await two.sql('select name from rows_written')
    ].map(({ name }) => name)
    t.ok(names.includes('first') && names.includes('second'))
    reconcile(t, load, names.filter((name) => /^\d/.test(name)))
    t.ok(program.lives())
  })
}
