/** Which table a foreign key or a trigger names, where names differ in their case. */
import t from 'tap'
import { relationsBetween } from '../../src/catalog/relations.ts'
import type { Table } from '../../src/catalog/catalog.ts'
import { linkTables } from '../../src/catalog/relations.ts'
import { writtenBy } from '../../src/catalog/triggers.ts'
import { findRelatedTables } from '../../src/openapi/visible.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'
import { loadCatalog } from '../support/catalog.ts'
import { onEachEngine, type Schema } from '../support/service.ts'

const trigger = (table: string): string =>
  `create trigger written after insert on notes for each row begin delete from ${table}; end`

/** `Docs` and `docs` are two tables on MySQL and MariaDB, and one on SQLite. */
const cased: Schema = {
  mysql: [
    'create table docs (id int not null primary key)',
    'create table Docs (id int not null primary key)',
    'create table notes (id int not null primary key, doc_id int not null, constraint to_doc foreign key (doc_id) ' +
      'references Docs (ID) on delete cascade)',
    trigger('Docs')
  ],
  sqlite: [
    'create table Docs (id integer primary key, parent_id int references dOCS)',
    'create table notes (id integer primary key, doc_id int not null references docs (ID) on delete cascade)',
    trigger('docs')
  ]
}

await onEachEngine(t, 'a foreign key and a trigger name the table that has exactly their name; another letter case ' +
  'is the same table only where the engine ignores it', { schema: cased }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const [notes, docs] = ['notes', 'Docs'].map((name) => tables.get(name)) as [Table, Table]
  const [key] = notes.foreignKeys
  t.match(key, { columns: ['doc_id'], referencedTable: 'Docs', referencedColumns: ['id'] })
  t.equal(relationsBetween(notes, docs).length, 1)
  t.same([...writtenBy(notes, 'insert')], ['Docs'])
  const related = findRelatedTables([...tables.values()].map(
    (table) => ({ table, verbs: ['select'], writable: { insert: undefined, update: undefined } }) as never
  ))
  t.same(related.get(notes)?.map(({ other }) => other.name), ['Docs'], 'so do documents, types and tools')
  if (engine === 'sqlite') {
    t.match(docs.foreignKeys, [{ referencedTable: 'Docs', referencedColumns: ['id'] }])
    t.same([...writtenBy(docs, 'delete')], [])
  } else {
    t.same(relationsBetween(notes, tables.get('docs') as Table), [])
  }
})

t.test('the name of a table that the account does not see is not taken for one that it sees, unless the ' +
  'engine ignores the case', async (t) => {
  const facts = (name: string, parts: object = {}) => ({
    ...tableOf({ name, columns: [mysqlColumn('id', 'int')], ...parts }), columns: [mysqlColumn('id', 'int')]
  })
  const tables = [facts('docs'), facts('notes', {
    foreignKeys: [{ name: 'k', columns: ['ID'], referencedTable: 'Docs', referencedColumns: ['ID'] }]
  })]
  const keyOf = (ignoresCase: boolean) =>
    linkTables(tables, ignoresCase).find(({ name }) => name === 'notes')?.foreignKeys
  t.same(keyOf(false), [{ name: 'k', columns: ['id'], referencedTable: 'Docs', referencedColumns: ['ID'] }])
  t.same(keyOf(true), [{ name: 'k', columns: ['id'], referencedTable: 'docs', referencedColumns: ['id'] }])
})
