// night: large documents and answers
/** The memory of answers: of all together, of one connection, and of answers that are too large. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { HTTP_DEFAULTS } from '../../src/config/split-config.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { listen, readAnswers, request } from '../support/wire.ts'

const MEGABYTE = 1_048_576
/** Answers of 24 MB: more than the system buffers for a client that does not read. */
const ROWS = 48
const wide = { mysql: ['create table wide (id int primary key, text longtext)', 'create table few (id int primary key)'], sqlite: ['create table wide (id integer primary key, text text)', 'create table few (id integer primary key)'] }
const fill = (rows = ROWS): string => `insert into wide with recursive n (id) as (select 1 union all select id + 1 from n where id < ${rows}) select id, `
const text = { sqlite: `hex(zeroblob(${MEGABYTE / 4})) from n`, mysql: `repeat('0', ${MEGABYTE / 2}) from n`, mariadb: `repeat('0', ${MEGABYTE / 2}) from n` }
const ask = (close = true): Buffer => request({ start: 'POST /api/shop/wide HTTP/1.1', ...(!close && { without: ['Connection'] }), body: '{"verb":"select"}' })

await onEachEngine(t, 'selects are refused while other answers fill the memory for answers', { schema: wide, options: { limits: { answerMemory: 64 * MEGABYTE } } }, async (t, service) => {
  await service.sql(fill() + text[service.engine])
  const wire = await listen(service)
  const unread = await wire.open()
  unread.on('error', () => {})
  unread.write(ask())
  // one of two concurrent answers may be refused, so the first one must be complete: then its first bytes arrive
  await once(unread, 'readable')
  t.match(unread.read(12)?.toString(), 'HTTP/1.1 200')
  const refused = await service.post('wide', { verb: 'select' })
  t.match(refused, { status: 503, headers: { 'retry-after': '1' }, json: { error: { code: 'OVERLOADED' } } })
  t.match(await service.post('few', { verb: 'select' }), { status: 200 }, 'small ones are answered')
  t.match(await service.post('wide', { verb: 'select', limit: 1 }), { status: 200 }, 'and so is one of half a megabyte')
  unread.destroy()
  await until('it is answered', async () => (await service.post('wide', { verb: 'select' })).status === 200)
  for (let each = 0; each < 4; each++) t.match(await service.post('wide', { verb: 'select' }), { status: 200 }, 'and the memory is released')
})

await onEachEngine(t, 'an answer that is larger than the whole memory is too large', { schema: wide, options: { limits: { answerMemory: 4 * MEGABYTE } } }, async (t, service) => {
  await service.sql(fill() + text[service.engine])
  for (let each = 0; each < 3; each++) t.match(await service.post('wide', { verb: 'select' }), { status: 422, json: { error: { code: 'RESULT_TOO_LARGE', message: /larger than 3145728 bytes/ } } })
  t.match(await service.post('wide', { verb: 'select', limit: 2 }), { status: 200 })
})

await onEachEngine(t, 'a pipelined request starts when the previous answer has been received', { schema: wide }, async (t, service) => {
  await service.sql(fill() + text[service.engine])
  service.statements()
  const socket = await (await listen(service)).open()
  socket.pause()
  socket.write(Buffer.concat([...Array.from({ length: 5 }, () => ask(false)), ask()]))
  const started: string[] = []
  const count = (): number => started.push(...service.statements())
  await until('the first select has started', () => count() > 0)
  await sleep(1000)
  t.equal(count(), 1, 'no other select has started')
  const answers = readAnswers(socket)
  socket.resume()
  const all = await answers
  t.same(all.map(({ status }) => status), Array.from({ length: 6 }, () => 200))
  t.ok(all.every(({ json }) => json.data.count === ROWS))
  t.equal(count(), 6)
})

