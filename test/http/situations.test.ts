/**
 * Kinds of views, tables and requests of the tests of PostgREST that no other test has: views with other names, of
 * groups and of unions, a table that relates to itself, tables between two, and what is two members away. The
 * situations are theirs; tables, rows and requests are our own. related-law.test.ts has random views and members.
 */
import t from 'tap'
import { numberedId } from '../support/definitions.ts'
import { type EngineName, sharedOnEachEngine } from '../support/service.ts'

const schema = (engine: EngineName): string[] => {
  const id = numberedId(engine)
  const named = (name: string, rows: readonly string[], ...more: string[]): string[] => [
    `create table ${name} (${[id, 'name varchar(20) not null', ...more].join(', ')})`,
    ...rows.length === 0 ? [] : [`insert into ${name} values ${rows.map((row) => `(${row})`).join(', ')}`]
  ]
  const names = (...list: string[]): string[] => list.map((name, index) => `${index + 1}, '${name}'`)
  return [
    ...named('clients', names('Acorn', 'Birch', 'Cedar')),
    ...named('projects', [
      "1, 'Bridge', 1", "2, 'Tower', 1", "3, 'Canal', 2", "4, 'Dam', 2", "5, 'Orphan', null"
    ], 'client_id int', 'foreign key (client_id) references clients (id)'),
    ...named('tasks', [1, 2, 3, 4].flatMap((project) => ['Design', 'Build'].map((what, index) =>
      `${2 * project - 1 + index}, '${what} ${project}', ${project}`)), 'project_id int',
    'foreign key (project_id) references projects (id)'),
    ...named('people', names('Ann', 'Bo', 'Cy', 'Di')),
    `create table assignments (person_id int not null, task_id int not null, primary key (person_id, task_id),
      foreign key (person_id) references people (id), foreign key (task_id) references tasks (id))`,
    'insert into assignments values (1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6), (2, 7), (3, 1), (3, 5)',
    ...named('nodes', [
      "1, 'root', null", "2, 'left', 1", "3, 'right', 1", "4, 'leaf', 2", "5, 'lost', 2"
    ], 'parent_id int', 'foreign key (parent_id) references nodes (id)'),
    ...named('processes', ["1, 'A1', 1, 1", "2, 'A2', 1, 2", "3, 'B1', 2, 1", "4, 'B2', 2, 1", "5, 'C1', 3, 2",
      "6, 'C2', 3, 2"], 'factory int', 'category int'),
    'create table costs (process_id int not null primary key, cost decimal(8,2), foreign key (process_id) ' +
      'references processes (id))',
    'insert into costs values (1, 150), (2, 200), (3, 180), (4, 70), (5, 40), (6, 70)',
    'create table watched (process_id int not null, supervisor int not null, primary key (process_id, supervisor), ' +
      'foreign key (process_id) references processes (id))',
    'insert into watched values (1, 1), (2, 2), (3, 3), (3, 4), (4, 1), (4, 2), (5, 3), (6, 3)',
    ...['projects (client_id)', 'tasks (project_id)', 'assignments (task_id)', 'nodes (parent_id)',
      'processes (factory)', 'watched (supervisor)'].map((columns, index) => `create index i${index} on ${columns}`),
    'create view projects_renamed as select id as p_id, client_id as c_id, name as title from projects',
    'create view client_projects as select client_id, count(*) as n from projects group by client_id',
    'create view workers as select a.person_id, k.project_id from assignments a join tasks k on k.id = a.task_id',
    'create view distinct_workers as select distinct person_id, project_id from workers',
    'create view all_names as select id, name from clients union all select id, name from people',
    `create view with_cte as with odd (id, name, client_id) as
      (select id, name, client_id from projects where id in (1, 3, 5)) select * from odd`,
    'create view tree as select id, name, parent_id from nodes'
  ]
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

const children = (more: object = {}): object => ({
  table: 'nodes', on: { id: 'parent_id' }, columns: ['name'], ...more
})
const parent = { table: 'nodes', on: { parent_id: 'id' }, columns: ['name'] }
const written = { returning: ['name'], dryRun: true }
const byClient = { on: { id: 'client_id' } }

const SITUATIONS: Situation[] = [
  ['rows with so many through a table between two', 'projects', {
    columns: ['id'], orderBy: 'id', filters: { $some: { tasks: { filters: { $some: { assignments: { count: 2 } } } } } }
  }, [[1], [3]]],
  ['rows with so many two levels down', 'clients', {
    columns: ['id'],
    orderBy: 'id',
    filters: {
      $some: {
        projects: {
          filters: { $some: { tasks: { filters: { name: { $contains: 'esign' } }, count: 1 } } }, count: { $gte: 2 }
        }
      }
    }
  }, [[1], [2]]],
  ['the rows of a view with other names', 'clients', {
    columns: ['id'],
    orderBy: 'id',
    include: { projects_renamed: { on: { id: 'c_id' }, columns: ['title', 'p_id'], orderBy: 'title' } }
  }, [[1, [['Bridge', 1], ['Tower', 2]]], [2, [['Canal', 3], ['Dam', 4]]], [3, []]]],
  ['the row of a view of groups, as an object', 'clients', {
    columns: ['name'], orderBy: 'id', include: { client_projects: { ...byClient, columns: ['n'], as: 'object' } }
  }, [['Acorn', [2]], ['Birch', [2]], ['Cedar', null]]],
  ['rows beyond a view of a view of a table between two', 'people', {
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
  ['a view with a common table expression', 'clients', {
    columns: ['id'], orderBy: 'id', include: { with_cte: { ...byClient, columns: ['id'] } }
  }, [[1, [[1]]], [2, [[3]]], [3, []]]],
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
  ['the order of a parent of itself', 'nodes', {
    columns: ['id'], orderBy: 'parent.name, id', include: { parent }
  }, [[1, null], [4, ['left']], [5, ['left']], [2, ['root']], [3, ['root']]]],
  ['the first of each list by one to one, as an object', 'processes', {
    columns: ['name'],
    filters: { id: [1, 3, 5] },
    orderBy: 'id',
    include: {
      best: {
        table: 'processes',
        on: { factory: 'factory' },
        as: 'object',
        columns: ['name'],
        orderBy: 'costs.cost',
        include: { costs: { columns: ['cost'] } }
      }
    }
  }, [['A1', ['A1', ['150.00']]], ['B1', ['B2', ['70.00']]], ['C1', ['C1', ['40.00']]]]],
  ['a list in the order of what is beyond a filter, null first', 'nodes', {
    columns: ['name'],
    filters: { id: [2, 3] },
    orderBy: 'id',
    include: {
      watched: {
        on: { id: 'supervisor' },
        columns: ['process_id'],
        orderBy: 'process.name, process_id',
        include: { process: { table: 'processes', columns: ['name'], filters: { category: 1 } } }
      }
    }
  }, [['left', [[2, null], [4, ['B2']]]], ['right', [[5, null], [6, null], [3, ['B1']]]]]],
  ['the sisters of a row that is inserted', 'nodes', {
    verb: 'insert',
    data: { name: 'new', parent_id: 1 },
    include: { parent: { ...parent, include: { children: children({ orderBy: 'name' }) } } },
    ...written
  }, [['new', ['root', [['left'], ['new'], ['right']]]]]],
  ['children on two levels and the parent, filtered', 'nodes', {
    verb: 'update',
    filters: { id: 1 },
    data: { name: 'new' },
    include: {
      children: children({
        filters: { name: { $startsWith: 'l' } }, include: { children: children({ filters: { id: 4 } }) }
      }),
      parent: { ...parent, filters: { name: { $ne: 'what' } } }
    },
    ...written
  }, [['new', [['left', ['leaf']]], null]]],
  ['children that the update has moved', 'nodes', {
    verb: 'update',
    filters: { id: 5 },
    data: { parent_id: 3 },
    include: { parent: { ...parent, include: { children: children() } } },
    ...written
  }, [['lost', ['right', [['lost']]]]]]
]

await sharedOnEachEngine(t, { schema })('situations', async (t, { post }) => {
  for (const [name, table, body, expected] of SITUATIONS) {
    const { json } = await post(table, { verb: 'select', ...body })
    t.strictSame(flat(json.data?.rows), expected, `${name}: ${JSON.stringify({ table, ...body, error: json.error })}`)
  }
})
