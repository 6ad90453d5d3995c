// night: starts programs
/**
 * Signals, outages and restarts of a server that is a process, as an orchestrator brings them about: no request is
 * lost.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createTestDatabase, type Engine, engines, type TestDatabase } from '../servers/engines.ts'
import { freePort } from '../servers/free-port.ts'
import { running } from '../support/connections.ts'
import { WITHOUT_TAP } from '../support/package.ts'
import { createProxy, type Proxy } from '../support/recorder.ts'
import { MAIN, type Running, serveRowQuery, type Start } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'

const TABLE = 'create table people (id int auto_increment primary key, name varchar(20))'
const select = { verb: 'select' }

async function createDatabase (t: Test, engine: Engine, sql: string[] = []): Promise<TestDatabase> {
  const database = await createTestDatabase(engine, sql)
  t.teardown(() => database.drop())
  return database
}

/** Lets everything through until the service asks for its catalog, and nothing from then on. */
async function createHangingProxy (t: Test, url: string): Promise<Proxy> {
  const proxy = await createProxy(url)
  t.teardown(() => proxy.close())
  proxy.statements.push = (sql) => {
    if (sql?.includes('information_schema')) proxy.silent = true
    return 0
  }
  return proxy
}

for (const engine of await engines()) {
  t.test(`SIGHUP reads the catalog again (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine)
    const server = await serveRowQuery(t, { env: { DATABASE_URL: database.url, API_TOKEN: TOKEN } })
    const ask = () => server.post(`/api/${database.name}/people`, select, TOKEN)
    await database.query(TABLE)
    t.match(await ask(), { status: 404, json: { error: { code: 'TABLE_NOT_FOUND' } } })
    server.child.kill('SIGHUP')
    await server.printed(/catalog reloaded/)
    t.match(await ask(), { status: 200, json: { data: { rows: [], count: 0 } } })
  })

  t.test(`a database that is down does not stop the start, and is used once it is up (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine, [TABLE])
    const { url, close } = await createProxy(database.url)
    await close()
    const server = await serveRowQuery(t, { env: { DATABASE_URL: url, API_TOKEN: TOKEN } })
    t.match(await server.printed(/catalog could not be read/), new RegExp(
      `"database":"${database.name}","code":"DATABASE_UNAVAILABLE","reason":"ECONNREFUSED"`
    ))
    const ask = () => server.post(`/api/${database.name}/people`, select, TOKEN)
    t.match(await ask(), {
      status: 503, headers: { 'retry-after': String }, json: { error: { code: 'DATABASE_UNAVAILABLE' } }
    })
    server.child.kill('SIGHUP')
    await server.printed(/"msg":"the catalog could not be read"}\n[^]*"msg":"the catalog could not be read"/)
    const proxy = await createProxy(database.url, Number(new URL(url).port))
    t.teardown(() => proxy.close())
    t.match(await ask(), { status: 200 })
    t.same((await server.stop()).stderr, '')
  })

  t.test(`a database that hangs does not stop the start, and is used once it answers (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine, [TABLE])
    const proxy = await createHangingProxy(t, database.url)
    const config = { databases: { shop: { url: proxy.url, statementTimeout: 500 } } }
    const cwd = t.testdir({ 'row-query.json': JSON.stringify(config) })
    const server = await serveRowQuery(t, { cwd, env: { ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN } })
    t.match(await server.printed(/catalog could not be read/), /"code":"DATABASE_UNAVAILABLE","reason":"ETIMEDOUT"/)
    const ask = () => server.post('/api/shop/people', select, TOKEN)
    t.match(await ask(), { status: 503 })
    proxy.statements.push = () => 0
    proxy.silent = false
    t.match(await ask(), { status: 200 })
  })

  t.test(`SIGTERM lets a running request finish (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine, [TABLE])
    const server = await serveRowQuery(t, { env: { DATABASE_URL: database.url, API_TOKEN: TOKEN } })
    await database.query('lock tables people write')
    const answer = server.post(`/api/${database.name}/people`, { verb: 'insert', data: { name: 'Ada' } }, TOKEN)
    await until('it runs', async () => (await running({ sql: database.query })).length > 0)
    const end = server.stop('SIGTERM')
    await sleep(200)
    t.equal(server.child.exitCode, null, 'it waits')
    await database.query('unlock tables')
    t.match(await answer, { status: 200, json: { data: { inserted: 1, id: 1 } } })
    t.match(await end, { code: 0, stderr: '' })
  })
}

