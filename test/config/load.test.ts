import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Config } from '../../schemas/options.ts'
import { DEMO_PATH, loadConfig, type Environment, type Flags } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { TOKEN } from '../support/service.ts'

const all = ['select', 'insert', 'update', 'delete']
const shop = { url: 'mysql://root@127.0.0.1/shop' }
const reader = { name: 'reader', sha256: 'a'.repeat(64), permissions: ['select'] }

/** Loads with a file of that content, if there is one; text is written as it is. */
function load ({ env = {}, flags = {}, file }: { env?: Environment, flags?: Flags, file?: unknown }): ReturnType<typeof loadConfig> {
  if (file === undefined) return loadConfig(env, flags)
  const path = join(t.testdirName, 'row-query.json')
  writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file))
  return loadConfig({ ...env, ROW_QUERY_CONFIG: path }, flags)
}

function errorsOf (run: () => unknown): string[] {
  try {
    run()
  } catch (error) {
    if (error instanceof ConfigError) return error.errors.map((line) => line.replace(t.testdirName + '/', ''))
    throw error
  }
  return []
}

t.testdir()

t.test('without configuration, the demo gets a token with all permissions', async (t) => {
  const { config, demo } = load({})
  t.equal(demo?.path, DEMO_PATH)
  t.same(config, {
    databases: { demo: { url: `sqlite:${DEMO_PATH}` } },
    tokens: [{ name: 'demo', sha256: hashToken(demo?.token as string), permissions: all }],
    docs: true
  })
  t.not(load({}).demo?.token, demo?.token, 'another one each time')
})

t.test('the demo creates no token if tokens are configured', async (t) => {
  t.same(load({ env: { API_TOKEN: TOKEN } }).demo, { path: DEMO_PATH, token: undefined })
  t.same(load({ file: { tokens: [reader] } }).demo, { path: DEMO_PATH, token: undefined })
  t.same(load({ file: { tokens: [] } }).config.tokens, [], 'nor where somebody wants none')
})

const loaded: Array<{ what: string, from: Parameters<typeof load>[0], config: object }> = [
  { what: 'DATABASE_URL', from: { env: { DATABASE_URL: shop.url } }, config: { databases: { shop } } },
  { what: 'DATABASE_URL of a SQLite file', from: { env: { DATABASE_URL: 'sqlite:a/b.c.db' } }, config: { databases: { 'b.c': { url: 'sqlite:a/b.c.db' } } } },
  {
    what: 'DATABASE_URL beside a file, with the settings that the file has for its name',
    from: { env: { DATABASE_URL: shop.url }, file: { databases: { other: shop, shop: { url: 'mysql://elsewhere/shop', pool: { size: 2 } } } } },
    config: { databases: { other: shop, shop: { ...shop, pool: { size: 2 } } } }
  },
  {
    what: 'API_TOKEN beside those of a file',
    from: { env: { API_TOKEN: TOKEN }, file: { databases: { shop }, tokens: [reader] } },
    config: { databases: { shop }, tokens: [reader, { name: 'API_TOKEN', sha256: hashToken(TOKEN), permissions: all }] }
  },
  {
    what: 'API_TOKEN_PERMISSIONS, each once',
    from: { env: { DATABASE_URL: shop.url, API_TOKEN: TOKEN, API_TOKEN_PERMISSIONS: ' select,insert, select' } },
    config: { databases: { shop }, tokens: [{ name: 'API_TOKEN', sha256: hashToken(TOKEN), permissions: ['select', 'insert'] }] }
  },
  {
    what: 'the environment over the file',
    from: { env: { HOST: '::1', PORT: '81', PATH_PREFIX: '/b', LOG_LEVEL: 'warn' }, file: { databases: { shop }, host: '::', port: 80, prefix: '/a', logLevel: 'info' } },
    config: { databases: { shop }, host: '::1', port: 81, prefix: '/b', logLevel: 'warn' }
  },
  {
    what: 'flags over the environment',
    from: { env: { DATABASE_URL: shop.url, HOST: '::1', PORT: '81' }, flags: { host: '::2', port: '82' } },
    config: { databases: { shop }, host: '::2', port: 82 }
  }
]

