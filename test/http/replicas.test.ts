import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { createProxy, type Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { startService, TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'

const named = (name: string) => ['create table items (id int not null auto_increment primary key, name varchar(20) null)', `insert into items values (1, '${name}')`]
const read = { verb: 'select', columns: ['name'], filters: { id: 1 } }

for (const engine of await engines()) {
  t.test(`replicas (${engine.name})`, async (t) => {
    const [primary, one, two] = await Promise.all(['primary', 'one', 'two'].map((name) => createTestDatabase(engine, named(name))))
    if (primary === undefined || one === undefined || two === undefined) throw new Error('three databases are needed')
    const proxies = await Promise.all([primary, one, two].map(({ url }) => createProxy(url)))
    t.teardown(async () => {
      for (const proxy of proxies) await proxy.close()
      for (const database of [primary, one, two]) await database.drop()
    })
    const [main, first, second] = proxies as [Proxy, Proxy, Proxy]
    const { post, server } = await startService(t, main.url, { database: { replicas: [first.url, second.url] } })
    const source = async (): Promise<unknown> => {
      const { status, json } = await post('items', read)
      return status === 200 ? json.data.rows[0].name : json.error.code
    }
    const sources = async (): Promise<unknown[]> => [...new Set([await source(), await source(), await source(), await source()])].sort()
    /** Retries until the change is noticed. */
    const close = async (proxy: Proxy): Promise<void> => {
      await proxy.close()
      await sleep(50)
    }
    const reopen = async (index: number): Promise<void> => { proxies[index] = await createProxy([primary, one, two][index]?.url as string, Number(new URL((proxies[index] as Proxy).url).port)) }

    t.test('selects go to the replicas in turn, writes to the primary', async (t) => {
      t.same(await sources(), ['one', 'two'])
      t.equal((await post('items', { verb: 'insert', data: { name: 'new' } })).status, 200)
      t.equal((await post('items', { verb: 'update', data: { name: 'primary!' }, filters: { id: 1 } })).status, 200)
      t.match(await primary.query('select name from items order by id'), [{ name: 'primary!' }, { name: 'new' }])
      for (const { query } of [one, two]) t.match(await query('select count(*) as count from items'), [{ count: 1 }])
    })

    t.test('streams go to the replicas as well, unless they must see the newest rows', async (t) => {
      const stream = async (headers = {}): Promise<string> => {
        const { statusCode, body } = await server.app.inject({ method: 'POST', url: '/api/shop/items', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'application/x-ndjson', ...headers }, payload: { verb: 'select', columns: ['name'], filters: { id: 1 } } })
        return `${statusCode} ${JSON.parse(body).name}`
      }
      t.same([await stream(), await stream()].sort(), ['200 one', '200 two'])
      t.equal(await stream({ 'row-query-consistency': 'primary' }), '200 primary!')
    })

    t.test('a replica that fails is skipped without an error, and used again when it is back', async (t) => {
      await close(first)
      t.same(await sources(), ['two'])
      await close(second)
      t.same(await sources(), ['primary!'], 'the primary answers if no replica does')
      await reopen(1)
      await until('the first is used', async () => await source() === 'one')
      await reopen(2)
      await until('both are used', async () => (await sources()).join() === 'one,two')
    })

    t.test('a select succeeds if its replica loses the connection', async (t) => {
      for (const index of [1, 2]) {
        await sources()
        proxies[index]?.forget()
        for (let each = 0; each < 4; each++) t.match(await source(), /^(one|two|primary!)$/)
      }
    })

    t.test('selects succeed while the primary is down', async (t) => {
      await close(main)
      t.same(await sources(), ['one', 'two'])
      isRefusal(t, await post('items', { verb: 'insert', data: {} }), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'nobody writes to a copy' })
      await close(proxies[1] as Proxy)
      await close(proxies[2] as Proxy)
      isRefusal(t, await post('items', read), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'nobody is left' })
    })
  })
}
