import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { mayFire, type TriggerEvent } from '../../src/catalog/catalog.ts'
import { introspectSqlite } from '../../src/dialects/sqlite/introspect.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { loadCatalog, loadTable } from '../support/catalog.ts'
import { onEachEngine, type Schema } from '../support/service.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'
import { createUser } from '../support/users.ts'

const EVENTS: readonly TriggerEvent[] = ['insert', 'update', 'delete']

const MYSQL = [
  'create table plain (id int not null primary key)',
  'create table fired (id int not null primary key)',
  'create trigger a after delete on fired for each row set @x = 1',
  'create trigger b before insert on fired for each row set @x = 1',
  'create trigger c before insert on fired for each row set @x = 2',
  'create view seen as select * from fired'
]
const schema: Schema = {
  mysql: MYSQL,
  sqlite: [
    'create table plain (id int not null primary key)',
    'create table fired (id int not null primary key)',
    'create trigger a after delete on fired begin select 1; end',
    'create trigger b insert on FIRED begin select 1; end',
    'create trigger c before insert on fired begin select 1; end',
    'create view seen as select * from fired',
    'create trigger d instead of update on seen begin select 1; end'
  ]
}

await onEachEngine(t, 'the triggers of each table are known by timing and event', { schema }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  t.same(tables.get('plain')?.triggers, { known: true, list: [] })
  t.same(tables.get('fired')?.triggers, { known: true, list: [{ timing: 'after', event: 'delete' }, { timing: 'before', event: 'insert' }, { timing: 'before', event: 'insert' }] })
  t.same(tables.get('seen')?.triggers, { known: true, list: engine === 'sqlite' ? [{ timing: 'instead', event: 'update' }] : [] })
})

t.test('a statement may fire a trigger of its event, or any trigger if triggers are unknown', async (t) => {
  const table = tableOf({ columns: [mysqlColumn('id', 'int')], triggers: { known: true, list: [{ timing: 'before', event: 'insert' }] } })
  t.same(EVENTS.filter((event) => mayFire(table, event)), ['insert'])
  t.same(EVENTS.filter((event) => mayFire(table, event, 'before')), ['insert'])
  t.same(EVENTS.filter((event) => mayFire(table, event, 'after')), [])
  const unknown = { triggers: { known: false, list: [] } }
  t.same(EVENTS.filter((event) => mayFire(unknown, event, 'after')), EVENTS)
})

/** Forms that SQLite takes: its own text begins with the trigger's name. */
const FORMS: ReadonlyArray<[sql: string, timing: string, event: TriggerEvent]> = [
  ['create trigger if not exists x after insert on t', 'after', 'insert'],
  ['create trigger main.x insert on t', 'before', 'insert'],
  ['create trigger "after ""delete" /* after delete */ before update of a on t', 'before', 'update'],
  ['create trigger [before insert]after update on t', 'after', 'update'],
  ['create trigger `in``sert`-- after\n/* * */delete on t', 'before', 'delete'],
  ["create trigger 'a''fter'AFTER\tDELETE on t", 'after', 'delete'],
  ['create trigger before after insert on t', 'after', 'insert'],
  ['create trigger after insert on t', 'before', 'insert'],
  ['create trigger ünsert/**/before/**/update/**/on t', 'before', 'update'],
  ['create trigger xinsert before delete on [t]', 'before', 'delete']
]
const forms: Schema = { mysql: [], sqlite: FORMS.map(([sql], index) => `create table t${index} (a); ${sql.replace(/\bt$|\[t\]$/, `t${index}`).replace(/trigger (if not exists )?(main\.)?x /, `trigger $1$2x${index} `)} begin select 1; end`) }

await onEachEngine(t, 'the text of a trigger is parsed in every form that SQLite accepts', { schema: forms, only: ['sqlite'] }, async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  for (const [index, [sql, timing, event]] of FORMS.entries()) t.same(tables.get(`t${index}`)?.triggers, { known: true, list: [{ timing, event }] }, sql)
})