for (const { what, from, config } of loaded) {
  t.test(`configuration from ${what}`, async (t) => {
    t.same(load(from), { config: config as Config, demo: undefined })
  })
}

t.test('--config wins over ROW_QUERY_CONFIG', async (t) => {
  const folder = t.testdir({ 'a.json': JSON.stringify({ databases: { shop } }), 'b.json': '{}' })
  t.same(loadConfig({ ROW_QUERY_CONFIG: join(folder, 'b.json') }, { config: join(folder, 'a.json') }).config, { databases: { shop } })
})

const SECRET = 'hunter2-and-so-on-up-to-the-32-characters'

const refused: Array<{ because: string, from: Parameters<typeof load>[0], lines: Array<string | RegExp> }> = [
  { because: 'a port that is no number', from: { flags: { port: '3e3' } }, lines: ['--port: must be an integer from 0 to 65535 (port to listen on; 0 for any free port)'] },
  { because: 'a port that is too large', from: { env: { PORT: '65536' } }, lines: ['PORT: must be an integer from 0 to 65535 (port to listen on; 0 for any free port)'] },
  { because: 'an empty host', from: { env: { HOST: '' } }, lines: [/^HOST: is empty; it must be a string that is not empty \(/] },
  { because: 'a prefix with a slash at its end', from: { env: { PATH_PREFIX: '/api/' } }, lines: ['PATH_PREFIX: must be a path such as /api, without a trailing slash'] },
  { because: 'an unknown log level', from: { env: { LOG_LEVEL: 'loud' } }, lines: [/^LOG_LEVEL: must be "fatal" or "error" or .* or "silent" \(/] },
  { because: 'another kind of database', from: { env: { DATABASE_URL: `postgres://u:${SECRET}@h/d` } }, lines: ['DATABASE_URL: must begin with mysql://, mariadb:// or sqlite:'] },
  { because: 'an empty DATABASE_URL', from: { env: { DATABASE_URL: '' } }, lines: ['DATABASE_URL: is empty'] },
  { because: 'a database whose name cannot stand in a path', from: { env: { DATABASE_URL: 'mysql://h/my%20shop' } }, lines: [/^DATABASE_URL: is not a valid name \(the databases by name; a name has 1 to 64 letters/] },
  { because: 'such a name in the file', from: { file: { databases: { 'my/shop': shop } } }, lines: [/^databases\.my\/shop: is not a valid name \(/] },
  { because: 'a token that no header can carry', from: { env: { API_TOKEN: `${SECRET}\n` } }, lines: ['API_TOKEN: must be printable ASCII without spaces'] },
  { because: 'an empty token', from: { env: { API_TOKEN: '' } }, lines: ['API_TOKEN: is empty'] },
  { because: 'a token that can be guessed', from: { env: { API_TOKEN: SECRET.slice(0, 31) } }, lines: ['API_TOKEN: must have at least 32 characters; "openssl rand -hex 32" generates one'] },
  { because: 'one of two variables that belong together, once', from: { env: { HTTPS_CERT: 'a.pem', HTTPS_KEY: '' } }, lines: [/^HTTPS_KEY: is empty/] },
  { because: 'an unknown permission', from: { env: { API_TOKEN: SECRET, API_TOKEN_PERMISSIONS: 'select,drop' } }, lines: ['API_TOKEN_PERMISSIONS: must be a comma-separated list of select, insert, update, delete'] },
  { because: 'empty permissions', from: { env: { API_TOKEN: SECRET, API_TOKEN_PERMISSIONS: '' } }, lines: [/^API_TOKEN_PERMISSIONS: is empty; it must be a comma-separated list of/] },
  { because: 'permissions of no token', from: { env: { API_TOKEN_PERMISSIONS: 'select' } }, lines: ['API_TOKEN_PERMISSIONS: is set, but API_TOKEN is not'] },
  { because: 'a file that is not there', from: { flags: { config: 'nowhere.json' } }, lines: ['--config: nowhere.json cannot be read'] },
  { because: 'an empty path', from: { env: { ROW_QUERY_CONFIG: '' } }, lines: ['ROW_QUERY_CONFIG: is empty'] },
  { because: 'a file that breaks off', from: { file: `{ "${SECRET}": ` }, lines: ['ROW_QUERY_CONFIG: row-query.json is not valid JSON, line 1 column 48'] },
  { because: 'a file with a comma too many', from: { file: `{\n  "${SECRET}": 1,\n}` }, lines: ['ROW_QUERY_CONFIG: row-query.json is not valid JSON, line 3 column 1'] },
  { because: 'a file that holds a list', from: { file: [] }, lines: ['ROW_QUERY_CONFIG: row-query.json does not contain a JSON object'] },
  { because: 'a file that holds null', from: { file: 'null' }, lines: ['ROW_QUERY_CONFIG: row-query.json does not contain a JSON object'] },
  { because: 'a list of databases, which DATABASE_URL does not hide', from: { env: { DATABASE_URL: shop.url }, file: { databases: [shop] } }, lines: [/^databases: must be an object that is not empty \(/] },
  { because: 'an entry that is no object, which DATABASE_URL does not hide', from: { env: { DATABASE_URL: shop.url }, file: { databases: { shop: SECRET } } }, lines: ['databases.shop: must be an object'] },
  {
    because: 'several settings, some by their schemas and some by their meaning: all are reported, and none because of another',
    from: {
      env: { PORT: 'x', ROW_QUERY_HTTP_REQUEST_TIMEOUT: '5' },
      file: {
        databases: { shop: { url: 'postgres://h/d' }, crm: { ...shop, pol: 1 }, log: { ...shop, pool: { size: 1, minimum: 2 } }, gone: { url: `mysql://\${${SECRET.replaceAll('-', '_').toUpperCase()}_}@h/d` } },
        tokens: [{ ...reader, expires: 'soon' }, { ...reader, permissions: ['read'] }, { ...reader, name: 'other', databases: { crm: '*', gone: ['x'], nope: '*' } }, { ...reader, name: 'other', sha256: 'b'.repeat(64) }],
        jwt: [{ issuer: 'i', audience: 'a', secret: 'short', algorithms: ['HS256'], role: '/role' }, { issuer: 'i', audience: 'a', secret: 'short', algorithms: ['HS256'], role: 'role' }],
        roles: { clerk: { permissions: ['select'] } },
        trustProxy: ['10.0.0.0/99']
      }
    },
    lines: [
      /^databases\.gone\.url: the variable /,
      /^PORT: /,
      /^databases\.crm\.pol: is not a setting/,
      'tokens.1.permissions.0: must be "select" or "insert" or "update" or "delete"',
      /^jwt\.1\.role: must be a JSON Pointer to the claim/,
      /^roles\.clerk\.databases: /,
      'trustProxy.0: must be an IP address, or a network such as 10.0.0.0/8',
      'http.headersTimeout: must be less than http.requestTimeout',
      'databases.shop.url: must begin with mysql://, mariadb:// or sqlite:',
      'databases.log.pool.minimum: must not be greater than pool.size, which is 1',
      /^tokens\.0\.expires: must be a date/,
      'tokens.2.databases.nope: is not a configured database; the databases are shop, crm, log, gone',
      'tokens.2.sha256: is the same as that of tokens.0',
      'tokens.3.name: is the same as that of tokens.2',
      'jwt.0.algorithms: HS256 requires a secret of at least 32 bytes'
    ]
  },
  { because: 'a schema that is no text', from: { file: { databases: { shop }, $schema: 1 } }, lines: [/^\$schema: is not a setting/] },
  { because: 'a claim without its slash', from: { file: { databases: { shop }, tokens: [{ ...reader, databases: { shop: { orders: { rows: { tenant: { $claim: 'tenant' } } } } } }] } }, lines: [/^tokens\.0\.databases\.shop\.orders\.rows\.tenant\.\$claim: must be a JSON Pointer/] },
  { because: 'an object of tokens, which API_TOKEN does not hide', from: { env: { API_TOKEN: SECRET }, file: { databases: { shop }, tokens: { reader } } }, lines: [/^tokens: must be a list \(/] }
]

for (const { because, from, lines } of refused) {
  t.test(`configuration is refused because of ${because}`, async (t) => {
    const said = errorsOf(() => load(from))
    t.match(said, lines)
    t.equal(said.length, lines.length)
    t.notMatch(said.join('\n'), SECRET.slice(0, 7))
  })
}
