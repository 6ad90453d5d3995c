/** Views whose definition is right, broken or mended, and the databases of an app. */
import Fastify from 'fastify'
import t from 'tap'
import schemaCache from '../../plugins/schema-cache.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { UNLIMITED } from '../../src/response/budget.ts'
import { movableClock } from '../support/clock.ts'
import { loadCatalog } from '../support/catalog.ts'
import { onEachEngine, sharedOnEachEngine } from '../support/service.ts'

const tables = [
  'create table people (id int not null primary key, name varchar(20) not null, boss_id int null)',
  'create table gone (id int not null primary key)',
  "insert into people values (1, 'Ada', null), (2, 'Bo', 1)",
  'create view pairs as select p.id, p.name, b.id as boss, b.name as boss_name from people p left join people b ' +
    'on b.id = p.boss_id',
  'create view sums as select count(*) as n, max(id) + 0.5 as half from people',
  'create view broken as select p.id, g.id as gone from people p join gone g on g.id = p.id',
  'create view broken_too as select id from broken'
]
const schema = { mysql: tables, sqlite: tables }

const test = sharedOnEachEngine(t, { schema })

await test('a column of a view may be null because of an outer join', async (t, { post, url }) => {
  const view = (await loadCatalog(url)).tables.get('pairs')
  t.equal(view?.kind, 'view')
  t.equal(view?.comment, '')
  t.same(view?.primaryKey, [])
  t.equal(view?.columns.get('boss')?.nullable, true)
  t.equal(view?.columns.get('boss_name')?.nullable, true)
  const { json } = await post('pairs', { verb: 'select', filters: { boss: null } })
  t.same(json.data.rows, [{ id: 1, name: 'Ada', boss: null, boss_name: null }])
  t.same(
    (await post('pairs', { verb: 'select', columns: ['id'], filters: { boss_name: { $ne: null } } })).json.data.rows,
    [{ id: 2 }]
  )
})

await test('computed columns of a view are selected', async (t, { post }) => {
  const { status, json } = await post('sums', { verb: 'select' })
  t.equal(status, 200)
  t.equal(json.data.rows[0].n, 2)
  t.equal(Number(json.data.rows[0].half), 2.5)
})

await onEachEngine(t, 'a view that becomes invalid while the service runs ' +
  'is broken at once', { schema }, async (t, { post, sql, server }) => {
  t.equal((await post('broken', { verb: 'select' })).status, 200)
  await sql('drop table gone')
  for (const when of ['before the catalog is read again', 'after it']) {
    for (const view of ['broken', 'broken_too']) {
      const { status, json } = await post(view, { verb: 'select' })
      t.equal(status, 422, when)
      t.equal(json.error.code, 'BROKEN_DEFINITION', when)
    }
    t.same(
      (await post('people', { verb: 'select', columns: ['id'], orderBy: 'id' })).json.data.rows, [{ id: 1 }, { id: 2 }],
      'the other tables are'
    )
    t.equal((await post('pairs', { verb: 'select' })).json.data.count, 2)
    await server.rows.refresh()
  }
})

await onEachEngine(t, 'a view that was invalid at the start can be used once it is valid', {
  schema: { mysql: [...tables, 'drop table gone'], sqlite: [...tables, 'drop table gone'] }
}, async (t, { post, sql, log }) => {
  const { json: { error }, status } = await post('broken', { verb: 'select' })
  t.same([status, error.code], [422, 'BROKEN_DEFINITION'])
  t.equal((await post('people', { verb: 'select' })).status, 200)
  t.notOk(log.some((line) => line.includes('catalog')), 'its being broken is no trouble of ours')
  await sql('create table gone (id int not null primary key)')
  movableClock(t).pass(1001)
  t.equal((await post('broken', { verb: 'select' })).status, 200, 'it is looked for again')
})

const orphans = [
  'create table people (id int not null primary key)',
  "create definer = 'nobody'@'nowhere' sql security definer view orphan as select id from people",
  'create function double_of (n int) returns int deterministic return n * 2',
  'create view doubles as select double_of(id) as n from people',
  'drop function double_of'
]

