import t from 'tap'
import { relationsBetween } from '../../src/catalog/relations.ts'
import type { Table } from '../../src/catalog/catalog.ts'
import { linkTables } from '../../src/catalog/linked-tables.ts'
import { writtenBy } from '../../src/catalog/triggers.ts'
import { findRelatedTables } from '../../src/openapi/related-tables.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'
import { loadCatalog, loadTable } from '../support/catalog.ts'
import { onEachEngine, type Schema } from '../support/service.ts'

const schema: Schema = {
  mysql: [
    'create table countries (code char(2) not null, region int not null, name varchar(20) not null, primary key (region, code), unique key by_name (name), unique key by_both (name, code))',
    `create table people (
      id int not null auto_increment primary key, country_code char(2) null, country_region int null, boss int null, email varchar(50) not null,
      constraint people_country foreign key (country_region, country_code) references countries (region, code) on delete set null,
      constraint people_boss foreign key (boss) references people (id), unique key \`e.mail\` (email), key just_an_index (boss, email))`,
    'create table no_key (a int null)',
    'create table prefixed (word varchar(100) not null, unique key beginning (word(10)))'
  ],
  sqlite: [
    'create table countries (code char(2) not null, region int not null, name varchar(20) not null, primary key (region, code), unique (name), unique (name, code))',
    `create table people (
      id integer primary key, country_code char(2) null, country_region int null, boss int null references people, email varchar(50) not null,
      foreign key (country_region, country_code) references COUNTRIES on delete set null)`,
    'create table no_key (a int null)',
    'create unique index by_email on people (email)',
    'create unique index some_bosses on people (boss) where boss > 5',
    'create unique index by_lower on people (lower(email), boss, id + 1)',
    'create index just_an_index on people (boss, email)',
    'create table lost (other int references nowhere)'
  ]
}

await onEachEngine(t, 'a primary key has its columns in the order of the key', { schema }, async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  t.same(tables.get('countries')?.primaryKey, ['region', 'code'])
  t.equal(tables.get('countries')?.identity, undefined)
  t.same(tables.get('people')?.primaryKey, ['id'])
  t.equal(tables.get('people')?.identity?.name, 'id')
  t.same(tables.get('no_key')?.primaryKey, [])
  t.same(tables.get('no_key')?.uniqueKeys, [])
})

await onEachEngine(t, 'unique keys have names and include the primary key', { schema }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const keysOf = (table: string) => Object.fromEntries(tables.get(table)?.uniqueKeys.map(({ name, columns }) => [name, columns]) ?? [])
  if (engine === 'sqlite') {
    t.same(keysOf('countries'), { PRIMARY: ['region', 'code'], sqlite_autoindex_countries_2: ['name'], sqlite_autoindex_countries_3: ['name', 'code'] })
    t.same(keysOf('people'), { PRIMARY: ['id'], by_email: ['email'], by_lower: ['boss'] })
  } else {
    t.same(keysOf('countries'), { PRIMARY: ['region', 'code'], by_name: ['name'], by_both: ['name', 'code'] })
    t.same(keysOf('people'), { PRIMARY: ['id'], 'e.mail': ['email'] })
    t.same(keysOf('prefixed'), { beginning: ['word'] })
  }
})

await onEachEngine(t, 'foreign keys have their columns in order', { schema }, async (t, { url, engine }) => {
  const { foreignKeys } = await loadTable(url, 'people')
  const [boss, country] = engine === 'sqlite' ? ['people_1', 'people_0'] : ['people_boss', 'people_country']
  t.same([...foreignKeys].sort((a, b) => a.columns.length - b.columns.length), [
    { name: boss, columns: ['boss'], referencedTable: 'people', referencedColumns: ['id'] },
    {
      name: country,
      columns: ['country_region', 'country_code'],
      referencedTable: 'countries',
      referencedColumns: ['region', 'code'],
      ...engine === 'sqlite' && { cascades: { delete: 'update' } }
    }
  ])
  if (engine === 'sqlite') t.match((await loadTable(url, 'lost')).foreignKeys, [{ referencedTable: 'nowhere', referencedColumns: [] }])
})

const trigger = (table: string): string => `create trigger written after insert on notes for each row begin delete from ${table}; end`