t.test('a trigger whose text cannot be parsed may be of any event (sqlite)', async (t) => {
  const database = new DatabaseSync(':memory:', { defensive: false })
  database.exec('create table t (a); create trigger x after insert on t begin select 1; end; pragma writable_schema = on')
  database.exec("update sqlite_schema set sql = 'CREATE TRIGGER x -- no event' where name = 'x'")
  const [table] = await introspectSqlite(async (sql, ...parameters) => database.prepare(sql).all(...parameters))
  t.same(table?.triggers, { known: false, list: [] })
  database.close()
})

const engineSchema: Schema = {
  mysql: ['create table i (a int) engine = InnoDB', 'create table m (a int) engine = MyISAM', 'create table h (a int) engine = MEMORY', 'create view v as select * from m', 'create table p (a int) engine = InnoDB partition by hash (a) partitions 2'],
  sqlite: ['create table i (a)', 'create view v as select * from i']
}

await onEachEngine(t, 'the engine of each table is known, and whether it supports transactions', { schema: engineSchema }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const found = [...tables.values()].map(({ name, engine, transactional }) => [name, engine, transactional])
  t.same(found, engine === 'sqlite'
    ? [['i', 'sqlite', true], ['v', 'sqlite', true]]
    : [['h', 'memory', false], ['i', 'innodb', true], ['m', 'myisam', false], ['p', 'innodb', true], ['v', '', true]])
})

/** What an account was granted, and the tables whose triggers it then sees; by the right to write on MariaDB alone, and not on an old one. */
const GRANTS: ReadonlyArray<[grants: string[], known: string[], knownToWriters?: string[]]> = [
  [['select on *'], []],
  [['select, insert, update, delete on *'], [], ['fired', 'plain', 'seen']],
  [['select on *', 'trigger on plain'], ['plain']],
  [['select on *', 'delete on fired'], [], ['fired']],
  [['all on *'], ['fired', 'plain', 'seen']]
]

for (const engine of await engines()) {
  t.test(`the triggers of a table are known to an account that may see them (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, MYSQL)
    t.teardown(() => database.drop())
    const [shown] = await database.query("select IS_NULLABLE as byWriting from information_schema.COLUMNS where TABLE_SCHEMA = 'information_schema' and TABLE_NAME = 'TRIGGERS' and COLUMN_NAME = 'DEFINER'")
    for (const [grants, known, knownToWriters = known] of GRANTS) {
      const { tables } = await loadCatalog(await createUser(t, database, { grants }))
      const expected = shown.byWriting === 'YES' ? knownToWriters : known
      t.same([...tables.values()].filter(({ triggers }) => triggers.known).map(({ name }) => name), expected, grants.join('; '))
      t.equal(tables.get('fired')?.triggers.list.length, expected.includes('fired') ? 3 : 0, 'the server shows what it is expected to')
    }
  })

  t.test(`a privilege by a pattern for databases counts if every pattern that matches grants it (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table plain (id int not null primary key)'])
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: [] })
    const user = `'${new URL(url).username}'@'%'`
    const knows = async () => (await loadTable(url, 'plain')).triggers.known
    const pattern = database.name.replaceAll('_', '\\_')
    await database.query(`grant all on \`${pattern.slice(0, -1)}_\`.* to ${user}`)
    t.equal(await knows(), true)
    await database.query(`grant select on \`${pattern}\`.* to ${user}`)
    t.equal(await knows(), false)
    t.same((await loadTable(url, 'plain')).triggers, { known: false, list: [] })
    await database.query(`grant trigger on *.* to ${user}`)
    t.equal(await knows(), true)
  })

  t.test(`a privilege on other databases only, or of a longer pattern, does not count (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table plain (id int not null primary key)'])
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: ['select on *'] })
    await database.query(`grant all on \`${database.name.replaceAll('_', '\\_')}x%\`.* to '${new URL(url).username}'@'%'`)
    await database.query(`grant all on \`${database.name.toUpperCase().replaceAll('_', '\\_')}\`.* to '${new URL(url).username}'@'%'`)
    t.equal((await loadTable(url, 'plain')).triggers.known, false)
  })
}