await onEachEngine(t, 'pipelined requests are answered in order, however many there are', { schema: wide }, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  const insert = (id: number, last: boolean): Buffer => request({ start: 'POST /api/shop/few HTTP/1.1', ...(!last && { without: ['Connection'] }), body: JSON.stringify({ verb: 'insert', data: { id } }) })
  socket.write(Buffer.concat(Array.from({ length: 300 }, (_, id) => insert(id + 1, id === 299))))
  t.same((await answers).map(({ json }) => json.data.id), Array.from({ length: 300 }, (_, id) => id + 1))
})

await onEachEngine(t, 'a client that receives its answer too slowly is disconnected, even if it receives steadily', { schema: wide, only: ['sqlite'], server: { http: { ...HTTP_DEFAULTS, answerTimeout: 1000 } } }, async (t, service) => {
  await service.sql(fill() + text[service.engine])
  const socket = await (await listen(service)).open()
  socket.on('error', () => {})
  socket.write(ask(false))
  // on a busy machine the answer may take seconds to begin
  await once(socket, 'readable')
  const since = performance.now()
  while (!socket.closed && performance.now() - since < 20_000) {
    socket.read(1000)
    await sleep(100)
    // the buffers of the system are read before the end of the connection is noticed
    if (performance.now() - since > 5000) socket.resume()
  }
  t.ok(socket.closed, `after ${performance.now() - since} ms`)
  t.ok(socket.bytesRead < ROWS * MEGABYTE / 2, `${socket.bytesRead} bytes were read`)
})

const cells = { mysql: ['create table wide (id int primary key, text longtext, raw longblob)'], sqlite: ['create table wide (id integer primary key, text text, raw blob)'] }

await onEachEngine(t, 'a value is measured before it is written', { schema: cells, database: { resultLimit: 300_000 } }, async (t, service) => {
  const repeat = (value: string, times: number): string => service.engine === 'sqlite' ? `replace(hex(zeroblob(${times})), '00', ${value})` : `repeat(${value}, ${times})`
  const blob = (size: number): string => service.engine === 'sqlite' ? `zeroblob(${size})` : `repeat(x'00', ${size})`
  await service.sql(`insert into wide values (1, ${repeat('char(1)', 200_000)}, null), (2, ${repeat("'a'", 400_000)}, null), (3, null, ${blob(400_000)}), (4, null, ${blob(250_000)}), (5, ${repeat("'x€😀\"'", 20_000)}, null)`)
  for (const id of [1, 2, 3, 4]) t.match(await service.post('wide', { verb: 'select', filters: { id } }), { status: 422, json: { error: { code: 'RESULT_TOO_LARGE' } } }, `row ${id}`)
  t.equal((await service.post('wide', { verb: 'select', filters: { id: 5 } })).json.data.rows[0].text, 'x€😀"'.repeat(20_000), 'a text that is written in pieces is complete')
})

t.test('the memory of the process stays within its own use and the memory for answers', { skip: process.platform === 'linux' ? false : 'needs /proc' }, async (t) => {
  const cwd = t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url: 'sqlite:shop.db' } }, limits: { answerMemory: 32 * MEGABYTE } }) })
  const database = new DatabaseSync(join(cwd, 'shop.db'))
  database.exec(wide.sqlite[0] as string)
  database.exec(fill(20) + text.sqlite)
  database.close()
  const server = await serveRowQuery(t, { cwd, env: { ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN } })
  const read = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) / 1024
  const before = read('VmRSS')
  const { port } = new URL(server.address)
  const sockets = await Promise.all(Array.from({ length: 20 }, async () => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {}).pause()
    await once(socket, 'connect')
    socket.write(Buffer.concat(Array.from({ length: 20 }, () => ask(false))))
    return socket
  }))
  await sleep(5000)
  const grown = read('VmHWM') - before
  t.ok(grown < 32 + 256, `${grown} MB more for 400 answers of 10 MB that nobody reads`)
  for (const socket of sockets) socket.destroy()
})
