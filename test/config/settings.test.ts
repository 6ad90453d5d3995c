/** Settings: their defaults and meaning, the addresses of databases, and their shares of several workers. */
import { X509Certificate } from 'node:crypto'
import type { TObject, TSchema } from '@sinclair/typebox'
import t from 'tap'
import {
  type Config, ConfigSchema, DatabaseSchema, FailedLoginsSchema, LimitsSchema, OptionsSchema, PoolSchema,
  RateLimitSchema, type RowQueryOptions
} from '../../schemas/options.ts'
import { HttpSchema } from '../../schemas/server-settings.ts'
import { parseExpiry } from '../../src/access/token-settings.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { databaseNameOf, parseDatabaseUrl, parseReplicaUrl } from '../../src/config/database-url.ts'
import { HTTP_DEFAULTS, resolveSettings } from '../../src/config/settings.ts'
import { splitConfig } from '../../src/config/load.ts'
import { divideConfig } from '../../src/config/worker-shares.ts'
import type { MysqlAddress } from '../../src/dialects/mysql/session-settings.ts'
import { createCertificate } from '../support/certificates.ts'

const url = 'mysql://root@db/shop'
const parsedServer = {
  hosts: [{ host: 'db', port: 3306 }], user: 'root', password: '', database: 'shop', ssl: undefined
}
const address = { engine: 'mysql', address: parsedServer }
const token = { name: 'reader', sha256: 'a'.repeat(64), permissions: ['select' as const] }

/** The defaults of a schema, except those of objects and lists. */
function defaultsOf ({ properties }: TObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).flatMap(
    ([name, schema]) => ['object', 'undefined'].includes(typeof schema.default) ? [] : [[name, schema.default]]
  ))
}

t.test('a setting that is missing has the default of its schema', async (t) => {
  t.strictSame(resolveSettings({ databases: { shop: { url } } }), {
    databases: [{
      name: 'shop',
      address,
      replicas: [],
      pool: defaultsOf(PoolSchema),
      ...defaultsOf(DatabaseSchema),
      setup: [],
      streams: 2,
      imports: 1
    }],
    tokens: [],
    tokenFile: undefined,
    jwt: [],
    roles: new Map(),
    requestRoles: new Map(),
    requests: undefined,
    mcp: undefined,
    authenticate: undefined,
    onWrite: undefined,
    bodyLimit: OptionsSchema.properties.bodyLimit.default,
    answerMemory: 67_108_864,
    bodyMemory: 134_217_728,
    limits: {
      depth: 32,
      conditions: 256,
      values: 10_000,
      pattern: 1000,
      offset: 100_000,
      include: { levels: 3, members: 10 },
      operations: 100,
      importRow: 16_777_216
    },
    failedLogins: defaultsOf(FailedLoginsSchema),
    openapi: OptionsSchema.properties.openapi.default,
    docs: OptionsSchema.properties.docs.default,
    tracing: OptionsSchema.properties.tracing.default,
    serverTiming: OptionsSchema.properties.serverTiming.default,
    requestLog: OptionsSchema.properties.requestLog.default,
    metrics: OptionsSchema.properties.metrics.default
  })
  t.strictSame(defaultsOf(LimitsSchema), {
    filterDepth: 32,
    filterConditions: 256,
    filterValues: 10_000,
    filterPattern: 1000,
    offset: 100_000,
    operations: 100,
    streams: 2,
    imports: 1,
    importRow: 16_777_216,
    answerMemory: 67_108_864,
    bodyMemory: 134_217_728
  })
  t.strictSame(resolveSettings({ databases: { shop: { url } }, mcp: {} }).mcp, {
    verbs: ['select'], requests: undefined, resultLimit: 262_144, url: undefined
  })
  t.strictSame(resolveSettings({ databases: { shop: { url } }, rateLimit: { max: 1 } }).rateLimit, {
    max: 1, ...defaultsOf(RateLimitSchema)
  })
})

