// night: starts programs
/** The end of a real process, as an orchestrator brings it about. */
import { once } from 'node:events'
import { Agent, createServer, request, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { MAIN, serveRowQuery, type Running, type Start } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { running } from '../support/connections.ts'
import { until } from '../support/until.ts'

const TABLE = 'create table people (id int auto_increment primary key, name varchar(20))'
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
const insert = (name: string) => ({ verb: 'insert', data: { name } })

const serve = (t: Test, url: string, shutdown: object, start: Start = {}): Promise<Running> => serveRowQuery(t, {
  ...start,
  cwd: t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } }, shutdown }) }),
  env: { ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN }
})

const ready = async ({ address }: Pick<Running, 'address'>): Promise<number> => (await fetch(`${address}/health/ready`)).status

for (const engine of await engines()) {
  t.test(`SIGTERM on ${engine.name}`, async (t) => {
    const database = await createTestDatabase(engine, [TABLE])
    t.teardown(() => database.drop())

    t.test('makes the server not ready before the port closes, and each answer closes its connection', async (t) => {
      const server = await serve(t, database.url, { delay: 1000 })
      const agent = new Agent({ keepAlive: true })
      t.equal(await ready(server), 200)
      const ask = async (): Promise<string | undefined> => {
        const asking = request(`${server.address}/api/shop/people`, { method: 'POST', agent, headers })
        asking.end(JSON.stringify({ verb: 'select' }))
        const [answer] = await once(asking, 'response') as [IncomingMessage]
        t.equal(answer.statusCode, 200)
        await text(answer)
        return answer.headers.connection
      }
      t.equal(await ask(), 'keep-alive')
      const end = server.stop('SIGTERM')
      await until('not ready', async () => await ready(server) === 503)
      t.equal((await fetch(`${server.address}/health/live`)).status, 200)
      t.equal(await ask(), 'close', 'requests are still answered')
      t.match(await end, { code: 0, stderr: '' })
      await t.rejects(ready(server), 'nothing listens any more')
    })

    t.test('cuts off a stream shortly before the timeout, and logs it', async (t) => {
      await database.query('insert into people (name) with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000) select i from n')
      await database.query('create view crowd as select a.id as one, b.id as other, c.id as third from people a join people b join people c')
      const server = await serve(t, database.url, { timeout: 3000 })
      const answer = await fetch(`${server.address}/api/shop/crowd`, { method: 'POST', headers: { ...headers, accept: 'application/x-ndjson' }, body: '{"verb":"select"}' })
      t.equal(answer.status, 200)
      const end = server.stop('SIGTERM')
      await t.rejects((async () => { for await (const chunk of answer.body as ReadableStream<Uint8Array>) if (chunk.length === 0) return })(), 'the client notices it')
      t.match((await end).stdout, /"reason":"SHUTDOWN".*"complete":false.*"msg":"stream"/)

      const other = await serve(t, database.url, { timeout: 3000 })
      const unread = await fetch(`${other.address}/api/shop/crowd`, { method: 'POST', headers: { ...headers, accept: 'application/x-ndjson' }, body: '{"verb":"select"}' })
      t.equal(unread.status, 200)
      t.match((await other.stop('SIGTERM')).stdout, /"reason":"SHUTDOWN".*"complete":false.*"msg":"stream"/, 'also if the client takes nothing any more')
      await unread.body?.cancel().catch(() => {})
      await database.query('drop view crowd')
      await database.query('delete from people')
    })

    t.test('waits for running requests until the timeout', async (t) => {
      const server = await serve(t, database.url, { timeout: 300 }, {})
      await database.query('lock tables people write')
      const answer = server.post('/api/shop/people', insert('late'), TOKEN)
      answer.catch(() => {})
      await until('it runs', async () => (await running({ sql: database.query })).length > 0)
      const { code, stdout } = await server.stop('SIGTERM')
      t.equal(code, 1)
      t.match(stdout, /"level":50,.*shutdown timed out while requests were running/)
      await t.rejects(answer)
      await database.query('unlock tables')
    })

    t.test('on one server after the other, behind a load balancer with health checks, loses no request', async (t) => {
      const servers = [await serve(t, database.url, { delay: 400 })]
      const proxy = await createBalancer(t, servers)
      const acknowledged: string[] = []
      const lost: string[] = []
      const restarts = { over: false }
      const client = async (name: string): Promise<void> => {
        for (let count = 0; !restarts.over; count++) {
          const answer = await fetch(`${proxy}/api/shop/people`, { method: 'POST', headers, body: JSON.stringify(insert(`${name}-${count}`)) })
          await answer.text()
          if (answer.status === 200) acknowledged.push(`${name}-${count}`)
          else lost.push(`${name}-${count}: ${answer.status}`)
          await sleep(10)
        }
      }
      await database.query('delete from people')
      const clients = ['a', 'b', 'c', 'd'].map(client)
      for (let restart = 0; restart < 2; restart++) {
        const next = await serve(t, database.url, { delay: 400 })
        servers.push(next)
        await until('the next one is ready', async () => await ready(next) === 200)
        t.match(await (servers.shift() as Running).stop('SIGTERM'), { code: 0, stderr: '' })
      }
      restarts.over = true
      await Promise.all(clients)
      const rows = await database.query('select name from people') as Array<{ name: string }>
      t.same(lost, [])
      t.ok(acknowledged.length > 50, `${acknowledged.length} requests`)
      t.same(rows.map(({ name }) => name).sort(), acknowledged.sort(), 'each is there, and once')
      t.match(await (servers[0] as Running).stop('SIGTERM'), { code: 0 })
    })
  })
}

