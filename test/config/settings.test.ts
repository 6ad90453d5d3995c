import type { TObject } from '@sinclair/typebox'
import t from 'tap'
import { DatabaseSchema, FailedLoginsSchema, LimitsSchema, OptionsSchema, PoolSchema, RateLimitSchema, type RowQueryOptions } from '../../schemas/options.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { parseExpiry } from '../../src/access/token-entries.ts'

const url = 'mysql://root@db/shop'
const server = { hosts: [{ host: 'db', port: 3306 }], user: 'root', password: '', database: 'shop', ssl: undefined }
const address = { engine: 'mysql', address: server }
const token = { name: 'reader', sha256: 'a'.repeat(64), permissions: ['select' as const] }

/** The defaults of a schema, except those of objects and lists. */
function defaultsOf ({ properties }: TObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).flatMap(([name, schema]) => ['object', 'undefined'].includes(typeof schema.default) ? [] : [[name, schema.default]]))
}

t.test('a setting that is missing has the default of its schema', async (t) => {
  t.strictSame(resolveSettings({ databases: { shop: { url } } }), {
    databases: [{ name: 'shop', address, replicas: [], pool: defaultsOf(PoolSchema), ...defaultsOf(DatabaseSchema), setup: [], streams: { ofCaller: 2, ofAll: 5 } }],
    tokens: [],
    tokenFile: undefined,
    jwt: [],
    roles: new Map(),
    mcp: undefined,
    authenticate: undefined,
    onWrite: undefined,
    bodyLimit: OptionsSchema.properties.bodyLimit.default,
    answerMemory: 67_108_864,
    bodyMemory: 134_217_728,
    limits: { depth: 32, conditions: 256, values: 10_000, pattern: 1000, offset: 100_000, include: { levels: 3, members: 10 }, operations: 100 },
    failedLogins: defaultsOf(FailedLoginsSchema),
    openapi: OptionsSchema.properties.openapi.default,
    docs: OptionsSchema.properties.docs.default,
    tracing: OptionsSchema.properties.tracing.default,
    serverTiming: OptionsSchema.properties.serverTiming.default,
    requestLog: OptionsSchema.properties.requestLog.default,
    metrics: OptionsSchema.properties.metrics.default
  })
  t.strictSame(defaultsOf(LimitsSchema), { filterDepth: 32, filterConditions: 256, filterValues: 10_000, filterPattern: 1000, offset: 100_000, operations: 100, streams: 2, answerMemory: 67_108_864, bodyMemory: 134_217_728 })
  t.strictSame(resolveSettings({ databases: { shop: { url } }, mcp: {} }).mcp, { verbs: ['select'], resultLimit: 262_144, url: undefined })
  t.strictSame(resolveSettings({ databases: { shop: { url } }, rateLimit: { max: 1 } }).rateLimit, { max: 1, ...defaultsOf(RateLimitSchema) })
})

t.test('a setting that is present is used', async (t) => {
  const options: RowQueryOptions = {
    databases: { shop: { url, replicas: ['mysql://root@copy,db/shop'], pool: { size: 1, queue: 2, wait: 3, idleTimeout: 4, minimum: 1 }, statementTimeout: 4, streamTimeout: 19, resultLimit: 5000, refreshInterval: 5 } },
    bodyLimit: 6,
    limits: { filterDepth: 7, filterConditions: 8, filterValues: 9, filterPattern: 14, offset: 15, include: { levels: 2, members: 18 }, changed: 16, operations: 17, streams: 20, streamRows: 21, answerMemory: 15_000_000, bodyMemory: 17_000_000 },
    rateLimit: { max: 10, window: 11 },
    failedLogins: { max: 12, window: 13 },
    cors: { origins: ['https://app.example.com'] },
    mcp: { verbs: ['insert', 'select'], resultLimit: 5000, url: 'https://rows.example.com/api/mcp' },
    openapi: 'public',
    docs: true,
    tracing: false,
    serverTiming: true,
    requestLog: true,
    metrics: true
  }
  t.strictSame(resolveSettings(options), {
    databases: [{ name: 'shop', address, replicas: [{ ...server, hosts: [{ host: 'copy', port: 3306 }, { host: 'db', port: 3306 }] }], pool: { size: 1, queue: 2, wait: 3, idleTimeout: 4, minimum: 1 }, statementTimeout: 4, streamTimeout: 19, resultLimit: 5000, refreshInterval: 5, keyLifetime: DatabaseSchema.properties.keyLifetime.default, setup: [], streams: { ofCaller: 1, ofAll: 1 } }],
    tokens: [],
    tokenFile: undefined,
    jwt: [],
    roles: new Map(),
    mcp: { verbs: ['select', 'insert'], resultLimit: 5000, url: 'https://rows.example.com/api/mcp' },
    authenticate: undefined,
    onWrite: undefined,
    bodyLimit: 6,
    answerMemory: 15_000_000,
    bodyMemory: 17_000_000,
    limits: { depth: 7, conditions: 8, values: 9, pattern: 14, offset: 15, include: { levels: 2, members: 18 }, changed: 16, operations: 17, streamRows: 21 },
    rateLimit: { max: 10, window: 11 },
    failedLogins: { max: 12, window: 13 },
    cors: { origins: ['https://app.example.com'] },
    openapi: 'public',
    docs: true,
    tracing: false,
    serverTiming: true,
    requestLog: true,
    metrics: true
  })
})

