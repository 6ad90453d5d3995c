// night: starts programs
/** `row-query serve` as a process: what it starts with, prints and serves. */
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import { type Running, runRowQuery, serveRowQuery } from '../support/row-query.ts'
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
    const database = await createTestDatabase(engine, [
      'create table people (id int auto_increment primary key, name varchar(20) not null)'
    ])
    t.teardown(() => database.drop())
    const server = await serveRowQuery(t, { env: { DATABASE_URL: database.url, API_TOKEN: TOKEN } })
    t.match(await server.post(`/api/${database.name}/people`, insert, TOKEN), {
      status: 200, json: { data: { inserted: 1, id: 1 } }
    })
    t.match(await server.post(`/api/${database.name}/people`, select, TOKEN), {
      json: { data: { rows: [{ id: 1, name: 'Ada' }], count: 1 } }
    })
    const [line = ''] = /curl .*/.exec(await server.printed(/curl .*\n/)) as RegExpExecArray
    t.match(
      JSON.parse(await createShell(t, { TOKEN })(line)), { data: { rows: [{ name: 'Ada' }] } },
      'the request that is printed works'
    )
    const { stdout, stderr } = await server.stop()
    t.equal(stderr, '')
    t.match(stdout, `\n  address  ${server.address}/api/${database.name}/{people}\n`)
    t.notMatch(stdout, TOKEN)
    t.notMatch(stdout, /root@|demo/)
  })
}

