import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { createProxy, type Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const items = ['create table items (id int not null primary key, name varchar(20) null)', "insert into items values (1, 'one')"]
const select = { verb: 'select' }
/** Retries until the failure is noticed. */
const close = async (proxy: Proxy) => {
  await proxy.close()
  await sleep(50)
}
const insert = (id: number) => ({ verb: 'insert', data: { id } })

for (const engine of await engines()) {
  t.test(`several hosts of one database (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, items)
    const proxies: Proxy[] = []
    for (let each = 0; each < 3; each++) proxies.push(await createProxy(database.url))
    t.teardown(async () => {
      for (const proxy of proxies) await proxy.close()
      await database.drop()
    })
    const [first, second, third] = proxies as [Proxy, Proxy, Proxy]
    const url = `mysql://root@${proxies.map((proxy) => new URL(proxy.url).host).join()}/${database.name}`
    const count = () => proxies.map(({ connections }) => connections)

    t.test('only the first host that answers is used', async (t) => {
      const { post } = await startService(t, url)
      for (let each = 0; each < 3; each++) t.equal((await post('items', select)).status, 200)
      t.same(count(), [1, 0, 0])
    })

    t.test('the next host is used after one fails, which is tried again in turn', async (t) => {
      const { post } = await startService(t, url)
      await close(first)
      t.equal((await post('items', insert(2))).status, 200, 'the second')
      await close(second)
      t.equal((await post('items', insert(3))).status, 200, 'the third')
      proxies[0] = await createProxy(database.url, Number(new URL(first.url).port))
      t.equal((await post('items', insert(4))).status, 200)
      t.equal(proxies[0].connections, 0, 'the current host stays in use while it works')
      await close(third)
      t.equal((await post('items', insert(5))).status, 200, 'the first again')
      await close(proxies[0])
      for (const body of [select, insert(6)]) isRefusal(t, await post('items', body), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'none is left' })
      for (const index of [0, 1, 2]) proxies[index] = await createProxy(database.url, Number(new URL((proxies[index] as Proxy).url).port))
      t.equal((await post('items', insert(6))).status, 200, 'whichever')
      t.match(await database.query('select count(*) as count from items'), [{ count: 6 }])
    })

    t.test('a write that a read-only host, or one outside its cluster, refuses is sent to the next host', async (t) => {
      for (const errno of [1290, 1836, 1047]) {
        const { post } = await startService(t, url)
        await post('items', select)
        // all hosts are the same server here, which refuses once: AUTO_INCREMENT continues after a rolled back statement
        await database.query('create table refusals (n int not null auto_increment primary key)')
        await database.query(`create trigger refuse before insert on items for each row begin
          insert into refusals values (); if last_insert_id() = 1 then signal sqlstate 'HY000' set mysql_errno = ${errno}; end if; end`)
        const before = count()
        t.equal((await post('items', insert(10 + errno))).status, 200, `${errno}`)
        t.ok((count()[1] as number) > (before[1] as number))
        await database.query('drop trigger refuse')
        await database.query('drop table refusals')
      }
    })

    t.test('a write is refused if all hosts refuse it', async (t) => {
      const { post } = await startService(t, url)
      await database.query("create trigger refuse before insert on items for each row signal sqlstate 'HY000' set mysql_errno = 1290")
      const before = count().reduce((sum, each) => sum + each)
      for (let each = 0; each < 20; each++) isRefusal(t, await post('items', insert(20)), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'read-only' })
      t.equal((await post('items', select)).status, 200, 'selects succeed')
      t.ok(count().reduce((sum, each) => sum + each) - before < 20, 'not every write tries all hosts')
      await database.query('drop trigger refuse')
      await until('writes succeed again', async () => (await post('items', insert(20))).status === 200)
    })
  })
}