t.test('a token is valid for everything, for databases or for tables, with or without an expiry date', async (t) => {
  const tokens = [
    token,
    { ...token, name: 'b', sha256: 'b'.repeat(64), databases: { shop: '*' as const, staff: ['people', 'rooms'] } },
    { ...token, name: 'c', sha256: 'c'.repeat(64), expires: '2027-01-01' }
  ]
  const settings = resolveSettings({ databases: { shop: { url }, staff: { url } }, tokens })
  const grant = { name: 'reader', owner: 'token reader', permissions: new Set(['select']), databases: 'all', claims: {}, tables: new WeakMap() }
  const whole = { permissions: grant.permissions, columns: undefined, rules: [] }
  t.strictSame(settings.tokens, [
    { sha256: 'a'.repeat(64), grant, expiresAt: undefined },
    { sha256: 'b'.repeat(64), grant: { ...grant, name: 'b', owner: 'token b', databases: new Map([['shop', { tables: 'all', isSeen: true, isNarrowed: false }], ['staff', { tables: new Map([['people', whole], ['rooms', whole]]), isSeen: true, isNarrowed: false }]]) }, expiresAt: undefined },
    { sha256: 'c'.repeat(64), grant: { ...grant, name: 'c', owner: 'token c' }, expiresAt: Date.UTC(2027, 0, 1) }
  ])
})

t.test("the caller's object is not changed", async (t) => {
  const options = { databases: { shop: { url } }, tokens: [token] }
  const copy = structuredClone(options)
  resolveSettings(options)
  t.strictSame(options, copy)
})

