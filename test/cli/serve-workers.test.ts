// night: starts programs
/** Several processes at one address, as an operator starts, reloads, loses and stops them. */
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { createServer, connect, type AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createShop } from '../../src/demo/shop.ts'
import { freePort } from '../servers/free-port.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'

const PATH = '/api/demo/products'
const select = { verb: 'select', limit: 1 }
const update = { verb: 'update', data: { newsletter: true }, filters: { id: 1 } }

interface Line {
  pid: number,
  msg: string,
  ms?: number,
  signal?: string,
  worker?: number,
  workers?: number,
  requestId?: string,
  err?: { message: string }
}

const linesOf = (stdout: string): Line[] =>
  stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))

const start = (t: Test, config: object, files: Record<string, string> = {}) => ({
  cwd: t.testdir({ ...files, 'row-query.json': JSON.stringify(config) }),
  env: { ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN }
})

/** A service with several workers on the demo database, which is a file. */
async function serve (t: Test, config: object, files?: Record<string, string>, port = '0') {
  const { cwd, env } = start(t, config, files)
  createShop(join(cwd, 'data/demo.db'))
  const server = await serveRowQuery(t, { cwd, env: { ...env, PORT: port } })
  const primary = server.child.pid as number
  const lines = async (): Promise<Line[]> => linesOf(await server.printed(/^/))
  const withText = async (msg: string): Promise<Line[]> => (await lines()).filter((line) => line.msg === msg)
  return {
    ...server,
    cwd,
    lines,
    withText,
    workers: () => childrenOf(primary),
    ask: (body: object = select, path = PATH) => send(server.address + path, body),
    count: async (msg: string): Promise<number> => (await withText(msg)).length
  }
}

interface Reply { readonly status: number | undefined, readonly headers: IncomingHttpHeaders }

/** Sends a request on a connection of its own, which goes to the next worker. Without a body, it is a GET. */
async function send (url: string, body?: object): Promise<Reply> {
  const asking = request(url, {
    method: body === undefined ? 'GET' : 'POST',
    agent: false,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  })
  asking.end(body && JSON.stringify(body))
  const [answer] = await once(asking, 'response') as [IncomingMessage]
  await text(answer)
  return { status: answer.statusCode, headers: answer.headers }
}

type Service = Awaited<ReturnType<typeof serve>>

