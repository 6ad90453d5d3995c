// night: 350 requests on each engine
/**
 * Situations of the tests of PostgREST that need full text, values inside JSON, numbers of related rows, views as
 * related tables, orders by NULL, paths and related rows, groups of related rows, members of a write, letter case,
 * defaults, or what became of the rows of an upsert. The situations are theirs; tables, rows and requests are our own.
 */
import t, { type Test } from 'tap'
import { type EngineName, onEachEngine } from '../support/service.ts'

const fts = (table: string, name: string, columns: readonly string[]): string[] => {
  const values = (row: string): string => ['id', ...columns].map((column) => `${row}.${column}`).join(', ')
  const added = `insert into ${name} (rowid, ${columns.join(', ')}) values (${values('new')})`
  const removed = `insert into ${name} (${name}, rowid, ${columns.join(', ')}) values ('delete', ${values('old')})`
  return [
    `create virtual table ${name} using fts5(${columns.join(', ')}, content='${table}', content_rowid='id')`,
    `create trigger ${name}_i after insert on ${table} begin ${added}; end`,
    `create trigger ${name}_d after delete on ${table} begin ${removed}; end`,
    `create trigger ${name}_u after update on ${table} begin ${removed}; ${added}; end`
  ]
}

const schema = (engine: EngineName): string[] => {
  const isSqlite = engine === 'sqlite'
  const id = isSqlite ? 'id integer primary key' : 'id int not null auto_increment primary key'
  return [
    `create table clients (${id}, name varchar(20) not null)`,
    `create table projects (${id}, name varchar(20) not null, client_id int, foreign key (client_id) references clients (id))`,
    `create table tasks (${id}, name varchar(20) not null, project_id int, foreign key (project_id) references projects (id))`,
    `create table people (${id}, name varchar(20) not null)`,
    'create table assignments (person_id int not null, task_id int not null, primary key (person_id, task_id), ' +
      'foreign key (person_id) references people (id), foreign key (task_id) references tasks (id))',
    `create table invoices (${id}, project_id int, total decimal(10,2), foreign key (project_id) references projects (id))`,
    'create table sheets (project_id int not null primary key, sheet json, code varchar(8), foreign key (project_id) ' +
      'references projects (id))',
    `create table nodes (${id}, name varchar(20) not null, parent_id int, foreign key (parent_id) references nodes (id))`,
    `create table addresses (${id}, address varchar(20) not null)`,
    `create table orders (${id}, name varchar(20) not null, billing_id int, shipping_id int, foreign key (billing_id) references addresses (id), foreign key (shipping_id) references addresses (id))`,
    `create table factories (${id}, name varchar(20) not null)`,
    `create table categories (${id}, name varchar(20) not null)`,
    `create table supervisors (${id}, name varchar(20) not null)`,
    `create table processes (${id}, name varchar(20) not null, factory_id int, category_id int, foreign key (factory_id) references factories (id), foreign key (category_id) references categories (id))`,
    'create table costs (process_id int not null primary key, cost decimal(8,2), foreign key (process_id) ' +
      'references processes (id))',
    'create table watched (process_id int not null, supervisor_id int not null, primary key (process_id, ' +
      'supervisor_id), foreign key (process_id) references processes (id), foreign key (supervisor_id) references ' +
        'supervisors (id))',
    `create table documents (${id}, data json)`,
    `create table complex (${id}, name varchar(20) not null default 'Default', sep int default 1, settings json)`,
    `create table simple (${id}, k varchar(20)${isSqlite ? '' : ' character set utf8mb4 collate utf8mb4_bin'})`,
    `create table articles (${id}, title varchar(100), body text${isSqlite ? '' : ', fulltext key (title, body), fulltext key (title)'})${isSqlite ? '' : ' default charset=utf8mb4 collate utf8mb4_general_ci'}`,
    ...isSqlite ? [...fts('articles', 'in_both', ['title', 'body']), ...fts('articles', 'in_title', ['title'])] : [],
    ...[
      'projects (client_id)', 'tasks (project_id)', 'assignments (task_id)', 'invoices (project_id)',
      'nodes (parent_id)', 'orders (billing_id)', 'orders (shipping_id)', 'processes (factory_id)',
      'processes (category_id)', 'watched (supervisor_id)'
    ]
      .map((columns, index) => isSqlite ? `create index i${index} on ${columns}` : ''),
    'create view projects_seen as select * from projects',
    'create view projects_renamed as select id as p_id, client_id as c_id, name as title from projects',
    'create view seen_again as select * from projects_seen',
    'create view client_projects as select client_id, count(*) as n from projects group by client_id',
    'create view invoices_large as select * from invoices where total >= 500',
    'create view clients_busy as select c.id, c.name, (select count(*) from projects p where p.client_id = c.id) ' +
      'as n from clients c',
    'create view projects_kind as select id, client_id, case when exists (select 1 from tasks k where k.project_id = ' +
      "projects.id) then 'running' else 'idle' end as kind from projects",
    'create view workers as select a.person_id, k.project_id from assignments a join tasks k on k.id = a.task_id',
    'create view distinct_workers as select distinct person_id, project_id from workers',
    'create view all_names as select id, name from clients union all select id, name from people',
    'create view in_from as select x.id, x.name, x.client_id from (select * from projects where ' +
      'client_id is not null) x',
    'create view with_cte as with odd (id, name, client_id) as (select id, name, client_id from projects where id in ' +
      '(1, 3, 5)) select * from odd',
    'create view task_view as select id as t_id, name, project_id from tasks',
    'create view sheets_view as select project_id, code from sheets',
    'create view tree as select id, name, parent_id from nodes',
    "insert into clients values (1, 'Acorn'), (2, 'Birch'), (3, 'Cedar')",
    "insert into projects values (1, 'Bridge', 1), (2, 'Tower', 1), (3, 'Canal', 2), (4, 'Dam', 2), " +
      "(5, 'Orphan', null)",
    "insert into tasks values (1, 'Design bridge', 1), (2, 'Build bridge', 1), (3, 'Design tower', 2), (4, 'Build " +
      "tower', 2), (5, 'Design canal', 3), (6, 'Build canal', 3), (7, 'Design dam', 4), (8, 'Build dam', 4)",
    "insert into people values (1, 'Ann'), (2, 'Bo'), (3, 'Cy'), (4, 'Di')",
    'insert into assignments values (1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6), (2, 7), (3, 1), (3, 5)',
    'insert into invoices values (1, 1, 100), (2, 1, 200), (3, 2, 500), (4, 2, 700), (5, 3, 1200), (6, 3, 2000), (7, ' +
      '4, 100), (8, 4, 4000), (9, null, 7)',
    'insert into sheets values (1, \'{"rank":10}\', \'c\'), (2, \'{"rank":6}\', \'a\'), (3, \'{"rank":8}\', \'b\')',
    "insert into nodes values (1, 'root', null), (2, 'left', 1), (3, 'right', 1), (4, 'leaf', 2), (5, 'lost', 2)",
    "insert into addresses values (1, 'Main'), (2, 'Side'), (3, 'Back')",
    "insert into orders values (1, 'first', 1, 2), (2, 'second', 3, 1), (3, 'third', null, null)",
    "insert into factories values (1, 'A'), (2, 'B'), (3, 'C'), (4, 'D')", 'insert into categories values (1, ' +
      "'batch'), (2, 'mass')", "insert into supervisors values (1, 'Mary'), (2, 'John'), (3, 'Pete'), (4, " +
        "'Sara'), (5, 'Jane')",
    "insert into processes values (1, 'A1', 1, 1), (2, 'A2', 1, 2), (3, 'B1', 2, 1), (4, 'B2', 2, 1), (5, 'C1', 3, " +
      "2), (6, 'C2', 3, 2), (7, 'X', 3, null)",
    'insert into costs values (1, 150), (2, 200), (3, 180), (4, 70), (5, 40), (6, 70)',
    'insert into watched values (1, 1), (2, 2), (3, 3), (3, 4), (4, 1), (4, 2), (5, 3), (6, 3)',
    ...[
      '{"id":1,"foo":{"bar":"baz"}}', '{"id":0}', '{"id":3}', '[1,2,3]', '[4,5,6]', '[[9,8,7],[11,12,13]]',
      '[[[5,6],7,8]]', '[{"a":"A"},{"b":"B"}]', '[{"a":[1,2,3]},{"b":[4,5]}]', '{"c":[1,2,3],"d":[4,5]}',
      '{"c":[{"d":[4,5,6,7,8]}]}',
      '[{"0xy1":[1,{"23-xy-45":[2,{"xy-6":[3]}]}]}]', '{"!@#$%^&*_d":{"!@#$%^&*_e":3}}', '{"a":{"b":"foo"},"b":"bar"}',
      '{"a":{"b":2},"ok":true,"none":null}', 'null'
    ].map((json, index) => `insert into documents values (${index + 1}, '${json}')`),
    'insert into documents values (17, null)',
    "insert into complex values (1, 'One', 1, '{\"a\":1}'), (2, 'Two', 2, '{\"a\":2}'), (3, 'Three', 3, null)",
    "insert into simple values (1, 'xyyx'), (2, 'xYYx'), (3, 'plan of a brain'), (4, 'a PLAN of greatness')",
    ...[
      ['It is possible', 'to do the impossible, even in winter'], ['Fun and possible', 'but hard work'],
      ['Fat cats ate rats', 'on a wet day'], [
        'Amusing and impossible', 'all of it'
      ], ['Spass und Art', 'nicht impossible'], ['Fat rats', 'ate the fat cats'], ['Rats, fat', 'cats of no weight']
    ].map(([title, body], index) => `insert into articles values (${index + 1}, '${title}', '${body}')`)
  ].filter((statement) => statement !== '')
}

/**
 * The values of an object in the order of its members: `{"id": 1, "client": {"name": "x"}, "tasks": [{"id": 2}]}` is
 * `[1, ["x"], [[2]]]`.
 */
const flat = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(flat)
  return typeof value === 'object' && value !== null ? Object.values(value).map(flat) : value
}

/** The rows as `flat` writes them, or the code and the path of the refusal; what differs by engine is a function. */
type Expected = unknown[] | string | ((engine: EngineName) => unknown[] | string)
type Situation = readonly [name: string, table: string, body: Record<string, unknown>, expected: Expected]