t.test('SIGHUP reads named requests again, together with the tokens that name them, all or none', async (t) => {
  const setup = ['create table people (id int primary key, name varchar(20))', "insert into people values (1, 'Ada')"]
  const find = { database: 'shop', table: 'people', as: 'front', body: { verb: 'select', columns: ['id'] } }
  const configOf = (requests: object, callable: readonly string[], tools = callable): string => JSON.stringify({
    mcp: { requests: tools },
    databases: { shop: { url: 'sqlite::memory:', setup } },
    roles: { front: { for: 'requests', permissions: ['select'], databases: '*' } },
    tokens: [{ name: 'website', sha256: hashToken('website'), requests: callable }],
    requests
  })
  const cwd = t.testdir({ 'row-query.json': configOf({ find }, ['find']) })
  const server = await serveRowQuery(t, { cwd, env: { ROW_QUERY_CONFIG: 'row-query.json' } })
  const call = async (name: string): Promise<unknown> => {
    const { json } = await server.post(`/api/requests/${name}`, {}, 'website')
    return json.error?.code ?? json.data.rows[0]
  }
  t.same([await call('find'), await call('seek')], [{ id: 1 }, 'REQUEST_NOT_FOUND'])
  writeFileSync(
    join(cwd, 'row-query.json'), configOf({ seek: { ...find, body: { verb: 'select', columns: ['name'] } } }, ['seek'])
  )
  server.child.kill('SIGHUP')
  await server.printed(/tokens and roles reloaded/)
  t.same([await call('find'), await call('seek')], ['REQUEST_NOT_FOUND', { name: 'Ada' }])
  writeFileSync(join(cwd, 'row-query.json'), configOf({ find, seek: { ...find, as: 'nobody' } }, ['find', 'seek']))
  server.child.kill('SIGHUP')
  t.match(await server.printed(/the configuration cannot be used/), /requests\.seek\.as: is not one of the/)
  writeFileSync(join(cwd, 'row-query.json'), configOf({ find }, ['find'], ['find', 'seek']))
  server.child.kill('SIGHUP')
  t.match(await server.printed(/mcp\.requests\.1: is not one of the/), /the configuration cannot be used/)
  t.same([await call('find'), await call('seek')], ['REQUEST_NOT_FOUND', { name: 'Ada' }])
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal} ends the server cleanly`, async (t) => {
    const server = await serveRowQuery(t)
    t.match(await server.stop(signal), { code: 0, stderr: '' })
    await t.rejects(server.post('/api/demo/products', select), 'nothing listens any more')
  })
}

t.test('an uncaught error is logged and stops the server', async (t) => {
  const server = await serveAfter(t, "process.on('SIGUSR2', () => { throw new Error('out of the blue') })")
  await server.printed(/"groupBy"/)
  const { code, stdout } = await server.stop('SIGUSR2')
  t.equal(code, 1)
  t.match(stdout, /"level":60.*out of the blue.*shutting down after an uncaught error/)
})

/** The program, and before it some lines that send it signals at a moment that no other process could meet. */
async function serveAfter (t: Test, lines: string, { env = {}, prefix = [] }: {
  env?: Record<string, string>, prefix?: readonly string[]
} = {}): Promise<Running> {
  const main = new URL('../../src/cli/main.ts', import.meta.url)
  const cwd = t.testdir({ 'main.mjs': `import net from 'node:net'\n${lines}\nawait import(${JSON.stringify(main)})` })
  return await serveRowQuery(t, { cwd, env, command: [...prefix, process.execPath, 'main.mjs', 'serve'] })
}

/** Without tap, whose hooks ask for every signal: beside them a program that does not would still end with 0. */
t.test('a signal at the moment when the server listens ends it cleanly', async (t) => {
  const server = await serveAfter(t, `
    const { listen } = net.Server.prototype
    net.Server.prototype.listen = function (...args) {
      this.once('listening', () => process.kill(process.pid, 'SIGINT'))
      return listen.apply(this, args)
    }`, { prefix: WITHOUT_TAP })
  t.match(await server.end, { code: 0, stderr: '' })
})

t.test('SIGHUP at the beginning of the start does not end the server, and is not lost', async (t) => {
  const server = await serveAfter(t, `
    import { registerHooks } from 'node:module'
    registerHooks({
      resolve (specifier, context, next) {
        if (specifier === './serve.ts') process.kill(process.pid, 'SIGHUP')
        return next(specifier, context)
      }
    })`, { prefix: WITHOUT_TAP })
  await server.printed(/"msg":"catalog reloaded"/)
  t.match(await server.stop(), { code: 0, stderr: '' })
})

t.test('SIGHUP while a server connects to its database does not end it', async (t) => {
  const server = await serveAfter(t, `
    const database = net.createServer((socket) => {
      process.kill(process.pid, 'SIGHUP')
      setImmediate(() => socket.destroy())
    })
    await new Promise((resolve) => database.listen(0, '127.0.0.1', resolve))
    process.env.DATABASE_URL = 'mysql://root@127.0.0.1:' + database.address().port + '/shop'
  `, { env: { API_TOKEN: TOKEN }, prefix: WITHOUT_TAP })
  t.match(await server.post('/api/shop/people', select, TOKEN), { status: 503 })
  t.match(await server.stop(), { code: 0, stderr: '' })
})

// shutdown

const jsonHeaders = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
const insert = (name: string) => ({ verb: 'insert', data: { name } })

const serve = (t: Test, url: string, shutdown: object, start: Start = {}): Promise<Running> => serveRowQuery(t, {
  ...start,
  cwd: t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } }, shutdown }) }),
  env: { ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN }
})

const ready = async ({ address }: Pick<Running, 'address'>): Promise<number> =>
  (await fetch(`${address}/health/ready`)).status

for (const engine of await engines()) {
  t.test(`SIGTERM on ${engine.name}`, async (t) => {
    const database = await createTestDatabase(engine, [TABLE])
    t.teardown(() => database.drop())

    t.test('makes the server not ready before the port closes, and each answer closes its connection', async (t) => {
      const server = await serve(t, database.url, { delay: 1000 })
      const agent = new Agent({ keepAlive: true })
      t.equal(await ready(server), 200)
      const ask = async (): Promise<string | undefined> => {
        const asking = request(`${server.address}/api/shop/people`, { method: 'POST', agent, headers: jsonHeaders })
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
      await database.query('insert into people (name) with recursive n (i) as (select 1 union all select i + 1 from ' +
        'n where i < 1000) select i from n')
      await database.query('create view crowd as select a.id as one, b.id as other, c.id as third from people a join ' +
        'people b join people c')
      const server = await serve(t, database.url, { timeout: 3000 })
      const answer = await fetch(`${server.address}/api/shop/crowd`, {
        method: 'POST', headers: { ...jsonHeaders, accept: 'application/x-ndjson' }, body: '{"verb":"select"}'
      })
      t.equal(answer.status, 200)
      const end = server.stop('SIGTERM')
      await t.rejects((async () => {
        for await (const chunk of answer.body as ReadableStream<Uint8Array>) if (chunk.length === 0) return
      })(), 'the client notices it')
      t.match((await end).stdout, /"reason":"SHUTDOWN".*"complete":false.*"msg":"stream"/)

      const other = await serve(t, database.url, { timeout: 3000 })
      const unread = await fetch(`${other.address}/api/shop/crowd`, {
        method: 'POST', headers: { ...jsonHeaders, accept: 'application/x-ndjson' }, body: '{"verb":"select"}'
      })
      t.equal(unread.status, 200)
      t.match(
        (await other.stop('SIGTERM')).stdout, /"reason":"SHUTDOWN".*"complete":false.*"msg":"stream"/,
        'also if the client takes nothing any more'
      )
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
          const answer = await fetch(`${proxy}/api/shop/people`, {
            method: 'POST', headers: jsonHeaders, body: JSON.stringify(insert(`${name}-${count}`))
          })
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

/**
 * Sends each request to a server that was ready a moment ago, on a connection of its own; one that cannot be made is
 * made to the next.
 */
async function createBalancer (t: Test, servers: readonly Running[]): Promise<string> {
  const unready = new Set<Running>()
  const timer = setInterval(() => {
    for (const server of servers) {
      ready(server).then(
        (status) => status === 200 ? unready.delete(server) : unready.add(server), () => unready.add(server)
      )
    }
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
    const forwarded = request(address +
      incoming.url, { method: 'POST', headers: incoming.headers, agent: false }, async (answer) => {
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

t.test('SIGTERM ends a server whose error output nobody reads', async (t) => {
  // without a token it writes a notice there
  const server = await serveRowQuery(t, {
    command: ['bash', '-c', 'exec "$0" "$@" 2> >(exec true)', process.execPath, MAIN],
    args: ['serve'],
    env: { DATABASE_URL: 'sqlite::memory:' },
  })
  for (let time = 0; time < 5; time++, await sleep(100)) t.equal(await ready(server), 200)
  t.match(await server.stop('SIGTERM'), { stderr: '' })
})

// Restarts of a real process under load, with the default settings: no request is lost on a connection that was in use.

const CLIENTS = 20
const BODY = '{"verb":"select"}'
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', 'content-length': BODY.length }

function createStart (t: Test): (port: number) => Promise<Running> {
  const path = join(t.testdir(), 'shop.db')
  const database = new DatabaseSync(path)
  database.exec('create table people (id integer primary key)')
  database.close()
  return (port) => serveRowQuery(t, { env: { DATABASE_URL: `sqlite:${path}`, API_TOKEN: TOKEN, PORT: String(port) } })
}

/** One request on a connection that is kept. Gives the status, or why there is none. */
function ask (port: number, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const asking = request({
      host: '127.0.0.1', port, agent, method: 'POST', path: '/api/shop/people', headers
    }, (answer) => {
      answer.resume().once('end', () => resolve(String(answer.statusCode))).once('error', () => resolve('cut off'))
    })
    asking.once('error', (error: Error & { code?: string }) => resolve(String(error.code)))
    asking.end(BODY)
  })
}

interface Load { answered: number, readonly lost: string[], stop (): Promise<void> }

/** Clients that ask one request after the other. One that finds nobody listening tries again if it may. */
function load (t: Test, port: number, { mayBeRefused }: { mayBeRefused: boolean }): Load {
  const over = new AbortController()
  const result: Load = {
    answered: 0,
    lost: [],
    stop: async () => {
      over.abort()
      await Promise.all(clients)
    }
  }
  const client = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!over.signal.aborted) {
      const outcome = await ask(port, agent)
      if (outcome === '200') result.answered++
      else if (outcome !== 'ECONNREFUSED' || !mayBeRefused) result.lost.push(outcome)
      await sleep(outcome === '200' ? 20 : 50)
    }
    agent.destroy()
  }
  const clients = Array.from({ length: CLIENTS }, client)
  t.teardown(() => over.abort())
  return result
}

t.test('clients that keep their connections lose no request', async (t) => {
  const [start, port] = [createStart(t), await freePort()]
  let server = await start(port)
  const clients = load(t, port, { mayBeRefused: true })
  for (let restart = 0; restart < 3; restart++) {
    await sleep(1000)
    t.match(await server.stop(), { code: 0, stderr: '' })
    server = await start(port)
  }
  await clients.stop()
  t.same(clients.lost, [])
  t.ok(clients.answered > 100, `${clients.answered} requests`)
})

t.test('a connection is closed after it was idle for half a second, and not before', async (t) => {
  const [start, port] = [createStart(t), await freePort()]
  const server = await start(port)
  const [busy, idle] = [new Agent({ keepAlive: true, maxSockets: 1 }), new Agent({ keepAlive: true, maxSockets: 1 })]
  t.same([await ask(port, busy), await ask(port, idle)], ['200', '200'])
  const half = connect(port, '127.0.0.1').on('error', () => {})
  half.write('POST /api/shop/people HTTP/1.1\r\n')
  const begin = performance.now()
  const end = server.stop()
  await until('the port is closed', async () => await ask(port, new Agent()) === 'ECONNREFUSED')
  await sleep(Math.max(0, 300 - (performance.now() - begin)))
  t.equal(await ask(port, busy), '200', 'a request that comes a little later is answered')
  t.match(await end, { code: 0, stderr: '' })
  const took = performance.now() - begin
  t.ok(took > 450 && took < 4000, `the silent ones held it up for ${took} ms`)
  t.equal(await ask(port, idle), 'ECONNREFUSED', 'and were closed')
})

/** In front of two of them. Neither sends a POST a second time that it has begun to send. */
const proxies = {
  nginx: (listen: number, backends: number[], folder: string) => ({
    args: ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'proxy.conf')],
    config: `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 512; }