t.test('a SQLite file is served under its name; the log is readable with --log-format pretty', async (t) => {
  const cwd = folderWith(t, { databases: ['shop'] })
  const server = await serveRowQuery(t, {
    cwd,
    args: ['--log-format', 'pretty'],
    env: { DATABASE_URL: 'sqlite:shop.db', API_TOKEN: TOKEN, ROW_QUERY_LOG_FORMAT: 'json' }
  })
  t.match(await server.post('/api/shop/people', insert, TOKEN), { status: 200, json: { data: { inserted: 1 } } })
  t.match(await server.printed(/request \{/), / INFO: request \{"requestId":"[^"]+","verb":"insert","database":"shop",/)
})

t.test('API_TOKEN has only the permissions of API_TOKEN_PERMISSIONS; with logFormat json, ' +
  'only JSON is printed', async (t) => {
  const cwd = folderWith(t, { databases: ['shop'] })
  const server = await serveRowQuery(t, {
    cwd,
    env: {
      DATABASE_URL: 'sqlite:shop.db',
      API_TOKEN: TOKEN,
      API_TOKEN_PERMISSIONS: 'select, update',
      ROW_QUERY_LOG_FORMAT: 'json'
    }
  })
  t.match(await server.post('/api/shop/people', select, TOKEN), { status: 200 })
  t.match(await server.post('/api/shop/people', insert, TOKEN), {
    status: 403, json: { error: { code: 'PERMISSION_DENIED' } }
  })
  t.same((await server.stop()).stdout.trimEnd().split('\n').map((line) => JSON.parse(line).msg), [
    `Server listening at ${server.address}`, 'request', 'request'
  ])
})

const config = {
  databases: { shop: { url: 'sqlite:shop.db' }, staff: { url: 'sqlite:staff.db' } },
  tokens: [
    { name: 'reader', sha256: hashToken('reads-all'), permissions: ['select'] },
    {
      name: 'clerk',
      sha256: hashToken('writes-shop'),
      permissions: ['select', 'insert'],
      databases: { shop: ['people'] }
    }
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
  t.match(await server.post('/from-file/staff/people', select, 'writes-shop'), {
    status: 404, json: { error: { code: 'DATABASE_NOT_FOUND' } }
  })
})

t.test('DATABASE_URL and API_TOKEN are added to the configuration file', async (t) => {
  const cwd = folderWith(t, { databases: ['shop', 'staff', 'third'], config })
  const server = await serveRowQuery(t, {
    cwd, env: { ROW_QUERY_CONFIG: 'row-query.json', DATABASE_URL: 'sqlite:third.db', API_TOKEN: TOKEN }
  })
  for (const token of [TOKEN, 'reads-all']) {
    for (const database of ['shop', 'third']) {
      t.match(await server.post(`/from-file/${database}/people`, select, token), { status: 200 })
    }
  }
})

t.test('an empty PATH_PREFIX puts the databases at the root', async (t) => {
  const server = await serveRowQuery(t, { env: { PATH_PREFIX: '', API_TOKEN: TOKEN } })
  t.match(await server.post('/demo/products', select, TOKEN), { status: 200 })
  t.match(
    await server.post('/demo', select, TOKEN), { status: 400, json: { error: { code: 'INVALID_BODY' } } },
    'the path of operations'
  )
})

// a start that is refused

interface Refused {
  because: string, env?: Record<string, string>, args?: string[], file?: unknown, lines: Array<string | RegExp>
}

const SECRET = 'hunter2'
const HOST = 'h'
const gone = { url: 'mysql://root@127.0.0.1:1/shop' }

const refused: Refused[] = [
  {
    because: 'a SQLite file that is not there',
    env: { DATABASE_URL: 'sqlite:no/such.db' },
    lines: ['databases.such.url: no/such.db does not exist']
  },
  {
    because: 'a SQLite file that is none',
    env: { DATABASE_URL: 'sqlite:row-query.json' },
    file: 'x'.repeat(1000),
    lines: ['databases.row-query.url: row-query.json cannot be opened: file is not a database']
  },
  {
    because: 'several in the file',
    env: { ROW_QUERY_CONFIG: 'row-query.json' },
    file: {
      databases: { shop: { ...gone, pol: {}, pool: { size: 0 } } },
      tokens: [{ name: 'x', sha256: SECRET, permissions: ['read'] }],
      prot: 1
    },
    lines: [
      /^prot: is not a setting; did you mean "port"\?$/,
      /^databases\.shop\.pol: is not a setting; did you mean "pool"\?$/,
      'databases.shop.pool.size: must be an integer from 1 to 1000 (maximum number of connections)',
      'tokens.0.sha256: must be the SHA-256 of the token, as 64 lower-case hexadecimal digits',
      'tokens.0.permissions.0: must be "select" or "insert" or "update" or "delete"'
    ]
  },
  {
    because: 'what only all of the file shows',
    env: { ROW_QUERY_CONFIG: 'row-query.json', PASSWORD: SECRET },
    file: {
      databases: { shop: { url: `mysql://u:\${PASSWORD}@${HOST}` } },
      tokens: [{ name: 'x', sha256: 'a'.repeat(64), permissions: ['select'], databases: { shpo: '*' } }]
    },
    lines: [
      'databases.shop.url: must name one database after the host: mysql://host/name',
      'tokens.0.databases.shpo: is not a configured database; the databases are shop'
    ]
  }
]

for (const { because, env = {}, args = [], file = {}, lines } of refused) {
  t.test(`the start stops because of ${because}`, async (t) => {
    const cwd = t.testdir()
    writeFileSync(join(cwd, 'row-query.json'), typeof file === 'string' ? file : JSON.stringify(file))
    const { code, stdout, stderr } = await runRowQuery(t, ['serve', ...args], { cwd, env })
    t.equal(code, 2)
    t.equal(stdout, '')
    const said = stderr.trimEnd().split('\n').map((line) => line.replace('row-query: ', ''))
    t.match(said, lines)
    t.equal(said.length, lines.length)
    t.notMatch(stderr, SECRET)
  })
}

t.test('a host that is not known is refused in one line', async (t) => {
  const { code, stderr } = await runRowQuery(t, ['serve', '--host', 'no.such.invalid'])
  t.same({ code, stderr }, { code: 2, stderr: 'row-query: host: is not a known host (no.such.invalid, port 3000)\n' })
})

for (const file of [{ databases: { gone } }, { databases: { gone }, tokens: [] }]) {
  t.test(`with ${JSON.stringify(Object.keys(file))} the server starts, refuses every request ` +
    'and says how to make a token', async (t) => {
    const cwd = t.testdir({ 'row-query.json': JSON.stringify(file) })
    const server = await serveRowQuery(t, { cwd, args: ['--config', 'row-query.json'] })
    for (const token of [undefined, 'demo', '']) {
      t.match(await server.post('/api/shop/orders', { verb: 'select' }, token), {
        status: 401, json: { error: { code: 'UNAUTHENTICATED' } }
      })
    }
    const { stderr } = await server.stop()
    t.match(stderr, /^row-query: no token is configured, so all requests are refused\.$/m)
    t.match(stderr, /^row-query: Set API_TOKEN, or .*row-query token --name me/m)
  })
}

// the demo

const printedToken = /token {4}(rq_[\w-]{43})\n/

async function tokenOf (server: Running): Promise<string> {
  const [, token = ''] = printedToken.exec(await server.printed(printedToken)) as RegExpExecArray
  return token
}

/** The lines of the banner that begin with curl. */
const curls = (stdout: string): string[] => stdout.split('\n').filter((line) => line.startsWith('  curl '))

async function answersOf (t: Test, stdout: string, env = {}): Promise<any[]> {
  const sh = createShell(t, env)
  const answers = []
  for (const line of curls(stdout)) answers.push(JSON.parse(await sh(line)))
  return answers
}

t.test('the first start without configuration creates the demo and prints working requests', async (t) => {
  const cwd = t.testdir()
  const server = await serveRowQuery(t, { cwd })
  const stdout = await server.printed(/"groupBy"/)
  t.ok(existsSync(join(cwd, 'data', 'demo.db')))
  t.match(
    stdout, `address  ${server.address}/api/demo/{customers,categories,products,orders,order_items,order_totals}\n`
  )
  t.match(stdout, printedToken)
  const answers = await answersOf(t, stdout)
  t.match(answers, [
    {
      success: true,
      data: {
        rows: [{
          sku: String, name: String, price: String, category: { name: 'Bicycle' }
        }, { category: { name: 'Bicycle' } }, { category: { name: 'Tea and coffee' } }],
        count: 3
      }
    },
    { success: true, data: { rows: [{ id: Number, customer: { name: String } }], count: 3 } },
    { success: true, data: { rows: [{ status: 'delivered' }], count: 6 } }
  ])
  t.match(stdout, `created in ${join(cwd, 'data', 'demo.db')}`)
  t.equal(statSync(join(cwd, 'data', 'demo.token')).mode & 0o777, 0o600)
  const insert = { verb: 'insert', data: { customer_id: 1, ordered_at: '2026-11-20T10:15:00' } }
  const token = await tokenOf(server)
  // the last of the named requests has placed order 151
  for (let sent = 0; sent < 2; sent++) {
    t.match(
      (await server.post('/api/demo/orders', insert, token, { 'idempotency-key': 'once' })).json, { data: { id: 152 } }
    )
  }
  const { code, stderr } = await server.stop()
  t.same({ code, stderr }, { code: 0, stderr: '' })
})

t.test('a second start keeps the rows and the token; row-query demo --reset makes the demo as new, also ' +
  'for a running server', async (t) => {
  const cwd = t.testdir()
  const first = await serveRowQuery(t, { cwd })
  const token = await tokenOf(first)
  t.match(
    await first.post('/api/demo/customers', { verb: 'update', data: { name: 'Changed' }, filters: { id: 1 } }, token),
    { status: 200 }
  )
  await first.stop()

  const second = await serveRowQuery(t, { cwd })
  t.equal(await tokenOf(second), token)
  const select = { verb: 'select', columns: ['name'], filters: { id: 1 } }
  t.match(await second.post('/api/demo/customers', select, token), { json: { data: { rows: [{ name: 'Changed' }] } } })
  t.match(await runRowQuery(t, ['demo', '--reset'], { cwd }), { code: 0, stderr: '' })
  t.match(await second.post('/api/demo/customers', select, token), {
    json: { data: { rows: [{ name: 'Phạm Minh' }] } }
  })
})

t.test('a configured token works and is not printed', async (t) => {
  const server = await serveRowQuery(t, { env: { API_TOKEN: TOKEN } })
  const stdout = await server.printed(/"groupBy"/)
  t.notMatch(stdout, printedToken)
  t.match(await answersOf(t, stdout, { TOKEN }), [{ success: true }, { success: true }, { success: true }])
  t.notMatch((await server.stop()).stdout, TOKEN)
})

t.test('the requests are printed with the configured address and prefix', async (t) => {
  const server = await serveRowQuery(t, { env: { PATH_PREFIX: '/rows/v1', LOG_LEVEL: 'silent' } })
  const stdout = await server.printed(/"groupBy"/)
  t.equal(curls(stdout).filter((line) => line.includes(`${server.address}/rows/v1/demo/`)).length, 3)
  t.match(await answersOf(t, stdout), [{ success: true }, { success: true }, { success: true }])
  t.notMatch(stdout, /"level"/, 'no log line')
})

// JSON alone

const json = { ROW_QUERY_LOG_FORMAT: 'json' }
const readLines = (stdout: string) =>
  stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, any>)

t.test('with the log format json, the demo writes nothing but JSON, its token included', async (t) => {
  const server = await serveRowQuery(t, { env: json })
  const [, token = ''] = /"token":"([^"]+)"/.exec(await server.printed(/this is the demo/)) as RegExpExecArray
  t.match(await server.post('/api/demo/orders', { verb: 'select', limit: 1 }, token), { status: 200 })
  const { stdout, stderr } = await server.stop()
  t.match(readLines(stdout).filter(({ msg }) => msg !== 'request'), [{ msg: /Server listening/ }, {
    level: 40,
    msg: 'no database is configured: this is the demo',
    address: `${server.address}/api/demo`,
    path: 'data/demo.db',
    token: String
  }])
  t.equal(stderr, '')
})