function childrenOf (pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

const runs = (pid: number): boolean => existsSync(`/proc/${pid}/exe`)

/** Locks the database, and sends an update to each worker. */
function occupy ({ cwd, ask, workers }: Service): { readonly answers: Array<Promise<Reply>>, release (): void } {
  const database = new DatabaseSync(join(cwd, 'data/demo.db'))
  database.exec('begin immediate')
  const answers = workers().map(() => ask(update, '/api/demo/customers'))
  for (const answer of answers) answer.catch(() => {})
  return {
    answers,
    release () {
      database.exec('rollback')
      database.close()
    }
  }
}

const isClosed = ({ address }: Service): Promise<boolean> =>
  send(`${address}/health/live`).then(() => false, () => true)

t.test('two workers answer at one address as one service', async (t) => {
  const service = await serve(t, { workers: 2, rateLimit: { max: 60_001 }, metrics: { port: 0 } })
  const { ask, workers, withText, count } = service
  const [, metrics = ''] = /metrics at (http:[^"]+)/.exec(await service.printed(/metrics at/)) as RegExpExecArray
  const scrape = async () => parseMetrics(await (await fetch(metrics)).text())
  const requests = async () => valueOf(await scrape(), 'row_query_requests_total', { status: '200' })

  t.test('each worker has its share of a limit', async (t) => {
    const answers = [await ask(), await ask(), await ask(), await ask()]
    t.same(answers.map(({ status }) => status), [200, 200, 200, 200])
    const pids = new Map((await withText('request')).map(({ requestId, pid }) => [requestId, pid]))
    t.same([...new Set(pids.values())].sort(), workers().sort(), 'both answer')
    t.same([...new Set(answers.map(({ headers }) => headers['ratelimit-limit']))].sort(), ['30000', '30001'])
    t.same(
      (await service.lines()).filter(({ msg }) => msg.startsWith('Server listening')).map(({ workers }) => workers),
      [2], 'one line says that all listen'
    )
  })

  t.test('the metrics are those of all workers', async (t) => {
    t.equal(await requests(), 4)
    t.equal(valueOf(await scrape(), 'row_query_workers'), 2)
  })

  t.test('a worker that is killed is replaced, the others go on, and no count decreases', async (t) => {
    const [killed = 0, other] = workers()
    process.kill(killed, 'SIGKILL')
    await service.printed(/a worker ended/)
    t.match(await withText('a worker ended; another one is started'), [{ worker: killed, signal: 'SIGKILL', ms: 100 }])
    for (let asked = 0; await count('worker is ready') < 3; asked++) {
      t.equal((await ask()).status, 200, `request ${asked} meanwhile`)
      await sleep(20)
    }
    t.same([workers().length, workers().includes(killed), workers().includes(other as number)], [2, false, true])
    const before = (await withText('request')).length
    for (let each = 0; each < 2; each++) t.equal((await ask()).status, 200)
    t.equal(await requests(), before + 2)
    t.equal(valueOf(await scrape(), 'row_query_worker_exits_total'), 1)
    t.same([
      ...new Set((await withText('request')).slice(-2).map(({ pid }) => pid))
    ].sort(), workers().sort(), 'the new one answers')
  })

  t.test('SIGHUP reaches all', async (t) => {
    service.child.kill('SIGHUP')
    await until('both have read', async () => await count('catalog reloaded') === 2)
    t.same((await withText('catalog reloaded')).map(({ pid }) => pid).sort(), workers().sort())
  })

  t.test('SIGHUP replaces the tokens of the configuration in all, and in workers that start later', async (t) => {
    const path = join(service.cwd, 'row-query.json')
    const config = JSON.parse(readFileSync(path, 'utf8'))
    const write = (changes: object): void => writeFileSync(path, JSON.stringify({ ...config, ...changes }))
    const reload = async (): Promise<void> => {
      const before = await count('catalog reloaded')
      service.child.kill('SIGHUP')
      await until('both have read', async () => await count('catalog reloaded') === before + 2)
    }
    const other = 'another token of 32 characters or more'
    const statuses = async (): Promise<number[]> =>
      await Promise.all(['one', 'two'].map(async () => (await service.post(PATH, select, other)).status))
    t.same(await statuses(), [401, 401])
    write({ tokens: [{ name: 'other', sha256: hashToken(other), permissions: ['select'] }], bodyLimit: 5000 })
    await reload()
    t.same(await statuses(), [200, 200])
    t.match(await withText('settings that a restart applies have changed'), [{ settings: ['bodyLimit'] }])
    const killed = workers()[0] as number
    process.kill(killed, 'SIGKILL')
    await until('another one runs', async () => workers().length === 2 && !workers().includes(killed) &&
      await count('worker is ready') === 4)
    t.same(await statuses(), [200, 200])
    write({ tokens: [{ name: 'other', sha256: 'short', permissions: ['select'] }] })
    await reload()
    t.match(await withText('the configuration cannot be used; the previous tokens and roles stay in use'), [
      { level: 50, errors: [/^tokens\.0\.sha256: /] }
    ])
    t.same(await statuses(), [200, 200])
    write({})
    await reload()
    t.same(await statuses(), [401, 401])
  })

  t.test('SIGTERM to the whole group lets the running request of each finish', async (t) => {
    const { answers, release } = occupy(service)
    const all = workers()
    await send(`${service.address}/health/live`) // the connections before this one have been accepted
    for (const pid of all) process.kill(pid, 'SIGTERM')
    const end = service.stop('SIGTERM')
    await until('the port is closed', () => isClosed(service))
    t.same(workers(), all, 'they wait')
    release()
    t.match(await Promise.all(answers), [{ status: 200 }, { status: 200 }])
    const { code, stdout, stderr } = await end
    t.same({ code, stderr }, { code: 0, stderr: '' })
    t.same(
      linesOf(stdout).filter(({ msg }) => msg === 'request').slice(-2).map(({ pid }) => pid).sort(), all.sort(),
      'each had one'
    )
    t.same(all.filter(runs), [])
  })
})

t.test('a worker that cannot start again is started until it can; if none is left, the service ends', async (t) => {
  const good = JSON.stringify([{ name: 'late', sha256: hashToken('x'.repeat(40)), permissions: ['select'] }])
  const databases = { demo: { url: 'sqlite:data/demo.db', pool: { size: 2 } } }
  const service = await serve(t, { workers: 'auto', tokensFile: 'tokens.json', databases, metrics: true }, {
    'tokens.json': good
  })
  const write = (content: string): void => {
    const path = join(service.cwd, 'tokens.json')
    writeFileSync(`${path}.new`, content)
    renameSync(`${path}.new`, path)
  }
  const { workers, withText, count } = service
  const findListening = async () => (await service.lines()).find(({ msg }) => msg.startsWith('Server listening'))
  await until('its line is there', async () => await findListening() !== undefined)
  const listening = await findListening()
  if (availableParallelism() === 1) {
    t.equal(listening?.workers, undefined, '"auto" is one process for one core')
    return
  }
  t.equal(listening?.workers, 2, '"auto" is one worker for each core, and not more than pool.size')
  await service.ask(select, '/api/demo/none')
  const scraped = await (await fetch(`${service.address}/metrics`, {
    headers: { authorization: `Bearer ${TOKEN}` }
  })).text()
  t.equal(
    valueOf(parseMetrics(scraped), 'row_query_workers'), 2, 'on the main port, any worker shows the metrics of all'
  )

  write('not JSON')
  process.kill(workers()[0] as number, 'SIGKILL')
  const ended = () => withText('a worker ended; another one is started')
  await until('it has failed twice', async () => (await ended()).length >= 3)
  t.same((await ended()).slice(0, 3).map(({ ms }) => ms), [100, 200, 400])
  t.match((await ended())[1]?.err?.message, 'tokensFile')
  write(good)
  await until('it is there again', async () => await count('worker is ready') === 3)

  write('not JSON')
  for (const pid of workers()) process.kill(pid, 'SIGKILL')
  const { code, stdout } = await service.end
  t.equal(code, 2)
  t.match(linesOf(stdout).find(({ msg }) => msg.startsWith('no worker is left')), {
    msg: 'no worker is left, and a new one cannot start', err: { message: /tokensFile/ }
  })
})

t.test('workers that are killed before they listen are started again, although no other one is left', async (t) => {
  // one of its own: without workers the port is closed, and 0 would be another one then
  const { workers, count, ask } = await serve(t, { workers: 2 }, {}, String(await freePort()))
  const kill = (pid: number): void => { try { process.kill(pid, 'SIGKILL') } catch {} } // it has just ended
  await until('five were killed', async () => {
    workers().forEach(kill)
    return await count('a worker ended; another one is started') >= 5
  })
  await until('they answer again', () => ask().then(({ status }) => status === 200, () => false))
})

t.test('connections beyond the limit are closed, and a second signal ends all at once', async (t) => {
  const service = await serve(t, { workers: 2, http: { maxConnections: 4 } })
  const { port } = new URL(service.address)
  const open = new Set(Array.from({ length: 6 }, () => connect(Number(port), '127.0.0.1')))
  for (const socket of open) socket.on('error', () => {}).on('close', () => open.delete(socket))
  // each worker has half of the limit; one that takes more than its share of the connections closes more
  await until('those beyond the limit are closed', () => open.size <= 4)
  t.ok(open.size >= 2, 'the others stay')
  for (const socket of open) socket.destroy()
  await until('there is room', async () => await service.ask().then(({ status }) => status === 200, () => false))
  const { release } = occupy(service)
  const all = service.workers()
  service.child.kill('SIGTERM')
  await until('the port is closed', () => isClosed(service))
  t.equal((await service.stop('SIGTERM')).code, 1)
  release()
  await until('no process is left', () => !all.some(runs))
})

t.test('no worker survives a primary process that is killed', async (t) => {
  const service = await serve(t, { workers: 2 })
  const all = service.workers()
  const databases = all.flatMap(childrenOf)
  t.equal(databases.length, 2, 'each worker has the file open')
  await service.stop('SIGKILL')
  await until('no process is left', () => ![...all, ...databases].some(runs))
})

t.test('a worker that hangs stops neither the metrics nor the shutdown', async (t) => {
  const service = await serve(t, { workers: 2, metrics: { port: 0 }, shutdown: { timeout: 100 } })
  const [, metrics = ''] = /metrics at (http:[^"]+)/.exec(await service.printed(/metrics at/)) as RegExpExecArray
  const [hanging = 0, other = 0] = service.workers()
  process.kill(hanging, 'SIGSTOP')
  t.equal(valueOf(parseMetrics(await (await fetch(metrics)).text()), 'row_query_workers'), 2)
  const { code, stdout } = await service.stop('SIGTERM')
  t.equal(code, 1)
  t.equal(linesOf(stdout).at(-1)?.msg, 'shutdown timed out: workers are killed')
  await until('no process is left', () => ![hanging, other].some(runs))
})

const descriptorsOf = ({ child: { pid } }: Service): number => readdirSync(`/proc/${pid}/fd`).length

t.test('connections on their way to a worker that is killed are answered by another, and ' +
  'none is left open', async (t) => {
  const service = await serve(t, { workers: 2 })
  const descriptors = (): number => descriptorsOf(service)
  const [killed = 0] = service.workers()
  t.equal((await service.ask()).status, 200)
  const before = descriptors()
  process.kill(killed, 'SIGSTOP')
  const answers = Array.from({ length: 8 }, async () => (await service.ask()).status)
  let answered = 0
  for (const answer of answers) answer.then(() => { answered++ }, () => {})
  // each worker gets its next connection when it has taken the one before
  await until('the other worker has answered all but that of the stopped one', () => answered === answers.length - 1)
  process.kill(killed, 'SIGKILL')
  t.same(await Promise.all(answers), answers.map(() => 200))
  await until('the worker is replaced', async () => await service.count('worker is ready') === 3)
  await until('nothing is left open', () => descriptors() <= before)
})

t.test('connections on their way to workers that are all killed do not hang', async (t) => {
  const service = await serve(t, { workers: 2 })
  const all = service.workers()
  const before = descriptorsOf(service)
  for (const pid of all) process.kill(pid, 'SIGSTOP')
  const answers = Array.from({ length: 4 }, async () => await service.ask().then(() => 'answered', () => 'closed'))
  await until('the primary process has accepted them', () => descriptorsOf(service) >= before + answers.length)
  for (const pid of all) process.kill(pid, 'SIGKILL')
  const ends = await Promise.all(answers)
  t.ok(ends.every((end) => ['answered', 'closed'].includes(end)), ends.join())
})

t.test('an error of the start is printed once, and nothing is left running', async (t) => {
  const other = createServer()
  await once(other.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { other.close() })
  const { port } = other.address() as AddressInfo
  const databases = { shop: { url: 'sqlite:none.db' } }
  const taken = `is in use by another program (127.0.0.1, port ${port})`
  for (const [config, line] of [
    [{ port }, `port: ${taken}`],
    [{ port: 0, metrics: { port } }, `metrics.port: ${taken}`],
    [{ databases }, 'databases.shop.url: none.db does not exist'],
    [
      { databases: { shop: { url: 'sqlite::memory:' } } },
      'databases.shop.url: sqlite::memory: does not allow several workers, because each would have its own data'
    ]
  ] as const) {
    const { cwd, env } = start(t, { workers: 2, logLevel: 'warn', ...config })
    t.strictSame(await runRowQuery(t, ['serve'], { cwd, env }), { code: 2, stdout: '', stderr: `row-query: ${line}\n` })
  }
})