/** Sends each request to a server that was ready a moment ago, on a connection of its own; one that cannot be made is made to the next. */
async function createBalancer (t: Test, servers: readonly Running[]): Promise<string> {
  const unready = new Set<Running>()
  const timer = setInterval(() => {
    for (const server of servers) ready(server).then((status) => status === 200 ? unready.delete(server) : unready.add(server), () => unready.add(server))
  }, 50)
  const pick = async (): Promise<Running> => {
    for (;;) {
      for (const server of servers.filter((each) => !unready.has(each))) if (await accepts(server)) return server
      await sleep(10)
    }
  }
  const proxy = createServer(async (incoming, outgoing) => {
    const body = await text(incoming)
    const { address } = await pick()
    const forwarded = request(address + incoming.url, { method: 'POST', headers: incoming.headers, agent: false }, async (answer) => {
      outgoing.writeHead(answer.statusCode as number, { 'content-type': 'application/json' }).end(await text(answer))
    })
    forwarded.on('error', () => outgoing.writeHead(502).end())
    forwarded.end(body)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    clearInterval(timer)
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

async function accepts ({ address }: Running): Promise<boolean> {
  const { port, hostname } = new URL(address)
  const socket = connect(Number(port), hostname)
  return await new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  }).finally(() => socket.destroy()) as boolean
}

t.test('an unused connection does not delay the shutdown, and one with a request does', async (t) => {
  const server = await serveRowQuery(t)
  const { port } = new URL(server.address)
  const [silent, slow] = [connect(Number(port), '127.0.0.1'), connect(Number(port), '127.0.0.1')]
  for (const socket of [silent, slow]) await once(socket.on('error', () => {}), 'connect')
  t.equal(await ready(server), 200, 'it has them by now')
  const answer = text(slow)
  const end = server.stop('SIGTERM')
  await sleep(100)
  slow.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(await end, { code: 0, stderr: '' })
  t.match(await answer, /^HTTP\/1\.1 200 OK\r\n/)
})

t.test('a server whose error output nobody reads was once not ended by SIGTERM', async (t) => {
  // without a token it writes a notice there
  const server = await serveRowQuery(t, {
    command: ['bash', '-c', 'exec "$0" "$@" 2> >(exec true)', process.execPath, MAIN],
    args: ['serve'],
    env: { DATABASE_URL: 'sqlite::memory:' },
  })
  for (let time = 0; time < 5; time++, await sleep(100)) t.equal(await ready(server), 200)
  t.match(await server.stop('SIGTERM'), { stderr: '' })
})
