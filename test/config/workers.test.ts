import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { ConfigSchema, type Config } from '../../schemas/options.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { splitConfig } from '../../src/config/split-config.ts'
import { divideConfig } from '../../src/config/workers.ts'

const mysql = 'mysql://root@db/shop'
const config: Config = {
  databases: { shop: { url: mysql, pool: { size: 11, queue: 7, minimum: 2 }, statementTimeout: 5000 }, crm: { url: mysql } },
  rateLimit: { max: 601, window: 1000 },
  limits: { answerMemory: 67_108_867, bodyMemory: 134_217_731, filterDepth: 5 },
  http: { maxConnections: 10, answerRate: 5 },
  port: 8080,
  workers: 4
}

/** Limits that the whole service shares. */
const SHARED = ['databases.<name>.pool.size', 'databases.<name>.pool.queue', 'databases.<name>.pool.minimum', 'rateLimit.max', 'failedLogins.max', 'limits.answerMemory', 'limits.bodyMemory', 'http.maxConnections']

/** Numbers that are not limits of the whole, but of a request, an answer or a connection, or ports. Times are not listed: their descriptions end with "in milliseconds". */
const OF_EACH = ['port', 'metrics.port', 'workers', 'bodyLimit', 'databases.<name>.resultLimit', 'limits.filterDepth', 'limits.filterConditions', 'limits.filterValues', 'limits.filterPattern', 'limits.offset', 'limits.include.levels', 'limits.include.members', 'limits.changed', 'limits.operations', 'limits.streamRows', 'limits.streams', 'mcp.resultLimit', 'http.answerRate', 'http.maxHeaderSize']

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
const valueAt = (from: object, path: string): number => path.replace('<name>', 'crm').split('.').reduce((outer: any, key) => outer[key], from)

t.test('every number in the configuration is shared by the workers, or is none of the whole', async (t) => {
  t.same(numbersIn(ConfigSchema).filter((path) => !path.startsWith('databases.<name>.rows')).sort(), [...SHARED, ...OF_EACH].sort())
})

t.test('the shares of a limit add up to it, and differ by one at most', async (t) => {
  for (const count of [2, 3, 4]) {
    const parts = Array.from({ length: count }, (_, index) => divideConfig(config, count, index))
    const total = (path: string): number => parts.reduce((sum, part) => sum + valueAt(part, path), 0)
    t.same(SHARED.map((path) => [path, total(path)]), [
      ['databases.<name>.pool.size', 10], ['databases.<name>.pool.queue', 500], ['databases.<name>.pool.minimum', 0],
      ['rateLimit.max', 601], ['failedLogins.max', 30], ['limits.answerMemory', 67_108_867], ['limits.bodyMemory', 134_217_731], ['http.maxConnections', 10]
    ], 'defaults are divided as well')
    for (const path of SHARED) {
      const shares = parts.map((part) => valueAt(part, path))
      t.ok(Math.max(...shares) - Math.min(...shares) <= 1, `${path}: ${shares}`)
    }
    for (const part of parts) {
      const { databases, rateLimit, limits, http, port, workers } = part
      t.match({ databases, rateLimit, limits, http, port, workers }, {
        databases: { shop: { url: mysql, statementTimeout: 5000, pool: { wait: 5000 } } }, rateLimit: { window: 1000 }, limits: { filterDepth: 5 }, http: { answerRate: 5 }, port: 8080, workers: 1
      }, 'the rest is the same for each')
      t.ok(resolveSettings(splitConfig(part).options), 'each part is valid')
    }
  }
  t.same(Array.from({ length: 4 }, (_, index) => divideConfig(config, 4, index).databases['shop']?.pool).map((pool) => [pool?.size, pool?.queue, pool?.minimum]),
    [[3, 2, 1], [3, 2, 1], [3, 2, 0], [2, 1, 0]])
})

t.test('what is off stays off', async (t) => {
  const part = divideConfig({ databases: config.databases, failedLogins: { max: 0 } }, 2, 1)
  t.same([part.failedLogins, part.rateLimit], [{ max: 0 }, undefined])
})

t.test('a number of workers for which a limit is too small is an error, and "auto" is never too large', async (t) => {
  const databases = { shop: { url: mysql, pool: { size: 3 } } }
  const small = { databases, failedLogins: { max: 2 }, rateLimit: { max: 3 }, limits: { answerMemory: 8_388_607 }, http: { maxConnections: 3 } }
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
  t.equal(countOf({ databases: { crm: { url: mysql } }, failedLogins: { max: 0 }, workers: 'auto' }, 64), 10, 'no limit of failed logins, and ten connections by default')
  t.equal(countOf({ ...small, failedLogins: { max: 1 }, limits: { answerMemory: 2_097_152 } }, 16), 1, 'one worker by default, for which nothing is too small')
})

t.test('a database in memory allows one worker', async (t) => {
  const databases = { shop: { url: mysql }, test: { url: 'sqlite::memory:' } }
  t.same((t.throws(() => splitConfig({ databases, workers: 2 }), ConfigError) as ConfigError).errors, ['databases.test.url: sqlite::memory: does not allow several workers, because each would have its own data'])
  t.equal(splitConfig({ databases, workers: 'auto' }, 8).server.workers, 1)
  t.equal(splitConfig({ databases: { test: { url: 'sqlite:test.db' } }, workers: 2 }).server.workers, 2, 'a file allows several')
})
