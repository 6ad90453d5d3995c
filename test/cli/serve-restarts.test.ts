// night: starts programs
/** Restarts of a real process under load, with the default settings: no request is lost on a connection that was in use. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../servers/free-port.ts'
import { serveRowQuery, type Running } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'

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
    const asking = request({ host: '127.0.0.1', port, agent, method: 'POST', path: '/api/shop/people', headers }, (answer) => {
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
  access_log off; client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c; uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
  upstream rows { ${backends.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ')} keepalive 32; }
  server { listen 127.0.0.1:${listen}; location / { proxy_pass http://rows; proxy_http_version 1.1; proxy_set_header Connection ""; } }
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
  [...String(process.env['PATH']).split(delimiter), '/usr/sbin'].map((folder) => join(folder, name)).find((path) => existsSync(path))

for (const [name, configure] of Object.entries(proxies)) {
  const program = findProgram(name)
  t.test(`clients of ${name} in front of two servers lose no request`, { skip: program === undefined ? `${name} is not installed` : false }, async (t) => {
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
