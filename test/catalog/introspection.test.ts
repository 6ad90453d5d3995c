/** What is read of the tables of a database: columns, keys, indexes, checks and triggers. */
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Column, Table, TriggerEvent } from '../../src/catalog/catalog.ts'
import { introspectSqlite } from '../../src/dialects/sqlite/introspect.ts'
import { FILE } from '../../src/dialects/sqlite/protocol.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { loadCatalog, loadTable } from '../support/catalog.ts'
import { type EngineName, onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { createUser } from '../support/users.ts'

const columnsOfThings: Record<'sqlite' | 'mysql', string[]> = {
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
const things = {
  mysql: [`create table things (${columnsOfThings.mysql.join(', ')}) comment 'all kinds of \\'things\\''`],
  sqlite: [`create table things (${columnsOfThings.sqlite.join(', ')})`]
}
const keyed = {
  mysql: [
    'create table countries (code char(2) not null, region int not null, name varchar(20) not null, primary key ' +
      '(region, code), unique key by_name (name), unique key by_both (name, code))',
    `create table people (
      id int not null auto_increment primary key, country_code char(2) null, country_region int null, boss int null,
      email varchar(50) not null,
      constraint people_country foreign key (country_region, country_code)
      references countries (region, code) on delete set null,
      constraint people_boss foreign key (boss) references people (id), unique key \`e.mail\` (email),
      key just_an_index (boss, email))`,
    'create table no_key (a int null)',
    'create table prefixed (word varchar(100) not null, unique key beginning (word(10)))'
  ],
  sqlite: [
    'create table countries (code char(2) not null, region int not null, name varchar(20) not null, primary key ' +
      '(region, code), unique (name), unique (name, code))',
    `create table people (
      id integer primary key, country_code char(2) null, country_region int null, boss int null references people,
      email varchar(50) not null,
      foreign key (country_region, country_code) references COUNTRIES on delete set null)`,
    'create table no_key (a int null)',
    'create unique index by_email on people (email)',
    'create unique index some_bosses on people (boss) where boss > 5',
    'create unique index by_lower on people (lower(email), boss, id + 1)',
    'create index just_an_index on people (boss, email)',
    'create table lost (other int references nowhere)'
  ]
}
const checked = {
  mysql: ['create table unchecked (a int null)', 'create table t (a int, `b``c` varchar(9), d json, constraint ' +
    "`one``'s` check (a > 0 and `b``c` <> '`a`'), constraint two check (1 > 0))"],
  sqlite: [
    'create table unchecked (a int null)',
    'create table t (a int constraint "o""ne" check (a > 0), constraint/* */two check(a > 0), check (a < 9), ' +
      'constraint three unique (a), constraint [fo ur] -- why\n check (a > 0), constraint `fi``ve`check (a > 0), ' +
        "constraint 'six' check (a > 0))"
  ]
}
const indexed = {
  mysql: [
    `create table events (
      id int not null auto_increment primary key, tenant int not null, created datetime not null, note text not null,
      key newest (tenant, created desc), key words (note(10)), fulltext key whole (note),
      unique key at_once (created, tenant))`,
    'create table no_primary_key (a int not null, b int not null, c int null, unique key zz (b), unique key nullable ' +
      '(c), unique key aa (a))'
  ],
  sqlite: [
    'create table events (id integer primary key, tenant int not null, created datetime not null, note text not ' +
      'null, unique (created, tenant))',
    'create table no_primary_key (a int not null, b int not null, c int null, unique (b), unique (c))',
    'create unique index aa on no_primary_key (a)', 'create index other on no_primary_key (b, a)',
    'create unique index by_absolute on no_primary_key (abs(a), b)'
  ]
}
const collated = {
  mysql: [`create table words (
    plain varchar(5) character set utf8mb4 collate utf8mb4_unicode_ci null,
    old char(5) character set latin1 collate latin1_german1_ci null,
    exact text character set utf8mb4 collate utf8mb4_bin null,
    small enum('a') character set ascii collate ascii_general_ci null, n int null, moment datetime null,
    bytes varbinary(5) null)`, 'create view shown as select plain, n from words'],
  sqlite: ['create table words (id integer primary key, plain text, exact text collate binary, other text collate ' +
    'NoCase, padded text collate rtrim, n int)', 'create table uncollated (a text)']
}
const ofEngines = {
  mysql: [
    'create table i (a int) engine = InnoDB', 'create table m (a int) engine = MyISAM',
    'create table h (a int) engine = MEMORY', 'create view v as select * from m',
    'create table p (a int) engine = InnoDB partition by hash (a) partitions 2'
  ],
  sqlite: ['create table i (a)', 'create view v as select * from i']
}

const parts = [things, keyed, checked, indexed, collated, ofEngines]
const schema = { mysql: parts.flatMap(({ mysql }) => mysql), sqlite: parts.flatMap(({ sqlite }) => sqlite) }
const test = sharedOnEachEngine(t, { schema })
const testOnServers = sharedOnEachEngine(t, {
  schema: { mysql: [...things.mysql, ...indexed.mysql], sqlite: [] }, only: ['mariadb', 'mysql']
})

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

await test('introspection finds the types, defaults and nullability of columns', async (t, { url, engine }) => {
  const table = await loadTable(url, 'things')
  for (const [name, expected] of Object.entries(expectedOn(engine))) {
    t.match(
      { ...table.columns.get(name) }, expected, name
    )
  }
  for (const name of ['plain', 'really_null', 'quoted', 'negative']) {
    t.equal(
      table.columns.get(name)?.defaultComputed, undefined, name
    )
  }
  t.same([...table.columns.keys()], columnsOfThings[engine === 'sqlite' ? 'sqlite' : 'mysql'].map((column) =>
    column.split(' ')[0]), 'in the order of the table')
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

await testOnServers('sizes, signs and members match the declaration', async (t, { url }) => {
  const { columns } = await loadTable(url, 'things')
  for (const [name, taken, refused] of limits) {
    const type = columns.get(name)?.type
    t.doesNotThrow(() => type?.read(taken), `${name} takes ${JSON.stringify(taken)}`)
    t.throws(() => type?.read(refused), { name: 'ValueRefused' }, `${name} does not take ${JSON.stringify(refused)}`)
  }
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
  schema: {
    mysql: [],
    sqlite: [
      ...ROWIDS.map(([declaration], index) => `create table t${index} (${declaration})`),
      'create table w (id integer primary key /* without rowid? */)',
      'create table x (id integer primary key) without   rowid'
    ]
  },
  only: ['sqlite']
}, async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  const isNumbered = (table: string): boolean | undefined => tables.get(table)?.columns.get('id')?.autoIncrement
  for (const [index, [declaration, numbered]] of ROWIDS.entries()) {
    t.equal(
      isNumbered(`t${index}`), numbered, declaration
    )
  }
  t.same([isNumbered('w'), isNumbered('x')], [true, false])
})

await test('a column has its collation, and its character set where the ' +
  'database has several', async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const of = (name: string) => Object.fromEntries((tables.get(name) as Table).columnList.map(
    ({ name, collation, charset }) => [name, charset === undefined ? collation : [charset, collation]]
  ))
  if (engine === 'sqlite') {
    t.same(of('words'), {
      id: undefined, plain: 'BINARY', exact: 'BINARY', other: 'NOCASE', padded: 'RTRIM', n: 'BINARY'
    })
    t.same(of('uncollated'), { a: 'BINARY' })
  } else {
    t.same(of('words'), {
      plain: ['utf8mb4', 'utf8mb4_unicode_ci'],
      old: ['latin1', 'latin1_german1_ci'],
      exact: [
        'utf8mb4', 'utf8mb4_bin'
      ],
      small: ['ascii', 'ascii_general_ci'],
      n: undefined,
      moment: undefined,
      bytes: undefined
    })
    t.same(of('shown'), { plain: ['utf8mb4', 'utf8mb4_unicode_ci'], n: undefined })
  }
  t.ok(tables.get('words')?.columnList.every((column) => Object.isFrozen(column)))
})

await test('a primary key has its columns in the order of the key', async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  t.same(tables.get('countries')?.primaryKey, ['region', 'code'])
  t.equal(tables.get('countries')?.identity, undefined)
  t.same(tables.get('people')?.primaryKey, ['id'])
  t.equal(tables.get('people')?.identity?.name, 'id')
  t.same(tables.get('no_key')?.primaryKey, [])
  t.same(tables.get('no_key')?.uniqueKeys, [])
})

await test('unique keys have names and include the primary key', async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const keysOf = (table: string) =>
    Object.fromEntries(tables.get(table)?.uniqueKeys.map(({ name, columns }) => [name, columns]) ?? [])
  if (engine === 'sqlite') {
    t.same(keysOf('countries'), {
      PRIMARY: ['region', 'code'],
      sqlite_autoindex_countries_name: ['name'],
      sqlite_autoindex_countries_name_code: ['name', 'code']
    })
    t.same(keysOf('people'), { PRIMARY: ['id'], by_email: ['email'], by_lower: ['boss'] })
  } else {
    t.same(keysOf('countries'), { PRIMARY: ['region', 'code'], by_name: ['name'], by_both: ['name', 'code'] })
    t.same(keysOf('people'), { PRIMARY: ['id'], 'e.mail': ['email'] })
    t.same(keysOf('prefixed'), { beginning: ['word'] })
  }
})

