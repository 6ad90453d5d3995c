/** The catalog as data: names, identities, what may fire a trigger, and what a trigger writes. */
import t from 'tap'
import { type Column, createCatalog, mayFire, type TableFacts, type TriggerEvent } from '../../src/catalog/catalog.ts'
import { writesOf } from '../../src/catalog/triggers.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const facts = (name: string, columns: Column[], primaryKey: string[] = []): TableFacts =>
  ({
    name,
    kind: 'table',
    comment: '',
    engine: '',
    transactional: true,
    triggers: {
      isComplete: true, list: []
    },
    columns,
    primaryKey,
    uniqueKeys: [],
    indexes: [],
    foreignKeys: [],
    checks: []
  })

t.test('inherited property names are not tables or columns', async (t) => {
  const { tables } = createCatalog([facts('orders', [mysqlColumn('id', 'int')])], 5)
  for (const name of ['__proto__', 'constructor', 'toString', 'Orders', '']) {
    t.equal(tables.get(name), undefined)
    t.equal(tables.get('orders')?.columns.get(name), undefined)
  }
  const odd = createCatalog([facts('__proto__', [mysqlColumn('constructor', 'int')])], 5)
  t.equal(odd.tables.get('__proto__')?.columns.get('constructor')?.name, 'constructor')
})

t.test('a catalog is frozen and knows when it was read', async (t) => {
  const catalog = createCatalog([facts('orders', [mysqlColumn('id', 'int')])], 5)
  t.equal(catalog.loadedAt, 5)
  for (const part of [catalog, catalog.tables.get('orders'), catalog.tables.get('orders')?.columns.get('id')]) {
    t.ok(
      Object.isFrozen(part)
    )
  }
})

t.test('columns stay in the order of the table', async (t) => {
  const names = ['z', '10', 'a', '2']
  const table = createCatalog([facts('t', names.map((name) => mysqlColumn(name, 'int')))], 0).tables.get('t')
  t.same([...table?.columns.keys() ?? []], names)
})

t.test('the identity of a table is its AUTO_INCREMENT column, otherwise the only column ' +
  'of its primary key', async (t) => {
  const id = mysqlColumn('id', 'int')
  const number = mysqlColumn('number', 'int', { autoIncrement: true })
  const identityOf = (columns: Column[], primaryKey: string[]) =>
    createCatalog([facts('t', columns, primaryKey)], 0).tables.get('t')?.identity?.name
  t.equal(identityOf([id, number], ['id']), 'number')
  t.equal(identityOf([id, number], ['id', 'number']), 'number')
  t.equal(identityOf([id], ['id']), 'id')
  t.equal(identityOf([id, mysqlColumn('line', 'int')], ['id', 'line']), undefined)
  t.equal(identityOf([id], []), undefined)
})

t.test('a view without columns, which the database cannot open, is not in the catalog', async (t) => {
  t.same([
    ...createCatalog([facts('broken', []), facts('whole', [mysqlColumn('id', 'int')])], 0).tables.keys()
  ], ['whole'])
})

const EVENTS: readonly TriggerEvent[] = ['insert', 'update', 'delete']

t.test('a statement may fire a trigger of its event, or any trigger if triggers are unknown', async (t) => {
  const table = tableOf({
    columns: [mysqlColumn('id', 'int')], triggers: { isComplete: true, list: [{ timing: 'before', event: 'insert' }] }
  })
  t.same(EVENTS.filter((event) => mayFire(table, event)), ['insert'])
  t.same(EVENTS.filter((event) => mayFire(table, event, 'before')), ['insert'])
  t.same(EVENTS.filter((event) => mayFire(table, event, 'after')), [])
  const unknown = { triggers: { isComplete: false, list: [] } }
  t.same(EVENTS.filter((event) => mayFire(unknown, event, 'after')), EVENTS)
})

const mysql = (text: string): string =>
  writesOf(text, 'mysql', 'shop').map(({ table, event }) => `${event} ${table}`).join(', ')
const sqlite = (text: string): string => writesOf(
  `CREATE TRIGGER x AFTER UPDATE OF a ON t FOR EACH ROW WHEN old.a <> new.a BEGIN ${text} END`, 'sqlite'
).map(({ table, event }) => `${event} ${table}`).join(', ')

const mysqlCases: Array<[text: string, writes: string]> = [
  ['set new.a = 1', ''],
  ['insert into log values (1)', 'insert log'],
  ['insert log set a = new.a', 'insert log'],
  [
    'begin insert low_priority ignore into `my log` (a) select a from items where b = 1; replace stock values (1); end',
    'insert my log, insert stock, delete stock'
  ],
  ['insert into log (a) values (1) on duplicate key update a = a + 1', 'insert log, update log'],
  ['update stock set n = n - 1 where id = new.id', 'update stock'],
  [
    'update low_priority ignore stock as s join items i on i.id = s.id, more set s.n = 1',
    'update stock, update items, update more'
  ],
  ['delete from items where order_id = old.id', 'delete items'],
  ['delete quick ignore from items', 'delete items'],
  [
    'delete a, b from items a join stock b on a.id = b.id where a.id = 1',
    'delete a, delete b, delete items, delete stock'
  ],
  ['begin declare n int; select count(*) into n from items for update; set new.b = replace(new.a, \'update stock ' +
    'set\', "delete from x"), new.c = insert(new.a, 1, 2, \'x\'); end', ''],
  ['begin /* insert into a values (1) */ -- delete from b\n # update c set d = 1\n insert into d values (\'it\\\'s; ' +
    'delete from e\', 1); end', 'insert d'],
  ['insert into shop.log values (1)', 'insert log'],
  ['insert into SHOP . `log` values (1)', 'insert log'],
  ['insert into other.log values (1)', ''],
  ['call write_log(new.id)', ''],
  [
    'begin if new.a = 1 then update stock set n = 1; elseif new.b then delete from items; end if; end',
    'update stock, delete items'
  ],
  ['begin /*!50000 insert into hinted values (1) */; end', 'insert hinted']
]

const sqliteCases: Array<[text: string, writes: string]> = [
  ['select 1;', ''],
  [
    'insert or replace into "my ""log" values (\'\\\'); update or ignore [stock] set n = 1;',
    'insert my "log, delete my "log, update stock'
  ],
  ["replace into 'log' select a from items;", 'insert log, delete log'],
  ['insert into log values (1) on conflict (a) do update set b = 2;', 'insert log, update log'],
  ["select raise(abort, 'delete from items'); delete from items where a = 'x';", 'delete items'],
  ['update stock set n = (select count(*) from items) from more where more.id = stock.id;', 'update stock']
]

t.test('the text of a trigger names the tables that it writes', async (t) => {
  for (const [text, writes] of mysqlCases) t.equal(mysql(text), writes, text)
  for (const [text, writes] of sqliteCases) t.equal(sqlite(text), writes, text)
})

t.test('long texts take time in proportion to their length', async (t) => {
  for (const part of ['insert ', "'", '"', '`', '/*', 'update a,', 'delete (', 'a.']) {
    t.ok(
      mysql(part.repeat(20_000)).length < 100_000, part
    )
  }
})