/** `Docs` and `docs` are two tables on MySQL and MariaDB, and one on SQLite. */
const cased: Schema = {
  mysql: [
    'create table docs (id int not null primary key)',
    'create table Docs (id int not null primary key)',
    'create table notes (id int not null primary key, doc_id int not null, constraint to_doc foreign key (doc_id) references Docs (ID) on delete cascade)',
    trigger('Docs')
  ],
  sqlite: [
    'create table Docs (id integer primary key, parent_id int references dOCS)',
    'create table notes (id integer primary key, doc_id int not null references docs (ID) on delete cascade)',
    trigger('docs')
  ]
}

await onEachEngine(t, 'a foreign key and a trigger name the table that has exactly their name; another letter case is the same table only where the engine ignores it', { schema: cased }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const [notes, docs] = ['notes', 'Docs'].map((name) => tables.get(name)) as [Table, Table]
  const [key] = notes.foreignKeys
  t.match(key, { columns: ['doc_id'], referencedTable: 'Docs', referencedColumns: ['id'] })
  t.equal(relationsBetween(notes, docs).length, 1)
  t.same([...writtenBy(notes, 'insert')], ['Docs'])
  const related = findRelatedTables([...tables.values()].map((table) => ({ table, verbs: ['select'], writable: { insert: undefined, update: undefined } }) as never))
  t.same(related.get(notes)?.map(({ other }) => other.name), ['Docs'], 'so do documents, types and tools')
  if (engine === 'sqlite') {
    t.match(docs.foreignKeys, [{ referencedTable: 'Docs', referencedColumns: ['id'] }])
    t.same([...writtenBy(docs, 'delete')], [])
  } else {
    t.same(relationsBetween(notes, tables.get('docs') as Table), [])
  }
})

t.test('the name of a table that the account does not see is not taken for one that it sees, unless the engine ignores the case', async (t) => {
  const facts = (name: string, parts: object = {}) => ({ ...tableOf({ name, columns: [mysqlColumn('id', 'int')], ...parts }), columns: [mysqlColumn('id', 'int')] })
  const tables = [facts('docs'), facts('notes', { foreignKeys: [{ name: 'k', columns: ['ID'], referencedTable: 'Docs', referencedColumns: ['ID'] }] })]
  const keyOf = (ignoresCase: boolean) => linkTables(tables, ignoresCase).find(({ name }) => name === 'notes')?.foreignKeys
  t.same(keyOf(false), [{ name: 'k', columns: ['id'], referencedTable: 'Docs', referencedColumns: ['ID'] }])
  t.same(keyOf(true), [{ name: 'k', columns: ['id'], referencedTable: 'docs', referencedColumns: ['id'] }])
})

const checked: Schema = {
  mysql: ['create table plain (a int null)', "create table t (a int, `b``c` varchar(9), d json, constraint `one``'s` check (a > 0 and `b``c` <> '`a`'), constraint two check (1 > 0))"],
  sqlite: [
    'create table plain (a int null)',
    "create table t (a int constraint \"o\"\"ne\" check (a > 0), constraint/* */two check(a > 0), check (a < 9), constraint three unique (a), constraint [fo ur] -- why\n check (a > 0), constraint `fi``ve`check (a > 0), constraint 'six' check (a > 0))"
  ]
}

await onEachEngine(t, 'the checks of each table have names', { schema: checked }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  t.same(tables.get('plain')?.checks, [])
  const checks = tables.get('t')?.checks.filter(({ name }) => name !== 'd').toSorted((a, b) => a.name.localeCompare(b.name))
  if (engine === 'sqlite') t.same(checks?.map(({ name }) => name), ['fi`ve', 'fo ur', 'o"ne', 'six', 'two'])
  else t.same(checks, [{ name: "one`'s", columns: ['a', 'b`c'] }, { name: 'two', columns: [] }])
})

await onEachEngine(t, 'the error for a failed check names it', { schema: checked }, async (t, { post, engine }) => {
  const { json } = await post('t', { verb: 'insert', data: { a: 0 } })
  const message = engine === 'sqlite' ? 'check constraint "o""ne"' : 'check constraint "one`\'s" on "a", "b`c"'
  t.match(json.error, { code: 'CHECK_VIOLATION', details: engine === 'sqlite' ? [{ path: '', message: 'check constraint "o"ne"' }] : [{ path: '/data/a', message }, { path: '/data/b`c', message }] })
})