http {
  access_log off; client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b;
  fastcgi_temp_path ${folder}/c; uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
  upstream rows { ${backends.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ')} keepalive 32; }
  server {
    listen 127.0.0.1:${listen};
    location / { proxy_pass http://rows; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`
  }),
  haproxy: (listen: number, backends: number[], folder: string) => ({
    args: ['-db', '-f', join(folder, 'proxy.conf')],
    config: `defaults
  mode http
  timeout connect 2s
  timeout client 10s
  timeout server 10s
  retries 3
  option redispatch 1
frontend in
  bind 127.0.0.1:${listen}
  default_backend rows
backend rows
  balance roundrobin
  http-reuse always
${backends.map((port, index) => `  server s${index} 127.0.0.1:${port}`).join('\n')}
`
  })
}

const findProgram = (name: string): string | undefined =>
  [...String(process.env['PATH']).split(delimiter), '/usr/sbin'].map((folder) => join(folder, name)).find(
    (path) => existsSync(path)
  )

for (const [name, configure] of Object.entries(proxies)) {
  const program = findProgram(name)
  t.test(`clients of ${name} in front of two servers lose no request`, {
    skip: program === undefined ? `${name} is not installed` : false
  }, async (t) => {
    const [start, listen, ...ports] = [createStart(t), await freePort(), await freePort(), await freePort()] as const
    const servers = await Promise.all(ports.map(start))
    const folder = mkdtempSync(join(tmpdir(), 'row-query-proxy-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const { args, config } = configure(listen, [...ports], folder)
    writeFileSync(join(folder, 'proxy.conf'), config)
    const proxy = spawn(program as string, args, { stdio: 'ignore' })
    t.teardown(() => { proxy.kill('SIGTERM') }) // killed, nginx would leave its workers behind
    await until('the proxy answers', async () => await ask(listen, new Agent()) === '200')
    const clients = load(t, listen, { mayBeRefused: false })
    for (let restart = 0; restart < 4; restart++) {
      await sleep(700)
      const which = restart % 2
      t.match(await (servers[which] as Running).stop(), { code: 0, stderr: '' })
      servers[which] = await start(ports[which] as number)
    }
    await clients.stop()
    t.same(clients.lost, [])
    t.ok(clients.answered > 100, `${clients.answered} requests`)
  })
}
