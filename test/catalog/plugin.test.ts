import t from 'tap'
import Fastify from 'fastify'
import catalogs from '../../plugins/catalogs.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { UNLIMITED } from '../../src/response/budget.ts'
import { onEachEngine } from '../support/service.ts'

const tables = ['create table words (id int not null primary key, word varchar(20) null)']

await onEachEngine(t, 'the plugin of the catalogs opens databases for an app, and closes them with it', { schema: { mysql: tables, sqlite: tables } }, async (t, { url }) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(catalogs, { databases: resolveSettings({ databases: { shop: { url } } }).databases, budget: UNLIMITED, onWrite: undefined })
  const shop = app.rowQueryDatabases.get('shop')
  t.same([...shop?.latestCatalog()?.tables.keys() ?? []], ['words'])
  t.ok(await shop?.refresh())
  await app.close()
  await t.rejects(shop?.refresh() as Promise<unknown>, 'nothing is left open')
})

t.test('an app whose SQLite file is missing does not start', async (t) => {
  const app = Fastify()
  const { databases } = resolveSettings({ databases: { shop: { url: 'sqlite:/nowhere/shop.db' } } })
  await t.rejects(async () => { await app.register(catalogs, { databases, budget: UNLIMITED, onWrite: undefined }) }, { name: 'ConfigError', message: /\/nowhere\/shop\.db does not exist/ })
  await app.close()
})
