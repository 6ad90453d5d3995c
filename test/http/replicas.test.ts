/**
 * Databases on several servers: replicas, replicas that are behind the primary, and hosts of one database of which one
 * is used.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { RowQueryOptions } from '../../schemas/options.ts'
import { createTestDatabase, engines, type TestDatabase } from '../servers/engines.ts'
import { stoppedDurations } from '../support/clock.ts'
import { createProxy, type Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { createUser } from '../support/users.ts'

const named = (name: string) => [
  'create table items (id int not null auto_increment primary key, name varchar(20) null)',
  `insert into items values (1, '${name}')`
]
const read = { verb: 'select', columns: ['name'], filters: { id: 1 } }

/** And gives the service several turns of the event loop, in which it notices the end of its connections. */
const closeHost = async (proxy: Proxy): Promise<void> => {
  await proxy.close()
  for (let turn = 0; turn < 10; turn++) await sleep(10)
}

for (const engine of await engines()) {
  t.test(`replicas (${engine.name})`, async (t) => {
    const [primary, one, two] = await Promise.all(
      ['primary', 'one', 'two'].map((name) => createTestDatabase(engine, named(name)))
    )
    if (primary === undefined || one === undefined || two === undefined) throw new Error('three databases are needed')
    const proxies = await Promise.all([primary, one, two].map(({ url }) => createProxy(url)))
    t.teardown(async () => {
      for (const proxy of proxies) await proxy.close()
      for (const database of [primary, one, two]) await database.drop()
    })
    const [main, first, second] = proxies as [Proxy, Proxy, Proxy]
    const { post } = await startService(t, main.url, { database: { replicas: [first.url, second.url] } })
    const source = async (): Promise<unknown> => {
      const { status, json } = await post('items', read)
      return status === 200 ? json.data.rows[0].name : json.error.code
    }
    const sources = async (): Promise<unknown[]> =>
      [...new Set([await source(), await source(), await source(), await source()])].sort()
    const reopen = async (index: number): Promise<void> => {
      proxies[index] = await createProxy(
        [primary, one, two][index]?.url as string, Number(new URL((proxies[index] as Proxy).url).port)
      )
    }

    t.test('selects go to the replicas in turn, writes to the primary', async (t) => {
      t.same(await sources(), ['one', 'two'])
      t.equal((await post('items', { verb: 'insert', data: { name: 'new' } })).status, 200)
      t.equal((await post('items', { verb: 'update', data: { name: 'primary!' }, filters: { id: 1 } })).status, 200)
      t.match(await primary.query('select name from items order by id'), [{ name: 'primary!' }, { name: 'new' }])
      for (const { query } of [one, two]) t.match(await query('select count(*) as count from items'), [{ count: 1 }])
    })

    t.test('streams go to the replicas as well, unless they must see the newest rows', async (t) => {
      const stream = async (headers = {}): Promise<string> => {
        const { status, text } = await post('items', read, { headers: { accept: 'application/x-ndjson', ...headers } })
        return `${status} ${JSON.parse(text).name}`
      }
      t.same([await stream(), await stream()].sort(), ['200 one', '200 two'])
      t.equal(await stream({ 'row-query-consistency': 'primary' }), '200 primary!')
    })

    t.test('a replica that fails is skipped without an error, and used again when it is back', async (t) => {
      await closeHost(first)
      t.same(await sources(), ['two'])
      await closeHost(second)
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
      await closeHost(main)
      t.same(await sources(), ['one', 'two'])
      isRefusal(t, await post('items', { verb: 'insert', data: {} }), {
        status: 503, code: 'DATABASE_UNAVAILABLE', why: 'nobody writes to a copy'
      })
      await closeHost(proxies[1] as Proxy)
      await closeHost(proxies[2] as Proxy)
      isRefusal(t, await post('items', read), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'nobody is left' })
    })
  })
}

const itemsOf = (name: string) => [
  'create table items (id int not null primary key, name varchar(20) null, n int null)',
  `insert into items values (1, '${name}', 1)`
]
const readName = { verb: 'select', columns: ['name'], filters: { id: 1 } }
const primaryOnly = { headers: { 'row-query-consistency': 'primary' } }

interface Pair { primary: TestDatabase, replica: TestDatabase }

