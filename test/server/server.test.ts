/** The server around the plugin: what it logs, its root and its prefix. */
import t from 'tap'
import { openLogStream, type Output } from '../../src/telemetry/log.ts'
import { createServer, type CreateServerOptions } from '../../src/server/server.ts'
import { createFile, select, start } from '../support/file-service.ts'

t.test('refresh() reads the catalog again', async (t) => {
  const { url, database } = createFile(t, 'create table people (id integer primary key)')
  const server = await start(t, url)
  t.match(await select(server, '/api/shop/rooms'), { status: 404, json: { error: { code: 'TABLE_NOT_FOUND' } } })
  database.exec('create table rooms (id integer primary key)')
  await server.rows.refresh()
  t.match(await select(server, '/api/shop/rooms'), { status: 200, json: { data: { count: 0 } } })
})

t.test('a request outside the prefix is logged too, if requests are logged', async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const server = await start(t, url, '/api', { requestLog: true })
  for (const path of ['/other?secret', '/api/%zz', '/health/live', '/health/ready']) {
    await server.app.inject({
      url: path, headers: { 'x-request-id': path }
    })
  }
  t.match(server.log.map((line) => JSON.parse(line)), [
    { msg: 'request', requestId: '/other?secret', status: 404, code: 'NOT_FOUND' },
    { msg: 'request', requestId: '/api/%zz', status: 401, code: 'UNAUTHENTICATED' }
  ])
  t.equal(server.log.length, 2, 'and nobody is told of every probe')
})

t.test("Fastify's own lines about a request carry its id, as ours do", async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const { app, log } = await start(t, url)
  app.get('/twice', (_request, reply) => { reply.send('once').send('twice') }) // Fastify warns of it
  app.get('/bug', async () => { throw new Error('a bug') })
  for (const path of ['/twice', '/bug']) await app.inject({ url: path, headers: { 'x-request-id': `id of ${path}` } })
  t.match(log.map((line) => JSON.parse(line)), [
    { level: 40, reqId: 'id of /twice', err: { code: 'FST_ERR_REP_ALREADY_SENT' } },
    { level: 50, reqId: 'id of /bug', requestId: 'id of /bug', msg: 'unexpected error' }
  ])
})

t.test('an empty prefix puts the databases at the root, with the same answer to every other path', async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const server = await start(t, url, '')
  t.match(await select(server, '/shop/people'), { status: 200 })
  for (const path of ['/', '/shop/people/1']) {
    t.match(await select(server, path), {
      status: 404, json: { error: { code: 'NOT_FOUND' } }
    })
  }
})

t.test('invalid options are refused', async (t) => {
  await t.rejects(createServer({ options: { databases: {} }, prefix: '/api', logLevel: 'silent' }), {
    code: 'ROW_QUERY_INVALID_CONFIG'
  })
})

const databases = { shop: { url: 'mysql://root@127.0.0.1:1/shop' } }

async function ask (options: Partial<CreateServerOptions['options']>, prefix = '/api') {
  const { app } = await createServer({ options: { databases, ...options }, prefix, logLevel: 'silent' })
  t.teardown(() => app.close())
  const answer = await app.inject('/')
  const links = Object.values<string>(answer.json().links)
  const statuses = await Promise.all(links.map(async (link) => [link, (await app.inject(link)).statusCode]))
  return {
    ...answer.json(),
    answer,
    statuses: Object.fromEntries(statuses),
    post: (await app.inject({
      method: 'POST', url: '/'
    })).statusCode
  }
}

t.test('GET / names the service and has links that exist', async (t) => {
  const { answer, statuses, name, links, post } = await ask({ docs: true, openapi: 'public' }, '/rows')
  t.match(answer.headers, { 'content-type': 'application/json; charset=utf-8', 'x-request-id': String })
  t.same({ name, links }, {
    name: 'row-query',
    links: {
      docs: '/rows/docs', openapi: '/rows/openapi.json', live: '/health/live', ready: '/health/ready'
    }
  })
  t.same(statuses, { '/rows/docs': 200, '/rows/openapi.json': 200, '/health/live': 200, '/health/ready': 503 })
  t.equal(post, 404)
  t.notMatch(answer.body, /shop|\d+\.\d+/, 'no database and no version')
})

t.test('there is no link to what is off, and the prefix may be empty', async (t) => {
  t.same((await ask({ openapi: 'off' })).links, { live: '/health/live', ready: '/health/ready' })
  t.same((await ask({ docs: true }, '')).links, {
    docs: '/docs', openapi: '/openapi.json', live: '/health/live', ready: '/health/ready'
  })
})

/** What is written for a line of the log. */
async function written (line: object, terminal: Partial<Output> = {}): Promise<string> {
  let text = ''
  const stream = await openLogStream('pretty', { ...terminal }, {
    write: (bytes) => {
      text += bytes
      return bytes.length
    }
  })
  stream.write(`${JSON.stringify({ level: 30, time: Date.now(), pid: 1, hostname: 'host', ...line })}\n`)
  return text
}

t.test('the log is readable on a terminal or where it is wanted, otherwise JSON', async (t) => {
  for (const [format, isTTY, isReadable] of [
    ['auto', true, true], ['auto', false, false], ['pretty', false, true], ['json', true, false],
    ['auto', undefined, false]
  ] as const) {
    let text = ''
    const stream = await openLogStream(format, isTTY === undefined ? {} : { isTTY }, {
      write: (bytes) => {
        text += bytes
        return bytes.length
      }
    })
    stream.write('{"level":30,"time":0,"msg":"x"}\n')
    t.equal(text === '{"level":30,"time":0,"msg":"x"}\n', !isReadable, `${format}, ${isTTY}`)
  }
})

t.test('a line is written at once, with its time, level, message and fields', async (t) => {
  t.match(
    await written({ msg: 'request', status: 200, table: 'orders' }),
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: request \{"status":200,"table":"orders"\}\n$/
  )
  t.match(await written({
    level: 50, msg: 'it failed', err: { type: 'Error', message: 'no', stack: 'Error: no\n    at here' }
  }), /ERROR: it failed[^]*\n +at here/)
  t.match(await written({ msg: 'x' }, { hasColors: () => true }), '\u001b[32mINFO\u001b[39m')
})

t.test('names that clients send cannot control the terminal', async (t) => {
  const text = await written({ msg: 'a\u001b[2J', table: 'b\u009b2J\u007f\u0007', path: 'c:\\u001b' })
  t.same([...text].filter(
    (character) => character !== '\n' && (character < ' ' || (character >= '\u007f' && character < '\u00a0'))
  ), [])
  t.match(text, 'a\ufffd[2J')
  t.match(text, String.raw`"path":"c:\u001b"`)
})