await test('foreign keys have their columns in order', async (t, { url, engine }) => {
  const { foreignKeys } = await loadTable(url, 'people')
  const [boss, country] = engine === 'sqlite'
    ? ['people_boss', 'people_country_region_country_code']
    : [
        'people_boss', 'people_country'
      ]
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
  if (engine === 'sqlite') {
    t.match((await loadTable(url, 'lost')).foreignKeys, [
      { referencedTable: 'nowhere', referencedColumns: [] }
    ])
  }
})

await test('the checks of each table have names', async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  t.same(tables.get('unchecked')?.checks, [])
  const checks = tables.get('t')?.checks.filter(({ name }) => name !== 'd').toSorted(
    (a, b) => a.name.localeCompare(b.name)
  )
  if (engine === 'sqlite') t.same(checks?.map(({ name }) => name), ['fi`ve', 'fo ur', 'o"ne', 'six', 'two'])
  else t.same(checks, [{ name: "one`'s", columns: ['a', 'b`c'] }, { name: 'two', columns: [] }])
})

await test('the error for a failed check names it', async (t, { post, engine }) => {
  const { json } = await post('t', { verb: 'insert', data: { a: 0 } })
  const message = engine === 'sqlite' ? 'check constraint "o""ne"' : 'check constraint "one`\'s" on "a", "b`c"'
  t.match(json.error, {
    code: 'CHECK_VIOLATION',
    details: engine === 'sqlite'
      ? [{ path: '', message: 'check constraint "o"ne"' }]
      : [{ path: '/data/a', message }, { path: '/data/b`c', message }]
  })
})