async function databases (t: Test, engine: Awaited<ReturnType<typeof engines>>[number]): Promise<Pair> {
  const [primary, replica] = await Promise.all(
    ['primary', 'replica'].map((name) => createTestDatabase(engine, itemsOf(name)))
  ) as [TestDatabase, TestDatabase]
  t.teardown(async () => {
    await primary.drop()
    await replica.drop()
  })
  return { primary, replica }
}

const start = (t: Test, { primary, replica }: Pair, options: Partial<RowQueryOptions['databases'][string]> = {}) =>
  startService(t, primary.url, { database: { replicas: [replica.url], ...options } })

for (const engine of await engines()) {
  t.test(`replicas that are late (${engine.name})`, async (t) => {
    t.test('a table or column that a replica does not have yet is read from the primary', async (t) => {
      const pair = await databases(t, engine)
      const { primary, replica } = pair
      const { post, server } = await start(t, pair)
      await primary.query('create table fresh (id int not null primary key)')
      await primary.query('insert into fresh values (7)')
      await primary.query("alter table items add column colour varchar(20) null default 'red'")
      await server.rows.refresh()
      t.same((await post('fresh', { verb: 'select' })).json.data?.rows, [{ id: 7 }])
      const bodies = [{ columns: ['name', 'colour'] }, { columns: ['name'], filters: { colour: 'red' } }, {
        columns: ['name'], orderBy: 'colour'
      }, {}]
      for (const body of bodies) {
        t.match(
          await post('items', { verb: 'select', ...body }),
          { status: 200, json: { data: { rows: [{ name: 'primary' }] } } }, JSON.stringify(body)
        )
      }
      t.match(
        await post('items', readName), { status: 200, json: { data: { rows: [{ name: 'replica' }] } } },
        'existing tables are read from the replica'
      )
      await replica.query("alter table items add column colour varchar(20) null default 'blue'")
      t.match(
        await post('items', { verb: 'select', columns: ['colour'] }),
        { json: { data: { rows: [{ colour: 'blue' }] } } }, 'and new ones after they have been replicated'
      )
    })

    t.test('a column with another type on the replica is read from the primary, however often ' +
      'the catalog is read', async (t) => {
      const pair = await databases(t, engine)
      const { post, server } = await start(t, pair)
      await post('items', { verb: 'select' })
      await pair.primary.query('alter table items modify n varchar(20) null')
      await pair.primary.query("update items set n = 'one'")
      for (let round = 0; round < 3; round++) {
        await server.rows.refresh()
        for (const body of [{}, { columns: ['n'] }, { filters: { n: 'one' } }]) {
          t.match(
            await post('items', { verb: 'select', ...body }), { status: 200, json: { data: { rows: [{ n: 'one' }] } } },
            JSON.stringify(body)
          )
        }
      }
      await pair.replica.query('alter table items modify n varchar(20) null')
      t.match(await post('items', { verb: 'select' }), { json: { data: { rows: [{ name: 'replica', n: '1' }] } } })
    })

    t.test('a stream that a late replica cannot serve is read from the primary', async (t) => {
      const pair = await databases(t, engine)
      const { post, server } = await start(t, pair, { statementTimeout: 5000 })
      await post('items', { verb: 'select' })
      await pair.primary.query('alter table items modify n varchar(20) null')
      await pair.primary.query("update items set n = 'one'")
      await server.rows.refresh()
      for (const body of [{}, { filters: { n: 'one' } }]) {
        for (const [accept, text] of [['application/x-ndjson', '{"id":1,"name":"primary","n":"one"}\n'], [
          'text/csv', 'id,name,n\r\n1,primary,one\r\n'
        ]] as const) {
          t.match(
            await post('items', { verb: 'select', ...body }, { headers: { accept } }), { status: 200, text },
            `${accept} ${JSON.stringify(body)}`
          )
        }
      }
    })

    t.test('the type of a column on a replica is not assumed to be that on the primary', async (t) => {
      const pair = await databases(t, engine)
      const { post } = await start(t, pair)
      await pair.primary.query('alter table items modify n varchar(20) null')
      await pair.primary.query("update items set n = 'abc'")
      t.match(await post('items', { verb: 'select', columns: ['name'], filters: { n: 1 } }), {
        json: { data: { count: 1 } }
      })
      const answer = await post('items', { verb: 'delete', filters: { n: 0 } })
      t.not(answer.status, 200, answer.text)
      t.match(await pair.primary.query('select n from items'), [{ n: 'abc' }], 'MariaDB finds the text equal to 0')
    })

    t.test('a view or routine that works only on the primary is read there', async (t) => {
      const pair = await databases(t, engine)
      for (const { query } of [pair.primary, pair.replica]) {
        await query('create table below (id int not null primary key, n int null)')
        await query('create view above as select id, n from below')
      }
      const { post } = await start(t, pair)
      await pair.primary.query('insert into below values (5, 5)')
      await pair.replica.query('drop table below')
      t.match(await post('above', { verb: 'select' }), { status: 200, json: { data: { rows: [{ id: 5 }] } } })
    })

    t.test('a table that the account may read only on the primary is read there', async (t) => {
      const pair = await databases(t, engine)
      const url = await createUser(t, pair.replica, { grants: ['select (id) on items'] })
      const { post } = await start(t, pair, { replicas: [url] })
      t.match(await post('items', readName), { status: 200, json: { data: { rows: [{ name: 'primary' }] } } })
    })

    t.test('any other error of a replica is returned without a retry on the primary', async (t) => {
      const pair = await databases(t, engine)
      for (const { query } of [pair.primary, pair.replica]) {
        await query('create view slow as select id, sleep(3) as slept from items')
      }
      const proxy = await createProxy(pair.primary.url)
      t.teardown(() => proxy.close())
      const { post } = await startService(t, proxy.url, {
        database: { replicas: [pair.replica.url], statementTimeout: 1000 }
      })
      isRefusal(t, await post('slow', { verb: 'select' }), { status: 504, code: 'QUERY_TIMEOUT', why: 'too slow' })
      t.notOk(proxy.statements.some((statement) => statement.includes('`slow`')))
    })

    t.test('a table that the primary does not have either is refused as usual', async (t) => {
      const pair = await databases(t, engine)
      for (const { query } of [pair.primary, pair.replica]) {
        await query('create table gone (id int not null primary key)')
      }
      const { post } = await start(t, pair)
      for (const { query } of [pair.primary, pair.replica]) {
        await query('drop table gone')
        await query('alter table items drop column n')
      }
      isRefusal(t, await post('gone', { verb: 'select' }), {
        status: 503, code: 'DATABASE_UNAVAILABLE', why: 'a table, for now'
      })
      isRefusal(t, await post('items', { verb: 'select', columns: ['n'] }), {
        status: 503, code: 'DATABASE_UNAVAILABLE', why: 'a column, for now'
      })
      await until('it is sure', async () => (await post('gone', { verb: 'select' })).status === 404)
      await until('it is sure', async () => (await post('items', { verb: 'select', columns: ['n'] })).status === 400)
    })

    t.test('a table that a replica does not have is 503 while the primary is unavailable', async (t) => {
      const pair = await databases(t, engine)
      const proxy = await createProxy(pair.primary.url)
      t.teardown(() => proxy.close())
      const { post } = await startService(t, proxy.url, { database: { replicas: [pair.replica.url] } })
      await pair.replica.query('drop table items')
      await proxy.close()
      isRefusal(t, await post('items', readName), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'it may be there' })
    })

    t.test('a select with Row-Query-Consistency: primary reads from the primary', async (t) => {
      const pair = await databases(t, engine)
      const { post, server } = await start(t, pair)
      const nameOf = async (headers: Record<string, string> = {}) =>
        (await post('items', readName, { headers })).json.data.rows[0].name
      t.equal(await nameOf(), 'replica')
      for (const value of ['primary', 'PRIMARY']) {
        t.equal(await nameOf({ 'Row-Query-Consistency': value }), 'primary', value)
      }
      t.equal((await post('items', { verb: 'update', data: { name: 'new' }, filters: { id: 1 } })).status, 200)
      t.equal(await nameOf(primaryOnly.headers), 'new', 'its own write')
      const inProcess = {
        database: 'shop',
        table: 'items',
        body: { verb: 'select' as const, columns: ['name'] },
        grant: { permissions: ['select' as const] }
      }
      t.match(await server.rows.execute(inProcess), { rows: [{ name: 'replica' }] })
      t.match(await server.rows.execute({ ...inProcess, consistency: 'primary' }), { rows: [{ name: 'new' }] })
    })
  })
}

