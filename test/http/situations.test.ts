/**
 * Kinds of views, tables and requests of the tests of PostgREST that no other test has: views of views, of groups, of
 * unions, with subqueries or parts that have names, a table that relates to itself, tables between two, and what is two
 * members away. The situations are theirs; tables, rows and requests are our own.
 */
import t, { type Test } from 'tap'
import { type EngineName, onEachEngine } from '../support/service.ts'

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
    `create table complex (${id}, name varchar(20) not null default 'Default', sep int default 1, settings json)`,
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
    "insert into complex values (1, 'One', 1, '{\"a\":1}'), (2, 'Two', 2, '{\"a\":2}'), (3, 'Three', 3, null)"
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

/** The rows as `flat` writes them. */
type Situation = readonly [name: string, table: string, body: Record<string, unknown>, expected: unknown[]]
const ids = (...list: number[]): number[][] => list.map((id) => [id])

const counted = (table: string, members: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => [
  table, { columns: ['id'], orderBy: 'id', filters: { $some: members } }, ids(...list)
]
const n = { n: { $count: '*' } }

const COUNTS: Situation[] = [
  [
    'rows with so many through a table between two',
    ...counted('projects', { tasks: { filters: { $some: { assignments: { count: 2 } } } } }, 1, 3)
  ],
  ['rows with so many two levels down', ...counted('clients', {
    projects: {
      filters: { $some: { tasks: { filters: { name: { $contains: 'esign' } }, count: 1 } } }, count: { $gte: 2 }
    }
  }, 1, 2)],
  ['rows in the order of the sum of related ones', 'projects', {
    columns: ['id'], orderBy: 'invoices.sum DESC', include: { invoices: { aggregates: { sum: { $sum: 'total' } } } }
  }, [[4, ['4100.00']], [3, ['3200.00']], [2, ['1200.00']], [1, ['300.00']], [5, [null]]]]
]

const byClient = { on: { id: 'client_id' } }

const VIEWS: Situation[] = [
  ['the rows of a view with other names', 'clients', {
    columns: ['id'],
    orderBy: 'id',
    include: { projects_renamed: { on: { id: 'c_id' }, columns: ['title', 'p_id'], orderBy: 'title' } }
  }, [[1, [['Bridge', 1], ['Tower', 2]]], [2, [['Canal', 3], ['Dam', 4]]], [3, []]]],
  ['the rows of a view of a view', 'clients', {
    columns: ['id'], orderBy: 'id', include: { seen_again: { ...byClient, columns: ['name'], orderBy: 'name DESC' } }
  }, [[1, [['Tower'], ['Bridge']]], [2, [['Dam'], ['Canal']]], [3, []]]],
  [
    'the row of a view of groups, as an object', 'clients',
    { columns: ['name'], orderBy: 'id', include: { client_projects: { ...byClient, columns: ['n'], as: 'object' } } },
    [['Acorn', [2]], ['Birch', [2]], ['Cedar', null]]
  ],
  ['two parents in one view', 'orders', {
    columns: ['name'],
    orderBy: 'id',
    limit: 2,
    include: {
      a: {
        table: 'all_names',
        on: { billing_id: 'id' },
        filters: { name: { $in: ['Acorn', 'Cedar'] } },
        columns: ['name'],
        as: 'object'
      },
      b: {
        table: 'all_names',
        on: { shipping_id: 'id' },
        filters: { name: { $startsWith: 'A' } },
        columns: ['name'],
        orderBy: 'name'
      }
    }
  }, [['first', ['Acorn'], []], ['second', ['Cedar'], [['Acorn'], ['Ann']]]]],
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
    include: { client: { table: 'clients_busy', on: { client_id: 'id' }, columns: ['name', 'n'], as: 'object' } }
  }, [[1, ['Acorn', 2]], [2, ['Acorn', 2]], [3, ['Birch', 2]], [4, ['Birch', 2]], [5, null]]],
  ['a view with a case', 'clients', {
    columns: ['id'],
    filters: { id: 1 },
    include: { kinds: { table: 'projects_kind', ...byClient, columns: ['id', 'kind'], orderBy: 'id' } }
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
    include: { all_names: { on: { id: 'id' }, columns: ['name'], orderBy: 'name' } }
  }, [[1, [['Acorn'], ['Ann']]], [4, [['Di']]]]],
  ['the parent and the children of a view with other names', 'projects_renamed', {
    columns: ['title'],
    filters: { p_id: 1 },
    include: {
      client: { table: 'clients', on: { c_id: 'id' } }, tasks: { on: { p_id: 'project_id' }, columns: ['id'] }
    }
  }, [['Bridge', [1, 'Acorn'], [[1], [2]]]]],
  ['a view that relates to itself, both ways', 'tree', {
    columns: ['id'],
    filters: { id: 2 },
    include: {
      parent: { table: 'tree', on: { parent_id: 'id' }, columns: ['name'], as: 'object' },
      children: { table: 'tree', on: { id: 'parent_id' }, columns: ['name'], orderBy: 'id' }
    }
  }, [[2, ['root'], [['leaf'], ['lost']]]]],
  ['one to one between two views', 'projects_seen', {
    columns: ['name'],
    orderBy: 'id',
    limit: 2,
    include: { sheet: { table: 'sheets_view', on: { id: 'project_id' }, columns: ['code'], as: 'object' } }
  }, [['Bridge', ['c']], ['Tower', ['a']]]],
  ['rows with rows of two views', 'projects', {
    columns: ['id'],
    orderBy: 'id',
    filters: { $some: { workers: { on: { id: 'project_id' } }, invoices_large: { on: { id: 'project_id' } } } }
  }, ids(2, 3, 4)],
  ['rows of a filtered member in a view', 'people', {
    columns: ['name'],
    filters: { id: 1 },
    include: {
      assignments: {
        columns: ['task_id'], filters: { $some: { task_view: { on: { task_id: 't_id' }, filters: { project_id: 2 } } } }
      }
    }
  }, [['Ann', [[3], [4]]]]]
]

