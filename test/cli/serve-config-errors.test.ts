// night: starts programs
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'

interface Refused { because: string, env?: Record<string, string>, args?: string[], file?: unknown, lines: Array<string | RegExp> }

const SECRET = 'hunter2'
const HOST = 'h'
const shop = { url: 'mysql://root@127.0.0.1:1/shop' }

const refused: Refused[] = [
  { because: 'a port that is no number', args: ['--port', 'http'], lines: ['--port: must be an integer from 0 to 65535 (port to listen on; 0 for any free port)'] },
  { because: 'a SQLite file that is not there', env: { DATABASE_URL: 'sqlite:no/such.db' }, lines: ['databases.such.url: no/such.db does not exist'] },
  { because: 'a SQLite file that is none', env: { DATABASE_URL: 'sqlite:row-query.json' }, file: 'x'.repeat(1000), lines: ['databases.row-query.url: row-query.json cannot be opened: file is not a database'] },
  {
    because: 'several at once',
    env: { DATABASE_URL: `mysql://u:${SECRET}@h`, API_TOKEN: '', PORT: '-1' },
    lines: ['DATABASE_URL: must name one database after the host: mysql://host/name', 'API_TOKEN: is empty', /^PORT: /]
  },
  {
    because: 'several in the file',
    env: { ROW_QUERY_CONFIG: 'row-query.json' },
    file: { databases: { shop: { ...shop, pol: {}, pool: { size: 0 } } }, tokens: [{ name: 'x', sha256: SECRET, permissions: ['read'] }], prot: 1 },
    lines: [
      /^prot: is not a setting; the settings are databases, tokens, .*port/,
      /^databases\.shop\.pol: is not a setting; the settings are url, .*pool/,
      'databases.shop.pool.size: must be an integer from 1 to 1000 (maximum number of connections)',
      'tokens.0.sha256: must be the SHA-256 of the token, as 64 lower-case hexadecimal digits',
      'tokens.0.permissions.0: must be "select" or "insert" or "update" or "delete"'
    ]
  },
  {
    because: 'what only all of the file shows',
    env: { ROW_QUERY_CONFIG: 'row-query.json', PASSWORD: SECRET },
    file: { databases: { shop: { url: `mysql://u:\${PASSWORD}@${HOST}` } }, tokens: [{ name: 'x', sha256: 'a'.repeat(64), permissions: ['select'], databases: { shpo: '*' } }] },
    lines: ['databases.shop.url: must name one database after the host: mysql://host/name', 'tokens.0.databases.shpo: is not a configured database; the databases are shop']
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

t.test('a port that is in use is reported in one line', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => { other.close() })
  const { port } = other.address() as AddressInfo
  const { code, stderr } = await runRowQuery(t, ['serve', '--port', String(port)], { env: { DATABASE_URL: 'mysql://root@127.0.0.1:1/shop' } })
  t.same({ code, stderr }, { code: 2, stderr: `row-query: port: is in use by another program (127.0.0.1, port ${port})\n` })
})

const hosts: Array<[host: string, reason: string]> = [
  ['192.0.2.1', 'is not an address of this machine'],
  ['no.such.invalid', 'is not a known host'],
  ['x'.repeat(300), 'cannot listen (EINVAL)']
]

for (const [host, reason] of hosts) {
  t.test(`a host is refused in one line: ${reason}`, async (t) => {
    const { code, stderr } = await runRowQuery(t, ['serve', '--host', host])
    t.same({ code, stderr }, { code: 2, stderr: `row-query: host: ${reason} (${host}, port 3000)\n` })
  })
}

for (const file of [{ databases: { shop } }, { databases: { shop }, tokens: [] }]) {
  t.test(`with ${JSON.stringify(Object.keys(file))} the server starts, refuses every request and says how to make a token`, async (t) => {
    const cwd = t.testdir({ 'row-query.json': JSON.stringify(file) })
    const server = await serveRowQuery(t, { cwd, args: ['--config', 'row-query.json'] })
    for (const token of [undefined, 'demo', '']) {
      t.match(await server.post('/api/shop/orders', { verb: 'select' }, token), { status: 401, json: { error: { code: 'UNAUTHENTICATED' } } })
    }
    const { stderr } = await server.stop()
    t.match(stderr, /^row-query: no token is configured, so all requests are refused\.\nrow-query: Set API_TOKEN, or .*row-query token --name me/)
  })
}