await onEachEngine(t, 'Row-Query-Consistency is allowed with select only, with or without replicas, ' +
  'and has one value', { schema: shop }, async (t, { post, server }) => {
  const select = { verb: 'select', columns: ['id'] }
  t.equal((await post('customers', select, primaryOnly)).status, 200)
  for (const value of ['replica', '', 'primary, primary', 'eventual']) {
    const answer = await post('customers', select, { headers: { 'row-query-consistency': value } })
    isRefusal(t, answer, { status: 400, code: 'INVALID_BODY', why: value })
    t.match(answer.json.error.message, /Row-Query-Consistency/)
    const changed = await post('customers', { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }, {
      headers: { 'row-query-consistency': value }
    })
    t.equal(changed.status, 200, 'a write goes to the primary in any case')
  }
  const asked = {
    database: 'shop' as const,
    table: 'customers' as const,
    body: select as { verb: 'select' },
    grant: { permissions: ['select' as const] }
  }
  await t.rejects(server.rows.execute({ ...asked, consistency: 'replica' as 'primary' }), { code: 'INVALID_BODY' })
  t.match(await server.rows.execute({ ...asked, consistency: 'primary' }), { count: 4 })
})

const itemsOfHosts = [
  'create table items (id int not null primary key, name varchar(20) null)', "insert into items values (1, 'one')"
]
const select = { verb: 'select' }
const insert = (id: number) => ({ verb: 'insert', data: { id } })