await onEachEngine(t, 'a unique index of SQLite with another collation than its column does not identify rows', {
  schema: () => [
    'create table words (word text collate nocase not null, other text not null collate rtrim unique, n int not null)',
    'create unique index exactly on words (word collate binary)', 'create unique index roughly on words (word)',
    'create table plain (code text not null unique)', 'create unique index coarse on plain (code collate nocase)'
  ],
  only: ['sqlite']
}, async (t, { url, post }) => {
  const { tables } = await loadCatalog(url)
  const columnsOf = (table: string) => tables.get(table)?.indexes.map(({ name, parts }) => [name, parts[0]?.column])
  t.same(columnsOf('words'), [['sqlite_autoindex_words_other', 'other'], ['exactly', null], ['roughly', 'word']])
  t.same(columnsOf('plain'), [['sqlite_autoindex_plain_code', 'code'], ['coarse', null]])
  t.equal((await post('words', { verb: 'select', after: null })).status, 200)
})

const part = (column: string | null, rest = {}) => ({ column, descending: false, prefix: false, ...rest })

await testOnServers('indexes are known with their parts, the primary key first', async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  const [primary, ...others] = tables.get('events')?.indexes ?? []
  t.same(primary, { name: 'PRIMARY', unique: true, ordered: true, parts: [part('id')] })
  t.same(Object.fromEntries(others.map(({ name, ...rest }) => [name, rest])), {
    newest: { unique: false, ordered: true, parts: [part('tenant'), part('created', { descending: true })] },
    words: { unique: false, ordered: true, parts: [part('note', { prefix: true })] },
    whole: { unique: false, ordered: false, parts: [part('note')], fullText: { rowid: null } },
    at_once: { unique: true, ordered: true, parts: [part('created'), part('tenant')] }
  })
})

await onEachEngine(t, 'an index that the optimizer does not use is not ordered, and an expression has no column', {
  schema: (engine) => [
    `create table hidden (id int not null primary key, a int not null, key by_a (a)
      ${engine === 'mysql' ? 'invisible' : 'ignored'})`,
    ...engine === 'mysql'
      ? [
          'create table computed (a varchar(10) not null, b int not null, unique key by_lower ((lower(a)), b))'
        ]
      : []
  ],
  only: ['mariadb', 'mysql']
}, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  t.match(tables.get('hidden')?.indexes, [{ name: 'PRIMARY', ordered: true }, { name: 'by_a', ordered: false }])
  if (engine === 'mysql') {
    t.same(tables.get('computed')?.indexes, [
      { name: 'by_lower', unique: true, ordered: true, parts: [part(null), part('b')] }
    ])
  }
})