await onEachEngine(t, 'a view whose definer is missing is broken, and one ' +
  'whose function is', { schema: { mysql: orphans, sqlite: [] }, only: ['mariadb', 'mysql'] }, async (t, { post }) => {
  for (const [view, expected, code] of [
    ['orphan', 422, 'BROKEN_DEFINITION'], ['doubles', 422, 'BROKEN_DEFINITION']
  ] as const) {
    const { status, json } = await post(view, { verb: 'select' })
    t.equal(status, expected, view)
    t.equal(json.error.code, code, view)
  }
})

const words = ['create table words (id int not null primary key, word varchar(20) null)']

await onEachEngine(t, 'the plugin of the catalogs opens databases for an app, and ' +
  'closes them with it', { schema: { mysql: words, sqlite: words } }, async (t, { url }) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(schemaCache, {
    databases: resolveSettings({ databases: { shop: { url } } }).databases, budget: UNLIMITED, onWrite: undefined
  })
  const shop = app.rowQueryDatabases.get('shop')
  t.same([...shop?.catalog?.tables.keys() ?? []], ['words'])
  t.ok(await shop?.refresh())
  await app.close()
  await t.rejects(shop?.refresh() as Promise<unknown>, 'nothing is left open')
})

t.test('an app whose SQLite file is missing does not start', async (t) => {
  const app = Fastify()
  const { databases } = resolveSettings({ databases: { shop: { url: 'sqlite:/nowhere/shop.db' } } })
  await t.rejects(
    async () => { await app.register(schemaCache, { databases, budget: UNLIMITED, onWrite: undefined }) },
    { name: 'ConfigError', message: /\/nowhere\/shop\.db does not exist/ }
  )
  await app.close()
})

await onEachEngine(t, 'columns of a view of SQLite have the types of their tables: texts in FTS5, none ' +
  'without a declaration', {
  only: ['sqlite'],
  schema: () => [
    'create virtual table words using fts5(title, body unindexed)',
    "insert into words values ('Hello', '7'), ('Bye', x'00')",
    'create table loose (x, b blob)', "insert into loose values ('a', x'01')",
    "create view found as select rowid as id, title, body, rank, title || '!' as loud, cast(title as text) " +
      'as quiet from words',
    'create view nested as select title, body from found', 'create view odd as select x, b from loose'
  ]
}, async (t, { post, url }) => {
  const select = async (view: string, body: object) => (await post(view, { verb: 'select', ...body })).json
  t.match((await select('nested', { orderBy: 'title' })).data.rows, [
    { title: 'Bye', body: 'AA==' }, { title: 'Hello', body: '7' }
  ])
  for (const view of ['found', 'nested']) {
    const [row] = (await select(view, { columns: ['title', 'body'], orderBy: 'title DESC' })).data.rows
    t.equal((await select(view, { filters: row })).data.count, 1, `${view}: a filter made of a selected row finds it`)
    t.same((await select(view, { columns: ['title'], filters: { title: { $startsWith: 'B' } } })).data.rows, [
      { title: 'Bye' }
    ])
    t.equal((await select(view, { filters: { body: { $gte: '' } } })).data.count, 1, 'bytes are no text')
  }
  t.equal((await select('found', { filters: { quiet: 'Bye' } })).data.count, 1)
  t.same((await select('odd', { filters: { b: 'AQ==' } })).data.rows, [{ x: 'a', b: 'AQ==' }])
  const { tables } = await loadCatalog(url)
  t.same(['rank', 'loud'].map((name) => tables.get('found')?.columns.get(name)?.declaration), ['', ''])
  t.equal(tables.get('odd')?.columns.get('x')?.declaration, '')
})

await onEachEngine(t, 'a message names the missing type of a computed column', {
  only: ['sqlite'],
  schema: () => ['create table t (id integer primary key)', "create view v as select id, 'a' as c from t"]
}, async (t, { post }) => {
  const bodies = [
    { filters: { c: 'a' } }, { filters: { c: { $like: 'a' } } }, { filters: { id: { $gt: { $column: 'c' } } } },
    { orderBy: 'c' }, { groupBy: ['c'] },
    { aggregates: { n: { $sum: 'c' } } }, { aggregates: { n: { $min: 'c' } } },
    { include: { x: { table: 't', on: { c: 'id' } } } }
  ]
  for (const body of bodies) {
    const { status, json } = await post('v', { verb: 'select', ...body })
    t.equal(status, 400)
    t.match(json.error.message, /(a column without a|\(no) declared type/, JSON.stringify(body))
  }
})