const refused: Array<{ because: string, options: unknown, errors: Array<string | RegExp> }> = [
  { because: 'no options', options: undefined, errors: ['configuration: must be an object'] },
  { because: 'no database', options: {}, errors: [/^databases: is required \(/] },
  { because: 'an option of no such name', options: { databases: { shop: { url } }, token: [] }, errors: [/^token: is not a setting; the settings are databases, tokens, .*rateLimit/] },
  { because: 'an option of the server', options: { databases: { shop: { url } }, port: 80 }, errors: [/^port: is not a setting; the settings are /] },
  {
    because: 'a page for documents that there are none of',
    options: { databases: { shop: { url } }, docs: true, openapi: 'off' },
    errors: ['docs: cannot be enabled, because openapi is "off"']
  },
  {
    because: 'tables made in databases that have some',
    options: { databases: { a: { url, setup: ['create table t (a int)'] }, b: { url: 'sqlite:b.db', setup: ['x'] }, c: { url: 'sqlite::memory:', setup: ['x'] }, d: { url, setup: [] } } },
    errors: ['databases.a.setup: only allowed with sqlite::memory:', 'databases.b.setup: only allowed with sqlite::memory:']
  },
  {
    because: 'more connections to keep than there may be',
    options: { databases: { a: { url, pool: { size: 3, minimum: 4 } }, b: { url, pool: { minimum: 10 } } } },
    errors: ['databases.a.pool.minimum: must not be greater than pool.size, which is 3']
  },
  {
    because: 'origins that are none',
    options: { databases: { shop: { url } }, cors: { origins: ['app.example.com', 'https://app.example.com/', '*'] } },
    errors: ['cors.origins.0: must be an origin such as https://app.example.com, or "*"', 'cors.origins.1: must be an origin such as https://app.example.com, or "*"']
  },
  {
    because: 'several URLs that cannot be read',
    options: { databases: { a: { url: 'x' }, b: { url }, c: { url: 'sqlite:' } } },
    errors: ['databases.a.url: must begin with mysql://, mariadb:// or sqlite:', 'databases.c.url: must name a file']
  },
  {
    because: 'replicas that cannot be used',
    options: { databases: { a: { url, replicas: ['mysql://copy/shop', 'sqlite:copy.db', 'x'] }, b: { url: 'sqlite:shop.db', replicas: [url] }, c: { url: 'x', replicas: [url] } } },
    errors: [
      'databases.a.replicas.1: must begin with mysql:// or mariadb://',
      'databases.a.replicas.2: must begin with mysql://, mariadb:// or sqlite:',
      'databases.b.replicas: only allowed with mysql:// and mariadb://',
      'databases.c.url: must begin with mysql://, mariadb:// or sqlite:'
    ]
  },
  {
    because: 'tokens that cannot be used',
    options: { databases: { shop: { url } }, tokens: [{ ...token, databases: { hsop: '*' } }, { ...token, name: 'b', sha256: 'b'.repeat(64), expires: 'soon' }, token] },
    errors: ['tokens.0.databases.hsop: is not a configured database; the databases are shop', /^tokens\.1\.expires: must be a date or a time with an offset/, 'tokens.2.sha256: is the same as that of tokens.0', 'tokens.2.name: is the same as that of tokens.0']
  },
  {
    because: 'grants that cannot be used',
    options: {
      databases: { shop: { url } },
      tokens: [
        { ...token, databases: { shop: { orders: { rows: { tenant: { $gt: null } } } } } },
        { ...token, sha256: 'b'.repeat(64), databases: { shop: { orders: { columns: { select: 'id' } } } } },
        { ...token, sha256: 'c'.repeat(64), databases: { shop: { orders: { rows: { tenant: { $claim: 'tenant' } } } } } },
        { ...token, sha256: 'd'.repeat(64), databases: { shop: { orders: { permission: [] } } } }
      ]
    },
    errors: [
      /^tokens\.0\.databases\.shop\.orders\.rows\.tenant\.\$gt: must be a string or /, /^tokens\.1\.databases\.shop\.orders\.columns\.select: must be a list/,
      'tokens.2.databases.shop.orders.rows.tenant.$claim: must be a JSON Pointer to a claim: /tenant, with a slash before each name', /^tokens\.3\.databases\.shop\.orders\.permission: is not a setting; the settings are permissions, columns, rows$/
    ]
  },
  {
    because: 'a name that every object has',
    options: { databases: { shop: { url } }, tokens: [{ ...token, databases: { constructor: '*' } }] },
    errors: ['tokens.0.databases.constructor: is not a configured database; the databases are shop']
  }
]

for (const { because, options, errors } of refused) {
  t.test(`options are refused because of ${because}`, async (t) => {
    const error = t.throws(() => resolveSettings(options), ConfigError) as ConfigError
    t.match(error.errors, errors)
    t.equal(error.errors.length, errors.length)
    t.match(error, { name: 'ConfigError', code: 'ROW_QUERY_INVALID_CONFIG', message: error.errors.join('\n') })
  })
}

t.test('a token expires at the beginning of a day in UTC, or at a time with an offset', async (t) => {
  const times: Array<[text: string, time: number]> = [
    ['2027-01-01', Date.UTC(2027, 0, 1)],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
    ['2027-01-01T12:30Z', Date.UTC(2027, 0, 1, 12, 30)],
    ['2027-01-01T12:30:15.5+02:00', Date.UTC(2027, 0, 1, 10, 30, 15, 500)]
  ]
  for (const [text, time] of times) t.equal(parseExpiry(text), time, text)
  for (const text of ['', 'soon', '2027', '2027-1-1', '2027-13-01', '2027-02-29', '2027-02-30T00:00Z', '2027-01-01T12:30', '2027-01-01T25:00Z', '2027-01-01 12:30Z', '1798761600']) {
    t.throws(() => parseExpiry(text), { message: /^expires: must be a date or a time with an offset/ }, text)
  }
})
