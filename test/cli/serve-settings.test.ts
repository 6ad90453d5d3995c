// night: starts programs
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { createShell } from '../support/shell.ts'

const select = { verb: 'select' }
const insert = { verb: 'insert', data: { name: 'Ada' } }

/** A folder with SQLite files of one table each, and a configuration file. */
function folderWith (t: Test, { databases = [] as string[], config = {} }): string {
  const folder = t.testdir()
  for (const name of databases) {
    const database = new DatabaseSync(join(folder, `${name}.db`))
    database.exec(`create table people (id integer primary key, name varchar(20) not null default '${name}')`)
    database.close()
  }
  writeFileSync(join(folder, 'row-query.json'), JSON.stringify(config))
  return folder
}

for (const engine of await engines()) {
  t.test(`DATABASE_URL and API_TOKEN are sufficient (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table people (id int auto_increment primary key, name varchar(20) not null)'])
    t.teardown(() => database.drop())
    const server = await serveRowQuery(t, { env: { DATABASE_URL: database.url, API_TOKEN: TOKEN } })
    t.match(await server.post(`/api/${database.name}/people`, insert, TOKEN), { status: 200, json: { data: { inserted: 1, id: 1 } } })
    t.match(await server.post(`/api/${database.name}/people`, select, TOKEN), { json: { data: { rows: [{ id: 1, name: 'Ada' }], count: 1 } } })
    const [line = ''] = /curl .*/.exec(await server.printed(/curl .*\n/)) as RegExpExecArray
    t.match(JSON.parse(await createShell(t, { API_TOKEN: TOKEN })(line)), { data: { rows: [{ name: 'Ada' }] } }, 'the request that is printed works')
    const { stdout, stderr } = await server.stop()
    t.equal(stderr, '')
    t.match(stdout, `\n  address  ${server.address}/api/${database.name}/{people}\n`)
    t.notMatch(stdout, TOKEN)
    t.notMatch(stdout, /root@|demo/)
  })
}

t.test('a SQLite file is served under its name; the log is readable with --log-format pretty', async (t) => {
  const cwd = folderWith(t, { databases: ['shop'] })
  const server = await serveRowQuery(t, { cwd, args: ['--log-format', 'pretty'], env: { DATABASE_URL: 'sqlite:shop.db', API_TOKEN: TOKEN, ROW_QUERY_LOG_FORMAT: 'json' } })
  t.match(await server.post('/api/shop/people', insert, TOKEN), { status: 200, json: { data: { inserted: 1 } } })
  t.match(await server.printed(/request \{/), / INFO: request \{"requestId":"[^"]+","verb":"insert","database":"shop",/)
})

t.test('API_TOKEN has only the permissions of API_TOKEN_PERMISSIONS; with logFormat json, only JSON is printed', async (t) => {
  const cwd = folderWith(t, { databases: ['shop'] })
  const server = await serveRowQuery(t, { cwd, env: { DATABASE_URL: 'sqlite:shop.db', API_TOKEN: TOKEN, API_TOKEN_PERMISSIONS: 'select, update', ROW_QUERY_LOG_FORMAT: 'json' } })
  t.match(await server.post('/api/shop/people', select, TOKEN), { status: 200 })
  t.match(await server.post('/api/shop/people', insert, TOKEN), { status: 403, json: { error: { code: 'PERMISSION_DENIED' } } })
  t.same((await server.stop()).stdout.trimEnd().split('\n').map((line) => JSON.parse(line).msg), [`Server listening at ${server.address}`, 'request', 'request'])
})

const config = {
  databases: { shop: { url: 'sqlite:shop.db' }, staff: { url: 'sqlite:staff.db' } },
  tokens: [
    { name: 'reader', sha256: hashToken('reads-all'), permissions: ['select'] },
    { name: 'clerk', sha256: hashToken('writes-shop'), permissions: ['select', 'insert'], databases: { shop: ['people'] } }
  ],
  host: '127.0.0.1',
  prefix: '/from-file'
}

t.test('a configuration file names several databases and tokens', async (t) => {
  const cwd = folderWith(t, { databases: ['shop', 'staff'], config })
  const server = await serveRowQuery(t, { cwd, args: ['--config', 'row-query.json'] })
  t.match(await server.post('/from-file/staff/people', select, 'reads-all'), { status: 200 })
  t.match(await server.post('/from-file/shop/people', insert, 'reads-all'), { status: 403 })
  t.match(await server.post('/from-file/shop/people', insert, 'writes-shop'), { status: 200 })
  t.match(await server.post('/from-file/staff/people', select, 'writes-shop'), { status: 404, json: { error: { code: 'DATABASE_NOT_FOUND' } } })
})

t.test('DATABASE_URL and API_TOKEN are added to the configuration file', async (t) => {
  const cwd = folderWith(t, { databases: ['shop', 'staff', 'third'], config })
  const server = await serveRowQuery(t, { cwd, env: { ROW_QUERY_CONFIG: 'row-query.json', DATABASE_URL: 'sqlite:third.db', API_TOKEN: TOKEN } })
  for (const token of [TOKEN, 'reads-all']) {
    for (const database of ['shop', 'third']) t.match(await server.post(`/from-file/${database}/people`, select, token), { status: 200 })
  }
})

t.test('flags override the environment, which overrides the file', async (t) => {
  const settings = { ...config, port: 1, host: 'not-used.invalid', logLevel: 'silent' }
  const cwd = folderWith(t, { databases: ['shop', 'staff'], config: settings })
  writeFileSync(join(cwd, 'flag.json'), JSON.stringify({ ...settings, prefix: '/from-flag' }))
  const env = { ROW_QUERY_CONFIG: 'row-query.json', HOST: 'not-used.invalid', PORT: '1', LOG_LEVEL: 'info' }
  const server = await serveRowQuery(t, { cwd, env, args: ['--config', 'flag.json', '--host', '127.0.0.1', '--port', '0'] })
  t.match(await server.post('/from-flag/shop/people', select, 'reads-all'), { status: 200 })
  t.match(await server.printed(/"msg":"request"/), /"level":30/, 'LOG_LEVEL is not that of the file')

  const prefixed = await serveRowQuery(t, { cwd, env: { ...env, HOST: '127.0.0.1', PORT: '0', PATH_PREFIX: '/from-environment' } })
  t.match(await prefixed.post('/from-environment/shop/people', select, 'reads-all'), { status: 200 })
  t.match(await prefixed.post('/from-file/shop/people', select, 'reads-all'), { status: 404, json: { error: { code: 'NOT_FOUND' } } })
})

t.test('an empty PATH_PREFIX puts the databases at the root', async (t) => {
  const server = await serveRowQuery(t, { env: { PATH_PREFIX: '', API_TOKEN: TOKEN } })
  t.match(await server.post('/demo/products', select, TOKEN), { status: 200 })
  t.match(await server.post('/demo', select, TOKEN), { status: 400, json: { error: { code: 'INVALID_BODY' } } }, 'the path of operations')
})
