import t from 'tap'
import type { Config } from '../../schemas/options.ts'
import { HttpSchema } from '../../schemas/server-settings.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { HTTP_DEFAULTS, splitConfig } from '../../src/config/split-config.ts'

const databases = { shop: { url: 'mysql://root@db/shop' } }
const errorsOf = (config: Partial<Config>): readonly string[] => (t.throws(() => splitConfig({ databases, ...config }), ConfigError) as ConfigError).errors

t.test('a configuration is split into the options of the plugin and the settings of the server with their defaults', async (t) => {
  t.strictSame(splitConfig({ databases, bodyLimit: 5 }), {
    options: { databases, bodyLimit: 5, requestLog: true, metrics: false },
    server: { host: '127.0.0.1', port: 3000, workers: 1, prefix: '/api', logLevel: 'info', logFormat: 'auto', metrics: undefined, shutdown: { delay: 0, timeout: 10_000 }, trustProxy: [], http: HTTP_DEFAULTS, https: undefined }
  })
  t.strictSame(HTTP_DEFAULTS, Object.fromEntries(Object.entries(HttpSchema.properties).map(([name, { default: fallback }]) => [name, fallback])), 'the defaults are those of the schema')
  const given = { host: '::', port: 1, prefix: '/rows', logLevel: 'warn' as const, logFormat: 'json' as const, trustProxy: ['loopback'], https: { cert: 'a', key: 'b' } }
  t.strictSame(splitConfig({ databases, ...given, shutdown: { delay: 5 }, http: { maxConnections: 7 } }).server,
    { ...given, workers: 1, metrics: undefined, shutdown: { delay: 5, timeout: 10_000 }, http: { ...HTTP_DEFAULTS, maxConnections: 7 } })
})

t.test('metrics are collected if they are served, and have an address of their own if they have a port', async (t) => {
  for (const [metrics, counted, apart] of [[true, true, undefined], [{ port: 9 }, true, { host: '127.0.0.1', port: 9 }], [{ host: '::', port: 9 }, true, { host: '::', port: 9 }]] as const) {
    const { options, server } = splitConfig({ databases, metrics })
    t.same([options.metrics, server.metrics], [counted, apart])
  }
})

t.test('trustProxy accepts addresses and networks', async (t) => {
  const trustProxy = ['loopback', 'uniquelocal', '10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8']
  t.same(splitConfig({ databases, trustProxy }).server.trustProxy, trustProxy)
  t.same(errorsOf({ trustProxy: ['10.0.0.1', '10.0.0.256', '10.0.0.0/33', 'fd00::/129', '1:2'] }),
    [1, 2, 3, 4].map((index) => `trustProxy.${index}: must be an IP address, or a network such as 10.0.0.0/8`))
})

t.test('http.headersTimeout must be less than http.requestTimeout', async (t) => {
  for (const headersTimeout of [30_000, 40_000]) t.same(errorsOf({ http: { headersTimeout } }), ['http.headersTimeout: must be less than http.requestTimeout'])
  t.same(splitConfig({ databases, http: { headersTimeout: 99, requestTimeout: 100 } }).server.http.headersTimeout, 99)
})