const search = (text: string, more: object = {}): object => ({ $match: { columns: ['title', 'body'], text, ...more } })
const all = { mode: 'all' }
const ids = (...list: number[]): number[][] => list.map((id) => [id])
const found = (filters: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => [
  'articles', { columns: ['id'], orderBy: 'id', filters }, ids(...list)
]
const boolean = (text: string, ...list: number[]): [string, Record<string, unknown>, Expected] => [
  'articles', { columns: ['id'], orderBy: 'id', filters: search(text, { mode: 'boolean' }) },
  (engine) => engine === 'sqlite' ? 'NOT_SUPPORTED /filters/$match/mode' : ids(...list)
]

const FULL_TEXT: Situation[] = [
  ['one word', ...found(search('impossible'), 1, 4, 5)],
  ['a word that no row has', ...found(search('unknown'))],
  ['both of two words', ...found(search('fun possible', all), 2)],
  ['one of two words', ...found(search('impossible possible'), 1, 2, 4, 5)],
  ['one of two words, said', ...found(search('impossible possible', { mode: 'any' }), 1, 2, 4, 5)],
  ['words in any order', ...found(search('rats fat cats', all), 3, 6, 7)],
  ['words of which one is in the other column', ...found(search('possible winter', all), 1)],
  ['a word beside one that must not be there', ...found({ ...search('possible'), $not: search('fun') }, 1)],
  ['a phrase', ...found(search('fat-cats'), 3, 6)],
  ['a phrase that no row has in this order', ...found(search('cats-fat'))],
  ['a phrase over a comma', ...found(search('"rats, fat" rats,fat', all), 7)],
  ['a phrase and a word', ...found(search('fat-rats cats', all), 6)],
  ['a phrase or a word', ...found(search('fat-rats winter'), 1, 6)],
  ['words of another language', ...found(search('Spass Art', all), 5)],
  ['a phrase of another language', ...found(search('Spass.und.Art'), 5)],
  ['a phrase of another language in the other order', ...found(search('Art.und.Spass'))],
  ['no letter case', ...found(search('IMPOSSIBLE Winter', all), 1)],
  ['none of the words', ...found({ $not: search('impossible fat fun') })],
  [
    'none of three words, in other words',
    ...found({ $and: [{ $not: search('impossible') }, { $not: search('fat') }, { $not: search('fun') }] })
  ],
  ['not both of the words', ...found({ $not: search('fat cats', all) }, 1, 2, 4, 5)],
  ['not the phrase', ...found({ $not: search('fat-cats') }, 1, 2, 4, 5, 7)],
  ['not one of two words', ...found({ $not: search('impossible possible') }, 3, 6, 7)],
  ['one search or another', ...found({ $or: [search('spass'), search('amusing'), search('wet')] }, 3, 4, 5)],
  ['one search and another', ...found({ $and: [search('impossible'), search('amusing')] }, 4)],
  ['one search but not another', ...found({ $and: [search('fat'), { $not: search('wet') }] }, 6, 7)],
  ['a search or another condition', ...found({ $or: [search('spass'), { id: 1 }] }, 1, 5)],
  ['a search and a list of keys', ...found({ ...search('impossible'), id: [1, 2, 3, 4] }, 1, 4)],
  [
    'a search, not a list of keys, and a column that is not null',
    ...found({ $and: [{ $not: { id: [1, 3] } }, { title: { $null: false } }, { $not: search('fat') }] }, 2, 4, 5)
  ],
  ['a search in the columns of another index', 'articles', {
    columns: ['id'], orderBy: 'id', filters: { $match: { columns: ['title'], text: 'impossible' } }
  }, ids(4)],
  ['searches in the columns of two indexes', 'articles', {
    columns: ['id'], orderBy: 'id', filters: { $and: [{ $match: { columns: ['title'], text: 'fat' } }, search('ate')] }
  }, ids(3, 6)],
  [
    'columns without an index of words', 'articles', { filters: { $match: { columns: ['body'], text: 'fat' } } },
    'INVALID_BODY /filters/$match/columns'
  ],
  [
    'a column that is none', 'articles', { filters: { $match: { columns: ['nothing'], text: 'fat' } } },
    'COLUMN_NOT_FOUND /filters/$match/columns/0'
  ],
  ['a word that must be there, of operators', ...boolean('+fat +cats', 3, 6, 7)],
  ['a word that must not be there, of operators', ...boolean('possible -fun', 1)],
  ['a phrase, of operators', ...boolean('"fat cats"', 3, 6)],
  ['the beginning of a word, of operators', ...boolean('+amus*', 4)],
  ['one of two words beside one that must be there, of operators', ...boolean('+impossible +(spass amusing)', 4, 5)],
  [
    'a mistake in operators', 'articles', { filters: search('(fat', { mode: 'boolean' }) },
    (engine) => engine === 'sqlite' ? 'NOT_SUPPORTED /filters/$match/mode' : 'INVALID_VALUE /filters/$match/text'
  ],
  ['operators of the other language are words', ...found(search('fat & !cats', all), 3, 6, 7)],
  ['"or" is a word', ...found(search('spass or amusing'), 4, 5)],
  ['a search for nothing', 'articles', { filters: search(' & | ! ') }, 'INVALID_VALUE /filters/$match/text'],
  [
    'a search with an unknown mode', 'articles', { filters: search('fat', { mode: 'phrase' }) },
    'INVALID_BODY /filters/$match/mode'
  ],
  ['a page of what is found', 'articles', {
    columns: ['id'], orderBy: 'id', filters: search('fat impossible'), limit: 2, offset: 2
  }, ids(4, 5)],
  ['what is found, counted', 'articles', { filters: search('fat'), aggregates: { n: { $count: '*' } } }, ids(3)],
  ['what is found, grouped', 'articles', { filters: search('impossible'), groupBy: ['title'], orderBy: 'title' }, [
    ['Amusing and impossible'], ['It is possible'], ['Spass und Art']
  ]],
  ['what is found, deleted in a dry run', 'articles', {
    verb: 'delete', filters: search('cats-ate'), returning: ['id'], dryRun: true
  }, ids(3)],
  [
    'what is found, updated in a dry run', 'articles',
    { verb: 'update', filters: search('spass'), data: { body: 'none' }, returning: ['id', 'body'], dryRun: true },
    [[5, 'none']]
  ]
]

const at = (paths: object): object => ({ data: { $at: paths } })
const inside = (paths: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => [
  'documents', { columns: ['id'], orderBy: 'id', filters: at(paths) }, ids(...list)
]

const INSIDE_JSON: Situation[] = [
  ['a text two levels down', ...inside({ '$.foo.bar': 'baz' }, 1)],
  ['a text two levels down that is another', ...inside({ '$.foo.bar': 'fake' })],
  ['a text two levels down that is not this one', ...inside({ '$.foo.bar': { $ne: 'baz' } })],
  ['a text two levels down, negated', 'documents', {
    columns: ['id'], orderBy: 'id', filters: { $not: at({ '$.foo.bar': 'baz' }) }
  }, ids()],
  ['a number', ...inside({ '$.id': 1 }, 1)],
  ['a number that is greater', ...inside({ '$.id': { $gt: 0 } }, 1, 3)],
  ['a number of a list', ...inside({ '$.id': { $in: [0, 3] } }, 2, 3)],
  ['a list as operand', 'documents', { filters: at({ '$.id': [0, 3] }) }, 'INVALID_VALUE /filters/data/$at/$.id'],
  ['a number between two', ...inside({ '$.id': { $between: [1, 3] } }, 1, 3)],
  ['a number as a text is another value', ...inside({ '$.id': '1' })],
  ['one path or another', 'documents', {
    columns: ['id'],
    orderBy: 'id',
    filters: {
      $or: [at({ '$.a.b': 'foo' }), at({ '$.b': 'bar' }), at({ '$.foo.bar': 'baz' })]
    }
  }, ids(1, 14)],
  ['two paths', ...inside({ '$.a.b': 'foo', '$.b': 'bar' }, 14)],
  ['keys with special characters', ...inside({ '$."!@#$%^&*_d"."!@#$%^&*_e"': 3 }, 13)],
  ['keys that begin with a digit', ...inside({ '$[0]."0xy1"[1]."23-xy-45"[1]."xy-6"[0]': 3 }, 12)],
  ['the first of a list', ...inside({ '$[0]': 1 }, 4)],
  ['the second of a list', ...inside({ '$[1]': { $gte: 2 } }, 4, 5)],
  ['an element of a list in a list', ...inside({ '$[1][2]': 13 }, 6)],
  ['an element of a list in a list in a list', ...inside({ '$[0][0][1]': 6 }, 7)],
  ['a key of an object in a list', ...inside({ '$[1].b': 'B' }, 8)],
  ['an element of a list at a key of an object in a list', ...inside({ '$[1].b[1]': 5 }, 9)],
  ['an element of a list at a key', ...inside({ '$.c[0]': 1 }, 10)],
  ['a list of objects at a key', ...inside({ '$.c[0].d[4]': 8 }, 11)],
  ['an element behind the end', ...inside({ '$[7]': { $exists: true } })],
  ['an element of what is no list', ...inside({ '$.id[0]': { $exists: true } })],
  ['a key of what is no object', ...inside({ '$.id.bar': { $exists: true } })],
  ['whether a path is there', ...inside({ '$.c': { $exists: true } }, 10, 11)],
  [
    'whether a path is not there, of those with another',
    ...inside({ '$.c': { $exists: false }, '$.a': { $exists: true } }, 14, 15)
  ],
  ['null at a path', ...inside({ '$.none': { $exists: true } }, 15)],
  ['null at a path is as nothing', ...inside({ '$.none': null, '$.a': { $exists: true } }, 14, 15)],
  ['not null at a path', ...inside({ '$.b': { $null: false } }, 14)],
  ['a whole value that is null', ...inside({ $: { $exists: true, $null: true } }, 16)],
  ['true at a path', ...inside({ '$.ok': true }, 15)],
  ['false at a path', ...inside({ '$.ok': { $ne: false } }, 15)],
  ['a text that begins so', ...inside({ '$.foo.bar': { $startsWith: 'ba' } }, 1)],
  ['a text that contains a part', ...inside({ '$.b': { $contains: 'A' } })],
  ['an object as operand', 'documents', { filters: at({ '$.a': { b: 2 } }) }, 'INVALID_VALUE /filters/data/$at/$.a'],
  ['an index from the end', 'documents', { filters: at({ '$[-1]': 3 }) }, 'INVALID_BODY /filters/data/$at/$[-1]'],
  ['a path that is none', 'documents', { filters: at({ 'data->>id': 3 }) }, 'INVALID_BODY /filters/data/$at/data->>id'],
  ['a write of the rows with a value', 'documents', {
    verb: 'update',
    filters: at({ '$.id': 3 }),
    data: {
      data: { $eq: { id: ' "escaped' } }
    },
    returning: ['id', 'data'],
    dryRun: true
  }, [[3, [' "escaped']]]],
  ['a merge into the rows with a value', 'documents', {
    verb: 'update',
    filters: at({ '$.a.b': 'foo' }),
    data: {
      data: { $merge: { b: null } }
    },
    returning: ['data'],
    dryRun: true
  }, [[[['foo']]]]],
  ['rows of another table by a value inside', 'projects', {
    columns: ['id'],
    orderBy: 'id',
    filters: { $some: { sheets: { filters: { sheet: { $at: { '$.rank': { $gt: 7 } } } } } } }
  }, ids(1, 3)],
  ['members with a value inside', 'projects', {
    columns: ['id'],
    orderBy: 'id',
    limit: 2,
    include: {
      sheets: { columns: ['code'], filters: { sheet: { $at: { '$.rank': 6 } } } }
    }
  }, [[1, null], [2, ['a']]]],
  ['rows with a value inside, counted', 'documents', {
    aggregates: { n: { $count: '*', filters: at({ '$.a': { $exists: true } }) } }
  }, ids(2)]
]

const counted = (table: string, members: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => [
  table, { columns: ['id'], orderBy: 'id', filters: { $some: members } }, ids(...list)
]
const ofPerson = { on: { id: 'person_id' } }
const n = { n: { $count: '*' } }

const COUNTS: Situation[] = [
  ['rows with so many related ones', ...counted('clients', { projects: { count: 2 } }, 1, 2)],
  ['rows with at least so many', ...counted('people', { assignments: { count: { $gte: 3 } } }, 1, 2)],
  ['rows with more than so many', ...counted('people', { assignments: { count: { $gt: 3 } } }, 1)],
  ['rows with at most so many', ...counted('people', { assignments: { count: { $lte: 2 } } }, 3, 4)],
  ['rows with fewer than so many', ...counted('people', { assignments: { count: { $lt: 2 } } }, 4)],
  ['rows with a number between two', ...counted('people', { assignments: { count: { $between: [2, 3] } } }, 2, 3)],
  ['rows without related ones', ...counted('clients', { projects: { count: 0 } }, 3)],
  [
    'rows with so many that pass',
    ...counted('clients', { projects: { filters: { name: { $startsWith: 'B' } }, count: 1 } }, 1)
  ],
  [
    'rows with so many through a table between two',
    ...counted('projects', { tasks: { filters: { $some: { assignments: { count: 2 } } } } }, 1, 3)
  ],
  ['rows with so many two levels down', ...counted('clients', {
    projects: {
      filters: { $some: { tasks: { filters: { name: { $contains: 'esign' } }, count: 1 } } }, count: { $gte: 2 }
    }
  }, 1, 2)],
  ['two numbers', ...counted('tasks', {
    assignments: { count: 1 }, projects: { filters: { $some: { clients: { filters: { id: 2 } } } } }
  }, 6, 7)],
  ['one number or another', 'people', {
    columns: ['id'],
    orderBy: 'id',
    filters: { $or: [{ $some: { assignments: { count: 4 } } }, { $some: { assignments: { count: 0 } } }] }
  }, ids(1, 4)],
  ['not so many', 'people', {
    columns: ['id'], orderBy: 'id', filters: { $not: { $some: { assignments: { count: { $gte: 3 } } } } }
  }, ids(3, 4)],
  [
    'the number of related rows in each row', 'clients',
    { columns: ['name'], orderBy: 'id', include: { projects: { aggregates: n } } },
    [['Acorn', [2]], ['Birch', [2]], ['Cedar', [0]]]
  ],
  ['the number of related rows that pass', 'projects', {
    columns: ['id'], orderBy: 'id', include: { tasks: { aggregates: n, filters: { name: { $startsWith: 'Design' } } } }
  }, [[1, [1]], [2, [1]], [3, [1]], [4, [1]], [5, [0]]]],
  ['rows in the order of the number of related ones', 'people', {
    columns: ['id'], orderBy: 'work.n DESC', include: { work: { table: 'assignments', ...ofPerson, aggregates: n } }
  }, [[1, [4]], [2, [3]], [3, [2]], [4, [0]]]],
  ['the first rows in the order of the number of related ones', 'tasks', {
    columns: ['id'],
    orderBy: [
      { assignments: { n: 'DESC' } }, { id: 'DESC' }
    ],
    limit: 3,
    include: { assignments: { aggregates: n } }
  }, [[5, [2]], [1, [2]], [7, [1]]]],
  ['rows in the order of the sum of related ones', 'projects', {
    columns: ['id'], orderBy: 'invoices.sum DESC', include: { invoices: { aggregates: { sum: { $sum: 'total' } } } }
  }, [[4, ['4100.00']], [3, ['3200.00']], [2, ['1200.00']], [1, ['300.00']], [5, [null]]]],
  ['all that can be computed of related rows', 'projects', {
    columns: ['id'],
    filters: { id: [4, 5] },
    orderBy: 'id',
    include: {
      invoices: {
        aggregates: {
          most: { $max: 'total' }, least: { $min: 'total' }, sum: { $sum: 'total' }, n: { $count: 'total' }
        }
      }
    }
  }, [[4, ['4000.00', '100.00', '4100.00', 2]], [5, [null, null, null, 0]]]],
  ['the number of rows with so many related ones', 'people', {
    filters: { $some: { assignments: { count: { $gte: 2 } } } }, aggregates: n
  }, [[3]]],
  [
    'a delete of rows without related ones', 'clients',
    { verb: 'delete', filters: { $some: { projects: { count: 0 } } }, returning: ['name'], dryRun: true }, [['Cedar']]
  ],
  ['an update of rows with so many related ones', 'people', {
    verb: 'update',
    filters: {
      $some: { assignments: { count: { $gte: 3 } } }
    },
    data: { name: 'busy' },
    returning: ['id'],
    dryRun: true
  }, ids(1, 2)],
  [
    'a number that is none', 'clients', { filters: { $some: { projects: { count: -1 } } } },
    'INVALID_BODY /filters/$some/projects/count'
  ],
  [
    'a number of rows that must not be there', 'clients', { filters: { $none: { projects: { count: 1 } } } },
    'INVALID_BODY /filters/$none/projects/count'
  ],
  [
    'an order by an aggregate that is not there', 'clients',
    { orderBy: 'projects.m', include: { projects: { aggregates: n } } }, 'COLUMN_NOT_FOUND /orderBy'
  ]
]

const byClient = { on: { id: 'client_id' } }
const seen = { table: 'projects_seen', ...byClient, columns: ['id'], orderBy: 'id' }

const VIEWS: Situation[] = [
  ['the rows of a view of a table', 'clients', { orderBy: 'id', include: { seen } }, [
    [1, 'Acorn', [[1], [2]]], [2, 'Birch', [[3], [4]]], [3, 'Cedar', []]
  ]],
  ['the rows of a view with other names', 'clients', {
    columns: ['id'],
    orderBy: 'id',
    include: {
      projects_renamed: { on: { id: 'c_id' }, columns: ['title', 'p_id'], orderBy: 'title' }
    }
  }, [[1, [['Bridge', 1], ['Tower', 2]]], [2, [['Canal', 3], ['Dam', 4]]], [3, []]]],
  ['the rows of a view of a view', 'clients', {
    columns: ['id'], orderBy: 'id', include: { seen_again: { ...byClient, columns: ['name'], orderBy: 'name DESC' } }
  }, [[1, [['Tower'], ['Bridge']]], [2, [['Dam'], ['Canal']]], [3, []]]],
  [
    'the row of a view of groups', 'clients',
    { columns: ['name'], orderBy: 'id', include: { client_projects: { ...byClient, columns: ['n'] } } },
    [['Acorn', [[2]]], ['Birch', [[2]]], ['Cedar', []]]
  ],
  [
    'the row of a view of groups, as an object', 'clients',
    { columns: ['name'], orderBy: 'id', include: { client_projects: { ...byClient, columns: ['n'], as: 'object' } } },
    [['Acorn', [2]], ['Birch', [2]], ['Cedar', null]]
  ],
  ['a parent in a view', 'tasks', {
    columns: ['id'],
    filters: { id: [1, 5] },
    orderBy: 'id',
    include: {
      project: { table: 'projects_seen', on: { project_id: 'id' }, columns: ['name'], as: 'object' }
    }
  }, [[1, ['Bridge']], [5, ['Canal']]]],
  ['a parent in a view, and its parent', 'tasks', {
    columns: ['id', 'name'],
    filters: { id: 1 },
    include: {
      project: {
        table: 'projects_seen',
        on: { project_id: 'id' },
        columns: ['id', 'name'],
        as: 'object',
        include: { client: { table: 'clients', on: { client_id: 'id' } } }
      }
    }
  }, [[1, 'Design bridge', [1, 'Bridge', [1, 'Acorn']]]]],
  ['two parents in one view', 'orders', {
    columns: ['name'],
    orderBy: 'id',
    limit: 2,
    include: {
      a: {
        table: 'all_names',
        on: {
          billing_id: 'id'
        },
        filters: { name: { $in: ['Acorn', 'Cedar'] } },
        columns: ['name'],
        as: 'object'
      },
      b: {
        table: 'all_names',
        on: {
          shipping_id: 'id'
        },
        filters: { name: { $startsWith: 'A' } },
        columns: ['name'],
        orderBy: 'name'
      }
    }
  }, [['first', ['Acorn'], []], ['second', ['Cedar'], [['Acorn'], ['Ann']]]]],
  ['a view of a table between two', 'people', {
    columns: ['name'],
    orderBy: 'id',
    include: {
      projects: { table: 'workers', on: { id: 'person_id' }, columns: ['project_id'], orderBy: 'project_id' }
    }
  }, [['Ann', [[1], [1], [2], [2]]], ['Bo', [[3], [3], [4]]], ['Cy', [[1], [3]]], ['Di', []]]],
  ['a view of different rows of a table between two', 'people', {
    columns: ['name'],
    orderBy: 'id',
    include: {
      projects: { table: 'distinct_workers', on: { id: 'person_id' }, columns: ['project_id'], orderBy: 'project_id' }
    }
  }, [['Ann', [[1], [2]]], ['Bo', [[3], [4]]], ['Cy', [[1], [3]]], ['Di', []]]],
  ['rows beyond a view of a table between two', 'people', {
    columns: ['name'],
    filters: { id: 3 },
    include: {
      work: {
        table: 'distinct_workers',
        on: { id: 'person_id' },
        columns: ['project_id'],
        orderBy: 'project_id',
        include: { project: { table: 'projects', on: { project_id: 'id' }, columns: ['name'] } }
      }
    }
  }, [['Cy', [[1, ['Bridge']], [3, ['Canal']]]]]],
  ['a view with a subquery in its columns', 'projects', {
    columns: ['id'],
    orderBy: 'id',
    include: {
      client: { table: 'clients_busy', on: { client_id: 'id' }, columns: ['name', 'n'], as: 'object' }
    }
  }, [[1, ['Acorn', 2]], [2, ['Acorn', 2]], [3, ['Birch', 2]], [4, ['Birch', 2]], [5, null]]],
  ['a view with a case', 'clients', {
    columns: ['id'],
    filters: { id: 1 },
    include: {
      kinds: { table: 'projects_kind', ...byClient, columns: ['id', 'kind'], orderBy: 'id' }
    }
  }, [[1, [[1, 'running'], [2, 'running']]]]],
  [
    'a view with a subquery it reads from', 'clients',
    { columns: ['id'], filters: { id: 2 }, include: { in_from: { ...byClient, columns: ['name'], orderBy: 'id' } } },
    [[2, [['Canal'], ['Dam']]]]
  ],
  [
    'a view with a common table expression', 'clients',
    { columns: ['id'], orderBy: 'id', include: { with_cte: { ...byClient, columns: ['id'] } } },
    [[1, [[1]]], [2, [[3]]], [3, []]]
  ],
  ['a view of a union', 'nodes', {
    columns: ['id'],
    filters: { id: [1, 4] },
    orderBy: 'id',
    include: {
      all_names: { on: { id: 'id' }, columns: ['name'], orderBy: 'name' }
    }
  }, [[1, [['Acorn'], ['Ann']]], [4, [['Di']]]]],
  [
    'the children of a view', 'projects_seen',
    { columns: ['name'], filters: { id: 1 }, include: { tasks: { on: { id: 'project_id' }, columns: ['id'] } } },
    [['Bridge', [[1], [2]]]]
  ],
  ['the parent and the children of a view', 'projects_seen', {
    columns: ['name'],
    filters: { id: 1 },
    include: {
      client: { table: 'clients', on: { client_id: 'id' } }, tasks: { on: { id: 'project_id' }, columns: ['name'] }
    }
  }, [['Bridge', [1, 'Acorn'], [['Design bridge'], ['Build bridge']]]]],
  ['the parent and the children of a view with other names', 'projects_renamed', {
    columns: ['title'],
    filters: { p_id: 1 },
    include: {
      client: { table: 'clients', on: { c_id: 'id' } }, tasks: { on: { p_id: 'project_id' }, columns: ['id'] }
    }
  }, [['Bridge', [1, 'Acorn'], [[1], [2]]]]],
  ['a view of a view', 'projects_seen', {
    columns: ['id'],
    filters: { id: 1 },
    include: {
      task_view: { on: { id: 'project_id' }, columns: ['t_id'], orderBy: 't_id DESC' }
    }
  }, [[1, [[2], [1]]]]],
  ['a view of a view of groups', 'client_projects', {
    columns: ['n'],
    orderBy: 'client_id DESC',
    limit: 2,
    include: {
      client: { table: 'clients_busy', on: { client_id: 'id' }, columns: ['name'], as: 'object' }
    }
  }, [[2, ['Birch']], [2, ['Acorn']]]],
  ['the parent of a view of groups', 'client_projects', {
    columns: ['n'],
    filters: { client_id: { $null: false } },
    orderBy: 'client_id',
    include: { client: { table: 'clients', on: { client_id: 'id' }, columns: ['name'] } }
  }, [[2, ['Acorn']], [2, ['Birch']]]],
  ['a view that relates to itself, both ways', 'tree', {
    columns: ['id'],
    filters: { id: 2 },
    include: {
      parent: { table: 'tree', on: { parent_id: 'id' }, columns: ['name'], as: 'object' },
      children: { table: 'tree', on: { id: 'parent_id' }, columns: ['name'], orderBy: 'id' }
    }
  }, [[2, ['root'], [['leaf'], ['lost']]]]],
  ['a view on three levels', 'tree', {
    columns: ['id'],
    filters: { id: 1 },
    include: {
      children: {
        table: 'tree',
        on: { id: 'parent_id' },
        columns: ['id'],
        orderBy: 'id',
        include: {
          children: {
            table: 'tree',
            on: { id: 'parent_id' },
            columns: ['id'],
            orderBy: 'id',
            include: {
              children: { table: 'tree', on: { id: 'parent_id' } }
            }
          }
        }
      }
    }
  }, [[1, [[2, [[4, []], [5, []]]], [3, []]]]]],
  ['one to one with a view', 'projects', {
    columns: ['name'],
    orderBy: 'id',
    limit: 2,
    include: {
      sheet: { table: 'sheets_view', on: { id: 'project_id' }, columns: ['code'], as: 'object' }
    }
  }, [['Bridge', ['c']], ['Tower', ['a']]]],
  ['one to one between two views', 'projects_seen', {
    columns: ['name'],
    orderBy: 'id',
    limit: 2,
    include: {
      sheet: { table: 'sheets_view', on: { id: 'project_id' }, columns: ['code'], as: 'object' }
    }
  }, [['Bridge', ['c']], ['Tower', ['a']]]],
  ['one to one from a view', 'sheets_view', {
    columns: ['code'],
    orderBy: 'project_id',
    limit: 1,
    include: {
      project: { table: 'projects', on: { project_id: 'id' }, columns: ['name'] }
    }
  }, [['c', ['Bridge']]]],
  [
    'more of a view than a filter allows', 'clients',
    { columns: ['id'], orderBy: 'id', include: { seen: { ...seen, filters: { name: { $startsWith: 'T' } } } } },
    [[1, [[2]]], [2, []], [3, []]]
  ],
  [
    'a view in an order and with a limit', 'clients',
    { columns: ['id'], orderBy: 'id', include: { seen: { ...seen, orderBy: 'name DESC', limit: 1 } } },
    [[1, [[2]]], [2, [[4]]], [3, []]]
  ],
  ['a view twice with other filters', 'clients', {
    columns: ['id'],
    filters: { id: 1 },
    include: {
      b: { ...seen, filters: { name: { $startsWith: 'B' } } }, t: { ...seen, filters: { name: { $startsWith: 'T' } } }
    }
  }, [[1, [[1]], [[2]]]]],
  ['a view, by two columns', 'projects', {
    columns: ['id'],
    orderBy: 'id',
    include: {
      twin: { table: 'seen_again', on: { id: 'id', client_id: 'client_id' }, columns: ['name'], as: 'object' }
    }
  }, [[1, ['Bridge']], [2, ['Tower']], [3, ['Canal']], [4, ['Dam']], [5, null]]],
  ['a view by a text', 'clients', {
    columns: ['id'], orderBy: 'id', include: { same: { table: 'all_names', on: { name: 'name' }, columns: ['id'] } }
  }, [[1, [[1]]], [2, [[2]]], [3, [[3]]]]],
  ['what is computed of a view', 'clients', {
    columns: ['id'],
    orderBy: 'id',
    include: {
      seen: { table: 'projects_seen', ...byClient, aggregates: { ...n, last: { $max: 'id' } } }
    }
  }, [[1, [2, 2]], [2, [2, 4]], [3, [0, null]]]],
  ['the sum of a view', 'projects', {
    columns: ['id'],
    orderBy: 'id',
    include: {
      large: { table: 'invoices_large', on: { id: 'project_id' }, aggregates: { sum: { $sum: 'total' } } }
    }
  }, [[1, [null]], [2, ['1200.00']], [3, ['3200.00']], [4, ['4000.00']], [5, [null]]]],
  ['rows with a row of a view', 'clients', {
    columns: ['id'], orderBy: 'id', filters: { $some: { projects_seen: { ...byClient, filters: { name: 'Tower' } } } }
  }, ids(1)],
  ['rows with a row of a view, and the rows', 'clients', {
    columns: ['name'],
    orderBy: 'id',
    filters: {
      $some: { projects_seen: { ...byClient, filters: { name: 'Dam' } } }
    },
    include: { seen: { ...seen, filters: { name: 'Dam' } } }
  }, [['Birch', [[4]]]]],
  ['rows without a row of a view', 'projects', {
    columns: ['id'], orderBy: 'id', filters: { $none: { invoices_large: { on: { id: 'project_id' } } } }
  }, ids(1, 5)],
  ['rows of a view with a row of a view', 'projects_seen', {
    columns: ['id'],
    orderBy: 'id',
    filters: { $some: { invoices_large: { on: { id: 'project_id' }, filters: { total: { $gt: 1000 } } } } }
  }, ids(3, 4)],
  ['rows of a view with a row of a table', 'projects_seen', {
    columns: ['id'],
    orderBy: 'id',
    filters: { $some: { clients: { on: { client_id: 'id' }, filters: { name: 'Birch' } } } }
  }, ids(3, 4)],
  ['rows with a row of a view of a table between two', 'people', {
    columns: ['name'],
    orderBy: 'id',
    filters: {
      $some: { workers: { on: { id: 'person_id' }, filters: { project_id: 3 } } }
    }
  }, [['Bo'], ['Cy']]],
  ['rows with a row of a view two levels down', 'clients', {
    columns: ['id'],
    orderBy: 'id',
    filters: {
      $some: { projects: { filters: { $some: { workers: { on: { id: 'project_id' }, filters: { person_id: 3 } } } } } }
    }
  }, ids(1, 2)],
  ['rows with a row of a view that has rows', 'clients', {
    columns: ['id'],
    orderBy: 'id',
    filters: {
      $some: {
        projects_seen: { ...byClient, filters: { $some: { invoices_large: { on: { id: 'project_id' } } } }, count: 2 }
      }
    }
  }, ids(2)],
  ['rows with rows of two views', 'projects', {
    columns: ['id'],
    orderBy: 'id',
    filters: {
      $some: { workers: { on: { id: 'project_id' } }, invoices_large: { on: { id: 'project_id' } } }
    }
  }, ids(2, 3, 4)],
  ['rows with rows of one view or of another', 'projects', {
    columns: ['id'],
    orderBy: 'id',
    filters: {
      $or: [{
        $some: { sheets_view: { on: { id: 'project_id' } } }
      }, { $some: { invoices_large: { on: { id: 'project_id' } } } }]
    }
  }, ids(1, 2, 3, 4)],
  ['rows with a row of a view, counted', 'projects', {
    filters: {
      $some: { invoices_large: { on: { id: 'project_id' } } }
    },
    columns: ['id'],
    orderBy: 'id',
    limit: 1,
    total: true
  }, ids(2)],
  ['rows of a filtered member in a view', 'people', {
    columns: ['name'],
    filters: { id: 1 },
    include: {
      assignments: {
        columns: ['task_id'], filters: { $some: { task_view: { on: { task_id: 't_id' }, filters: { project_id: 2 } } } }
      }
    }
  }, [['Ann', [[3], [4]]]]],
  [
    'a view without columns to relate by', 'clients', { include: { projects_seen: {} } },
    'INVALID_BODY /include/projects_seen'
  ],
  [
    'a view by columns of two kinds', 'clients', { include: { projects_seen: { on: { name: 'client_id' } } } },
    'INVALID_BODY /include/projects_seen/on'
  ],
  [
    'a view by a column that is none', 'clients', { include: { projects_seen: { on: { id: 'nothing' } } } },
    'INVALID_BODY /include/projects_seen/on'
  ],
  [
    'a view that is not there', 'clients', { include: { nothing: { ...byClient } } }, 'TABLE_NOT_FOUND /include/nothing'
  ],
  ['an order by a view', 'clients', { orderBy: 'seen.id', include: { seen } }, 'INVALID_ORDER_BY /orderBy'],
  ['a group by a view', 'projects', {
    groupBy: [{ name: { client: 'name' } }], include: { client: { table: 'clients_busy', on: { client_id: 'id' } } }
  }, 'INVALID_BODY /include/client']
]

const client = { table: 'clients', columns: ['name'] }
const project = { table: 'projects', columns: ['id'] }
const work = { table: 'assignments', columns: ['task_id'], include: { task: { table: 'tasks', columns: ['name'] } } }
const ofAnn = { columns: ['name'], filters: { id: 1 } }

const ORDERS: Situation[] = [
  ['by a parent, null first', 'projects', { columns: ['id'], orderBy: 'client.name, id', include: { client } }, [
    [5, null], [1, ['Acorn']], [2, ['Acorn']], [3, ['Birch']], [4, ['Birch']]
  ]],
  ['by a parent, null last', 'projects', { columns: ['id'], orderBy: 'client.name DESC, id', include: { client } }, [
    [3, ['Birch']], [4, ['Birch']], [1, ['Acorn']], [2, ['Acorn']], [5, null]
  ]],
  [
    'by a parent in the list form', 'projects',
    { columns: ['id'], orderBy: [{ client: { name: 'DESC' } }, { name: 'DESC' }], include: { client } },
    [[4, ['Birch']], [3, ['Birch']], [2, ['Acorn']], [1, ['Acorn']], [5, null]]
  ],
  [
    'by a column of the parent that is not shown', 'projects',
    { columns: ['id'], orderBy: 'client.id DESC, id DESC', include: { client } },
    [[4, ['Birch']], [3, ['Birch']], [2, ['Acorn']], [1, ['Acorn']], [5, null]]
  ],
  ['by a filtered parent', 'projects', {
    columns: ['id'], orderBy: 'client.name DESC, id', include: { client: { ...client, filters: { name: 'Acorn' } } }
  }, [[1, ['Acorn']], [2, ['Acorn']], [3, null], [4, null], [5, null]]],
  [
    'by one to one', 'projects',
    { columns: ['id'], orderBy: 'sheets.code, id', include: { sheets: { columns: ['code'] } } },
    [[4, null], [5, null], [2, ['a']], [3, ['b']], [1, ['c']]]
  ],
  [
    'by one to one, the other way', 'sheets',
    { columns: ['code'], orderBy: 'project.name DESC', include: { project: { table: 'projects', columns: ['name'] } } },
    [['a', ['Tower']], ['b', ['Canal']], ['c', ['Bridge']]]
  ],
  [
    'by a document of one to one', 'projects', { orderBy: 'sheets.sheet', include: { sheets: {} } },
    'INVALID_ORDER_BY /orderBy'
  ],
  ['by two parents', 'orders', {
    columns: ['id'],
    orderBy: 'shipping.address, billing.address',
    include: {
      billing: { table: 'addresses', on: { billing_id: 'id' }, columns: ['address'] },
      shipping: { table: 'addresses', on: { shipping_id: 'id' }, columns: ['address'] }
    }
  }, [[3, null, null], [2, ['Back'], ['Main']], [1, ['Main'], ['Side']]]],
  ['by a parent of itself', 'nodes', {
    columns: ['id'],
    orderBy: 'parent.name, id',
    include: {
      parent: { table: 'nodes', on: { parent_id: 'id' }, columns: ['name'] }
    }
  }, [[1, null], [4, ['left']], [5, ['left']], [2, ['root']], [3, ['root']]]],
  [
    'by a parent, a page', 'projects',
    { columns: ['id'], orderBy: 'client.name', offset: 1, limit: 2, include: { client } },
    [[1, ['Acorn']], [2, ['Acorn']]]
  ],
  [
    'by the first row of several, by "as"', 'clients',
    { orderBy: 'projects.id', include: { projects: { as: 'object' } } }, 'INVALID_ORDER_BY /orderBy'
  ],
  ['by a list', 'clients', { orderBy: 'projects.id', include: { projects: {} } }, 'INVALID_ORDER_BY /orderBy'],
  [
    'by a list with another name', 'clients', { orderBy: 'pros.id', include: { pros: { table: 'projects' } } },
    'INVALID_ORDER_BY /orderBy'
  ],
  [
    'by a member that is not there', 'projects', { orderBy: 'customer.name', include: { client } },
    'INVALID_ORDER_BY /orderBy'
  ],
  [
    'by a column of a member that is not there', 'projects', { orderBy: 'client.nothing', include: { client } },
    'COLUMN_NOT_FOUND /orderBy'
  ],
  [
    'a list by what is beyond the table between two', 'people',
    { ...ofAnn, include: { work: { ...work, orderBy: 'task.name' } } },
    [['Ann', [[2, ['Build bridge']], [4, ['Build tower']], [1, ['Design bridge']], [3, ['Design tower']]]]]
  ],
  [
    'a list by what is beyond the table between two, downwards', 'people',
    { ...ofAnn, include: { work: { ...work, orderBy: 'task.name DESC' } } },
    [['Ann', [[3, ['Design tower']], [1, ['Design bridge']], [4, ['Build tower']], [2, ['Build bridge']]]]]
  ],
  ['a list by its parent and its own column', 'people', {
    ...ofAnn,
    include: {
      work: { ...work, orderBy: [{ task: { project_id: 'DESC' } }, { task_id: 'ASC' }], columns: ['task_id'] }
    }
  }, [['Ann', [[3, ['Design tower']], [4, ['Build tower']], [1, ['Design bridge']], [2, ['Build bridge']]]]]],
  [
    'a list by its parent, twice', 'people',
    { ...ofAnn, include: { work: { ...work, orderBy: 'task.project_id DESC, task.name', limit: 3 } } },
    [['Ann', [[4, ['Build tower']], [3, ['Design tower']], [2, ['Build bridge']]]]]
  ],
  ['a list by one to one', 'factories', {
    columns: ['name'],
    orderBy: 'id',
    include: { processes: { columns: ['name'], orderBy: 'costs.cost DESC', include: { costs: { columns: ['cost'] } } } }
  }, [
    ['A', [['A2', ['200.00']], ['A1', ['150.00']]]], ['B', [['B1', ['180.00']], ['B2', ['70.00']]]],
    ['C', [['C2', ['70.00']], ['C1', ['40.00']], ['X', null]]], ['D', []]
  ]],
  ['a list by one to one, null first', 'factories', {
    columns: ['name'],
    filters: { id: 3 },
    include: {
      processes: { columns: ['name'], orderBy: 'costs.cost', include: { costs: { columns: ['cost'] } } }
    }
  }, [['C', [['X', null], ['C1', ['40.00']], ['C2', ['70.00']]]]]],
  ['the first of each list by one to one', 'factories', {
    columns: ['name'],
    orderBy: 'id',
    include: {
      processes: { columns: ['name'], orderBy: 'costs.cost DESC', limit: 1, include: { costs: { columns: ['cost'] } } }
    }
  }, [['A', [['A2', ['200.00']]]], ['B', [['B1', ['180.00']]]], ['C', [['C2', ['70.00']]]], ['D', []]]],
  ['the first of each list by one to ' +
    'one, as an object', 'factories', {
    columns: ['name'],
    orderBy: 'id',
    include: {
      best: {
        table: 'processes',
        as: 'object',
        columns: ['name'],
        orderBy: 'costs.cost',
        filters: { id: { $ne: 7 } },
        include: { costs: { columns: ['cost'] } }
      }
    }
  }, [['A', ['A1', ['150.00']]], ['B', ['B2', ['70.00']]], ['C', ['C1', ['40.00']]], ['D', null]]],
  ['a list by a category', 'factories', {
    columns: [
      'name'
    ],
    filters: { id: [1, 3] },
    orderBy: 'id',
    include: {
      processes: {
        columns: ['name'],
        orderBy: [{ category: { name: 'DESC' } }, { name: 'DESC' }],
        include: { category: { table: 'categories', columns: ['name'] } }
      }
    }
  }, [['A', [['A2', ['mass']], ['A1', ['batch']]]], ['C', [['C2', ['mass']], ['C1', ['mass']], ['X', null]]]]],
  ['a list of a list by its parent', 'clients', {
    columns: ['id'],
    filters: { id: 2 },
    include: {
      projects: {
        columns: ['id'],
        include: {
          tasks: {
            columns: ['id'],
            orderBy: 'again.name DESC, id DESC',
            include: { again: { table: 'projects', columns: ['name'] } }
          }
        }
      }
    }
  }, [[2, [[3, [[6, ['Canal']], [5, ['Canal']]]], [4, [[8, ['Dam']], [7, ['Dam']]]]]]]],
  ['a list by what is beyond, filtered', 'supervisors', {
    columns: ['name'],
    orderBy: 'id',
    include: {
      watched: {
        columns: [],
        orderBy: 'process.name DESC',
        include: { process: { table: 'processes', columns: ['name'], filters: { category_id: 1 } } }
      }
    }
  }, 'INVALID_BODY /include/watched/columns'],
  ['a list by what is beyond a filter, null first', 'supervisors', {
    columns: ['name'],
    filters: { id: [2, 3] },
    orderBy: 'id',
    include: {
      watched: {
        columns: ['process_id'],
        orderBy: 'process.name, process_id',
        include: {
          process: { table: 'processes', columns: ['name'], filters: { category_id: 1 } }
        }
      }
    }
  }, [['John', [[2, null], [4, ['B2']]]], ['Pete', [[5, null], [6, null], [3, ['B1']]]]]],
  [
    'a list by a list', 'clients', { include: { projects: { orderBy: 'tasks.name', include: { tasks: {} } } } },
    'INVALID_ORDER_BY /include/projects/orderBy'
  ],
  [
    'a list by a member that is not there', 'clients',
    { include: { projects: { orderBy: 'nothing.name', include: { tasks: {} } } } },
    'INVALID_ORDER_BY /include/projects/orderBy'
  ],
  [
    'a list by a member of the rows', 'projects', { include: { client, tasks: { orderBy: 'client.name' } } },
    'INVALID_ORDER_BY /include/tasks/orderBy'
  ],
  ['a view by a member', 'clients', {
    include: {
      projects_seen: {
        ...byClient, orderBy: 'client.name', include: { client: { table: 'clients', on: { client_id: 'id' } } }
      }
    }
  }, 'INVALID_ORDER_BY /include/projects_seen/orderBy']
]

const category = { table: 'categories' }
const groups = (groupBy: unknown[], include: object, more: object = {}): Record<string, unknown> => ({
  groupBy, include, aggregates: n, ...more
})
const byName = { category: { category: 'name' } }

const GROUPS: Situation[] = [
  ['by a column of a parent', 'processes', groups([byName], { category }, { orderBy: 'category' }), [
    [null, 1], ['batch', 3], ['mass', 3]
  ]],
  ['by the key of a parent', 'processes', groups([{ of: { category: 'id' } }], { category }, { orderBy: 'of DESC' }), [
    [2, 3], [1, 3], [null, 1]
  ]],
  ['without aggregates', 'processes', { groupBy: [byName], include: { category }, orderBy: 'category' }, [
    [null], ['batch'], ['mass']
  ]],
  [
    'by its own column and that of a parent', 'processes',
    groups(['factory_id', byName], { category }, { orderBy: 'factory_id, category' }),
    [[1, 'batch', 1], [1, 'mass', 1], [2, 'batch', 2], [3, null, 1], [3, 'mass', 2]]
  ],
  ['by columns of two parents', 'processes', groups(
    [{ factory: { factory: 'name' } }, byName], { factory: { table: 'factories' }, category },
    { orderBy: 'factory DESC, category' }
  ), [['C', null, 1], ['C', 'mass', 2], ['B', 'batch', 2], ['A', 'batch', 1], ['A', 'mass', 1]]],
  [
    'by two columns of one parent', 'processes',
    groups([{ id: { category: 'id' } }, byName], { category }, { orderBy: 'id' }),
    [[null, null, 1], [1, 'batch', 3], [2, 'mass', 3]]
  ],
  ['sums by a column of a parent', 'invoices', {
    groupBy: [{ project: { project: 'name' } }],
    aggregates: { sum: { $sum: 'total' } },
    include: { project: { table: 'projects' } },
    orderBy: 'project'
  }, [[null, '7.00'], ['Bridge', '300.00'], ['Canal', '3200.00'], ['Dam', '4100.00'], ['Tower', '1200.00']]],
  ['the greatest by a column of a parent', 'invoices', {
    groupBy: [{ project: { project: 'name' } }],
    aggregates: { most: { $max: 'total' }, least: { $min: 'total' } },
    include: { project: { table: 'projects' } },
    orderBy: 'most DESC',
    limit: 2
  }, [['Dam', '4000.00', '100.00'], ['Canal', '2000.00', '1200.00']]],
  ['sums by one to one', 'costs', {
    groupBy: [{ factory: { process: 'factory_id' } }],
    aggregates: { sum: { $sum: 'cost' } },
    include: { process: { table: 'processes' } },
    orderBy: 'factory DESC'
  }, [[3, '110.00'], [2, '250.00'], [1, '350.00']]],
  [
    'of the rows that pass', 'processes',
    groups([byName], { category }, { filters: { factory_id: { $ne: 1 } }, orderBy: 'category' }),
    [[null, 1], ['batch', 2], ['mass', 2]]
  ],
  ['of rows with related ones', 'processes', groups([byName], { category }, {
    filters: { $some: { costs: { filters: { cost: { $gte: 100 } } } } }, orderBy: 'category'
  }), [['batch', 2], ['mass', 1]]],
  [
    'of a parent that is filtered', 'processes',
    groups([byName], { category: { ...category, filters: { name: 'mass' } } }, { orderBy: 'category' }),
    [[null, 4], ['mass', 3]]
  ],
  ['in the order of an aggregate', 'watched', groups([{ supervisor: { supervisor: 'name' } }], {
    supervisor: { table: 'supervisors' }
  }, { orderBy: 'n DESC, supervisor' }), [['Pete', 3], ['John', 2], ['Mary', 2], ['Sara', 1]]],
  ['with a condition of the groups', 'watched', groups([{ supervisor: { supervisor: 'name' } }], {
    supervisor: { table: 'supervisors' }
  }, { having: { n: { $gte: 2 }, supervisor: { $ne: 'Mary' } }, orderBy: 'supervisor' }), [['John', 2], ['Pete', 3]]],
  ['with a condition of the null group', 'processes', groups([byName], { category }, { having: { category: null } }), [
    [null, 1]
  ]],
  ['a page of groups', 'watched', groups([{ supervisor: { supervisor: 'name' } }], {
    supervisor: { table: 'supervisors' }
  }, { orderBy: 'supervisor', offset: 1, limit: 2 }), [['Mary', 2], ['Pete', 3]]],
  ['of a view', 'projects_seen', groups([{ client: { client: 'name' } }], {
    client: { table: 'clients', on: { client_id: 'id' } }
  }, { orderBy: 'client' }), [[null, 1], ['Acorn', 2], ['Birch', 2]]],
  ['by a parent of the same table', 'nodes', groups([{ parent: { parent: 'name' } }], {
    parent: { table: 'nodes', on: { parent_id: 'id' } }
  }, { orderBy: 'parent' }), [[null, 1], ['left', 2], ['root', 2]]],
  ['by two parents in one table', 'orders', groups([{ billed: { a: 'address' } }, { shipped: { b: 'address' } }], {
    a: { table: 'addresses', on: { billing_id: 'id' } }, b: { table: 'addresses', on: { shipping_id: 'id' } }
  }, { orderBy: 'billed' }), [[null, null, 1], ['Back', 'Main', 1], ['Main', 'Side', 1]]],
  ['numbers of rows with related ones', 'projects', {
    aggregates: {
      paid: { $count: '*', filters: { $some: { invoices: {} } } },
      large: { $count: '*', filters: { $some: { invoices: { filters: { total: { $gt: 1000 } } } } } },
      none: { $count: '*', filters: { $none: { invoices: {} } } }
    }
  }, [[4, 2, 1]]],
  ['sums of a related column by another related column', 'processes', {
    groupBy: [byName],
    aggregates: { sum: { $sum: { cost: 'cost' } } },
    include: { category, cost: { table: 'costs' } },
    orderBy: 'category'
  }, [[null, null], ['batch', '400.00'], ['mass', '310.00']]],
  [
    'only sums of a related column', 'processes',
    { aggregates: { sum: { $sum: { cost: 'cost' } } }, include: { cost: { table: 'costs' } } }, [['710.00']]
  ],
  ['sums of a column two members away', 'watched', {
    groupBy: [{ factory: { process: 'factory_id' } }],
    aggregates: { sum: { $sum: { process: { cost: 'cost' } } } },
    include: { process: { table: 'processes', include: { cost: { table: 'costs' } } } },
    orderBy: 'factory DESC'
  }, [[3, '110.00'], [2, '500.00'], [1, '350.00']]],
  ['by a column two members away', 'watched', {
    groupBy: [{ factory: { process: { factory: 'name' } } }],
    aggregates: { sum: { $sum: { process: { cost: 'cost' } } } },
    include: {
      process: { table: 'processes', include: { cost: { table: 'costs' }, factory: { table: 'factories' } } }
    },
    orderBy: 'factory'
  }, [['A', '350.00'], ['B', '500.00'], ['C', '110.00']]],
  ['by an own column and one two members away', 'watched', {
    groupBy: ['supervisor_id', { category: { process: { category: 'name' } } }],
    aggregates: { sum: { $sum: { process: { cost: 'cost' } } } },
    include: {
      process: { table: 'processes', include: { cost: { table: 'costs' }, category: { table: 'categories' } } }
    },
    orderBy: 'supervisor_id, category'
  }, [
    [1, 'batch', '220.00'], [2, 'batch', '70.00'], [2, 'mass', '200.00'], [3, 'batch', '180.00'], [3, 'mass', '110.00'],
    [4, 'batch', '180.00']
  ]],
  ['numbers of rows with related ones, by a parent', 'projects', {
    groupBy: [{ client: { client: 'name' } }],
    aggregates: { large: { $count: '*', filters: { $some: { invoices: { filters: { total: { $gt: 1000 } } } } } } },
    include: { client: { table: 'clients' } },
    orderBy: 'client'
  }, [[null, 0], ['Acorn', 0], ['Birch', 2]]],
  ['numbers of different values', 'tasks', {
    groupBy: [{ project: { project: 'name' } }],
    aggregates: { worked: { $countDistinct: 'id', filters: { $some: { assignments: { on: { id: 'task_id' } } } } } },
    include: { project: { table: 'projects' } },
    orderBy: 'project'
  }, [['Bridge', 2], ['Canal', 2], ['Dam', 1], ['Tower', 2]]],
  [
    'by a column of a list', 'projects', groups([{ task: { tasks: 'name' } }], { tasks: {} }),
    'INVALID_BODY /include/tasks'
  ],
  [
    'by a member that is not there', 'projects',
    groups([{ client: { client: 'name' } }], { other: { table: 'clients' } }), 'INVALID_BODY /groupBy/0/client/client'
  ],
  [
    'by a column that is none', 'projects',
    groups([{ client: { client: 'nothing' } }], { client: { table: 'clients' } }),
    'COLUMN_NOT_FOUND /groupBy/0/client/client'
  ],
  [
    'beside a member that is not used', 'projects', groups(['client_id'], { client: { table: 'clients' } }),
    'INVALID_BODY /include/client'
  ],
  [
    'aggregates alone beside a member', 'projects', { aggregates: n, include: { client: { table: 'clients' } } },
    'INVALID_BODY /include/client'
  ]
]

const returned = (
  verb: 'insert' | 'update', table: string, more: object, include: object
): [string, Record<string, unknown>] => [table, { verb, returning: ['name'], include, dryRun: true, ...more }]
const rename = (id: number): object => ({ filters: { id }, data: { name: 'new' } })
const children = (more: object = {}): object => ({
  table: 'nodes', on: { id: 'parent_id' }, columns: ['name'], ...more
})
const parent = { table: 'nodes', on: { parent_id: 'id' }, columns: ['name'] }

const RETURNED: Situation[] = [
  [
    'the parent of a row that is inserted',
    ...returned('insert', 'projects', { data: { name: 'new', client_id: 2 } }, { client: { table: 'clients' } }),
    [['new', [2, 'Birch']]]
  ],
  [
    'the parent of a row that is inserted without one',
    ...returned('insert', 'projects', { data: { name: 'new' } }, { client: { table: 'clients' } }), [['new', null]]
  ],
  [
    'the children of a row that is inserted',
    ...returned('insert', 'projects', { data: { name: 'new', client_id: 2 } }, { tasks: {} }), [['new', []]]
  ],
  ['the parents of rows that are inserted', ...returned('insert', 'projects', {
    data: [{ name: 'x', client_id: 2 }, { name: 'y' }, { name: 'z', client_id: 1 }]
  }, { client }), [['x', ['Birch']], ['y', null], ['z', ['Acorn']]]],
  [
    'the parent in the same table', ...returned('insert', 'nodes', { data: { name: 'new', parent_id: 3 } }, { parent }),
    [['new', ['right']]]
  ],
  ['the sisters of a row that is inserted', ...returned('insert', 'nodes', { data: { name: 'new', parent_id: 1 } }, {
    parent: { ...parent, include: { children: children({ orderBy: 'name' }) } }
  }), [['new', ['root', [['left'], ['new'], ['right']]]]]],
  ['the children of a row that is updated', ...returned('update', 'nodes', rename(1), { children: children() }), [
    ['new', [['left'], ['right']]]
  ]],
  [
    'the children of a row that is updated, filtered',
    ...returned('update', 'nodes', rename(1), { children: children({ filters: { name: { $startsWith: 'l' } } }) }),
    [['new', [['left']]]]
  ],
  [
    'the children of a row that is updated, in an order',
    ...returned('update', 'nodes', rename(1), { children: children({ orderBy: 'name DESC' }) }),
    [['new', [['right'], ['left']]]]
  ],
  [
    'children on two levels and the parent',
    ...returned('update', 'nodes', rename(2), { children: children({ include: { children: children() } }), parent }),
    [['new', [['leaf', []], ['lost', []]], ['root']]]
  ],
  ['children on two levels and the parent, filtered', ...returned('update', 'nodes', rename(1), {
    children: children({
      filters: { name: { $startsWith: 'l' } }, include: { children: children({ filters: { id: 4 } }) }
    }),
    parent: { ...parent, filters: { name: { $ne: 'what' } } }
  }), [['new', [['left', ['leaf']]], null]]],
  ['children that the update has moved', ...returned('update', 'nodes', {
    filters: { id: 5 }, data: { parent_id: 3 }
  }, { parent: { ...parent, include: { children: children() } } }), [['lost', ['right', [['lost']]]]]],
  [
    'what is beyond the table between two',
    ...returned('update', 'people', rename(2), { work: { ...work, orderBy: 'task.name' } }),
    [['new', [[6, ['Build canal']], [5, ['Design canal']], [7, ['Design dam']]]]]
  ],
  ['what is beyond the table between two, and its parent', ...returned(
    'update', 'people', rename(3),
    {
      work: {
        ...work,
        include: {
          task: { table: 'tasks', columns: ['name'], include: { project: { table: 'projects', columns: ['name'] } } }
        }
      }
    }
  ), [['new', [[1, ['Design bridge', ['Bridge']]], [5, ['Design canal', ['Canal']]]]]]],
  ['what is beyond the table ' +
    'between two, filtered', ...returned('update', 'people', rename(1), {
    work: {
      ...work,
      include: {
        task: {
          table: 'tasks',
          columns: ['name'],
          filters: { name: { $startsWith: 'Build' } },
          include: { project: { table: 'projects', columns: ['name'], filters: { name: 'Tower' } } }
        }
      }
    }
  }), [['new', [[1, null], [2, ['Build bridge', null]], [3, null], [4, ['Build tower', ['Tower']]]]]]],
  ['one to one', ...returned('update', 'projects', rename(1), { sheets: { columns: ['code'] } }), [['new', ['c']]]],
  [
    'one to one, filtered',
    ...returned('update', 'projects', rename(1), { sheets: { columns: ['code'], filters: { code: 'a' } } }),
    [['new', null]]
  ],
  ['one to one, the other way', 'sheets', {
    verb: 'update',
    filters: { project_id: 2 },
    data: { code: 'z' },
    returning: ['code'],
    include: { project: { table: 'projects', columns: ['name'] } },
    dryRun: true
  }, [['z', ['Tower']]]],
  ['one to one, the other way, filtered', 'sheets', {
    verb: 'update',
    filters: { project_id: 2 },
    data: { code: 'z' },
    returning: ['code'],
    include: { project: { table: 'projects', columns: ['name'], filters: { name: 'Dam' } } },
    dryRun: true
  }, [['z', null]]],
  ['of a row that an upsert updates', ...returned('insert', 'projects', {
    data: { id: 3, name: 'new', client_id: 1 }, onConflict: { key: ['id'] }
  }, { client, tasks: { columns: ['id'] } }), [['new', ['Acorn'], [[5], [6]]]]],
  ['of rows that an upsert inserts and updates', ...returned('insert', 'clients', {
    data: [{ id: 1, name: 'new' }, { id: 9, name: 'newer' }], onConflict: { key: ['id'] }
  }, { projects: { columns: ['name'], orderBy: 'id' } }), [['new', [['Bridge'], ['Tower']]], ['newer', []]]],
  ['of rows of a list that is updated by key', ...returned(
    'update', 'clients', { key: ['id'], filters: {}, data: [{ id: 2, name: 'b' }, { id: 3, name: 'c' }] },
    { last: { table: 'projects', as: 'object', columns: ['name'], orderBy: 'id DESC' } }
  ), [['b', ['Dam']], ['c', null]]],
  ['the first of several', ...returned('update', 'clients', rename(1), {
    first: { table: 'projects', as: 'object', columns: ['name'], orderBy: 'name DESC' }
  }), [['new', ['Tower']]]],
  ['no row, no members', ...returned('update', 'clients', rename(99), { projects: {} }), []],
  [
    'members without returning', 'clients', { verb: 'update', ...rename(1), include: { projects: {} } },
    'INVALID_BODY /include'
  ],
  [
    'members of what a delete returns', 'tasks',
    { verb: 'delete', filters: { id: 8 }, returning: ['id'], include: { project }, dryRun: true }, [[8, [4]]]
  ],
  [
    'what is computed of related rows', 'clients',
    { verb: 'update', ...rename(1), returning: ['id'], include: { projects: { aggregates: n } } },
    'INVALID_BODY /include/projects/aggregates'
  ],
  [
    'the rows of a view', 'clients', { verb: 'update', ...rename(1), returning: ['id'], include: { seen } },
    'INVALID_BODY /include/seen/table'
  ]
]

const tree = (orderBy: unknown, more: object = {}): [string, Record<string, unknown>] => [
  'nodes', { columns: ['id'], orderBy, ...more }
]
const named = (operators: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => [
  'nodes', { columns: ['id'], orderBy: 'id', filters: { name: operators } }, ids(...list)
]
const inAnyCase = (operators: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => named({
  ...operators, $case: 'ignore'
}, ...list)
const own = (operators: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => [
  'orders', { columns: ['id'], orderBy: 'id', filters: { billing_id: operators } }, ids(...list)
]
const upsert = (data: unknown, more: object = {}): [string, Record<string, unknown>] => ['clients', {
  verb: 'insert', data, onConflict: { key: ['id'] }, outcomes: true, returning: ['id'], dryRun: true, ...more
}]
const gone = (table: string, filters: object, include: object): [string, Record<string, unknown>] => [
  table, { verb: 'delete', filters, returning: ['id'], include, dryRun: true }
]

/** Situations of OrderSpec, QuerySpec, RelatedQueriesSpec, InsertSpec, UpdateSpec and DeleteSpec. */
const REST: Situation[] = [
  ['NULL last in ascending order', ...tree('parent_id ASC NULLS LAST, id'), ids(2, 3, 4, 5, 1)],
  ['NULL first in ascending order', ...tree('parent_id ASC NULLS FIRST, id'), ids(1, 2, 3, 4, 5)],
  ['NULL last in descending order', ...tree('parent_id DESC NULLS LAST, id'), ids(4, 5, 2, 3, 1)],
  ['NULL first in descending order', ...tree('parent_id DESC NULLS FIRST, id'), ids(1, 4, 5, 2, 3)],
  ['NULL first, in small letters', ...tree('parent_id desc nulls first, id desc'), ids(1, 5, 4, 3, 2)],
  ['NULL last, in a list of terms', ...tree([{ parent_id: 'ASC NULLS LAST' }, { id: 'DESC' }]), ids(3, 2, 5, 4, 1)],
  ['NULL last, on a page', ...tree('parent_id ASC NULLS LAST', { limit: 2, offset: 3 }), ids(5, 1)],
  ['the place of NULL without a direction', ...tree('parent_id NULLS LAST'), 'INVALID_ORDER_BY /orderBy'],
  ['NULL that is placed wrongly', ...tree('parent_id ASC NULLS MIDDLE'), 'INVALID_ORDER_BY /orderBy'],
  ['NULL last, by a member', 'projects', {
    columns: ['id'],
    orderBy: 'client.name ASC NULLS LAST, id',
    include: {
      client: { table: 'clients', columns: ['id'] }
    }
  }, [[1, [1]], [2, [1]], [3, [2]], [4, [2]], [5, null]]],
  ['NULL first, by a member, descending', 'projects', {
    columns: ['id'],
    orderBy: 'client.name DESC NULLS FIRST, id',
    include: { client: { table: 'clients', columns: ['id'] } }
  }, [[5, null], [3, [2]], [4, [2]], [1, [1]], [2, [1]]]],
  ['NULL last, of groups', 'projects', { groupBy: ['client_id'], aggregates: n, orderBy: 'client_id ASC NULLS LAST' }, [
    [1, 2], [2, 2], [null, 1]
  ]],
  ['NULL last, in a list of members', 'nodes', {
    columns: ['id'],
    filters: { id: 2 },
    include: {
      children: { table: 'nodes', on: { id: 'parent_id' }, columns: ['id'], orderBy: 'name DESC NULLS LAST' }
    }
  }, [[2, [[5], [4]]]]],
  ['by a member of a member', 'tasks', {
    columns: ['id'],
    orderBy: 'project.client.name DESC, id',
    limit: 3,
    include: {
      project: { table: 'projects', columns: ['id'], include: { client: { table: 'clients', columns: ['id'] } } }
    }
  }, [[5, [3, [2]]], [6, [3, [2]]], [7, [4, [2]]]]],
  ['by a member of a member, in a list of terms', 'tasks', {
    columns: ['id'],
    orderBy: [{ project: { client: { name: 'ASC' } } }, { id: 'DESC' }],
    limit: 2,
    include: {
      project: { table: 'projects', columns: ['id'], include: { client: { table: 'clients', columns: ['id'] } } }
    }
  }, [[4, [2, [1]]], [3, [2, [1]]]]],
  [
    'by a member of a member that is not there', 'tasks',
    { orderBy: 'project.nothing.name', include: { project: { table: 'projects' } } }, 'COLUMN_NOT_FOUND /orderBy'
  ],
  ['a pattern in any letter case', ...inAnyCase({ $like: 'L%' }, 2, 4, 5)],
  ['a pattern in any letter case, negated', ...inAnyCase({ $nlike: 'L%' }, 1, 3)],
  [
    'a part in any letter case',
    ...inAnyCase({ $contains: 'EF' }, 2, 4).slice(0, 2) as [string, Record<string, unknown>], ids(2)
  ],
  ['a beginning in any letter case', ...inAnyCase({ $startsWith: 'Le' }, 2, 4)],
  ['a text in any letter case', ...inAnyCase({ $eq: 'ROOT' }, 1)],
  ['another text in any letter case', ...inAnyCase({ $ne: 'ROOT' }, 2, 3, 4, 5)],
  ['texts of a list in any letter case', ...inAnyCase({ $in: ['ROOT', 'Lost'] }, 1, 5)],
  [
    'letter case that is none', 'nodes', { filters: { name: { $eq: 'root', $case: 'upper' } } },
    'INVALID_BODY /filters/name/$case'
  ],
  ['a column that equals another one', ...own({ $eq: { $column: 'shipping_id' } })],
  ['a column that is greater than another one', ...own({ $gt: { $column: 'shipping_id' } }, 2)],
  ['a column that is lower than another one', ...own({ $lt: { $column: 'shipping_id' } }, 1)],
  ['a column that differs from another one', ...own({ $ne: { $column: 'shipping_id' } }, 1, 2)],
  [
    'a column and one that is none', 'orders', { filters: { billing_id: { $eq: { $column: 'nothing' } } } },
    'COLUMN_NOT_FOUND /filters/billing_id/$eq/$column'
  ],
  ['a text that is longer than its column', ...named({ $eq: 'a name of more than twenty characters' })],
  ['other texts than one that is longer', ...named({ $ne: 'a name of more than twenty characters' }, 1, 2, 3, 4, 5)],
  ['a text of a list that is longer', ...named({ $in: ['a name of more than twenty characters', 'root'] }, 1)],
  [
    'rows that an upsert inserts and updates, told apart',
    ...upsert([{ id: 1, name: 'Acorn' }, { id: 9, name: 'new' }]), ids(1, 9)
  ],
  [
    'what became of rows without a conflict', 'clients', { verb: 'insert', data: { name: 'x' }, outcomes: true },
    'INVALID_BODY /outcomes'
  ],
  ['a default in an update', 'projects', {
    verb: 'update',
    filters: {
      id: 1
    },
    data: { client_id: { $default: true } },
    returning: ['id', 'client_id'],
    dryRun: true
  }, [[1, null]]],
  [
    'a default of a column that has none', 'projects',
    { verb: 'update', filters: { id: 1 }, data: { name: { $default: true } } }, 'INVALID_VALUE /data/name/$default'
  ],
  ['the parent of a row that is deleted', ...gone('tasks', { id: 8 }, {
    project: { table: 'projects', columns: ['name'], include: { client: { table: 'clients', columns: ['name'] } } }
  }), [[8, ['Dam', ['Birch']]]]],
  ['the children of a row that is deleted', ...gone('nodes', { id: 5 }, {
    children: {
      table: 'nodes', on: { id: 'parent_id' }
    },
    parent: { table: 'nodes', on: { parent_id: 'id' }, columns: ['name'] }
  }), [[5, [], ['left']]]],
  ['no row, no members, deleted', ...gone('tasks', { id: 99 }, { project: { table: 'projects' } }), []]
]

/**
 * A document of three, as in JsonOperatorSpec: 1, 2 and 3 have the numbers 1, 0 and 3, and 1 has a text two levels
 * down.
 */
const sorted = (orderBy: unknown, list: number[], ...order: number[]): [string, Record<string, unknown>, unknown[]] => [
  'documents', { columns: ['id'], orderBy, filters: { id: list } }, ids(...order)
]
const byRank = (direction: string): [string, Record<string, unknown>] => ['sheets', {
  columns: ['project_id'],
  orderBy: [{ sheet: { '$.rank': direction } }],
  include: { project: { table: 'projects', columns: ['id'] } }
}]
const $default = { $default: true }
const simple = (k: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => [
  'simple', { columns: ['id'], orderBy: 'id', filters: { k } }, ids(...list)
]
const either = (...words: string[]): object[] => words.map((word) => ({ k: { $contains: word, $case: 'ignore' } }))
const shown = { returning: ['id', 'name', 'sep'], dryRun: true }
const processOf = (include?: object): object => ({
  process: { table: 'processes', ...include !== undefined && { include } }
})
const cost = { cost: { table: 'costs' } }
const supervised = (
  groupBy: unknown[] | undefined, aggregates: object, include: object, orderBy: string
): [string, Record<string, unknown>] => [
  'watched', { ...groupBy !== undefined && { groupBy }, aggregates, include, orderBy }
]
const byFactory = { factory: { process: 'factory_id' } }

/** Situations of JsonOperatorSpec: indexes from the end, and orders by values inside. */
const JSON_ENDS: Situation[] = [
  ['the last of a list', ...inside({ '$[last]': 3 }, 4)],
  ['the third from the end of a list', ...inside({ '$[last-2]': 1 }, 4)],
  ['the third from the end of the last list in a list', ...inside({ '$[last][last-2]': 11 }, 6)],
  ['the second from the end of the first list in a list', ...inside({ '$[0][last-1]': { $in: [8, 7] } }, 6, 7)],
  ['a key of the last object in a list', ...inside({ '$[last].b': 'B' }, 8)],
  ['the last of a list at a key of the last object in a list', ...inside({ '$[last].b[last]': 5 }, 9)],
  ['a key of the last object but one in a list', ...inside({ '$[last-1].a': 'A' }, 8)],
  ['further from the end than a list is long', ...inside({ '$[last-7]': { $exists: true } })],
  [
    'an index from the end with two signs', 'documents', { filters: at({ '$[last--34]': 3 }) },
    'INVALID_BODY /filters/data/$at/$[last--34]'
  ],
  ['by a number inside, ascending', ...sorted([{ data: { '$.id': 'ASC' } }], [1, 2, 3], 2, 1, 3)],
  ['by a number inside, descending', ...sorted([{ data: { '$.id': 'DESC' } }], [1, 2, 3], 3, 1, 2)],
  [
    'by a text two levels down, null first',
    ...sorted([{ data: { '$.foo.bar': 'ASC NULLS FIRST' } }, { id: 'DESC' }], [1, 2, 3], 3, 2, 1)
  ],
  [
    'by a text two levels down, null last',
    ...sorted([{ data: { '$.foo.bar': 'ASC NULLS LAST' } }, { id: 'DESC' }], [1, 2, 3], 1, 3, 2)
  ],
  ['by the first of a list, descending', ...sorted([{ data: { '$[0]': 'DESC' } }], [4, 5], 5, 4)],
  ['by the second of a list, ascending', ...sorted([{ data: { '$[1]': 'ASC' } }], [5, 4], 4, 5)],
  [
    'by an element of a list in a list, descending',
    ...sorted([{ data: { '$[0][1]': 'DESC' } }, { id: 'ASC' }], [4, 6], 6, 4)
  ],
  ['by the last of a list, ascending', ...sorted([{ data: { '$[last]': 'ASC' } }], [4, 5], 4, 5)],
  ['by the second from the end of a list, descending', ...sorted([{ data: { '$[last-1]': 'DESC' } }], [4, 5], 5, 4)],
  // RelatedQueriesSpec has these from the other side of the relation
  ['by a value inside one to one, ascending', ...byRank('ASC'), [[2, [2]], [3, [3]], [1, [1]]]],
  ['by a value inside one to one, descending', ...byRank('DESC'), [[1, [1]], [3, [3]], [2, [2]]]]
]

/**
 * More situations of QuerySpec, RelatedQueriesSpec, InsertSpec, UpdateSpec, UpsertSpec, DeleteSpec and
 * AggregateFunctionsSpec.
 */
const MORE: Situation[] = [
  ['a pattern at the beginning, in any letter case', ...simple({ $like: 'xy%', $case: 'ignore' }, 1, 2)],
  ['a pattern in the middle, in any letter case', ...simple({ $like: '%YY%', $case: 'ignore' }, 1, 2)],
  ['a pattern in the middle, in its letter case', ...simple({ $contains: 'YY' }, 2)],
  ['not a pattern, in any letter case', 'simple', {
    columns: ['id'], filters: { id: [1, 2], $not: { k: { $like: 'xy%', $case: 'ignore' } } }
  }, []],
  ['all of several patterns in any letter case', 'simple', {
    columns: ['id'], orderBy: 'id', filters: { $and: either('plan', 'GREATNESS') }
  }, ids(4)],
  ['any of several patterns in any letter case', 'simple', {
    columns: ['id'], orderBy: 'id', filters: { $or: either('PLAN', 'Brain') }
  }, ids(3, 4)],
  [
    'by two columns with the place of NULL', 'projects',
    { columns: ['client_id', 'id'], orderBy: 'client_id DESC NULLS LAST, id DESC' },
    [[2, 4], [2, 3], [1, 2], [1, 1], [null, 5]]
  ],
  ['letters behind the place of NULL', 'projects', { orderBy: 'id ASC NULLS LASTTT' }, 'INVALID_ORDER_BY /orderBy'],
  ['by a parent, descending, in a list of members', 'people', {
    columns: ['id'],
    filters: { id: 1 },
    include: {
      work: {
        table: 'assignments',
        on: { id: 'person_id' },
        columns: ['task_id'],
        orderBy: 'task.project_id DESC, task_id',
        include: { task: { table: 'tasks', columns: ['project_id'] } }
      }
    }
  }, [[1, [[3, [2]], [4, [2]], [1, [1]], [2, [1]]]]]],
  [
    'by a parent of a list', 'clients', { orderBy: 'projects.id', include: { projects: {} } },
    'INVALID_ORDER_BY /orderBy'
  ],
  [
    'defaults of keys that are left out', 'complex',
    { verb: 'insert', data: [{ id: 4, name: 'Vier' }, { id: 6, name: 'Sechs', sep: 6 }, { id: 8 }], ...shown },
    [[4, 'Vier', 1], [6, 'Sechs', 6], [8, 'Default', 1]]
  ],
  [
    'a default in an update, beside a value', 'complex',
    { verb: 'update', filters: { id: 3 }, data: { name: 'Tres', sep: $default }, ...shown }, [[3, 'Tres', 1]]
  ],
  ['a default of a text, beside null', 'complex', {
    verb: 'update',
    filters: { id: 2 },
    data: {
      name: $default, settings: null
    },
    returning: ['id', 'name', 'settings', 'sep'],
    dryRun: true
  }, [[2, 'Default', null, 2]]],
  ['defaults in a list of rows', 'complex', {
    verb: 'update',
    key: ['id'],
    filters: {},
    data: [
      { id: 1, name: $default, sep: 9 }, { id: 2, name: 'x', sep: $default }
    ],
    ...shown
  }, [[1, 'Default', 9], [2, 'x', 1]]],
  ['a default in an upsert', 'complex', {
    verb: 'insert',
    data: [
      { id: 3, name: 'new' }, { id: 9, name: 'newer' }
    ],
    onConflict: { key: ['id'], set: { sep: $default } },
    ...shown
  }, [[3, 'Three', 1], [9, 'newer', 1]]],
  ['a default in an insert', 'complex', { verb: 'insert', data: { name: $default } }, 'INVALID_VALUE /data/name'],
  [
    'what an upsert inserts and updates, without a key that is a counter',
    ...upsert([{ id: 1, name: 'updated value' }, { name: 'new value' }], { returning: ['name'] }),
    [['updated value'], ['new value']]
  ],
  ['what an upsert leaves as it is', ...upsert([
    { id: 1, name: 'other' }, { id: 9, name: 'new' }
  ], { onConflict: { key: ['id'], set: [] }, returning: ['name'] }), [['Acorn'], ['new']]],
  ['one to one of a row that is deleted', ...gone('projects', { id: 5 }, { sheets: { columns: ['code'] }, client }), [
    [5, null, null]
  ]],
  ['the parent of one to one that is deleted', 'sheets', {
    verb: 'delete',
    filters: { project_id: 1 },
    returning: [
      'code'
    ],
    include: { project: { table: 'projects', columns: ['name'] } },
    dryRun: true
  }, [['c', ['Bridge']]]],
  [
    'the number of a parent by its row',
    ...supervised(['supervisor_id'], { n: { $count: { process: 'id' } } }, processOf(), 'supervisor_id'),
    [[1, 2], [2, 2], [3, 3], [4, 1]]
  ],
  ['the number beside a column of the parent', ...supervised([{ id: { supervisor: 'id' } }], {
    n: { $count: { supervisor: 'id' } }
  }, { supervisor: { table: 'supervisors' } }, 'id'), [[1, 2], [2, 2], [3, 3], [4, 1]]],
  ['the number of what is two members away', ...supervised(['supervisor_id'], {
    n: { $count: { process: { cost: 'process_id' } } }
  }, processOf(cost), 'supervisor_id'), [[1, 2], [2, 2], [3, 3], [4, 1]]],
  [
    'the number of what is two members away by a column of a parent',
    ...supervised([byFactory], { n: { $count: { process: { cost: 'process_id' } } } }, processOf(cost), 'factory'),
    [[1, 2], [2, 4], [3, 2]]
  ],
  ['numbers of what is one and two members away', ...supervised([byFactory], {
    processes: { $count: { process: 'id' } }, costs: { $count: { process: { cost: 'process_id' } } }
  }, processOf(cost), 'factory'), [[1, 2, 2], [2, 4, 4], [3, 2, 2]]],
  ['the greatest and the least of what is two members away', ...supervised([byFactory], {
    most: { $max: { process: { cost: 'cost' } } }, least: { $min: { process: { cost: 'cost' } } }
  }, processOf(cost), 'factory DESC'), [[3, '70.00', '40.00'], [2, '180.00', '70.00'], [1, '200.00', '150.00']]],
  [
    'sums of a list of a parent', 'factories',
    { aggregates: { sum: { $sum: { processes: 'id' } } }, include: { processes: {} } },
    'INVALID_BODY /include/processes'
  ]
]

const PARTS: Array<readonly [name: string, situations: readonly Situation[]]> = [
  ['full text', FULL_TEXT], ['inside JSON', INSIDE_JSON], ['numbers of related rows', COUNTS], ['views', VIEWS],
  ['orders by related rows', ORDERS], ['groups by related rows', GROUPS], ['members of a write', RETURNED],
  ['orders by NULL, letter case, columns, outcomes, defaults', REST],
  ['inside JSON from the end, and in its order', JSON_ENDS], ['more of all', MORE]
]

await onEachEngine(t as Test, 'situations', { schema }, async (t, { engine, post }) => {
  for (const [part, situations] of PARTS) {
    await t.test(part, async (t) => {
      for (const [name, table, body, expected] of situations) {
        const { json } = await post(table, { verb: 'select', ...body })
        const found = json.error === undefined
          ? flat(json.data.rows)
          : `${json.error.code} ${json.error.details[0]?.path}`
        t.strictSame(found, typeof expected === 'function'
          ? expected(engine)
          : expected, `${name}: ${JSON.stringify({ table, ...body, error: json.error })}`)
      }
    })
  }
  t.comment(`${PARTS.reduce((sum, [, situations]) => sum + situations.length, 0)} situations`)
})
