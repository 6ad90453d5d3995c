import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { findUnknownVariables, VARIABLES, withoutServices } from '../../src/config/variables.ts'

const shop = { url: 'mysql://root@127.0.0.1/shop' }
const ROOT = { DATABASE_URL: shop.url }

function errorsOf (env: Record<string, string>, file = {}): string[] {
  const config = `${t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop }, ...file }) })}/row-query.json`
  try {
    loadConfig(env, { config })
    return []
  } catch (error) {
    return (error as ConfigError).errors as string[]
  }
}

const read: Array<[env: Record<string, string>, settings: object]> = [
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
  [{ ROW_QUERY_POOL_SIZE: '20', ROW_QUERY_STATEMENT_TIMEOUT: '7' }, { databases: { shop: { ...shop, pool: { size: 20 }, statementTimeout: 7 } } }]
]

for (const [env, settings] of read) {
  t.test(`${JSON.stringify(env)} is read`, async (t) => {
    t.same(loadConfig({ ...ROOT, ...env }, {}).config, { databases: { shop }, ...settings })
  })
}

t.test('variables override the file and are merged into its objects; those of databases apply to each', async (t) => {
  const config = `${t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { ...shop, pool: { size: 5, queue: 6 } }, crm: shop }, limits: { offset: 1, filterDepth: 2 }, docs: true }) })}/row-query.json`
  const env = { ROW_QUERY_POOL_SIZE: '20', ROW_QUERY_LIMITS_OFFSET: '3', ROW_QUERY_DOCS: 'false' }
  t.same(loadConfig(env, { config }).config, {
    databases: { shop: { ...shop, pool: { size: 20, queue: 6 } }, crm: { ...shop, pool: { size: 20 } } },
    limits: { offset: 3, filterDepth: 2 },
    docs: false
  })
  t.match(loadConfig({ ROW_QUERY_POOL_SIZE: '20', ROW_QUERY_DOCS: 'false' }, {}).config, { databases: { demo: { pool: { size: 20 } } }, docs: false }, 'also to the demo')
})

const HUGE = '9'.repeat(30)
const refused: Array<[name: string, text: string, line: RegExp]> = [
  ...['', '1e3', HUGE, '0', '-1', ' 20', '+5', '0x10', '1.5', '💥', 'NaN'].map((text): [string, string, RegExp] => ['ROW_QUERY_POOL_SIZE', text, /^ROW_QUERY_POOL_SIZE: (is empty; it )?must be an integer from 1 to 1000 \(maximum number of connections\)$/]),
  ['ROW_QUERY_BODY_LIMIT', HUGE, /^ROW_QUERY_BODY_LIMIT: must be an integer of at least 1 \(/],
  ...['', 'TRUE', 'yes', '1', 'null'].map((text): [string, string, RegExp] => ['ROW_QUERY_DOCS', text, /^ROW_QUERY_DOCS: (is empty; it )?must be true or false \(/]),
  ['ROW_QUERY_METRICS', '{}', /^ROW_QUERY_METRICS: must be true or false \(/],
  ['ROW_QUERY_OPENAPI', 'all', /^ROW_QUERY_OPENAPI: must be "token" or "public" or "off" \(/],
  ['ROW_QUERY_TRUST_PROXY', '', /^ROW_QUERY_TRUST_PROXY: is empty; it must be a list/],
  ['ROW_QUERY_TRUST_PROXY', 'loopback,,', /^ROW_QUERY_TRUST_PROXY\.1: must be/],
  ['ROW_QUERY_CORS_ORIGINS', 'a.example', /^ROW_QUERY_CORS_ORIGINS\.0: must be/],
  ['ROW_QUERY_TOKENS_FILE', '', /^ROW_QUERY_TOKENS_FILE: is empty; it must be a string that is not empty/]
]

for (const [name, text, line] of refused) {
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

const unknown: Array<[name: string, hint: string]> = [
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
  for (const [name, hint] of unknown) {
    const [line = ''] = errorsOf({ [name]: 'hunter2' })
    t.ok(line.endsWith(`: is not a variable of row-query${hint}`), line.slice(0, 200))
    t.ok(line.length < 200)
    t.notMatch(line, 'hunter2')
  }
  t.same(findUnknownVariables({ 'ROW_QUERY_\n\u001b[2J': '' }, []), [String.raw`"ROW_QUERY_\n\u001b[2J": is not a variable of row-query`])
  t.same(findUnknownVariables({ ROW_QUERY: '', MY_ROW_QUERY_DOC: '', ROW_QUERY_CONFIG: '' }, []), [], 'other names are nothing of ours')
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
  t.same([...VARIABLES.keys()].filter((name) => withoutServices({ [name]: '1' })[name] === undefined), [], 'no variable of a setting has such a name')
})
