/** The requests in the documents are sent, and their answers compared (test/support/stories.ts). */
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { fullTextTriggers } from '../support/full-text.ts'
import { codeBlocks, DOCUMENTS, readDocument } from '../support/markdown.ts'
import { onEachEngine, startService, TOKEN } from '../support/service.ts'
import { storiesOf, tellStory } from '../support/stories.ts'

for (const document of DOCUMENTS) {
  for (const [number, story] of storiesOf(document).entries()) {
    t.test(`${document}, requests to the tables of its example ${number + 1}`, async (t) => {
      const path = `${t.testdir()}/shop.db`
      const database = new DatabaseSync(path)
      database.exec(story[0]?.text as string)
      database.close()
      await tellStory(t as Test, `sqlite:${path}`, story)
    })
  }
}

t.test('every request has a table before it', async (t) => {
  for (const document of DOCUMENTS) {
    const kinds = codeBlocks(readDocument(document)).map(({ kind }) => kind)
    const first = kinds.findIndex((kind) => /^json (request \S+ \d+|operations \d+)$/.test(kind))
    t.ok(first === -1 || kinds.slice(0, first).includes('sql'), document)
  }
})

const SEARCHING = readDocument('docs/searching.md')
const sizeOf: Partial<Record<string, string>> = Object.fromEntries(Array.from(
  SEARCHING.matchAll(/^- (MySQL|MariaDB|SQLite): `(alter table products [^`]+)`/gm),
  ([, name = '', statement]) => [name.toLowerCase(), statement]
))

await onEachEngine(t, 'the examples of docs/searching.md find their rows', {
  schema: (engine) => [
    'create table articles (id integer primary key, title varchar(100), body text)',
    ...engine === 'sqlite'
      ? [
          "create virtual table words using fts5(title, body, content='articles', content_rowid='id')",
          ...fullTextTriggers('articles', 'words', ['title', 'body'])
        ]
      : ['create fulltext index words on articles (title, body)'],
    "insert into articles values (1, 'Red shoes', 'new'), (2, 'Hats', 'green')",
    'create table products (id integer primary key, name varchar(20) not null, meta json)',
    `insert into products values
      (1, 'Brass BELL', '{"size":6,"tags":["new"],"odd key":null}'), (3, 'Lamp', '{"size":4.5}')`,
    sizeOf[engine] as string,
    'create table parcels (id integer primary key, shipped date, due date)',
    "insert into parcels values (1, '2026-01-02', '2026-01-01'), (2, null, '2026-01-01')"
  ]
}, async (t, { post }) => {
  for (const [kind, table] of [
    ['match', 'articles'], ['case', 'products'], ['column', 'parcels'], ['at', 'products']
  ] as const) {
    const block = codeBlocks(SEARCHING).find((each) => each.kind === `json ${kind}`)
    t.match(await post(table, block?.text), { status: 200, json: { data: { rows: [{ id: 1 }], count: 1 } } }, kind)
  }
  t.same((await post('products', {
    verb: 'select', columns: ['id'], filters: { size: { $gt: 4 } }, orderBy: 'size'
  })).json.data.rows, [{ id: 3 }, { id: 1 }], 'by the column of a path')
})

// The requests of docs/relations.md and of its reference have the same answers on MariaDB and MySQL as on SQLite.

for (const engine of await engines()) {
  for (const document of DOCUMENTS.filter((path) => path.startsWith('docs/relations'))) {
    for (const [number, story] of storiesOf(document).entries()) {
      t.test(`${document}, requests to the tables of its example ${number + 1} on ${engine.name}`, async (t) => {
        const { url, drop } = await createTestDatabase(
          engine, (story[0]?.text as string).split(';\n').filter((statement) => statement.trim() !== '')
        )
        t.teardown(drop)
        await tellStory(t as Test, url, story)
      })
    }
  }
}

// docs/reading.md, with the tables of the demo

async function startDemo (t: Test) {
  const path = `${t.testdir()}/shop.db`
  createShop(path)
  return await startService(t, `sqlite:${path}`)
}

t.test('the example of aggregates in docs/reading.md has the answer that it shows', async (t) => {
  const { post } = await startDemo(t as Test)
  const [body, answer] = codeBlocks(readDocument('docs/reading.md')).filter(({ kind }) => kind === 'json aggregates')
    .map(({ text }) => text) as [string, string]
  t.equal((await post('orders', body)).text, JSON.stringify(JSON.parse(answer)))
})

t.test('the generated column of docs/reading.md has days of a time zone, by which rows are grouped', async (t) => {
  const [block] = codeBlocks(readDocument('docs/reading.md')).filter(
    ({ kind }) => kind === 'sql local days'
  ) as unknown as [{ text: string }]
  // servers without time zone tables know offsets only
  const local = block.text.replace("'Europe/Berlin'", "'+01:00'")
  for (const engine of await engines()) {
    const { url, query, drop } = await createTestDatabase(engine, [
      'create table orders (id int not null primary key, ordered_at datetime not null)', local,
      "insert into orders (id, ordered_at) values (1, '2026-10-31 22:59:59'), (2, '2026-10-31 23:00:00'), (3, " +
        "'2026-11-30 10:00:00')"
    ])
    const { server, post } = await startService(t as Test, url)
    const groupsOf = async (column: string) => (await post('orders', {
      verb: 'select', groupBy: [{ month: { $month: column } }], aggregates: { n: { $count: '*' } }, orderBy: 'month'
    })).json.data.rows
    t.same(await groupsOf('local_day'), [{ month: '2026-10', n: 1 }, { month: '2026-11', n: 2 }], engine.name)
    t.same(await groupsOf('ordered_at'), [{ month: '2026-10', n: 2 }, { month: '2026-11', n: 1 }], engine.name)
    // with the name of a time zone the statement is valid as well
    await query(block.text.replaceAll('local_day', 'named_day'))
    await server.app.close()
    await drop()
  }
})

type ReadAll = (table: string, body: object) => AsyncGenerator<{ id: number, ordered_at: string }>

t.test('the loop of docs/reading.md reads every row once', async (t) => {
  const { server } = await startDemo(t as Test)
  const address = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const { text } = codeBlocks(readDocument('docs/reading.md')).find(
    ({ kind }) => kind === 'js readAll'
  ) as { text: string }
  const program = text.replace('http://127.0.0.1:3000/api/demo', `${address}/api/shop`).replace(
    'process.env.TOKEN', JSON.stringify(TOKEN)
  ).replace('limit: 1000', 'limit: 40')
  const { readAll } = await import(
    `data:text/javascript,${encodeURIComponent(program.replace('async function', 'export async function'))}`
  ) as { readAll: ReadAll }
  const rows = await Array.fromAsync(readAll('orders', { orderBy: 'ordered_at DESC' }))
  t.equal(rows.length, 150)
  t.equal(new Set(rows.map(({ id }) => id)).size, 150)
  t.same(rows, rows.toSorted(
    (one, other) => one.ordered_at < other.ordered_at ? 1 : one.ordered_at > other.ordered_at ? -1 : other.id - one.id
  ))
  await t.rejects(Array.fromAsync(readAll('orders', { orderBy: 'nope' })), { message: 'COLUMN_NOT_FOUND' })
})
