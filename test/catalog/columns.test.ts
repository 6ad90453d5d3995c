import t from 'tap'
import type { Column, Table } from '../../src/catalog/catalog.ts'
import { loadCatalog, loadTable } from '../support/catalog.ts'
import { type EngineName, onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'

const columns: Record<'sqlite' | 'mysql', string[]> = {
  mysql: [
    'id bigint unsigned not null auto_increment primary key',
    'plain int null',
    'needed varchar(20) not null',
    "quoted varchar(20) not null default 'it''s \\\\ \"x\"'",
    "blank varchar(20) not null default ''",
    "said_null varchar(20) null default 'NULL'",
    'really_null varchar(20) null default null',
    'amount decimal(12,3) unsigned not null default 1.5',
    'negative int not null default -5',
    "day date not null default '2020-01-02'",
    "kind enum('new', 'it''s', 'a,b') not null default 'it''s'",
    'made datetime(3) not null default current_timestamp(3)',
    'changed timestamp null default current_timestamp on update current_timestamp',
    'code char(36) not null default (uuid())',
    "list varchar(20) not null default (concat('a', 'b'))",
    'doubled int generated always as (plain * 2) virtual',
    'kept int generated always as (plain + 1) stored',
    "noted text null comment 'what was \"said\"'",
    'hidden int not null default 7 invisible',
    'small tinyint(1) not null default true',
    'word varbinary(30) null'
  ],
  sqlite: [
    'id integer primary key autoincrement',
    'plain int null',
    'needed varchar(20) not null',
    "quoted varchar(20) not null default 'it''s \\ \"x\"'",
    "blank varchar(20) not null default ''",
    "said_null varchar(20) null default 'NULL'",
    'really_null varchar(20) null default null',
    'amount decimal(12,3) not null default 1.5',
    'negative int not null default -5',
    "day date not null default '2020-01-02'",
    'made datetime not null default current_timestamp',
    "list varchar(20) not null default ('a' || 'b')",
    'doubled int generated always as (plain * 2) virtual',
    'kept int generated always as (plain + 1) stored',
    'small boolean not null default true',
    'untyped'
  ]
}
const schema: Schema = {
  mysql: [`create table things (${columns.mysql.join(', ')}) comment 'all kinds of \\'things\\''`],
  sqlite: [`create table things (${columns.sqlite.join(', ')})`]
}

type Expected = Partial<Omit<Column, 'name' | 'type'>>
const optional = { nullable: false, generated: false, autoIncrement: false, optional: true }
const nothing = { nullable: true, optional: true, defaultText: null }

const everywhere: Record<string, Expected> = {
  id: { nullable: false, generated: false, autoIncrement: true, optional: true, defaultText: null, comment: '' },
  plain: { nullable: true, generated: false, autoIncrement: false, optional: true, defaultText: null },
  needed: { nullable: false, generated: false, optional: false, defaultText: null, declaration: 'varchar(20)' },
  quoted: { ...optional, defaultText: 'it\'s \\ "x"' },
  blank: { ...optional, defaultText: '' },
  said_null: { nullable: true, optional: true, defaultText: 'NULL' },
  really_null: nothing,
  negative: { ...optional, defaultText: '-5' },
  day: { ...optional, defaultText: '2020-01-02', declaration: 'date' },
  made: { ...optional, defaultText: null, defaultComputed: true },
  list: { ...optional, defaultText: null },
  doubled: { ...nothing, generated: true },
  kept: { ...nothing, generated: true }
}
const onMysql: Record<string, Expected> = {
  amount: { ...optional, defaultText: '1.500', declaration: 'decimal(12,3) unsigned' },
  kind: { ...optional, defaultText: "it's", declaration: "enum('new','it''s','a,b')" },
  changed: nothing,
  code: { ...optional, defaultText: null },
  noted: { ...nothing, comment: 'what was "said"', declaration: 'text' },
  hidden: { ...optional, defaultText: '7' },
  small: { ...optional, defaultText: '1', declaration: 'tinyint(1)' },
  word: { ...nothing, declaration: 'varbinary(30)' }
}
const onSqlite: Record<string, Expected> = {
  amount: { ...optional, defaultText: '1.5', declaration: 'decimal(12,3)' },
  small: { ...optional, defaultText: null, declaration: 'boolean' },
  untyped: { ...nothing, declaration: '' }
}
const expectedOn = (engine: EngineName) => ({ ...everywhere, ...(engine === 'sqlite' ? onSqlite : onMysql) })

await onEachEngine(t, 'introspection finds the types, defaults and nullability of columns', { schema }, async (t, { url, engine }) => {
  const table = await loadTable(url, 'things')
  for (const [name, expected] of Object.entries(expectedOn(engine))) t.match({ ...table.columns.get(name) }, expected, name)
  for (const name of ['plain', 'really_null', 'quoted', 'negative']) t.equal(table.columns.get(name)?.defaultComputed, undefined, name)
  t.same([...table.columns.keys()], columns[engine === 'sqlite' ? 'sqlite' : 'mysql'].map((column) => column.split(' ')[0]), 'in the order of the table')
  t.equal(table.comment, engine === 'sqlite' ? '' : "all kinds of 'things'")
  t.equal(table.kind, 'table')
  t.equal(table.identity?.name, 'id')
})

/** Values that a column of `things` takes and others that it does not, by what introspection found of its type. */
const limits: Array<[column: string, taken: unknown, refused: unknown]> = [
  ['id', '18446744073709551615', -1],
  ['amount', '999999999.999', '1000000000'],
  ['amount', 0, -0.001],
  ['kind', 'a,b', 'a'],
  ['needed', '😀'.repeat(20), 'x'.repeat(21)],
  ['made', '2020-01-01T00:00:00.123', '2020-01-01T00:00:00.1234'],
  ['word', Buffer.alloc(30).toString('base64'), Buffer.alloc(31).toString('base64')],
  ['small', true, 128]
]

const test = sharedOnEachEngine(t, { schema, only: ['mariadb', 'mysql'] })

await test('sizes, signs and members match the declaration', async (t, { url }) => {
  const { columns } = await loadTable(url, 'things')
  for (const [name, taken, refused] of limits) {
    const type = columns.get(name)?.type
    t.doesNotThrow(() => type?.read(taken), `${name} takes ${JSON.stringify(taken)}`)
    t.throws(() => type?.read(refused), { name: 'ValueRefused' }, `${name} does not take ${JSON.stringify(refused)}`)
  }
})

await test('an invisible column is selected, written and filtered like any other', async (t, { post }) => {
  t.same((await post('things', { verb: 'insert', data: { needed: 'x', hidden: 9 } })).json.data, { inserted: 1, id: 1 })
  const { json } = await post('things', { verb: 'select', filters: { hidden: 9 } })
  t.match(json.data.rows, [{ id: 1, hidden: 9, quoted: 'it\'s \\ "x"', list: 'ab' }])
})

const ROWIDS: Array<[declaration: string, numbered: boolean]> = [
  ['id integer primary key', true],
  ['id INTEGER PRIMARY KEY AUTOINCREMENT', true],
  ['id integer not null, primary key (id)', true],
  ['id int primary key', false],
  ['id bigint primary key', false],
  ['id integer primary key desc', false],
  ['id text primary key', false],
  ['id integer unique', false],
  ['id integer, line integer, primary key (id, line)', false]
]

await onEachEngine(t, 'in SQLite only an INTEGER PRIMARY KEY is the rowid', {
  schema: { mysql: [], sqlite: [...ROWIDS.map(([declaration], index) => `create table t${index} (${declaration})`), 'create table w (id integer primary key /* without rowid? */)', 'create table x (id integer primary key) without   rowid'] },
  only: ['sqlite']
}, async (t, { url }) => {
  for (const [index, [declaration, numbered]] of ROWIDS.entries()) {
    t.equal((await loadTable(url, `t${index}`)).columns.get('id')?.autoIncrement, numbered, declaration)
  }
  t.equal((await loadTable(url, 'w')).columns.get('id')?.autoIncrement, true)
  t.equal((await loadTable(url, 'x')).columns.get('id')?.autoIncrement, false)
})

const collated: Schema = {
  mysql: [`create table words (
    plain varchar(5) character set utf8mb4 collate utf8mb4_unicode_ci null, old char(5) character set latin1 collate latin1_german1_ci null, exact text character set utf8mb4 collate utf8mb4_bin null,
    small enum('a') character set ascii collate ascii_general_ci null, n int null, moment datetime null, bytes varbinary(5) null)`, 'create view shown as select plain, n from words'],
  sqlite: ['create table words (id integer primary key, plain text, exact text collate binary, other text collate NoCase, padded text collate rtrim, n int)', 'create table plain (a text)']
}

await onEachEngine(t, 'a column has its collation, and its character set where the database has several', { schema: collated }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const of = (name: string) => Object.fromEntries((tables.get(name) as Table).columnList.map(({ name, collation, charset }) => [name, charset === undefined ? collation : [charset, collation]]))
  if (engine === 'sqlite') {
    t.same(of('words'), { id: undefined, plain: 'BINARY', exact: 'BINARY', other: 'NOCASE', padded: 'RTRIM', n: 'BINARY' })
    t.same(of('plain'), { a: 'BINARY' })
  } else {
    t.same(of('words'), { plain: ['utf8mb4', 'utf8mb4_unicode_ci'], old: ['latin1', 'latin1_german1_ci'], exact: ['utf8mb4', 'utf8mb4_bin'], small: ['ascii', 'ascii_general_ci'], n: undefined, moment: undefined, bytes: undefined })
    t.same(of('shown'), { plain: ['utf8mb4', 'utf8mb4_unicode_ci'], n: undefined })
  }
  t.ok(tables.get('words')?.columnList.every((column) => Object.isFrozen(column)))
})
