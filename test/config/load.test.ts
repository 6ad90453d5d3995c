/**
 * The configuration: from a file, variables and flags, with references to secrets, and the lines that say what is wrong
 * with it.
 */
import { execFileSync } from 'node:child_process'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TSchema, Type } from '@sinclair/typebox'
import t from 'tap'
import type { Config } from '../../schemas/options.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { DEMO_REQUESTS, DEMO_ROLE } from '../../src/config/demo-requests.ts'
import { ConfigError, findConfigErrors } from '../../src/config-errors.ts'
import { parseConfigJson } from '../../src/json/exact-json.ts'
import {
  DEMO_PATH, DEMO_TOKEN_PATH, type Environment, type Flags, loadConfig, keepDemoToken
} from '../../src/config/load.ts'
import { substitute } from '../../src/config/substitute.ts'
import { findUnknownVariables, VARIABLES, withoutServices } from '../../src/config/variables.ts'
import { TOKEN } from '../support/service.ts'

const all = ['select', 'insert', 'update', 'delete']
const shop = { url: 'mysql://root@127.0.0.1/shop' }
const reader = { name: 'reader', sha256: 'a'.repeat(64), permissions: ['select'] }

/** Loads with a file of that content, if there is one; text is written as it is. */
function load ({ env = {}, flags = {}, file }: {
  env?: Environment, flags?: Flags, file?: unknown
}): ReturnType<typeof loadConfig> {
  if (file === undefined) return loadConfig(env, flags)
  const path = join(t.testdirName, 'row-query.json')
  writeFileSync(path, typeof file === 'string' || Buffer.isBuffer(file) ? file : JSON.stringify(file))
  return loadConfig({ ...env, ROW_QUERY_CONFIG: path }, flags)
}

function errorsWithin (run: () => unknown): string[] {
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
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  // an earlier start of the demo may have kept a token here
  process.chdir(t.testdir())
  const { config, demo } = load({})
  t.equal(demo?.path, DEMO_PATH)
  t.same(config, {
    databases: { demo: { url: `sqlite:${DEMO_PATH}` } },
    tokens: [{ name: 'demo', sha256: hashToken(demo?.token as string), permissions: all, requests: '*' }],
    docs: true,
    requests: DEMO_REQUESTS,
    roles: { front: DEMO_ROLE }
  })
  t.not(load({}).demo?.token, demo?.token, 'another one each time, until one is kept')
  const token = demo?.token as string
  keepDemoToken(DEMO_TOKEN_PATH, token)
  t.equal(load({}).demo?.token, token)
  writeFileSync(DEMO_TOKEN_PATH, '')
  t.not(load({}).demo?.token, token, 'a file that has none')
})

t.test('the named requests of the demo give way to configured ones', async (t) => {
  const request = { database: 'demo', table: 'orders', body: { verb: 'select' } }
  t.same(load({ file: { requests: { orders: request } } }).config.requests, { orders: request })
  const own = { permissions: ['select'], databases: { demo: '*' } }
  t.same(load({ file: { roles: { clerk: own } } }).config.roles, { front: DEMO_ROLE, clerk: own })
})

t.test('the demo creates no token if tokens are configured', async (t) => {
  t.same(load({ env: { API_TOKEN: TOKEN } }).demo, { path: DEMO_PATH, token: undefined })
  t.same(load({ file: { tokens: [reader] } }).demo, { path: DEMO_PATH, token: undefined })
  t.same(load({ file: { tokens: [] } }).config.tokens, [], 'nor where somebody wants none')
})

const loaded: Array<{ what: string, from: Parameters<typeof load>[0], config: object }> = [
  { what: 'DATABASE_URL', from: { env: { DATABASE_URL: shop.url } }, config: { databases: { shop } } },
  {
    what: 'DATABASE_URL of a SQLite file',
    from: { env: { DATABASE_URL: 'sqlite:a/b.c.db' } },
    config: { databases: { 'b.c': { url: 'sqlite:a/b.c.db' } } }
  },
  {
    what: 'DATABASE_URL beside a file, with the settings that the file has for its name',
    from: {
      env: { DATABASE_URL: shop.url },
      file: { databases: { other: shop, shop: { url: 'mysql://elsewhere/shop', pool: { size: 2 } } } }
    },
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
    config: {
      databases: { shop }, tokens: [{ name: 'API_TOKEN', sha256: hashToken(TOKEN), permissions: ['select', 'insert'] }]
    }
  },
  {
    what: 'the environment over the file',
    from: {
      env: { HOST: '::1', PORT: '81', PATH_PREFIX: '/b', LOG_LEVEL: 'warn' },
      file: { databases: { shop }, host: '::', port: 80, prefix: '/a', logLevel: 'info' }
    },
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
  t.same(loadConfig({ ROW_QUERY_CONFIG: join(folder, 'b.json') }, { config: join(folder, 'a.json') }).config, {
    databases: { shop }
  })
})

