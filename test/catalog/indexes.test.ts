import t from 'tap'
import { loadCatalog } from '../support/catalog.ts'
import { onEachEngine, type Schema } from '../support/service.ts'

const schema: Schema = {
  mysql: [
    `create table events (
      id int not null auto_increment primary key, tenant int not null, created datetime not null, note text not null,
      key newest (tenant, created desc), key words (note(10)), fulltext key whole (note), unique key at_once (created, tenant))`,
    'create table no_primary_key (a int not null, b int not null, c int null, unique key zz (b), unique key nullable (c), unique key aa (a))'
  ],
  sqlite: [
    'create table events (id integer primary key, tenant int not null, created datetime not null, note text not null, unique (created, tenant))',
    'create table no_primary_key (a int not null, b int not null, c int null, unique (b), unique (c))',
    'create unique index aa on no_primary_key (a)', 'create index other on no_primary_key (b, a)', 'create unique index by_lower on no_primary_key (abs(a), b)'
  ]
}

await onEachEngine(t, 'a unique index of SQLite with another collation than its column does not identify rows', {
  schema: () => [
    'create table words (word text collate nocase not null, other text not null collate rtrim unique, n int not null)', 'create unique index exactly on words (word collate binary)', 'create unique index roughly on words (word)',
    'create table plain (code text not null unique)', 'create unique index coarse on plain (code collate nocase)'
  ],
  only: ['sqlite']
}, async (t, { url, post }) => {
  const { tables } = await loadCatalog(url)
  const columnsOf = (table: string) => tables.get(table)?.indexes.map(({ name, parts }) => [name, parts[0]?.column])
  t.same(columnsOf('words'), [['sqlite_autoindex_words_1', 'other'], ['exactly', null], ['roughly', 'word']])
  t.same(columnsOf('plain'), [['sqlite_autoindex_plain_1', 'code'], ['coarse', null]])
  t.equal((await post('words', { verb: 'select', after: null })).status, 200)
})

const part = (column: string | null, rest = {}) => ({ column, descending: false, prefix: false, ...rest })

await onEachEngine(t, 'indexes are known with their parts, the primary key first', { schema, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  const [primary, ...others] = tables.get('events')?.indexes ?? []
  t.same(primary, { name: 'PRIMARY', unique: true, ordered: true, parts: [part('id')] })
  t.same(Object.fromEntries(others.map(({ name, ...rest }) => [name, rest])), {
    newest: { unique: false, ordered: true, parts: [part('tenant'), part('created', { descending: true })] },
    words: { unique: false, ordered: true, parts: [part('note', { prefix: true })] },
    whole: { unique: false, ordered: false, parts: [part('note')] },
    at_once: { unique: true, ordered: true, parts: [part('created'), part('tenant')] }
  })
})

await onEachEngine(t, 'an index that the optimizer does not use is not ordered, and an expression has no column', {
  schema: (engine) => [
    `create table hidden (id int not null primary key, a int not null, key by_a (a) ${engine === 'mysql' ? 'invisible' : 'ignored'})`,
    ...engine === 'mysql' ? ['create table computed (a varchar(10) not null, b int not null, unique key by_lower ((lower(a)), b))'] : []
  ],
  only: ['mariadb', 'mysql']
}, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  t.match(tables.get('hidden')?.indexes, [{ name: 'PRIMARY', ordered: true }, { name: 'by_a', ordered: false }])
  if (engine === 'mysql') t.same(tables.get('computed')?.indexes, [{ name: 'by_lower', unique: true, ordered: true, parts: [part(null), part('b')] }])
})

await onEachEngine(t, 'of the unique keys of a table without a primary key, the one that was defined first comes first', { schema }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const first = tables.get('no_primary_key')?.indexes[0]
  t.same(first?.parts, [part('b')])
  t.equal(first?.unique, true)
  if (engine !== 'sqlite') return
  t.same(tables.get('no_primary_key')?.indexes.map(({ parts }) => parts.map(({ column }) => column)), [['b'], ['c'], ['a'], ['b', 'a'], [null, 'b']])
  t.same(tables.get('events')?.indexes.map(({ parts }) => parts.map(({ column }) => column)), [['created', 'tenant']])
})