await test('of the unique keys of a table without a primary key, the one that was defined ' +
  'first comes first', async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const first = tables.get('no_primary_key')?.indexes[0]
  t.same(first?.parts, [part('b')])
  t.equal(first?.unique, true)
  if (engine !== 'sqlite') return
  t.same(tables.get('no_primary_key')?.indexes.map(({ parts }) => parts.map(({ column }) => column)), [
    ['b'], ['c'], ['a'], ['b', 'a'], [null, 'b']
  ])
  t.same(
    tables.get('events')?.indexes.map(({ parts }) => parts.map(({ column }) => column)),
    [['id'], ['created', 'tenant']], 'the rowid counts as one'
  )
})

const FIRED_MYSQL = [
  'create table plain (id int not null primary key)',
  'create table fired (id int not null primary key)',
  'create trigger a after delete on fired for each row set @x = 1',
  'create trigger b before insert on fired for each row set @x = 1',
  'create trigger c before insert on fired for each row set @x = 2',
  'create view seen as select * from fired'
]
const fired: Schema = {
  mysql: FIRED_MYSQL,
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

await onEachEngine(t, 'the triggers of each table are known ' +
  'by timing and event', { schema: fired }, async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  t.same(tables.get('plain')?.triggers, { isComplete: true, list: [] })
  t.same(tables.get('fired')?.triggers, {
    isComplete: true,
    list: [
      { timing: 'after', event: 'delete' }, { timing: 'before', event: 'insert' }, { timing: 'before', event: 'insert' }
    ]
  })
  t.same(tables.get('seen')?.triggers, {
    isComplete: true, list: engine === 'sqlite' ? [{ timing: 'instead', event: 'update' }] : []
  })
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
const formed: Schema = {
  mysql: [],
  sqlite: FORMS.map(([sql], index) => {
    const named = sql.replace(/\bt$|\[t\]$/, `t${index}`)
      .replace(/trigger (if not exists )?(main\.)?x /, `trigger $1$2x${index} `)
    return `create table t${index} (a); ${named} begin select 1; end`
  })
}

await onEachEngine(t, 'the text of a trigger is parsed in every form ' +
  'that SQLite accepts', { schema: formed, only: ['sqlite'] }, async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  for (const [index, [sql, timing, event]] of FORMS.entries()) {
    t.same(tables.get(`t${index}`)?.triggers, {
      isComplete: true, list: [{ timing, event }]
    }, sql)
  }
})

t.test('a trigger whose text cannot be parsed may be of any event (sqlite)', async (t) => {
  const database = new DatabaseSync(':memory:', { defensive: false })
  database.exec(
    'create table t (a); create trigger x after insert on t begin select 1; end; pragma writable_schema = on'
  )
  database.exec("update sqlite_schema set sql = 'CREATE TRIGGER x -- no event' where name = 'x'")
  database.function(FILE, () => 'file')
  const [table] = await introspectSqlite(
    async (sql, ...parameters) => database.prepare(sql).all(...parameters), async () => []
  )
  t.same(table?.triggers, { isComplete: false, list: [] })
  database.close()
})

await test('the engine of each table is known, and whether it supports transactions', async (t, { url, engine }) => {
  const { tables } = await loadCatalog(url)
  const found = [...tables.values()].filter(({ name }) => name.length === 1 && name !== 't').map(
    ({ name, engine, transactional }) => [name, engine, transactional]
  )
  t.same(found, engine === 'sqlite'
    ? [['i', 'sqlite', true], ['v', 'sqlite', true]]
    : [['h', 'memory', false], ['i', 'innodb', true], ['m', 'myisam', false], ['p', 'innodb', true], ['v', '', true]])
})

/**
 * What an account was granted, and the tables whose triggers it then sees; by the right to write on MariaDB alone, and
 * not on an old one.
 */
const GRANTS: ReadonlyArray<[grants: string[], known: string[], knownToWriters?: string[]]> = [
  [['select on *'], []],
  [['select, insert, update, delete on *'], [], ['fired', 'plain', 'seen']],
  [['select on *', 'trigger on plain'], ['plain']],
  [['select on *', 'delete on fired'], [], ['fired']],
  [['all on *'], ['fired', 'plain', 'seen']]
]

for (const engine of await engines()) {
  t.test(`the triggers of a table are known to an account that may see them (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, FIRED_MYSQL)
    t.teardown(() => database.drop())
    const [shown] = await database.query('select IS_NULLABLE as byWriting from information_schema.COLUMNS where ' +
      "TABLE_SCHEMA = 'information_schema' and TABLE_NAME = 'TRIGGERS' and COLUMN_NAME = 'DEFINER'")
    for (const [grants, known, knownToWriters = known] of GRANTS) {
      const { tables } = await loadCatalog(await createUser(t, database, { grants }))
      const expected = shown.byWriting === 'YES' ? knownToWriters : known
      t.same(
        [...tables.values()].filter(({ triggers }) => triggers.isComplete).map(({ name }) => name), expected,
        grants.join('; ')
      )
      t.equal(tables.get('fired')?.triggers.list.length, expected.includes('fired')
        ? 3
        : 0, 'the server shows what it is expected to')
    }
  })

  t.test('a privilege by a pattern for databases counts if every pattern that matches ' +
    `grants it (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table plain (id int not null primary key)'])
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: [] })
    const user = `'${new URL(url).username}'@'%'`
    const knows = async () => (await loadTable(url, 'plain')).triggers.isComplete
    const pattern = database.name.replaceAll('_', '\\_')
    await database.query(`grant all on \`${pattern.slice(0, -1)}_\`.* to ${user}`)
    t.equal(await knows(), true)
    await database.query(`grant select on \`${pattern}\`.* to ${user}`)
    t.equal(await knows(), false)
    t.same((await loadTable(url, 'plain')).triggers, { isComplete: false, list: [] })
    await database.query(`grant trigger on *.* to ${user}`)
    t.equal(await knows(), true)
  })

  t.test(`a privilege on other databases only, or of a longer pattern, does not count (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table plain (id int not null primary key)'])
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: ['select on *'] })
    await database.query(
      `grant all on \`${database.name.replaceAll('_', '\\_')}x%\`.* to '${new URL(url).username}'@'%'`
    )
    await database.query(
      `grant all on \`${database.name.toUpperCase().replaceAll('_', '\\_')}\`.* to '${new URL(url).username}'@'%'`
    )
    t.equal((await loadTable(url, 'plain')).triggers.isComplete, false)
  })
}