for (const engine of await engines()) {
  t.test(`several hosts of one database (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, itemsOfHosts)
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
      await closeHost(first)
      t.equal((await post('items', insert(2))).status, 200, 'the second')
      await closeHost(second)
      t.equal((await post('items', insert(3))).status, 200, 'the third')
      proxies[0] = await createProxy(database.url, Number(new URL(first.url).port))
      t.equal((await post('items', insert(4))).status, 200)
      t.equal(proxies[0].connections, 0, 'the current host stays in use while it works')
      await closeHost(third)
      t.equal((await post('items', insert(5))).status, 200, 'the first again')
      await closeHost(proxies[0])
      for (const body of [select, insert(6)]) {
        isRefusal(t, await post('items', body), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'none is left' })
      }
      for (const index of [0, 1, 2]) {
        proxies[index] = await createProxy(database.url, Number(new URL((proxies[index] as Proxy).url).port))
      }
      t.equal((await post('items', insert(6))).status, 200, 'whichever')
      t.match(await database.query('select count(*) as count from items'), [{ count: 6 }])
    })

    t.test('a write that a read-only host, or one outside its cluster, refuses is sent to the next host', async (t) => {
      for (const errno of [1290, 1836, 1047]) {
        const { post } = await startService(t, url)
        await post('items', select)
        // all hosts are the same server here, which refuses once: AUTO_INCREMENT continues after a rolled back
        // statement
        await database.query('create table refusals (n int not null auto_increment primary key)')
        await database.query(`create trigger refuse before insert on items for each row begin
          insert into refusals values ();
          if last_insert_id() = 1 then signal sqlstate 'HY000' set mysql_errno = ${errno}; end if; end`)
        const before = count()
        t.equal((await post('items', insert(10 + errno))).status, 200, `${errno}`)
        t.ok((count()[1] as number) > (before[1] as number))
        await database.query('drop trigger refuse')
        await database.query('drop table refusals')
      }
    })

    t.test('a write is refused if all hosts refuse it', async (t) => {
      const { post } = await startService(t, url)
      await database.query(
        "create trigger refuse before insert on items for each row signal sqlstate 'HY000' set mysql_errno = 1290"
      )
      const before = count().reduce((sum, each) => sum + each)
      const clock = stoppedDurations(t as Test)
      for (let each = 0; each < 20; each++) {
        isRefusal(t, await post('items', insert(20)), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'read-only' })
      }
      t.equal((await post('items', select)).status, 200, 'selects succeed')
      t.ok(count().reduce((sum, each) => sum + each) - before < 20, 'not every write tries all hosts')
      await database.query('drop trigger refuse')
      clock.pass(200)
      t.equal((await post('items', insert(20))).status, 200, 'writes succeed again')
    })
  })
}