const SECRET = 'hunter2-and-so-on-up-to-the-32-characters'

const refusedLoads: Array<{ because: string, from: Parameters<typeof load>[0], lines: Array<string | RegExp> }> = [
  {
    because: 'a port that is no number',
    from: { flags: { port: '3e3' } },
    lines: ['--port: must be an integer from 0 to 65535 (port to listen on; 0 for any free port)']
  },
  {
    because: 'a port that is too large',
    from: { env: { PORT: '65536' } },
    lines: ['PORT: must be an integer from 0 to 65535 (port to listen on; 0 for any free port)']
  },
  {
    because: 'an empty host',
    from: { env: { HOST: '' } },
    lines: [/^HOST: is empty; it must be a string that is not empty \(/]
  },
  {
    because: 'a prefix with a slash at its end',
    from: { env: { PATH_PREFIX: '/api/' } },
    lines: ['PATH_PREFIX: must be a path such as /api, without a trailing slash']
  },
  {
    because: 'an unknown log level',
    from: { env: { LOG_LEVEL: 'loud' } },
    lines: [/^LOG_LEVEL: must be "fatal" or "error" or .* or "silent" \(/]
  },
  {
    because: 'another kind of database',
    from: { env: { DATABASE_URL: `postgres://u:${SECRET}@h/d` } },
    lines: ['DATABASE_URL: must begin with mysql://, mariadb:// or sqlite:']
  },
  { because: 'an empty DATABASE_URL', from: { env: { DATABASE_URL: '' } }, lines: ['DATABASE_URL: is empty'] },
  {
    because: 'a database whose name cannot stand in a path',
    from: { env: { DATABASE_URL: 'mysql://h/my%20shop' } },
    lines: [/^DATABASE_URL: is not a valid name \(databases by name: 1 to 64 letters/]
  },
  {
    because: 'such a name in the file',
    from: { file: { databases: { 'my/shop': shop } } },
    lines: [/^databases\.my\/shop: is not a valid name \(/]
  },
  {
    because: 'a token that no header can carry',
    from: { env: { API_TOKEN: `${SECRET}\n` } },
    lines: ['API_TOKEN: must be printable ASCII without spaces']
  },
  { because: 'an empty token', from: { env: { API_TOKEN: '' } }, lines: ['API_TOKEN: is empty'] },
  {
    because: 'a token that can be guessed',
    from: { env: { API_TOKEN: SECRET.slice(0, 31) } },
    lines: ['API_TOKEN: must have at least 32 characters; "openssl rand -hex 32" generates one']
  },
  {
    because: 'one of two variables that belong together, once',
    from: { env: { HTTPS_CERT: 'a.pem', HTTPS_KEY: '' } },
    lines: [/^HTTPS_KEY: is empty/]
  },
  {
    because: 'an unknown permission',
    from: { env: { API_TOKEN: SECRET, API_TOKEN_PERMISSIONS: 'select,drop' } },
    lines: ['API_TOKEN_PERMISSIONS: must be a comma-separated list of select, insert, update, delete']
  },
  {
    because: 'empty permissions',
    from: { env: { API_TOKEN: SECRET, API_TOKEN_PERMISSIONS: '' } },
    lines: [/^API_TOKEN_PERMISSIONS: is empty; it must be a comma-separated list of/]
  },
  {
    because: 'permissions of no token',
    from: { env: { API_TOKEN_PERMISSIONS: 'select' } },
    lines: ['API_TOKEN_PERMISSIONS: is set, but API_TOKEN is not']
  },
  {
    because: 'a file that is not there',
    from: { flags: { config: 'nowhere.json' } },
    lines: ['--config: nowhere.json cannot be read']
  },
  { because: 'an empty path', from: { env: { ROW_QUERY_CONFIG: '' } }, lines: ['ROW_QUERY_CONFIG: is empty'] },
  {
    because: 'a file that breaks off',
    from: { file: `{ "${SECRET}": ` },
    lines: ['ROW_QUERY_CONFIG: row-query.json is not valid JSON, line 1 column 48']
  },
  {
    because: 'a file with a comma too many',
    from: { file: `{\n  "${SECRET}": 1,\n}` },
    lines: ['ROW_QUERY_CONFIG: row-query.json is not valid JSON, line 3 column 1']
  },
  {
    because: 'a name with a line break',
    from: { file: { databases: { shop }, 'a\nb': 1 } },
    lines: [/^a\\u000ab: is not a setting/]
  },
  {
    because: 'a file in Latin-1, whose letters would be replaced',
    from: { file: Buffer.from('{"prefix": "/caf\xe9"}', 'latin1') },
    lines: ['ROW_QUERY_CONFIG: row-query.json is not UTF-8 text']
  },
  {
    because: 'a file in UTF-16',
    from: { file: Buffer.from('\ufeff{}', 'utf16le') },
    lines: ['ROW_QUERY_CONFIG: row-query.json is not UTF-8 text']
  },
  {
    because: 'a file that holds a list',
    from: { file: [] },
    lines: ['ROW_QUERY_CONFIG: row-query.json does not contain a JSON object']
  },
  {
    because: 'a file that holds null',
    from: { file: 'null' },
    lines: ['ROW_QUERY_CONFIG: row-query.json does not contain a JSON object']
  },
  {
    because: 'a list of databases, which DATABASE_URL does not hide',
    from: { env: { DATABASE_URL: shop.url }, file: { databases: [shop] } },
    lines: [/^databases: must be an object that is not empty \(/]
  },
  {
    because: 'an entry that is no object, which DATABASE_URL does not hide',
    from: { env: { DATABASE_URL: shop.url }, file: { databases: { shop: SECRET } } },
    lines: ['databases.shop: must be an object']
  },
  {
    because: 'several settings, some by their schemas and some by their meaning: all are reported, and none ' +
      'because of another',
    from: {
      env: { PORT: 'x', ROW_QUERY_HTTP_REQUEST_TIMEOUT: '5' },
      file: {
        databases: {
          shop: { url: 'postgres://h/d' },
          crm: { ...shop, pol: 1 },
          log: { ...shop, pool: { size: 1, minimum: 2 } },
          gone: { url: `mysql://\${${SECRET.replaceAll('-', '_').toUpperCase()}_}@h/d` }
        },
        tokens: [
          { ...reader, expires: 'soon' }, { ...reader, permissions: ['read'] },
          { ...reader, name: 'other', databases: { crm: '*', gone: ['x'], nope: '*' } },
          { ...reader, name: 'other', sha256: 'b'.repeat(64) }
        ],
        jwt: [{ issuer: 'i', audience: 'a', secret: 'short', algorithms: ['HS256'], role: '/role' }, {
          issuer: 'i', audience: 'a', secret: 'short', algorithms: ['HS256'], role: 'role'
        }],
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
      'trustProxy.0: must be an IP address, or a network such as 10.0.0.0/8',
      'http.headersTimeout: must be less than http.requestTimeout',
      'databases.shop.url: must begin with mysql://, mariadb:// or sqlite:',
      'databases.log.pool.minimum: must not be greater than pool.size, which is 1',
      /^tokens\.0\.expires: must be a date/,
      'tokens.2.databases.nope: is not a configured database; the databases are shop, crm, log, gone',
      'tokens.2.sha256: is the same as that of tokens.0',
      'tokens.3.name: is the same as that of tokens.2',
      /^roles\.clerk\.databases: /,
      'jwt.0.algorithms: HS256 requires a secret of at least 32 bytes'
    ]
  },
  {
    because: 'a schema that is no text',
    from: { file: { databases: { shop }, $schema: 1 } },
    lines: [/^\$schema: is not a setting/]
  },
  {
    because: 'a claim without its slash',
    from: {
      file: {
        databases: { shop },
        tokens: [{ ...reader, databases: { shop: { orders: { rows: { tenant: { $claim: 'tenant' } } } } } }]
      }
    },
    lines: [/^tokens\.0\.databases\.shop\.orders\.rows\.tenant\.\$claim: must be a JSON Pointer/]
  },
  {
    because: 'an object of tokens, which API_TOKEN does not hide',
    from: { env: { API_TOKEN: SECRET }, file: { databases: { shop }, tokens: { reader } } },
    lines: [/^tokens: must be a list \(/]
  }
]

for (const { because, from, lines } of refusedLoads) {
  t.test(`configuration is refused because of ${because}`, async (t) => {
    const said = errorsWithin(() => load(from))
    t.match(said, lines)
    t.equal(said.length, lines.length)
    t.notMatch(said.join('\n'), SECRET.slice(0, 7))
  })
}

// variables of settings

const ROOT = { DATABASE_URL: shop.url }

function errorsOf (env: Record<string, string>, file = {}): string[] {
  const config = join(t.testdirName, 'row-query.json')
  writeFileSync(config, JSON.stringify({ databases: { shop }, ...file }))
  try {
    loadConfig(env, { config })
    return []
  } catch (error) {
    return (error as ConfigError).errors as string[]
  }
}

const readFrom: Array<[env: Record<string, string>, settings: object]> = [
  [{ ROW_QUERY_DOCS: 'true', ROW_QUERY_TRACING: 'false' }, { docs: true, tracing: false }],
  [{ ROW_QUERY_OPENAPI: 'public' }, { openapi: 'public' }],
  [{ ROW_QUERY_BODY_LIMIT: '5000' }, { bodyLimit: 5000 }],
  [{ ROW_QUERY_LIMITS_FILTER_DEPTH: '4', ROW_QUERY_LIMITS_OFFSET: '0' }, { limits: { filterDepth: 4, offset: 0 } }],
  [{ ROW_QUERY_RATE_LIMIT_MAX: '5' }, { rateLimit: { max: 5 } }],
  [{ ROW_QUERY_TRUST_PROXY: '10.0.0.0/8, loopback' }, { trustProxy: ['10.0.0.0/8', 'loopback'] }],
  [{ ROW_QUERY_CORS_ORIGINS: 'https://a.example' }, { cors: { origins: ['https://a.example'] } }],
  [{ ROW_QUERY_PREFIX: '' }, { prefix: '' }],
  [{ ROW_QUERY_HOST: 'true' }, { host: 'true' }],
  [{ ROW_QUERY_HOST: '::1', HOST: '::2', ROW_QUERY_PORT: '81', PORT: '82' }, { host: '::1', port: 81 }],
  [{ ROW_QUERY_METRICS: 'true' }, { metrics: true }],
  [{ ROW_QUERY_METRICS_PORT: '9090' }, { metrics: { port: 9090 } }],
  [{ ROW_QUERY_METRICS_PORT: '9090', ROW_QUERY_METRICS: 'true' }, { metrics: { port: 9090 } }],
  [{ ROW_QUERY_METRICS_PORT: '9090', ROW_QUERY_METRICS: 'false' }, { metrics: false }],
  [{ ROW_QUERY_HTTPS_CERT: 'a', HTTPS_CERT: 'b', HTTPS_KEY: 'c' }, { https: { cert: 'a', key: 'c' } }],
  [{ ROW_QUERY_POOL_SIZE: '20', ROW_QUERY_STATEMENT_TIMEOUT: '7' }, {
    databases: { shop: { ...shop, pool: { size: 20 }, statementTimeout: 7 } }
  }]
]

for (const [env, settings] of readFrom) {
  t.test(`${JSON.stringify(env)} is read`, async (t) => {
    t.same(loadConfig({ ...ROOT, ...env }, {}).config, { databases: { shop }, ...settings })
  })
}

t.test('variables override the file and are merged into its objects; those of databases apply to each', async (t) => {
  const file = {
    databases: { shop: { ...shop, pool: { size: 5, queue: 6 } }, crm: shop },
    limits: { offset: 1, filterDepth: 2 },
    docs: true
  }
  const config = `${t.testdir({ 'row-query.json': JSON.stringify(file) })}/row-query.json`
  const env = { ROW_QUERY_POOL_SIZE: '20', ROW_QUERY_LIMITS_OFFSET: '3', ROW_QUERY_DOCS: 'false' }
  t.same(loadConfig(env, { config }).config, {
    databases: { shop: { ...shop, pool: { size: 20, queue: 6 } }, crm: { ...shop, pool: { size: 20 } } },
    limits: { offset: 3, filterDepth: 2 },
    docs: false
  })
  t.match(loadConfig({ ROW_QUERY_POOL_SIZE: '20', ROW_QUERY_DOCS: 'false' }, {})
    .config, { databases: { demo: { pool: { size: 20 } } }, docs: false }, 'also to the demo')
})

const HUGE = '9'.repeat(30)
const refusedValues: Array<[name: string, text: string, line: RegExp]> = [
  ...['', '1e3', HUGE, '0', '-1', ' 20', '+5', '0x10', '1.5', '💥', 'NaN'].map((text): [string, string, RegExp] => [
    'ROW_QUERY_POOL_SIZE', text,
    /^ROW_QUERY_POOL_SIZE: (is empty; it )?must be an integer from 1 to 1000 \(maximum number of connections\)$/
  ]),
  ['ROW_QUERY_BODY_LIMIT', HUGE, /^ROW_QUERY_BODY_LIMIT: must be an integer of at least 1 \(/],
  ...['', 'TRUE', 'yes', '1', 'null'].map((text): [string, string, RegExp] => [
    'ROW_QUERY_DOCS', text, /^ROW_QUERY_DOCS: (is empty; it )?must be true or false \(/
  ]),
  ['ROW_QUERY_METRICS', '{}', /^ROW_QUERY_METRICS: must be true or false \(/],
  ['ROW_QUERY_OPENAPI', 'all', /^ROW_QUERY_OPENAPI: must be "token" or "public" or "off" \(/],
  ['ROW_QUERY_TRUST_PROXY', '', /^ROW_QUERY_TRUST_PROXY: is empty; it must be a list/],
  ['ROW_QUERY_TRUST_PROXY', 'loopback,,', /^ROW_QUERY_TRUST_PROXY\.1: must be/],
  ['ROW_QUERY_CORS_ORIGINS', 'a.example', /^ROW_QUERY_CORS_ORIGINS\.0: must be/],
  ['ROW_QUERY_TOKENS_FILE', '', /^ROW_QUERY_TOKENS_FILE: is empty; it must be a string that is not empty/]
]

for (const [name, text, line] of refusedValues) {
  t.test(`${name}=${text} is refused, by the name of the variable`, async (t) => {
    t.match(errorsOf({ [name]: text }), [line])
    t.notMatch(errorsOf({ [name]: text }).join(), HUGE)
  })
}

t.test('every variable is the only one of its name, and takes effect or is refused', async (t) => {
  const settings = Array.from(VARIABLES.values(), ({ path, ofDatabases }) => `${ofDatabases}.${path.join('.')}`)
  t.equal(new Set(settings).size, VARIABLES.size)
  for (const name of VARIABLES.keys()) {
    t.match(name, /^ROW_QUERY(_[A-Z]+)+$/)
    t.not(outcomeOf({ [name]: 'not/a value' }), outcomeOf({}), name)
  }
})

function outcomeOf (env: Record<string, string>): string {
  try {
    return JSON.stringify(loadConfig({ ...ROOT, ...env }, {}).config)
  } catch (error) {
    return (error as Error).message
  }
}

const unknownVariables: Array<[name: string, hint: string]> = [
  ['ROW_QUERY_POOLSIZE', '; did you mean ROW_QUERY_POOL_SIZE?'],
  ['ROW_QUERY_DOC', '; did you mean ROW_QUERY_DOCS?'],
  ['ROW_QUERY_DATABASE_URL', '; did you mean DATABASE_URL?'],
  ['ROW_QUERY_PATH_PREFIX', '; did you mean PATH_PREFIX?'],
  ['ROW_QUERY_SOMETHING_ELSE', ''],
  ['ROW_QUERY_URL', ''],
  ['ROW_QUERY_TOKENS', ''],
  ['ROW_QUERY___PROTO__', ''],
  ['ROW_QUERY_', ''],
  [`ROW_QUERY_${'X'.repeat(100_000)}`, '']
]

t.test('an unknown variable is refused, with the name that is probably meant', async (t) => {
  for (const [name, hint] of unknownVariables) {
    const [line = ''] = errorsOf({ [name]: 'hunter2' })
    t.ok(line.endsWith(`: is not a variable of row-query${hint}`), line.slice(0, 200))
    t.ok(line.length < 200)
    t.notMatch(line, 'hunter2')
  }
  t.same(findUnknownVariables({ 'ROW_QUERY_\n\u001b[2J': '' }), [
    String.raw`"ROW_QUERY_\n\u001b[2J": is not a variable of row-query`
  ])
  t.same(
    findUnknownVariables({ ROW_QUERY: '', MY_ROW_QUERY_DOC: '', ROW_QUERY_CONFIG: '' }), [],
    'other names are nothing of ours'
  )
})

t.test('variables that Kubernetes adds for a service called row-query or row-query-metrics are ignored', async (t) => {
  const added = {
    ROW_QUERY_SERVICE_HOST: '10.0.0.1',
    ROW_QUERY_SERVICE_PORT: '80',
    ROW_QUERY_SERVICE_PORT_HTTP_API: '80',
    ROW_QUERY_PORT: 'tcp://10.0.0.1:80',
    ROW_QUERY_PORT_80_TCP: 'tcp://10.0.0.1:80',
    ROW_QUERY_PORT_80_TCP_PROTO: 'tcp',
    ROW_QUERY_PORT_80_TCP_PORT: '80',
    ROW_QUERY_PORT_80_TCP_ADDR: '10.0.0.1',
    ROW_QUERY_METRICS_SERVICE_HOST: '10.0.0.2',
    ROW_QUERY_METRICS_PORT: 'tcp://10.0.0.2:9090',
    ROW_QUERY_METRICS_PORT_9090_TCP: 'tcp://10.0.0.2:9090'
  }
  t.same(withoutServices({ ...added, PATH: '/bin' }), { PATH: '/bin' })
  t.same(loadConfig({ ...ROOT, ...added, PORT: '81' }, {}).config, { databases: { shop }, port: 81 })
  t.same(
    [...VARIABLES.keys()].filter((name) => withoutServices({ [name]: '1' })[name] === undefined), [],
    'no variable of a setting has such a name'
  )
})

// references to variables and files

/** ESLint takes a string with a reference for a template, so § stands for $ here. */
const reference = (text: string): string => text.replaceAll('§', '$')

const ODD_SECRET = reference('hunter2"\\ and so on: §{HOME}')
const secrets = t.testdir({
  secret: `${ODD_SECRET}\n`, crlf: 'a\r\n', two: 'a\n\n', empty: '', newline: '\n', folder: {}
})
writeFileSync(join(secrets, 'latin1'), Buffer.from('caf\xe9', 'latin1'))
writeFileSync(join(secrets, 'largest'), 'x'.repeat(1_048_576))
writeFileSync(join(secrets, 'large'), '')
truncateSync(join(secrets, 'large'), 1_000_000_000)
execFileSync('mkfifo', [join(secrets, 'fifo')])

const known = { NAME: 'Ada', SECRET: ODD_SECRET, EMPTY: '' }

/** What becomes of one string. */
function replaced (text: string): string {
  const file = { setting: [reference(text)] }
  return [...substitute(file, known).values()][0] ?? file.setting[0] as string
}

const replacedBy: Array<[text: string, result: string]> = [
  ['plain', 'plain'],
  ['§{NAME}', 'Ada'],
  ['a §{NAME} and §{NAME}', 'a Ada and Ada'],
  ['§{SECRET}', ODD_SECRET],
  [`§{file:${secrets}/secret}`, ODD_SECRET],
  [`§{file:${secrets}/crlf}`, 'a'],
  [`§{file:${secrets}/two}`, 'a\n'],
  ['§§{NAME}', '§{NAME}'],
  ['$$$ $NAME $1 $& $', '$$$ $NAME $1 $& $'],
  ['§§{ §{NAME} }', '§{ Ada }']
]

t.test('references are replaced by variables and files', async (t) => {
  for (const [text, result] of replacedBy) t.equal(replaced(text), reference(result), text)
  t.equal(replaced(`§{file:${secrets}/largest}`).length, 1_048_576)
})

const form = reference('setting.0: after §{, the name of a variable or file:path and a closing brace are required; ' +
  'write §§{ for the characters §{')
const broken: Array<[text: string, error: string]> = [
  ['§{NOPE}', 'setting.0: the variable NOPE is not set'],
  ['§{constructor}', 'setting.0: the variable constructor is not set'],
  ['§{EMPTY}', 'setting.0: the variable EMPTY is empty'],
  ...['§{', '§{}', '§{NAME', '§{NAME:-x}', '§{ NAME }', '§{file:}', '§{1}', '§{💥}', '§{§{NAME}}'].map(
    (text): [string, string] => [text, form]
  ),
  ...[
    ['nowhere', 'cannot be read (ENOENT)'],
    ['folder', 'is not a regular file'],
    ['fifo', 'is not a regular file'],
    ['large', 'is larger than 1 MiB'],
    ['empty', 'is empty'],
    ['newline', 'is empty'],
    ['latin1', 'is not UTF-8 text']
  ].map(([name, reason]): [string, string] => [
    `§{file:${secrets}/${name}}`, `setting.0: the file ${secrets}/${name} ${reason}`
  ]),
  ['§{file:/dev/zero}', 'setting.0: the file /dev/zero is not a regular file']
]

t.test('a reference that cannot be replaced is an error of the setting', async (t) => {
  for (const [text, error] of broken) t.equal(replaced(text), error, text)
})

t.test('only strings are replaced, not keys', async (t) => {
  const file = JSON.parse(reference('{"§{NAME}": {"a": [1, true, null, "§{NAME}"], "__proto__": "§{NAME}"}}'))
  t.same([...substitute(file, known)], [])
  t.equal(JSON.stringify(file), reference('{"§{NAME}":{"a":[1,true,null,"Ada"],"__proto__":"Ada"}}'))
})

t.test('the configuration has the values, and errors name the setting once and no value', async (t) => {
  const load = (file: object, variables = {}) => {
    writeFileSync(join(secrets, 'row-query.json'), reference(JSON.stringify(file)))
    return loadConfig({ ...variables, ROW_QUERY_SERVICE_HOST: 'db' }, { config: join(secrets, 'row-query.json') })
  }
  const { config } = load({ databases: { shop: { url: 'mysql://shop:§{PASSWORD}@§{ROW_QUERY_SERVICE_HOST}/shop' } } }, {
    PASSWORD: 'a%22b'
  })
  t.same(config.databases, { shop: { url: 'mysql://shop:a%22b@db/shop' } })

  const file = {
    databases: { shop: { url: '§{file:nowhere}' } },
    tokens: [{ name: 'x', sha256: '§{HASH}', permissions: ['select'] }],
    docs: '§{SECRET}'
  }
  t.throws(() => load(file, { SECRET: ODD_SECRET }), new ConfigError([
    'databases.shop.url: the file nowhere cannot be read (ENOENT)',
    'tokens.0.sha256: the variable HASH is not set',
    'docs: must be true or false (page that shows and changes rows)'
  ]))
})

// the lines of errors

const described: Array<[mistake: string, schema: TSchema, value: unknown]> = [
  ['a: is required', Type.Object({ a: Type.Integer() }), {}],
  ['a: is required (how many)', Type.Object({ a: Type.Integer({ description: 'how many' }) }), {}],
  ['b: is not a setting; the settings are a', Type.Object({ a: Type.Optional(Type.Integer()) }, {
    additionalProperties: false
  }), { b: 1 }],
  ['B: is not a valid name (letters)', Type.Record(Type.String({ pattern: '^[a-z]$' }), Type.Integer(), {
    additionalProperties: false, description: 'letters'
  }), { B: 1 }],
  ['configuration: must be an integer from 1 to 9', Type.Integer({ minimum: 1, maximum: 9 }), 10],
  ['configuration: must be an integer of at least 1 (size)', Type.Integer({ minimum: 1, description: 'size' }), 1.5],
  ['configuration: must be true or false', Type.Boolean(), 'yes'],
  ['configuration: must be a string', Type.String(), 1],
  ['configuration: must be three letters', Type.String({ pattern: '^[a-z]{3}$', description: 'three letters' }), 'a'],
  ['configuration: must be a string (three letters)', Type.String({
    pattern: '^[a-z]{3}$', description: 'three letters'
  }), 1],
  ['configuration: must be a string that is not empty', Type.String({ minLength: 1 }), ''],
  ['configuration: must be a string of 0 to 2 characters', Type.String({ maxLength: 2 }), 'abc'],
  ['configuration: must be a string of 1 to 2 characters', Type.String({ minLength: 1, maxLength: 2 }), 'abc'],
  ['configuration: must be "*" or a list that is not empty', Type.Union([
    Type.Literal('*'), Type.Array(Type.String(), { minItems: 1 })
  ]), 'x'],
  ['0: must be a string', Type.Union([Type.Literal('*'), Type.Array(Type.String())]), [1]],
  ['a.b: must be a string or a number or null', Type.Union([
    Type.Number(), Type.Object({ a: Type.Object({ b: Type.Union([Type.String(), Type.Number(), Type.Null()]) }) })
  ]), { a: { b: true } }],
  ['configuration: must be a list', Type.Array(Type.String()), 'x'],
  [
    'configuration: must be a list that is not empty, without duplicates',
    Type.Array(Type.String(), { minItems: 1, uniqueItems: true }), ['x', 'x']
  ],
  ['configuration: must be an object', Type.Object({}), []],
  ['configuration: must be an object that is not empty', Type.Record(Type.String(), Type.String(), {
    minProperties: 1
  }), {}],
  ['a.0.b/~c: must be a string', Type.Object({ a: Type.Array(Type.Record(Type.String(), Type.String())) }), {
    a: [{ 'b/~c': 1 }]
  }]
]

for (const [mistake, schema, value] of described) {
  t.test(`an error is described as "${mistake}"`, async (t) => {
    t.same(findConfigErrors(schema, value), [mistake])
  })
}

t.test('each invalid setting has one line, with the name of its flag or variable', async (t) => {
  const schema = Type.Object({ a: Type.String({ minLength: 1, pattern: '^x' }), b: Type.Integer() })
  t.same(findConfigErrors(schema, { a: '' }, new Map([['a', '--a']])), [
    'b: is required', '--a: must be a string that is not empty'
  ])
  t.same(findConfigErrors(schema, { a: 'x', b: 1 }), [])
})

// JSON of files and flags

t.test('a byte order mark at the start of a configuration is passed over', async (t) => {
  t.same(load({ file: `\ufeff${JSON.stringify({ databases: { shop } })}` }).config, { databases: { shop } })
})

t.test('integers that JavaScript would round are bigints', async (t) => {
  t.strictSame(parseConfigJson(
    '{"a":9007199254740991,"b":9007199254740993,"c":[-18446744073709551616],"d":1e20,"e":0.1,"f":"9007199254740993"}'
  ), { a: 9007199254740991, b: 9007199254740993n, c: [-18446744073709551616n], d: 1e20, e: 0.1, f: '9007199254740993' })
})

t.test('a repeated key is refused, and so is what is not JSON, without quoting the file', async (t) => {
  t.throws(() => parseConfigJson('{"claims":{"tenant":1,"tenant":2}}'), {
    message: 'has a key twice in one object, line 1 column 23'
  })
  t.throws(() => parseConfigJson('{"claims":{"tenant":1,"t\\u0065nant":2}}'), {
    message: 'has a key twice in one object, line 1 column 23'
  })
  t.throws(() => parseConfigJson('{"requests":\n {"a": {"b": 1},\n  "a": 2, "a": 3}}'), {
    message: 'has a key twice in one object, line 3 column 3'
  })
  t.throws(() => parseConfigJson('{"a":1,\n}'), { message: 'is not valid JSON, line 2 column 1' })
  t.throws(() => parseConfigJson('{"secret": hunter2}'), { message: 'is not valid JSON, line 1 column 12' })
  t.throws(() => parseConfigJson(''), { message: 'is empty' })
  t.throws(() => parseConfigJson('\ufeff{}'), { message: 'is not valid JSON, line 1 column 1' })
  t.strictSame(parseConfigJson('{"a":":","b":{"a":1},"c":[{"a":2},{"a":3}]}'), {
    a: ':', b: { a: 1 }, c: [{ a: 2 }, { a: 3 }]
  })
})

t.test('a number of more digits than a double has, and a nesting that is too deep, are refused ' +
  'with their position', async (t) => {
  for (const number of [
    '0.1234567890123456789', '9007199254740993.5', '-12345678901234567890.0', '1e400', '123456789012345678e2'
  ]) {
    t.throws(() => parseConfigJson(`{"a": "${number}",\n "b": [${number}]}`), {
      message: 'has a number of more digits than are kept, line 2 column 8; write it as a string'
    }, number)
  }
  for (const number of ['0.1', '1.50', '100.00', '1e20', '1.0', '5e-324', '0.30000000000000004', '-0', '0e5']) {
    t.equal(parseConfigJson(number), Number(number))
  }
  t.throws(() => parseConfigJson(`{\n"a": ${'["]",'.repeat(100_000)}`), {
    message: 'is nested too deeply, line 2 column 5001'
  })
})