const FEW = 3
const MANY = 12

const createOne = (index: number): string =>
  `create table t${index} (id int not null primary key, a int null references t${index} (id), b varchar(5) null,
    unique (a, b))`
const several: Schema = { mysql: Array.from({ length: FEW }, (_, index) => createOne(index)), sqlite: [] }

await onEachEngine(t, 'reading the catalog takes a fixed ' +
  'number of queries', { schema: several, only: ['mariadb', 'mysql'] }, async (t, { proxy, url, sql }) => {
  /** Without those of the service, which may connect or read its catalog at the same time. */
  const asked = async (): Promise<string[]> => {
    proxy?.statements.splice(0)
    await loadCatalog(url)
    return Array.from(new Set(proxy?.statements.splice(0).filter((statement) => /information_schema/i.test(statement))))
      .sort()
  }
  const few = await asked()
  for (let index = FEW; index < MANY; index++) await sql(createOne(index))
  await sql('create view v as select * from t0')
  const many = await asked()
  t.equal((await loadCatalog(url)).tables.size, MANY + 1)
  t.same(many, few)
  t.ok(many.length > 3 && many.length <= 12, `${many.length} statements`)
})

await onEachEngine(t, 'columns with the same declaration share their type ' +
  'object, in all tables', { schema: several, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  const types = (column: string) => new Set(Array.from(tables.values(), ({ columns }) => columns.get(column)?.type))
  t.equal(types('a').size, 1)
  t.same(types('a'), types('id'))
  t.equal(new Set([...types('a'), ...types('b')]).size, 2)
})

await onEachEngine(t, 'the servers\' own databases cannot be reached', {
  schema: { mysql: ['create table t (a int null)'], sqlite: ['create table t (a integer primary key autoincrement)'] }
}, async (t, { post, statements }) => {
  statements()
  for (const database of ['mysql', 'information_schema', 'performance_schema', 'sys', 'main', 'temp']) {
    const { status, json } = await post('user', { verb: 'select' }, { database })
    t.equal(status, 404)
    t.equal(json.error.code, 'DATABASE_NOT_FOUND')
  }
  for (const name of [
    'mysql.user', 'information_schema.TABLES', '../mysql/user', 'sqlite_schema', 'sqlite_sequence', 'main.t'
  ]) {
    const { status, json } = await post(name, { verb: 'select' })
    t.equal(status, 404, name)
    t.equal(json.error.code, 'TABLE_NOT_FOUND', name)
  }
  t.same(statements(), [])
})