for (const tokens of [{ API_TOKEN: TOKEN }, {}]) {
  t.test(`so does a server with ${Object.keys(tokens).length} tokens`, async (t) => {
    const server = await serveRowQuery(t, {
      env: { ...json, DATABASE_URL: 'mysql://root@127.0.0.1:1/shop', ...tokens }
    })
    const isSaid = Object.keys(tokens).length === 0
    if (isSaid) await server.printed(/no token/)
    const { stdout, stderr } = await server.stop()
    t.equal(readLines(stdout).some(
      ({ level, msg }) => level === 40 && msg === 'no token is configured, so all requests are refused'
    ), isSaid)
    t.equal(stderr, '')
  })
}

// metrics

const selectOne = { verb: 'select', limit: 1 }

const start = (t: Test, config: object) => ({
  cwd: t.testdir({ 'row-query.json': JSON.stringify(config) }),
  env: { ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN }
})

t.test('metrics on a separate port need no token and are not on the main port', async (t) => {
  const server = await serveRowQuery(t, start(t, { metrics: { port: 0 } }))
  const [, url = ''] = /metrics at (http:[^"]+)/.exec(await server.printed(/metrics at/)) as RegExpExecArray
  t.match(await server.post('/api/demo/products', selectOne, TOKEN), { status: 200 })
  const answer = await fetch(url)
  t.equal(answer.status, 200)
  const samples = parseMetrics(await answer.text())
  t.equal(valueOf(samples, 'row_query_requests_total', { database: 'demo', verb: 'select', status: '200' }), 1)
  t.equal((await fetch(new URL('/api/demo/products', url), { method: 'POST' })).status, 404, 'nothing else is there')
  t.equal((await fetch(`${server.address}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).status, 404)
  t.match(await server.stop(), { code: 0, stderr: '' })
  await t.rejects(fetch(url), 'closed with the server')
})

t.test('metrics on the main port, and no metrics', async (t) => {
  for (const [metrics, status] of [[true, 200], [false, 404]] as const) {
    const server = await serveRowQuery(t, start(t, { metrics }))
    t.equal(
      (await fetch(`${server.address}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).status, status
    )
    t.match(await server.stop(), { code: 0, stderr: '' })
  }
})

t.test('metrics without a port, and with a setting that there is not, are refused', async (t) => {
  t.match(await runRowQuery(t, ['serve'], { ...start(t, { metrics: { prot: 1 } }) }), {
    code: 2,
    stderr: /: metrics\.port: is required .*\nrow-query: metrics\.prot: is not a setting; did you mean "port"\?$/m
  })
})

t.test('the other commands accept a configuration with server settings', async (t) => {
  const config = { metrics: { port: 0 }, shutdown: { delay: 5 }, requestLog: false, host: '0.0.0.0', prefix: '/rows' }
  const { cwd, env } = start(t, config)
  const server = await serveRowQuery(t, { cwd, env })
  await server.stop()
  const check = await runRowQuery(t, ['check'], { cwd, env: { ...env, DATABASE_URL: 'sqlite:data/demo.db' } })
  t.match(check, { code: 0, stderr: '' })
  const { code, stdout } = await runRowQuery(t, ['openapi'], {
    cwd, env: { ...env, DATABASE_URL: 'sqlite:data/demo.db' }
  })
  t.match({ code, servers: stdout }, { code: 0, servers: '/rows' })
})

t.test('requestLog false disables the log lines of requests', async (t) => {
  const server = await serveRowQuery(t, start(t, { requestLog: false }))
  t.match(await server.post('/api/demo/products', selectOne, TOKEN), { status: 200 })
  t.notMatch((await server.stop()).stdout, '"msg":"request"')
})
