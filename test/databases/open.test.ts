import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { TableFacts } from '../../src/catalog/catalog.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { createShop } from '../../src/demo/shop.ts'
import type { openDatabases } from '../../src/databases/open.ts'

/** `openDatabases` with MySQL dialects that do as told, and a log to read. */
async function withMysql (t: Test, introspect: () => Promise<TableFacts[]>) {
  const closed: number[] = []
  const lines: string[] = []
  const module = await t.mockImport<{ openDatabases: typeof openDatabases }>('../../src/databases/open.ts', {
    '../../src/dialects/mysql/dialect.ts': { createMysqlDialect: () => ({ introspect, close: async () => { closed.push(1) } }) }
  })
  const { log } = Fastify({ logger: { stream: { write: (line: string) => { lines.push(line) } } } })
  const open = (urls: Record<string, string>) => module.openDatabases(resolveSettings({ databases: Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }])) }).databases, { log })
  return { open, closed, lines }
}

t.test('SQLite files that cannot be opened are reported together, and open databases are closed again', async (t) => {
  const folder = t.testdir()
  createShop(join(folder, 'good.db'))
  writeFileSync(join(folder, 'bad.db'), 'no database'.repeat(100))
  const { open, closed } = await withMysql(t, async () => { throw new Error('never asked') })
  const error = await t.rejects(open({ good: `sqlite:${folder}/good.db`, server: 'mysql://h/d', bad: `sqlite:${folder}/bad.db`, none: `sqlite:${folder}/none.db` })) as unknown as Error
  t.match(error, { code: 'ROW_QUERY_INVALID_CONFIG', errors: [/^databases\.bad\.url: .*bad\.db cannot be opened: file is not a database$/, /^databases\.none\.url: .*none\.db does not exist$/] })
  t.same(closed, [1])
})

t.test('a bug while reading a catalog does not stop the start, and is logged without its message', async (t) => {
  const { open, lines } = await withMysql(t, async () => { throw new TypeError('with a value in it') })
  t.same([...(await open({ shop: 'mysql://h/d' })).keys()], ['shop'])
  t.match(lines, [/"database":"shop","code":"INTERNAL","reason":"TypeError","msg":"the catalog could not be read"/])
  t.notMatch(lines.join(''), 'with a value')
})

t.test('a catalog that takes longer than Fastify would wait does not stop the start; the first request waits for it', async (t) => {
  const { promise, resolve } = Promise.withResolvers<TableFacts[]>()
  const { open, lines } = await withMysql(t, () => promise)
  const databases = await open({ shop: 'mysql://h/d' })
  const answer = databases.get('shop')?.getCatalog() as Promise<unknown>
  t.equal(await Promise.race([answer, sleep(100, 'waits')]), 'waits')
  resolve([])
  t.match(await answer, { tables: new Map() }, 'answered out of the catalog, which has no table')
  t.same(lines, [])
})
