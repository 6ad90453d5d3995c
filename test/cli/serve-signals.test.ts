// night: starts programs
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createTestDatabase, engines, type Engine, type TestDatabase } from '../servers/engines.ts'
import { WITHOUT_TAP } from '../support/package.ts'
import { createProxy, type Proxy } from '../support/recorder.ts'
import { serveRowQuery, type Running } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { running } from '../support/connections.ts'
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
    t.match(await server.printed(/catalog could not be read/), new RegExp(`"database":"${database.name}","code":"DATABASE_UNAVAILABLE","reason":"ECONNREFUSED"`))
    const ask = () => server.post(`/api/${database.name}/people`, select, TOKEN)
    t.match(await ask(), { status: 503, headers: { 'retry-after': String }, json: { error: { code: 'DATABASE_UNAVAILABLE' } } })
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

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal} ends the server cleanly`, async (t) => {
    const server = await serveRowQuery(t)
    t.match(await server.stop(signal), { code: 0, stderr: '' })
    await t.rejects(server.post('/api/demo/products', select), 'nothing listens any more')
  })
}

t.test('an uncaught error is logged and stops the server', async (t) => {
  const server = await serveAfter(t, "process.on('SIGUSR2', () => { throw new Error('out of the blue') })")
  await server.printed(/"update"/)
  const { code, stdout } = await server.stop('SIGUSR2')
  t.equal(code, 1)
  t.match(stdout, /"level":60.*out of the blue.*shutting down after an uncaught error/)
})

/** The program, and before it some lines that send it signals at a moment that no other process could meet. */
async function serveAfter (t: Test, lines: string, { env = {}, prefix = [] }: { env?: Record<string, string>, prefix?: readonly string[] } = {}): Promise<Running> {
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
    process.env.DATABASE_URL = 'mysql://root@127.0.0.1:' + database.address().port + '/shop'`, { env: { API_TOKEN: TOKEN }, prefix: WITHOUT_TAP })
  t.match(await server.post('/api/shop/people', select, TOKEN), { status: 503 })
  t.match(await server.stop(), { code: 0, stderr: '' })
})
