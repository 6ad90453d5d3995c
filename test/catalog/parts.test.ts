/** The catalog of a large database is read in parts, between which others are served. */
import t from 'tap'
import { createCatalogInParts, type TableFacts } from '../../src/catalog/catalog.ts'
import { describeAll } from '../../src/catalog/catalog.ts'
import { ask, quit } from '../../src/dialects/mysql/session.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { loadCatalog } from '../support/catalog.ts'
import { connect, readTables } from '../support/mysql.ts'
import { createProxy, errorPacket } from '../support/recorder.ts'
import { onEachEngine } from '../support/service.ts'
import { mysqlColumn } from '../support/tables.ts'

const columns = [mysqlColumn('id', 'int'), mysqlColumn('name', 'varchar')]
const tableOf = (name: string): TableFacts => ({
  name,
  kind: 'table',
  comment: '',
  engine: 'innodb',
  transactional: true,
  triggers: { isComplete: true, list: [] },
  columns,
  primaryKey: ['id'],
  uniqueKeys: [],
  indexes: [],
  foreignKeys: [],
  checks: []
})
const names = Array.from({ length: 50 }, (_, index) => `t${index}`)

t.test('other work is done after each table', async (t) => {
  let steps = 0
  const describing = describeAll(names, tableOf)
  let step = describing.next()
  for (; step.done !== true; step = describing.next()) steps++
  t.equal(steps, names.length)
  const creating = createCatalogInParts(step.value, 0)
  let created = creating.next()
  for (steps = 0; created.done !== true; created = creating.next()) steps++
  t.equal(steps, names.length)
  t.same([...created.value.tables.keys()], names)
})

for (const engine of await engines()) {
  t.test('the rows of a query are read between turns of the event loop, ' +
    `and equal texts are one (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, [])
    const connection = await connect(database.url)
    t.teardown(async () => {
      await quit(connection)
      await database.drop()
    })
    let pauses = 0
    const { pause } = connection
    connection.pause = () => {
      pauses++
      pause.call(connection)
    }
    const digits = '(select 0 as n union all select 1 union all select 2 union all select 3 union all select 4 union ' +
      'all select 5 union all select 6 union all select 7 union all select 8 union all select 9)'
    const rows = await ask(
      connection,
      `select a.n + 10 * b.n + 100 * c.n + 1000 * d.n as i, 'the same', null from ${digits} a, ${digits} b,
        ${digits} c, ${digits} d order by 1`
    )
    t.same(rows, Array.from({ length: 10_000 }, (_, index) => [String(index), 'the same', null]))
    t.equal(pauses, 20)
    t.same(await ask(connection, 'do 1'), [], 'a statement without rows')
    await t.rejects(ask(connection, 'select nonsense'), { code: 'ER_BAD_FIELD_ERROR' })
    t.same(await ask(connection, "select 'x'"), [['x']], 'the connection is used on')
    const cut = ask(connection, 'select sleep(20)')
    connection.destroy()
    ;(connection as unknown as { stream: { destroy (error: Error): void } }).stream.destroy(new Error('cut'))
    await t.rejects(Promise.race([
      cut, new Promise((_resolve, reject) => { setTimeout(() => reject(new Error('it hangs')), 5000).unref() })
    ]), /cut|closed|lost/i)
  })
}

for (const engine of await engines()) {
  t.test(`a table that is dropped while the indexes are read does not end the reading (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, [
      'create table twice (a int not null unique, b int not null unique)'
    ])
    const proxy = await createProxy(database.url)
    t.teardown(async () => {
      await proxy.close()
      await database.drop()
    })
    proxy.onStatement = (sql) => sql.startsWith('show index') ? errorPacket(1146, '42S02') : undefined
    t.same([...(await readTables(proxy.url)).keys()], ['twice'])
  })
}

await onEachEngine(t, 'columns with the same declaration share a type, because a catalog of many ' +
  'columns has few of them', {
  schema: (engine) => ['one', 'two'].map(
    (name) =>
      `create table ${name} (id int primary key, a decimal(10,2), b decimal(10,2), c decimal(12,2),
        d ${engine === 'sqlite' ? 'json' : 'datetime'}, e ${engine === 'sqlite' ? 'json' : 'datetime'})`
  )
}, async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  const typeOf = (table: string, column: string) => tables.get(table)?.columns.get(column)?.type
  t.equal(typeOf('one', 'a'), typeOf('one', 'b'))
  t.equal(typeOf('one', 'a'), typeOf('two', 'b'))
  t.equal(typeOf('one', 'd'), typeOf('two', 'e'))
  t.not(typeOf('one', 'a'), typeOf('one', 'c'))
})
