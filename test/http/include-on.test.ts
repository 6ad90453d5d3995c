/**
 * Which columns `on` may relate, and whether a member is one row or a list. What the planner alone decides of it is in
 * test/plan/bodies/include.txt.
 */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { type Answer, type EngineName, onEachEngine, sharedOnEachEngine } from '../support/service.ts'

/** Columns by their kind. Those of one kind relate rows, all others do not; `none` relates nothing, not even itself. */
const KINDS: Record<string, string[]> = {
  integer: ['tinyint', 'tinyint(1)', 'smallint unsigned', 'mediumint', 'int', 'bigint', 'bigint unsigned'],
  year: ['year'],
  general: [
    'char(5) collate utf8mb4_general_ci', 'varchar(20) collate utf8mb4_general_ci',
    'varchar(200) collate utf8mb4_general_ci'
  ],
  binary_collation: ['varchar(20) collate utf8mb4_bin'],
  latin1: ['varchar(20) character set latin1'],
  decimal2: ['decimal(8,2)', 'decimal(20,2)'],
  decimal3: ['decimal(8,3)'],
  date: ['date'],
  datetime: ['datetime'],
  datetime3: ['datetime(3)'],
  timestamp: ['timestamp null'],
  time: ['time'],
  time3: ['time(3)'],
  binary: ['binary(4)', 'binary(8)'],
  varbinary: ['varbinary(8)'],
  none: ['bit(8)', 'float', 'double', "enum('a','b')", "set('a','b')"]
}

/** TEXT of SQLite is a text like VARCHAR. */
const SQLITE_KINDS: Record<string, string[]> = {
  integer: ['tinyint', 'tinyint(1)', 'int', 'bigint', 'integer'],
  year: ['year'],
  text: ['char(5)', 'varchar(20)', 'text'],
  nocase: ['varchar(20) collate nocase', 'text collate nocase'],
  decimal2: ['decimal(8,2)', 'decimal(20,2)'],
  decimal3: ['decimal(8,3)'],
  date: ['date'],
  datetime: ['datetime'],
  datetime3: ['datetime(3)'],
  timestamp: ['timestamp'],
  time: ['time'],
  none: ['blob', 'double', 'json']
}

const typed = (engine: EngineName) => Object.entries(engine === 'sqlite' ? SQLITE_KINDS : KINDS).flatMap(
  ([kind, declarations]) => declarations.map((declaration) => ({ kind, declaration }))
)

await onEachEngine(t, 'the columns of a pair have one kind', {
  schema: (engine) => {
    const columns = typed(engine)
    const list = columns.map(({ declaration }, index) => `, c${index} ${declaration}`).join('')
    return [
      `create table many (id integer not null primary key${list})`,
      `create table others (id integer not null primary key${list})`,
      ...columns.map((_, index) => `create index by_c${index} on others (c${index})`)
    ]
  }
}, async (t, { post, engine }) => {
  const columns = typed(engine)
  let related = 0
  for (const [from, { kind, declaration }] of columns.entries()) {
    for (const [to, other] of columns.entries()) {
      // of two kinds, the first column of each
      if (kind !== other.kind &&
        (from > to || columns[from - 1]?.kind === kind || columns[to - 1]?.kind === other.kind)) continue
      const { status, json } = await post('many', {
        verb: 'select',
        columns: ['id'],
        include: { found: { table: 'others', on: { [`c${from}`]: `c${to}` }, columns: ['id'] } }
      })
      const what = `${declaration} and ${other.declaration}`
      if (kind === other.kind && kind !== 'none') {
        related++
        if (status !== 200) t.fail(`${what}: ${JSON.stringify(json)}`)
      } else if (status !== 400 || json.error.code !== 'INVALID_BODY' ||
        json.error.details[0].path !== '/include/found/on' ||
        !/cannot relate rows/.test(json.error.message)) t.fail(`${what}: ${JSON.stringify(json)}`)
    }
  }
  t.ok(related >= columns.length - 5, `${related} pairs relate rows`)
})