t.test('a setting that is present is used', async (t) => {
  const options: RowQueryOptions = {
    databases: {
      shop: {
        url,
        replicas: ['mysql://root@copy,db/shop'],
        pool: { size: 1, queue: 2, wait: 3, idleTimeout: 4, minimum: 1 },
        statementTimeout: 4,
        streamTimeout: 19,
        importTimeout: 24,
        resultLimit: 5000,
        refreshInterval: 5
      }
    },
    bodyLimit: 6,
    limits: {
      filterDepth: 7,
      filterConditions: 8,
      filterValues: 9,
      filterPattern: 14,
      offset: 15,
      include: { levels: 2, members: 18 },
      changed: 16,
      operations: 17,
      streams: 20,
      streamRows: 21,
      imports: 22,
      importRow: 2000,
      importRows: 23,
      answerMemory: 15_000_000,
      bodyMemory: 17_000_000
    },
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
    databases: [{
      name: 'shop',
      address,
      replicas: [{ ...parsedServer, hosts: [{ host: 'copy', port: 3306 }, { host: 'db', port: 3306 }] }],
      pool: { size: 1, queue: 2, wait: 3, idleTimeout: 4, minimum: 1 },
      statementTimeout: 4,
      streamTimeout: 19,
      importTimeout: 24,
      resultLimit: 5000,
      refreshInterval: 5,
      keyLifetime: DatabaseSchema.properties.keyLifetime.default,
      setup: [],
      streams: 20,
      imports: 22
    }],
    tokens: [],
    tokenFile: undefined,
    jwt: [],
    roles: new Map(),
    requestRoles: new Map(),
    requests: undefined,
    mcp: {
      verbs: ['select', 'insert'], requests: undefined, resultLimit: 5000, url: 'https://rows.example.com/api/mcp'
    },
    authenticate: undefined,
    onWrite: undefined,
    bodyLimit: 6,
    answerMemory: 15_000_000,
    bodyMemory: 17_000_000,
    limits: {
      depth: 7,
      conditions: 8,
      values: 9,
      pattern: 14,
      offset: 15,
      include: { levels: 2, members: 18 },
      changed: 16,
      operations: 17,
      streamRows: 21,
      importRow: 2000,
      importRows: 23
    },
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
  const grant = {
    name: 'reader',
    owner: 'token reader',
    permissions: new Set(['select']),
    databases: 'all',
    claims: {},
    tables: new WeakMap()
  }
  const whole = { permissions: grant.permissions, columns: undefined, rules: [] }
  t.strictSame(settings.tokens, [
    { sha256: 'a'.repeat(64), grant, expiresAt: undefined },
    {
      sha256: 'b'.repeat(64),
      grant: {
        ...grant,
        name: 'b',
        owner: 'token b',
        databases: new Map([
          ['shop', { tables: 'all', isSeen: true, isNarrowed: false }],
          ['staff', { tables: new Map([['people', whole], ['rooms', whole]]), isSeen: true, isNarrowed: false }]
        ])
      },
      expiresAt: undefined
    },
    { sha256: 'c'.repeat(64), grant: { ...grant, name: 'c', owner: 'token c' }, expiresAt: Date.UTC(2027, 0, 1) }
  ])
})

t.test("the caller's object is not changed", async (t) => {
  const options = { databases: { shop: { url } }, tokens: [token] }
  const copy = structuredClone(options)
  resolveSettings(options)
  t.strictSame(options, copy)
})

const refusedOptions: Array<{ because: string, options: unknown, errors: Array<string | RegExp> }> = [
  { because: 'no options', options: undefined, errors: ['configuration: must be an object'] },
  { because: 'no database', options: {}, errors: [/^databases: is required \(/] },
  {
    because: 'a token of the file that is also that of API_TOKEN',
    options: {
      databases: { shop: { url } },
      tokens: ['mine', 'API_TOKEN'].map((name) => ({ name, sha256: 'a'.repeat(64), permissions: ['select'] }))
    },
    errors: ['API_TOKEN: is the same as that of tokens.0']
  },
  {
    because: 'an option of no such name',
    options: { databases: { shop: { url } }, token: [] },
    errors: ['token: is not a setting; did you mean "tokens"?']
  },
  {
    because: 'an option of the server',
    options: { databases: { shop: { url } }, port: 80 },
    errors: [/^port: is not a setting; the settings are /]
  },
  {
    because: 'a page for documents that there are none of',
    options: { databases: { shop: { url } }, docs: true, openapi: 'off' },
    errors: ['docs: cannot be enabled, because openapi is "off"']
  },
  {
    because: 'tables made in databases that have some',
    options: {
      databases: {
        a: { url, setup: ['create table t (a int)'] },
        b: { url: 'sqlite:b.db', setup: ['x'] },
        c: { url: 'sqlite::memory:', setup: ['x'] },
        d: { url, setup: [] }
      }
    },
    errors: [
      'databases.a.setup: only allowed with sqlite::memory:', 'databases.b.setup: only allowed with sqlite::memory:'
    ]
  },
  {
    because: 'more connections to keep than there may be',
    options: { databases: { a: { url, pool: { size: 3, minimum: 4 } }, b: { url, pool: { minimum: 10 } } } },
    errors: ['databases.a.pool.minimum: must not be greater than pool.size, which is 3']
  },
  {
    because: 'origins that are none',
    options: { databases: { shop: { url } }, cors: { origins: ['app.example.com', 'https://app.example.com/', '*'] } },
    errors: [
      'cors.origins.0: must be an origin such as https://app.example.com, or "*"',
      'cors.origins.1: must be an origin such as https://app.example.com, or "*"'
    ]
  },
  {
    because: 'several URLs that cannot be read',
    options: { databases: { a: { url: 'x' }, b: { url }, c: { url: 'sqlite:' } } },
    errors: ['databases.a.url: must begin with mysql://, mariadb:// or sqlite:', 'databases.c.url: must name a file']
  },
  {
    because: 'replicas that cannot be used',
    options: {
      databases: {
        a: { url, replicas: ['mysql://copy/shop', 'sqlite:copy.db', 'x'] },
        b: { url: 'sqlite:shop.db', replicas: [url] },
        c: { url: 'x', replicas: [url] }
      }
    },
    errors: [
      'databases.a.replicas.1: must begin with mysql:// or mariadb://',
      'databases.a.replicas.2: must begin with mysql://, mariadb:// or sqlite:',
      'databases.b.replicas: only allowed with mysql:// and mariadb://',
      'databases.c.url: must begin with mysql://, mariadb:// or sqlite:'
    ]
  },
  {
    because: 'tokens that cannot be used',
    options: {
      databases: { shop: { url } },
      tokens: [
        { ...token, databases: { hsop: '*' } }, { ...token, name: 'b', sha256: 'b'.repeat(64), expires: 'soon' }, token
      ]
    },
    errors: [
      'tokens.0.databases.hsop: is not a configured database; the databases are shop',
      /^tokens\.1\.expires: must be a date or a time with an offset/,
      'tokens.2.sha256: is the same as that of tokens.0', 'tokens.2.name: is the same as that of tokens.0'
    ]
  },
  {
    because: 'grants that cannot be used',
    options: {
      databases: { shop: { url } },
      tokens: [
        { ...token, databases: { shop: { orders: { rows: { tenant: { $gt: null } } } } } },
        { ...token, sha256: 'b'.repeat(64), databases: { shop: { orders: { columns: { select: 'id' } } } } },
        {
          ...token, sha256: 'c'.repeat(64), databases: { shop: { orders: { rows: { tenant: { $claim: 'tenant' } } } } }
        },
        { ...token, sha256: 'd'.repeat(64), databases: { shop: { orders: { permission: [] } } } },
        {
          ...token,
          sha256: 'e'.repeat(64),
          databases: { shop: { orders: { rows: { meta: { $at: { '$.tenant': 1 } } } } } } as never
        },
        {
          ...token,
          sha256: 'f'.repeat(64),
          databases: { shop: { orders: { rows: { $match: { columns: ['title'], text: 'red' } } } } } as never
        }
      ]
    },
    errors: [
      /^tokens\.0\.databases\.shop\.orders\.rows\.tenant\.\$gt: must be a string or /,
      /^tokens\.1\.databases\.shop\.orders\.columns\.select: must be a list/,
      'tokens.2.databases.shop.orders.rows.tenant.$claim: must be a JSON Pointer to a claim: /tenant, with a ' +
        'slash before each name',
      /^tokens\.3\.databases\.shop\.orders\.permission: is not a setting; did you mean "permissions"\?$/,
      /^tokens\.4\.databases\.shop\.orders\.rows\.meta\.\$at: /,
      /^tokens\.5\.databases\.shop\.orders\.rows\.\$match\./, /^tokens\.5\./
    ]
  },
  {
    because: 'a name that every object has',
    options: { databases: { shop: { url } }, tokens: [{ ...token, databases: { constructor: '*' } }] },
    errors: ['tokens.0.databases.constructor: is not a configured database; the databases are shop']
  }
]

for (const { because, options, errors } of refusedOptions) {
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
  for (const text of [
    '', 'soon', '2027', '2027-1-1', '2027-13-01', '2027-02-29', '2027-02-30T00:00Z', '2027-01-01T12:30',
    '2027-01-01T25:00Z', '2027-01-01 12:30Z', '1798761600'
  ]) {
    t.throws(() => parseExpiry(text), { message: /^expires: must be a date or a time with an offset/ }, text)
  }
})

// the settings of the server

const databases = { shop: { url: 'mysql://root@db/shop' } }
const splitErrors = (config: Partial<Config>): readonly string[] =>
  (t.throws(() => splitConfig({ databases, ...config }), ConfigError) as ConfigError).errors

t.test('a configuration is split into the options of the plugin and the settings of the server ' +
  'with their defaults', async (t) => {
  t.strictSame(splitConfig({ databases, bodyLimit: 5 }), {
    options: { databases, bodyLimit: 5, requestLog: true, metrics: false },
    server: {
      host: '127.0.0.1',
      port: 3000,
      workers: 1,
      prefix: '/api',
      logLevel: 'info',
      logFormat: 'auto',
      metrics: undefined,
      shutdown: { delay: 0, timeout: 10_000 },
      trustProxy: [],
      http: HTTP_DEFAULTS,
      https: undefined
    }
  })
  t.strictSame(HTTP_DEFAULTS, Object.fromEntries(Object.entries(HttpSchema.properties)
    .map(([name, { default: fallback }]) => [name, fallback])), 'the defaults are those of the schema')
  const given = {
    host: '::',
    port: 1,
    prefix: '/rows',
    logLevel: 'warn' as const,
    logFormat: 'json' as const,
    trustProxy: ['loopback'],
    https: { cert: 'a', key: 'b' }
  }
  t.strictSame(splitConfig({ databases, ...given, shutdown: { delay: 5 }, http: { maxConnections: 7 } }).server,
    {
      ...given,
      workers: 1,
      metrics: undefined,
      shutdown: { delay: 5, timeout: 10_000 },
      http: { ...HTTP_DEFAULTS, maxConnections: 7 }
    })
})

t.test('metrics are collected if they are served, and have an address of their own if they have a port', async (t) => {
  for (const [metrics, counted, apart] of [
    [true, true, undefined], [{ port: 9 }, true, { host: '127.0.0.1', port: 9 }],
    [{ host: '::', port: 9 }, true, { host: '::', port: 9 }]
  ] as const) {
    const { options, server } = splitConfig({ databases, metrics })
    t.same([options.metrics, server.metrics], [counted, apart])
  }
})

t.test('trustProxy accepts addresses and networks', async (t) => {
  const trustProxy = ['loopback', 'uniquelocal', '10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8']
  t.same(splitConfig({ databases, trustProxy }).server.trustProxy, trustProxy)
  t.same(splitErrors({ trustProxy: ['10.0.0.1', '10.0.0.256', '10.0.0.0/33', 'fd00::/129', '1:2'] }),
    [1, 2, 3, 4].map((index) => `trustProxy.${index}: must be an IP address, or a network such as 10.0.0.0/8`))
})

t.test('http.headersTimeout must be less than http.requestTimeout', async (t) => {
  for (const headersTimeout of [30_000, 40_000]) {
    t.same(splitErrors({ http: { headersTimeout } }), ['http.headersTimeout: must be less than http.requestTimeout'])
  }
  t.same(splitConfig({ databases, http: { headersTimeout: 99, requestTimeout: 100 } }).server.http.headersTimeout, 99)
})

// several workers

const mysqlUrl = 'mysql://root@db/shop'
const dividedConfig: Config = {
  databases: {
    shop: { url: mysqlUrl, pool: { size: 11, queue: 7, minimum: 2 }, statementTimeout: 5000 }, crm: { url: mysqlUrl }
  },
  rateLimit: { max: 601, window: 1000 },
  limits: { answerMemory: 67_108_867, bodyMemory: 134_217_731, filterDepth: 5 },
  http: { maxConnections: 10, answerRate: 5 },
  port: 8080,
  workers: 4
}

/** Limits that the whole service shares. */
const SHARED = [
  'databases.<name>.pool.size', 'databases.<name>.pool.queue', 'databases.<name>.pool.minimum', 'rateLimit.max',
  'failedLogins.max', 'limits.answerMemory', 'limits.bodyMemory', 'http.maxConnections'
]

/**
 * Numbers that are not limits of the whole, but of a request, an answer or a connection, or ports. Times are not
 * listed: their descriptions end with "in milliseconds".
 */
const OF_EACH = [
  'port', 'metrics.port', 'workers', 'bodyLimit', 'databases.<name>.resultLimit', 'limits.filterDepth',
  'limits.filterConditions', 'limits.filterValues', 'limits.filterPattern', 'limits.offset', 'limits.include.levels',
  'limits.include.members', 'limits.changed', 'limits.operations', 'limits.streamRows', 'limits.streams',
  'limits.imports', 'limits.importRow', 'limits.importRows', 'mcp.resultLimit', 'http.answerRate', 'http.maxHeaderSize',
  'requests.<name>.maxAge', 'requests.<name>.parameters.<name>.maximum'
]

function numbersIn (schema: TSchema, path = ''): string[] {
  if (schema['type'] === 'integer') return schema.description?.includes('in milliseconds') === true ? [] : [path]
  const inner = (key: string, child: TSchema): string[] => numbersIn(child, path === '' ? key : `${path}.${key}`)
  return [
    ...(schema['anyOf'] ?? []).flatMap((each: TSchema) => numbersIn(each, path)),
    ...Object.entries<TSchema>(schema['properties'] ?? {}).flatMap(([key, child]) => inner(key, child)),
    ...Object.values<TSchema>(schema['patternProperties'] ?? {}).flatMap((child) => inner('<name>', child))
  ]
}

/** The value at the path of a setting; `<name>` stands for the database "crm". */
const valueAt = (from: object, path: string): number =>
  path.replace('<name>', 'crm').split('.').reduce((outer: any, key) => outer[key], from)

t.test('every number in the configuration is shared by the workers, or is none of the whole', async (t) => {
  t.same(numbersIn(ConfigSchema).filter((path) => !path.startsWith('databases.<name>.rows')).sort(), [
    ...SHARED, ...OF_EACH
  ].sort())
})

t.test('the shares of a limit add up to it, and differ by one at most', async (t) => {
  for (const count of [2, 3, 4]) {
    const parts = Array.from({ length: count }, (_, index) => divideConfig(dividedConfig, count, index))
    const total = (path: string): number => parts.reduce((sum, part) => sum + valueAt(part, path), 0)
    t.same(SHARED.map((path) => [path, total(path)]), [
      ['databases.<name>.pool.size', 10], ['databases.<name>.pool.queue', 500], ['databases.<name>.pool.minimum', 0],
      ['rateLimit.max', 601], ['failedLogins.max', 30], ['limits.answerMemory', 67_108_867],
      ['limits.bodyMemory', 134_217_731], ['http.maxConnections', 10]
    ], 'defaults are divided as well')
    for (const path of SHARED) {
      const shares = parts.map((part) => valueAt(part, path))
      t.ok(Math.max(...shares) - Math.min(...shares) <= 1, `${path}: ${shares}`)
    }
    for (const part of parts) {
      const { databases, rateLimit, limits, http, port, workers } = part
      t.match({ databases, rateLimit, limits, http, port, workers }, {
        databases: { shop: { url: mysqlUrl, statementTimeout: 5000, pool: { wait: 5000 } } },
        rateLimit: { window: 1000 },
        limits: { filterDepth: 5 },
        http: { answerRate: 5 },
        port: 8080,
        workers: 1
      }, 'the rest is the same for each')
      t.ok(resolveSettings(splitConfig(part).options), 'each part is valid')
    }
  }
  t.same(Array.from({ length: 4 }, (_, index) => divideConfig(dividedConfig, 4, index).databases['shop']?.pool).map(
    (pool) => [pool?.size, pool?.queue, pool?.minimum]
  ),
  [[3, 2, 1], [3, 2, 1], [3, 2, 0], [2, 1, 0]])
})

t.test('what is off stays off', async (t) => {
  const part = divideConfig({ databases: dividedConfig.databases, failedLogins: { max: 0 } }, 2, 1)
  t.same([part.failedLogins, part.rateLimit], [{ max: 0, window: 60_000 }, undefined])
})

t.test('a number of workers for which a limit is too small is an error, and "auto" is never too large', async (t) => {
  const databases = { shop: { url: mysqlUrl, pool: { size: 3 } } }
  const small = {
    databases,
    failedLogins: { max: 2 },
    rateLimit: { max: 3 },
    limits: { answerMemory: 8_388_607 },
    http: { maxConnections: 3 }
  }
  const divided = (least: number): string => `must be at least ${least}, because it is divided among 4 workers`
  t.same((t.throws(() => splitConfig({ ...small, workers: 4 }), ConfigError) as ConfigError).errors, [
    `databases.shop.pool.size: ${divided(4)}`, `rateLimit.max: ${divided(4)}`, `failedLogins.max: ${divided(4)}`,
    `limits.answerMemory: ${divided(8_388_608)}`, `http.maxConnections: ${divided(4)}`
  ])
  const countOf = (given: Config, cores: number): number => splitConfig(given, cores).server.workers
  t.equal(countOf({ databases, workers: 3 }, 1), 3, 'more than cores')
  t.equal(countOf({ databases, workers: 'auto' }, 2), 2)
  t.equal(countOf({ databases, workers: 'auto' }, 16), 3)
  t.equal(countOf({ ...small, workers: 'auto' }, 16), 2)
  t.equal(
    countOf({ databases: { crm: { url: mysqlUrl } }, failedLogins: { max: 0 }, workers: 'auto' }, 64), 10,
    'no limit of failed logins, and ten connections by default'
  )
  t.equal(
    countOf({ ...small, failedLogins: { max: 1 }, limits: { answerMemory: 2_097_152 } }, 16), 1,
    'one worker by default, for which nothing is too small'
  )
})

t.test('a database in memory allows one worker', async (t) => {
  const databases = { shop: { url: mysqlUrl }, test: { url: 'sqlite::memory:' } }
  t.same((t.throws(() => splitConfig({ databases, workers: 2 }), ConfigError) as ConfigError).errors, [
    'databases.test.url: sqlite::memory: does not allow several workers, because each would have its own data'
  ])
  t.equal(splitConfig({ databases, workers: 'auto' }, 8).server.workers, 1)
  t.equal(
    splitConfig({ databases: { test: { url: 'sqlite:test.db' } }, workers: 2 }).server.workers, 2,
    'a file allows several'
  )
})

// addresses of databases

/** What a URL of MySQL says, over what it may leave out. */
const mysql = (said: Partial<MysqlAddress>) =>
  ({
    engine: 'mysql' as const,
    address: { hosts: [{ host: 'db', port: 3306 }], user: '', password: '', database: 'shop', ssl: undefined, ...said }
  })
const host = (nameless: string, port = 3306) => ({ host: nameless, port })
const { cert, key } = await createCertificate()
const bundle = `# two authorities\n${cert}\n${cert}`
const files = t.testdir({
  'ca.pem': bundle,
  'text.pem': 'a certificate',
  'key.pem': key,
  'cut.pem': cert.slice(0, 200),
  'broken.pem': cert + cert.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA'),
  'ca.der': new X509Certificate(cert).raw,
  'empty.pem': ''
})
const caFile = `${files}/ca.pem`

const readUrls: Array<[url: string, address: ReturnType<typeof parseDatabaseUrl>, nameless: string]> = [
  ['mysql://ann:secret@db.example.com:3307/shop', mysql({
    hosts: [host('db.example.com', 3307)], user: 'ann', password: 'secret'
  }), 'shop'],
  ['mariadb://db/shop', mysql({}), 'shop'],
  ['MySQL://ann@db/shop', mysql({ user: 'ann' }), 'shop'],
  ['mysql:///shop', mysql({ hosts: [host('127.0.0.1')] }), 'shop'],
  ['mysql://[::1]:3307/shop', mysql({ hosts: [host('::1', 3307)] }), 'shop'],
  ['mysql://a%40b:%2F%3F%23%25%3A%C3%A9@db/my%20shop', mysql({
    user: 'a@b', password: '/?#%:é', database: 'my shop'
  }), 'my shop'],
  ['mysql://ann:a@b@db/sh%40op', mysql({ user: 'ann', password: 'a@b', database: 'sh@op' }), 'sh@op'],
  ['mysql://ann:a,b@one,two:3307,[::1]/shop', mysql({
    hosts: [host('one'), host('two', 3307), host('::1')], user: 'ann', password: 'a,b'
  }), 'shop'],
  ['mysql://db/shop?ssl=true', mysql({ ssl: { rejectUnauthorized: true, verifyIdentity: true } }), 'shop'],
  ['mysql://db/shop?ssl=verify-ca', mysql({ ssl: { rejectUnauthorized: true, verifyIdentity: false } }), 'shop'],
  [`mysql://db/shop?ssl-ca=${caFile}`, mysql({
    ssl: { rejectUnauthorized: true, verifyIdentity: true, ca: bundle }
  }), 'shop'],
  ['sqlite:data/shop.db', { engine: 'sqlite', path: 'data/shop.db' }, 'shop'],
  ['sqlite:/var/lib/shop.v2.sqlite', { engine: 'sqlite', path: '/var/lib/shop.v2.sqlite' }, 'shop.v2'],
  ['sqlite::memory:', { engine: 'sqlite', path: ':memory:' }, 'memory'],
  ['sqlite:shop', { engine: 'sqlite', path: 'shop' }, 'shop']
]

for (const [url, address, nameless] of readUrls) {
  t.test(`${url.replace(caFile, 'ca.pem')} is read, and named ${nameless}`, async (t) => {
    t.strictSame(parseDatabaseUrl(url), address)
    t.equal(databaseNameOf(address), nameless)
  })
}

const scheme = 'must begin with mysql://, mariadb:// or sqlite:'
const nameless = 'must name one database after the host: mysql://host/name'
const parameters = 'only allows the parameters ssl and ssl-ca; ? and # in a password must be written as %3F and %23'
const addresses = 'ssl=true requires host names; use ssl=verify-ca with IP addresses'
const unreadable = 'is not a valid URL; special characters in the user name and the password must be ' +
  'percent-encoded, such as %40 for @ and %2F for /'

const refusedUrls: Array<[url: string, message: string]> = [
  ['', 'is empty'],
  ['shop', scheme],
  ['http://db/shop', scheme],
  ['mysql:shop', scheme],
  ['sqlite:', 'must name a file'],
  ['mysql://db', nameless],
  ['mysql://db/', nameless],
  ['mysql://db/shop/orders', nameless],
  ['mysql://db/shop?charset=latin1', parameters],
  ['mysql://db/shop?ssl=true&hunter2', parameters],
  ['mysql://db/shop#a', parameters],
  ['mysql://ann:1?hunter2@db/shop', parameters],
  ['mysql://ann:hunter2#@db/shop', unreadable],
  ['mysql://ann:hunter2/@db/shop', unreadable],
  ['mysql://ann:12/hunter2@db/shop', unreadable],
  ['mysql://ann:12/hunter2@db', unreadable],
  ['mysql://ann:hun@ter/2@db/shop', unreadable],
  ['mysql://db:port/shop', unreadable],
  ['mysql://db1,,db2/shop', unreadable],
  ['mysql://db1,db2:port/shop', unreadable],
  ['mysql://db/shop?ssl=false', 'ssl must be true, or verify-ca to accept a certificate with any host name'],
  ['mysql://10.0.0.1/shop?ssl=true', addresses],
  ['mysql://db,[::1]/shop?ssl-ca=/ca.pem', addresses],
  ['mysql://db/shop?ssl-ca=/hunter2/ca.pem', 'the file of ssl-ca cannot be read'],
  ...['text.pem', 'key.pem', 'cut.pem', 'broken.pem', 'ca.der', 'empty.pem'].map((nameless): [string, string] => [
    `mysql://db/shop?ssl-ca=${files}/${nameless}`, 'the file of ssl-ca is not a certificate in PEM format'
  ]),
  ['mysql://ann:hunter2%@db/shop', 'contains a % that is not followed by two hexadecimal digits']
]

for (const [url, message] of refusedUrls) {
  t.test(`"${url}" is refused without being repeated`, async (t) => {
    t.throws(() => parseDatabaseUrl(url), new Error(message))
    t.notMatch(message, 'hunter2')
  })
}

t.test('a replica cannot be a SQLite file', async (t) => {
  t.strictSame(parseReplicaUrl('mysql://db/shop'), mysql({}).address)
  t.throws(() => parseReplicaUrl('sqlite:shop.db'), { message: 'must begin with mysql:// or mariadb://' })
  t.throws(() => parseReplicaUrl('db'), { message: scheme })
})