const client = { table: 'clients', columns: ['name'] }

const ORDERS: Situation[] = [
  [
    'by a column of the parent that is not shown', 'projects',
    { columns: ['id'], orderBy: 'client.id DESC, id DESC', include: { client } },
    [[4, ['Birch']], [3, ['Birch']], [2, ['Acorn']], [1, ['Acorn']], [5, null]]
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
    include: { parent: { table: 'nodes', on: { parent_id: 'id' }, columns: ['name'] } }
  }, [[1, null], [4, ['left']], [5, ['left']], [2, ['root']], [3, ['root']]]],
  ['the first of each list by one to one, as an object', 'factories', {
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
  ['a list by what is beyond a filter, null first', 'supervisors', {
    columns: ['name'],
    filters: { id: [2, 3] },
    orderBy: 'id',
    include: {
      watched: {
        columns: ['process_id'],
        orderBy: 'process.name, process_id',
        include: { process: { table: 'processes', columns: ['name'], filters: { category_id: 1 } } }
      }
    }
  }, [['John', [[2, null], [4, ['B2']]]], ['Pete', [[5, null], [6, null], [3, ['B1']]]]]]
]

const category = { table: 'categories' }
const groups = (groupBy: unknown[], include: object, more: object = {}): Record<string, unknown> => ({
  groupBy, include, aggregates: n, ...more
})
const byName = { category: { category: 'name' } }

const GROUPS: Situation[] = [
  [
    'of a parent that is filtered', 'processes',
    groups([byName], { category: { ...category, filters: { name: 'mass' } } }, { orderBy: 'category' }),
    [[null, 4], ['mass', 3]]
  ],
  ['with a condition of the null group', 'processes', groups([byName], { category }, { having: { category: null } }), [
    [null, 1]
  ]],
  ['by two parents in one table', 'orders', groups([{ billed: { a: 'address' } }, { shipped: { b: 'address' } }], {
    a: { table: 'addresses', on: { billing_id: 'id' } }, b: { table: 'addresses', on: { shipping_id: 'id' } }
  }, { orderBy: 'billed' }), [[null, null, 1], ['Back', 'Main', 1], ['Main', 'Side', 1]]],
  ['by a column two members away', 'watched', {
    groupBy: [{ factory: { process: { factory: 'name' } } }],
    aggregates: { sum: { $sum: { process: { cost: 'cost' } } } },
    include: {
      process: { table: 'processes', include: { cost: { table: 'costs' }, factory: { table: 'factories' } } }
    },
    orderBy: 'factory'
  }, [['A', '350.00'], ['B', '500.00'], ['C', '110.00']]],
  ['numbers of rows with related ones, by a parent', 'projects', {
    groupBy: [{ client: { client: 'name' } }],
    aggregates: { large: { $count: '*', filters: { $some: { invoices: { filters: { total: { $gt: 1000 } } } } } } },
    include: { client: { table: 'clients' } },
    orderBy: 'client'
  }, [[null, 0], ['Acorn', 0], ['Birch', 2]]]
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
  ['the sisters of a row that is inserted', ...returned('insert', 'nodes', { data: { name: 'new', parent_id: 1 } }, {
    parent: { ...parent, include: { children: children({ orderBy: 'name' }) } }
  }), [['new', ['root', [['left'], ['new'], ['right']]]]]],
  ['children on two levels and the parent, filtered', ...returned('update', 'nodes', rename(1), {
    children: children({
      filters: { name: { $startsWith: 'l' } }, include: { children: children({ filters: { id: 4 } }) }
    }),
    parent: { ...parent, filters: { name: { $ne: 'what' } } }
  }), [['new', [['left', ['leaf']]], null]]],
  ['children that the update has moved', ...returned('update', 'nodes', {
    filters: { id: 5 }, data: { parent_id: 3 }
  }, { parent: { ...parent, include: { children: children() } } }), [['lost', ['right', [['lost']]]]]],
  ['of rows that an upsert inserts and updates', ...returned('insert', 'clients', {
    data: [{ id: 1, name: 'new' }, { id: 9, name: 'newer' }], onConflict: { key: ['id'] }
  }, { projects: { columns: ['name'], orderBy: 'id' } }), [['new', [['Bridge'], ['Tower']]], ['newer', []]]],
  ['of rows of a list that is updated by key', ...returned(
    'update', 'clients', { key: ['id'], filters: {}, data: [{ id: 2, name: 'b' }, { id: 3, name: 'c' }] },
    { last: { table: 'projects', as: 'object', columns: ['name'], orderBy: 'id DESC' } }
  ), [['b', ['Dam']], ['c', null]]]
]
const named = (operators: object, ...list: number[]): [string, Record<string, unknown>, unknown[]] => [
  'nodes', { columns: ['id'], orderBy: 'id', filters: { name: operators } }, ids(...list)
]
const upsert = (data: unknown, more: object = {}): [string, Record<string, unknown>] => ['clients', {
  verb: 'insert', data, onConflict: { key: ['id'] }, outcomes: true, returning: ['id'], dryRun: true, ...more
}]
const gone = (table: string, filters: object, include: object): [string, Record<string, unknown>] => [
  table, { verb: 'delete', filters, returning: ['id'], include, dryRun: true }
]

/** Situations of OrderSpec, QuerySpec, RelatedQueriesSpec, InsertSpec, UpdateSpec and DeleteSpec. */
const REST: Situation[] = [
  ['NULL last, in a list of members', 'nodes', {
    columns: ['id'],
    filters: { id: 2 },
    include: { children: { table: 'nodes', on: { id: 'parent_id' }, columns: ['id'], orderBy: 'name DESC NULLS LAST' } }
  }, [[2, [[5], [4]]]]],
  ['a text that is longer than its column', ...named({ $eq: 'a name of more than twenty characters' })],
  ['other texts than one that is longer', ...named({ $ne: 'a name of more than twenty characters' }, 1, 2, 3, 4, 5)],
  ['a text of a list that is longer', ...named({ $in: ['a name of more than twenty characters', 'root'] }, 1)],
  ['the parent of a row that is deleted', ...gone('tasks', { id: 8 }, {
    project: { table: 'projects', columns: ['name'], include: { client: { table: 'clients', columns: ['name'] } } }
  }), [[8, ['Dam', ['Birch']]]]]
]
const $default = { $default: true }
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

/**
 * More situations of QuerySpec, RelatedQueriesSpec, InsertSpec, UpdateSpec, UpsertSpec, DeleteSpec and
 * AggregateFunctionsSpec.
 */
const MORE: Situation[] = [
  ['defaults in a list of rows', 'complex', {
    verb: 'update',
    key: ['id'],
    filters: {},
    data: [{ id: 1, name: $default, sep: 9 }, { id: 2, name: 'x', sep: $default }],
    ...shown
  }, [[1, 'Default', 9], [2, 'x', 1]]],
  ['a default in an upsert', 'complex', {
    verb: 'insert',
    data: [{ id: 3, name: 'new' }, { id: 9, name: 'newer' }],
    onConflict: { key: ['id'], set: { sep: $default } },
    ...shown
  }, [[3, 'Three', 1], [9, 'newer', 1]]],
  ['what an upsert leaves as it is', ...upsert([
    { id: 1, name: 'other' }, { id: 9, name: 'new' }
  ], { onConflict: { key: ['id'], set: [] }, returning: ['name'] }), [['Acorn'], ['new']]],
  ['the greatest and the least of what is two members away', ...supervised([byFactory], {
    most: { $max: { process: { cost: 'cost' } } }, least: { $min: { process: { cost: 'cost' } } }
  }, processOf(cost), 'factory DESC'), [[3, '70.00', '40.00'], [2, '180.00', '70.00'], [1, '200.00', '150.00']]]
]

const PARTS: Array<readonly [name: string, situations: readonly Situation[]]> = [
  ['numbers of related rows', COUNTS], ['views', VIEWS], ['orders by related rows', ORDERS],
  ['groups by related rows', GROUPS], ['members of a write', RETURNED], ['long texts, defaults, what is deleted', REST],
  ['more of all', MORE]
]

await onEachEngine(t as Test, 'situations', { schema }, async (t, { post }) => {
  for (const [part, situations] of PARTS) {
    await t.test(part, async (t) => {
      for (const [name, table, body, expected] of situations) {
        const { json } = await post(table, { verb: 'select', ...body })
        t.strictSame(flat(json.data?.rows), expected, `${name}: ${JSON.stringify({ table, ...body, error: json.error })}`)
      }
    })
  }
})