const schema = (engine: EngineName): string[] => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  return [
    `create table teams (
      id ${id}, area int not null, code int not null, name varchar(20), spare int, unique (area, code),
      unique (spare))`,
    `create table players (id ${id}, area int, code int, name varchar(20), note int, spare int,
      foreign key (area, code) references teams (area, code),
      constraint again foreign key (area, code) references teams (area, code))`,
    'create table matches (season int not null, day int not null, home int, guest int, kind int not null, primary ' +
      'key (season, day))',
    'create index by_kind on matches (kind, home, guest)', 'create index by_guest on matches (guest, season)',
    "insert into teams values (1, 1, 1, 'Reds', 7), (2, 1, 2, 'Blues', null)",
    "insert into players values (1, 1, 1, 'Ada', 3, 7), (2, 1, 1, 'Bob', 4, null), (3, 1, null, 'Eve', 5, null)",
    'insert into matches values (1, 1, 1, 2, 9), (1, 2, 2, 1, 9), (2, 1, 1, 2, 8)'
  ]
}

/** It sees matches of one kind and season. */
const tokens = [
  tokenFor('fan', { teams: {}, matches: { rows: { kind: 9, season: { $claim: '/season' } } } }, { season: 1 })
]

const test = sharedOnEachEngine(t, { schema, tokens })

await test('a foreign key or a rule allows a relation, and a unique key makes a member one row', async (
  t, { post, engine }
) => {
  const include = async (table: string, member: object, token?: string) => await post(
    table, { verb: 'select', orderBy: 'id', columns: ['id'], include: { found: member } },
    token === undefined ? {} : { token }
  )
  t.same(
    (await include('teams', { table: 'matches', on: { id: 'home' }, columns: ['day'] }, 'fan')).json.data.rows,
    [{ id: 1, found: [{ day: 1 }] }, { id: 2, found: [{ day: 2 }] }], 'equalities of rules count for the index'
  )
  t.same(
    (await include('teams', { table: 'matches', on: { code: 'day' }, columns: ['day'] }, 'fan')).json.data.rows,
    [{ id: 1, found: [{ day: 1 }] }, { id: 2, found: [{ day: 2 }] }], 'and not for one or many'
  )
  const players = [{ id: 1, found: [{ name: 'Ada' }, { name: 'Bob' }] }, { id: 2, found: [] }]
  for (const on of [undefined, { area: 'area', code: 'code' }, { code: 'code', area: 'area' }]) {
    t.same(
      (await include('teams', { table: 'players', ...on !== undefined && { on }, columns: ['name'] })).json.data?.rows,
      players, 'equal keys count once, and pairs have any order'
    )
    t.same(
      (await include('players', { table: 'teams', ...on !== undefined && { on }, columns: ['name'] })).json.data?.rows,
      [{ id: 1, found: { name: 'Reds' } }, { id: 2, found: { name: 'Reds' } }, { id: 3, found: null }]
    )
  }
  t.equal((await include('teams', { table: 'players', on: { code: 'area', area: 'code' } })).status, engine === 'sqlite'
    ? 400
    : 200, 'other pairs need an index, which a foreign key of SQLite does not have')
})

