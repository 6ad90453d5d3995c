// night: measures the memory of a started program
/** The memory of bodies: the service runs as a process with a small heap, and everybody gets an answer. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { createToken, hashToken } from '../../src/access/tokens.ts'
import { createTestDatabase, enginesAndSqlite } from '../servers/engines.ts'
import { serveRowQuery, type Running } from '../support/row-query.ts'
import { until } from '../support/until.ts'

const MEGABYTE = 1_048_576
const [GREEDY, OTHER] = [createToken(), createToken()]
const SELECT = JSON.stringify({ verb: 'select', limit: 1 })

const create = [
  'create table documents (id integer auto_increment primary key, value json)', 'insert into documents (id) values (1)'
]

/** Serves a database of an engine. */
async function start (
  t: Test, engine: Awaited<ReturnType<typeof enginesAndSqlite>>[number] = 'sqlite'
): Promise<Running> {
  const folder = t.testdir()
  let url = `sqlite:${join(folder, 'shop.db')}`
  if (typeof engine === 'string') {
    const shop = new DatabaseSync(join(folder, 'shop.db'))
    for (const statement of create) shop.exec(statement.replace('auto_increment ', ''))
    shop.close()
  } else {
    const database = await createTestDatabase(engine, create)
    t.teardown(database.drop)
    url = database.url
  }
  const permissions = ['select', 'insert']
  writeFileSync(join(folder, 'row-query.json'), JSON.stringify({
    databases: { shop: { url } },
    tokens: [{ name: 'greedy', sha256: hashToken(GREEDY), permissions }, {
      name: 'other', sha256: hashToken(OTHER), permissions
    }]
  }))
  return await serveRowQuery(t, {
    cwd: folder,
    args: ['--config', 'row-query.json'],
    env: { NODE_OPTIONS: '--max-old-space-size=256', LOG_LEVEL: 'fatal' }
  })
}

/** The status; 0 if the connection ended without an answer. */
async function send ({ address }: Running, path: string, body: string, token = GREEDY): Promise<number> {
  return await new Promise((resolve) => {
    const request = httpRequest(address + path, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body)
      }
    }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode as number))
    })
    request.once('error', () => resolve(0)).end(body)
  })
}

const count = (statuses: readonly number[]): Record<number, number> =>
  statuses.reduce<Record<number, number>>((all, status) => ({ ...all, [status]: (all[status] ?? 0) + 1 }), {})

/** JSON values of which parsing makes most. */
const heavy = ['{},', '[1.0],', '[],', '1e1,', '{"a":1.0},', '"\\n",'].map(
  (part) => (size: number): string => `[${part.repeat(Math.floor(size / part.length)).slice(0, -1)}]`
)

const floods: Array<[why: string, amount: number, path: string, body: (index: number) => string]> = [
  ['operations whose filters hold lists', 150, '/api/shop', (index) => {
    const value = (heavy[index % heavy.length] as typeof heavy[0])(MEGABYTE / 100 - 100)
    const operation = `{"table":"documents","verb":"select","filters":{"value":${value}}}`
    return `{"operations":[${Array.from({ length: 100 }, () => operation).join()}]}`
  }],
  ['inserts of such values', 60, '/api/shop/documents', (index) =>
    `{"verb":"insert","data":[{"value":${(heavy[index % heavy.length] as typeof heavy[0])(MEGABYTE - 100)}}]}`]
]

const engines = await enginesAndSqlite()
for (const [[why, amount, path, body], engine] of floods.flatMap(
  (flood) => engines.map((engine) => [flood, engine] as const)
)) {
  const name = typeof engine === 'string' ? engine : engine.name
  await t.test(`${amount} ${why}, a MiB each, end neither the process nor another token's requests (${name})`, async (
    t
  ) => {
    const service = await start(t, engine)
    const bodies = heavy.map((_, index) => body(index))
    const flood = Array.from(
      { length: amount }, (_, index) => send(service, path, bodies[index % bodies.length] as string)
    )
    const others: number[] = []
    for (let each = 0; each < 3; each++) others.push(await send(service, '/api/shop/documents', SELECT, OTHER))
    const statuses = count(await Promise.all(flood))
    t.same(
      Object.keys(statuses).filter((status) => !['200', '422', '503'].includes(status)), [], JSON.stringify(statuses)
    )
    t.ok((statuses[200] ?? 0) + (statuses[422] ?? 0) > 0, `some are run: ${JSON.stringify(statuses)}`)
    t.same(Object.keys(count(others)), ['200'], `the other token: ${JSON.stringify(count(others))}`)
    t.same([service.child.exitCode, service.child.signalCode], [null, null], 'the process is alive')
    t.equal(await send(service, '/api/shop/documents', SELECT), 200)
  })
}

await t.test('500 unfinished bodies of a MB leave memory for another token', async (t) => {
  const service = await start(t)
  const { port } = new URL(service.address)
  const part = Buffer.alloc(950_000, ' ')
  const head = [
    'POST /api/shop/documents HTTP/1.1', 'Host: a', `Authorization: Bearer ${GREEDY}`, 'Content-Type: application/json',
    'Content-Length: 1000000', '', ''
  ].join('\r\n')
  const open: Array<{ socket: Socket, text: string }> = []
  for (let each = 0; each < 500; each++) {
    const socket = connect(Number(port), '127.0.0.1')
    const client = { socket, text: '' }
    open.push(client)
    socket.on('error', () => {}).on('data', (data) => { client.text += data.toString() })
    await once(socket, 'connect')
    socket.write(head)
    socket.write(part)
  }
  t.teardown(() => { for (const { socket } of open) socket.destroy() })
  const refused = (): Record<number, number> =>
    count(open.filter(({ text }) => text !== '').map(({ text }) => Number(text.split(' ')[1])))
  await until('most are refused', async () => (refused()[503] ?? 0) >= 350)
  t.same(Object.keys(refused()).filter((status) => status !== '503'), [], JSON.stringify(refused()))
  t.equal(
    await send(service, '/api/shop/documents', `{"verb":"insert","data":{"value":"${'x'.repeat(1_000_000)}"}}`, OTHER),
    200, 'another token has its place'
  )
  t.same([service.child.exitCode, service.child.signalCode], [null, null], 'the process is alive')
})
