// night: starts programs
/** A log that cannot be written: the service answers, ends in time and says afterwards what was lost. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { freePort } from '../servers/free-port.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import { INHERITED, MAIN, temporaryFolder } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'

/** With this id, the line of a request has about 300 bytes. */
const ID = 'x'.repeat(128)

/** Starts the service with this file for standard output and standard error, or with a socket that is not read. */
async function serve (t: Test, output?: string, workers = 1) {
  const port = await freePort()
  const cwd = t.testdir({
    'row-query.json': JSON.stringify({ databases: { demo: { url: 'sqlite:data/demo.db' } }, metrics: true, workers })
  })
  createShop(join(cwd, 'data/demo.db'))
  const env = {
    ...INHERITED, PORT: String(port), ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN, ROW_QUERY_LOG_FORMAT: 'json'
  }
  const file = output === undefined ? undefined : openSync(output, 'a')
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    cwd, env, stdio: ['ignore', file ?? 'pipe', file ?? 'pipe']
  })
  if (file !== undefined) closeSync(file)
  t.teardown(() => { child.kill('SIGKILL') })
  const ended = once(child, 'exit')
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.teardown(() => agent.destroy())
  const ask = async (path: string, body?: object): Promise<{ status: number | undefined, text: string }> => {
    const asking = request({
      port,
      path,
      agent,
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'x-request-id': ID, 'content-type': 'application/json' }
    })
    asking.end(body && JSON.stringify(body))
    const [answer] = await once(asking, 'response') as [IncomingMessage]
    return { status: answer.statusCode, text: await text(answer) }
  }
  await until('it is ready', async () => (await ask('/health/ready').catch(() => undefined))?.status === 200, 30)
  return {
    ask,
    /** Sends requests, each of which has a line, and counts their answers. */
    async fill (count: number): Promise<Record<string, number>> {
      const statuses: Record<string, number> = {}
      for (let sent = 0; sent < count; sent += 100) {
        const answers = await Promise.all(Array.from({ length: 100 }, () => ask('/nothing')))
        for (const { status } of answers) statuses[String(status)] = (statuses[String(status)] ?? 0) + 1
      }
      return statuses
    },
    lost: async (): Promise<number
      | undefined> => valueOf(parseMetrics((await ask('/metrics')).text), 'row_query_log_lines_lost_total'),
    /** Ends it by a signal. */
    async stop () {
      const from = performance.now()
      child.kill('SIGTERM')
      const [code, signal] = await ended
      return { code, signal, ms: performance.now() - from }
    }
  }
}

/** A pipe that is open for reading. */
function createPipe (t: Test) {
  const path = join(temporaryFolder(t), 'pipe')
  spawnSync('mkfifo', [path])
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  t.teardown(() => closeSync(fd))
  return {
    path,
    /** Returns what is in it. */
    read () {
      const bytes = Buffer.alloc(1_000_000)
      try {
        return bytes.toString('utf8', 0, readSync(fd, bytes))
      } catch {
        return ''
      }
    }
  }
}

const select = { verb: 'select', limit: 1 }

const outputs: Record<string, (t: Test) => string | undefined> = {
  'a full disk': () => '/dev/full',
  'a pipe that nobody reads': (t) => createPipe(t).path,
  'a socket that nobody reads': () => undefined
}

for (const [name, open] of Object.entries(outputs)) {
  for (const workers of [1, 2]) {
    t.test(`the service answers and ends in time although its log is ${name} (${workers} processes)`, async (t) => {
      const server = await serve(t, open(t), workers)
      t.same(await server.fill(1000), { 404: 1000 })
      t.match(await server.ask('/api/demo/products', select), { status: 200 })
      const { code, ms } = await server.stop()
      t.equal(code, 0)
      t.ok(ms < 8000, `${ms} ms`)
    })
  }
}

t.test('once a pipe is read again, one line says how many lines were lost; all others are whole', async (t) => {
  const pipe = createPipe(t)
  const server = await serve(t, pipe.path)
  t.same(await server.fill(6000), { 404: 6000 })
  const lost = await server.lost() ?? 0
  t.ok(lost > 500 && lost < 4000, `${lost} lines are lost; at most one megabyte waits`)
  let read = ''
  await until('what waited is read', () => (read += pipe.read()).includes('were lost'))
  t.same(await server.fill(100), { 404: 100 })
  t.match(await server.stop(), { code: 0 })
  read += pipe.read()
  const lines = read.trimEnd().split('\n').map((line) => JSON.parse(line))
  t.match(lines.filter(({ msg }) => msg.includes('lost')), [{ level: 50, lines: lost }])
  t.equal(lines.filter(({ msg }) => msg === 'request').length, 6100 - lost)
})

t.test('lines that fit into memory are written once a full disk has space again', async (t: Test) => {
  const folder = temporaryFolder(t)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', folder]).status !== 0) {
    return t.pass('no file system can be mounted here')
  }
  t.teardown(() => spawnSync('umount', ['-l', folder]))
  const [log, other] = [join(folder, 'log'), join(folder, 'other')]
  writeFileSync(other, Buffer.alloc(90_000))
  const server = await serve(t, log)
  t.same(await server.fill(300), { 404: 300 })
  t.throws(() => writeFileSync(join(folder, 'more'), Buffer.alloc(10_000)), { code: 'ENOSPC' })
  rmSync(other)
  const lines = (): Array<{ msg: string }> =>
    readFileSync(log, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line))
  t.match(await server.stop(), { code: 0 })
  t.equal(lines().filter(({ msg }) => msg === 'request').length, 300, 'the end writes what waited')
})