await test('members come behind the columns in the order of the request, and each ' +
  'table may have several', async (t, { post }) => {
  const member = {
    table: 'matches', on: { id: 'guest' }, columns: ['day', 'season'], orderBy: 'season DESC, day', limit: 1
  }
  const computed = { table: 'matches', on: { id: 'guest' }, aggregates: { last: { $max: 'day' }, n: { $count: '*' } } }
  const { text } = await post('teams', {
    verb: 'select',
    filters: { id: 1 },
    columns: ['name', 'id'],
    include: {
      z: member,
      one: { table: 'matches', on: { area: 'season', code: 'day' }, columns: ['kind'] },
      a: computed,
      b: { ...member, include: { again: { table: 'teams', on: { season: 'id' }, columns: ['code', 'area'] } } }
    }
  })
  t.equal(
    text,
    '{"success":true,"data":{"rows":[{"name":"Reds","id":1,"z":[{"day":2,"season":1}],"one":{"kind":9},"a":{"last":2,' +
      '"n":1},"b":[{"day":2,"season":1,"again":{"code":1,"area":1}}]}],"count":1}}'
  )
  t.same((await post('players', {
    verb: 'select',
    filters: { id: 3 },
    columns: ['id'],
    include: {
      one: { table: 'teams', aggregates: { n: { $count: '*' }, last: { $max: 'name' } } },
      none: { table: 'teams', on: { note: 'id' } }
    }
  })).json.data.rows, [{ id: 3, one: { n: 0, last: null }, none: null }],
  'computed values where there could be one row')
})

await onEachEngine(t, 'columns that were altered since the catalog was read are related as they are now', {
  schema: {
    sqlite: [],
    mysql: [
      'create table orders (id int primary key, price decimal(8,2) not null)',
      'create table items (id int primary key, order_id int not null, price decimal(8,2) not null, key ' +
      '(order_id), key (price))',
      'insert into orders values (1, 1.5), (2, 2.5)', 'insert into items values (1, 1, 1.5), (2, 2, 2.5)'
    ]
  },
  only: ['mariadb', 'mysql'],
  database: { refreshInterval: 3_600_000 }
}, async (t, { post, sql, log }) => {
  const byId = {
    verb: 'select', columns: ['id'], orderBy: 'id', include: { items: { on: { id: 'order_id' }, columns: ['id'] } }
  }
  const byPrice = { ...byId, include: { items: { on: { price: 'price' }, columns: ['id'] } } }
  for (const body of [byId, byPrice]) {
    t.same((await post('orders', body)).json.data.rows, [{ id: 1, items: [{ id: 1 }] }, { id: 2, items: [{ id: 2 }] }])
  }
  await sql('alter table items modify price decimal(8,3) not null')
  t.match(
    (await post('orders', byPrice)).json.error, { code: 'INVALID_BODY', details: [{ path: '/include/items/on' }] },
    'they can no longer be related'
  )
  await sql('alter table orders modify id bigint')
  await sql('alter table items modify order_id bigint')
  await sql('insert into orders values (3000000000, 0)')
  await sql('insert into items values (3, 3000000000, 0)')
  t.same((await post('orders', byId)).json.data.rows[2], { id: 3000000000, items: [{ id: 3 }] })
  t.notMatch(log.join(), /unexpected error/)
})

await test('what is wrong with a member has its place, also in operations', async (t, { post, operate }) => {
  const refusal = ({ status, json }: Answer) => [status, json.error?.code, json.error?.details[0]?.path]
  for (const [include, ...expected] of [
    [{ nothing: {} }, 404, 'TABLE_NOT_FOUND', '/nothing'],
    [{ players: { on: { id: 'name' } } }, 400, 'INVALID_BODY', '/players/on'],
    [{ players: { columns: ['nothing'] } }, 400, 'COLUMN_NOT_FOUND', '/players/columns/0']
  ] as const) {
    const [status, code, path] = expected
    t.same(refusal(await post('teams', { verb: 'select', include })), [status, code, `/include${path}`])
    t.same(refusal(await operate([{ table: 'teams', verb: 'select', include }])), [
      status, code, `/operations/0/include${path}`
    ])
  }
  t.same(
    refusal(await operate([{ table: 'teams', verb: 'select', lock: true, include: { players: {} } }])),
    [400, 'INVALID_BODY', '/operations/0/include']
  )
  const levels = 20_000
  const nested = `${'{"players":{"include":'.repeat(levels)}{"players":{}}${'}}'.repeat(levels)}`
  t.equal((await post('teams', `{"verb":"select","include":${nested}}`)).status, 400)
})
