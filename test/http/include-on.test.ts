/**
 * Which columns `on` may relate, which relation is meant without it, whether a member is one row or a list, and what is
 * refused.
 */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { type EngineName, onEachEngine, type Schema, sharedOnEachEngine, startService } from '../support/service.ts'

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
        include: {
          found: { table: 'others', on: { [`c${from}`]: `c${to}` }, columns: ['id'] }
        }
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
    `create table teams (id ${id}, area int not null, code int not null, name varchar(20), spare int, unique (area, code), unique (spare))`,
    `create table players (id ${id}, area int, code int, name varchar(20), note int, spare int, foreign key (area, code) references teams (area, code), constraint again foreign key (area, code) references teams (area, code))`,
    'create table matches (season int not null, day int not null, home int, guest int, kind int not null, primary ' +
      'key (season, day))',
    'create index by_kind on matches (kind, home, guest)', 'create index by_guest on matches (guest, season)',
    "insert into teams values (1, 1, 1, 'Reds', 7), (2, 1, 2, 'Blues', null)",
    "insert into players values (1, 1, 1, 'Ada', 3, 7), (2, 1, 1, 'Bob', 4, null), (3, 1, null, 'Eve', 5, null)",
    'insert into matches values (1, 1, 1, 2, 9), (1, 2, 2, 1, 9), (2, 1, 1, 2, 8)'
  ]
}

/**
 * `on` and filters of a member `matches` of `teams`, and the columns with which an index would have to begin; undefined
 * if there is one.
 */
const INDEXED: Array<readonly [on: object, filters: object, missing?: RegExp]> = [
  [{ id: 'season' }, {}],
  [{ id: 'guest' }, {}],
  [{ id: 'home' }, {}, /begins with "home"/],
  [{ id: 'day' }, {}, /begins with "day"/],
  [{ id: 'kind' }, {}],
  [{ id: 'home' }, { kind: 9 }],
  [{ id: 'home' }, { kind: { $eq: 9 } }],
  [{ id: 'home' }, { $and: [{ kind: 9 }] }],
  [{ id: 'home' }, { kind: 9, $or: [] }],
  [{ id: 'home' }, { $and: [{ $and: [{ kind: { $eq: 9, $gt: 1 } }] }] }],
  [
    { id: 'home' }, { $or: [{ kind: 9 }] },
    /begins with "home", or with columns that "filters" hold equal followed by one of these/
  ],
  [{ id: 'home' }, { kind: [9] }, /begins with "home"/],
  [{ id: 'home' }, { kind: { $in: [9] } }, /begins with "home"/],
  [{ id: 'home' }, { $not: { kind: 9 } }, /begins with "home"/],
  [{ id: 'home' }, { kind: { $is: 9 } }, /begins with "home"/],
  [{ id: 'day' }, { season: 1 }],
  [{ id: 'home', code: 'day' }, {}, /begins with "home" or "day"/],
  [{ id: 'home', area: 'season' }, {}],
  [{ code: 'day', area: 'guest' }, {}]
]

/** Members that are one row, and such that are a list, of `teams`. */
const ONE: object[] = [
  { table: 'matches', on: { id: 'season', code: 'day' } }, {
    table: 'matches', on: { id: 'season' }, filters: { day: 1 }
  }, { table: 'matches', on: { code: 'day' }, filters: { $and: [{ season: { $eq: 1 } }] } },
  { table: 'teams', on: { spare: 'spare' } }, { table: 'teams', on: { id: 'spare', code: 'code' } },
  { table: 'teams', on: { code: 'code' }, filters: { area: 1 } }
]
const MANY: object[] = [
  { table: 'matches', on: { id: 'season' } }, { table: 'matches', on: { id: 'season' }, filters: { day: [1] } },
  { table: 'matches', on: { id: 'season' }, filters: { day: { $gte: 1 } } },
  { table: 'matches', on: { id: 'season' }, filters: { $or: [{ day: 1 }] } }, { table: 'teams', on: { area: 'area' } },
  {
    table: 'teams', on: { area: 'area' }, filters: { spare: null }
  }, { table: 'teams', on: { area: 'area' }, filters: { spare: { $eq: null } } }
]

/** It sees matches of one kind and season. */
const tokens = [
  tokenFor('fan', { teams: {}, matches: { rows: { kind: 9, season: { $claim: '/season' } } } }, { season: 1 })
]

const test = sharedOnEachEngine(t, { schema, tokens })

await test('an index, a foreign key or a rule allows a relation, and a unique key ' +
  'makes a member one row', async (t, { post, engine }) => {
  const include = async (table: string, member: object, token?: string) => await post(
    table, { verb: 'select', orderBy: 'id', columns: ['id'], include: { found: member } },
    token === undefined ? {} : { token }
  )
  for (const [on, filters, missing] of INDEXED) {
    const { status, json } = await include('teams', { table: 'matches', on, filters })
    if (missing === undefined) t.equal(status, 200, JSON.stringify({ on, filters, json }))
    else {
      t.match(
        json.error, { code: 'INVALID_BODY', message: missing, details: [{ path: '/include/found/on' }] },
        JSON.stringify({ on, filters })
      )
    }
  }
  for (const member of ONE) {
    const { json } = await include('teams', member)
    t.notOk(json.data?.rows.some(({ found }: { found: unknown }) => Array.isArray(found)) ??
      true, JSON.stringify({ member, json }))
    t.match((await include('teams', { ...member, limit: 5 })).json.error, {
      code: 'INVALID_BODY', details: [{ path: '/include/found/limit' }]
    })
  }
  for (const member of MANY) {
    t.ok((await include('teams', { ...member, limit: 5 })).json.data?.rows.every(({ found }: {
      found: unknown
    }) => Array.isArray(found)), JSON.stringify(member))
  }
  t.same(
    (await include('teams', { table: 'matches', on: { id: 'home' }, columns: ['day'] }, 'fan')).json.data.rows,
    [{ id: 1, found: [{ day: 1 }] }, { id: 2, found: [{ day: 2 }] }], 'equalities of rules count for the index'
  )
  t.same(
    (await include('teams', { table: 'matches', on: { code: 'day' }, columns: ['day'] }, 'fan')).json.data.rows,
    [{ id: 1, found: [{ day: 1 }] }, { id: 2, found: [{ day: 2 }] }], 'and not for one or many'
  )
  t.match(
    (await include('teams', { table: 'matches', on: { id: 'home' } })).json.error, { message: /begins with "home"/ },
    'others have no such rule'
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

await test('the limits of filters hold for all members together', async (t, { url }) => {
  const { post } = await startService(t, url, { options: { limits: { filterConditions: 4, filterValues: 6 } } })
  const send = async (filters: object, ...of: object[]) => (await post('teams', {
    verb: 'select',
    filters,
    include: Object.fromEntries(
      of.map((each, index) => [`m${index}`, { table: 'matches', on: { id: 'guest' }, filters: each }])
    )
  })).json
  t.ok((await send({ id: 1 }, { day: 1 }, { day: 1, home: 1 })).success)
  t.match((await send({ id: 1 }, { day: 1 }, { day: 1, home: 1, kind: 9 })).error, {
    code: 'INVALID_BODY', details: [{ path: '/include/m1/filters/kind' }]
  })
  t.ok((await send({ id: [1, 2] }, { day: [1, 2] }, { day: [1, 2] })).success)
  t.match((await send({ id: [1, 2] }, { day: [1, 2] }, { day: [1, 2, 3] })).error, {
    code: 'INVALID_BODY', details: [{ path: '/include/m1/filters/day' }]
  })
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
    t.same((await post('orders', body)).json.data.rows, [
      { id: 1, items: [{ id: 1 }] }, { id: 2, items: [{ id: 2 }] }
    ])
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

// What is refused of `include`: with which code, at which place, and what the message says instead.

const refused: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  const tables = [
    `create table customers (id ${id}, name varchar(20) not null, code varchar(10) ${engine === 'sqlite' ? 'collate nocase' : 'collate utf8mb4_bin'})`,
    `create table orders (id ${id}, customer_id int, billed_to int, code varchar(10), note text, ratio double, foreign key (customer_id) references customers (id), foreign key (billed_to) references customers (id))`,
    'create table items (order_id int not null, line int not null, sku varchar(10) not null, product_id int, primary ' +
      'key (order_id, line), foreign key (order_id) references orders (id))',
    `create table parents (id ${id}, parent_id int, foreign key (parent_id) references parents (id))`,
    'create view all_orders as select id, customer_id from orders'
  ]
  return tables
}

type Case = readonly [include: object, code: string, path: string, message: RegExp]

const cases: Case[] = [
  [{}, 'INVALID_BODY', '/include', /at least one member/],
  [{ '1st': { table: 'items' } }, 'INVALID_BODY', '/include/1st', /begins with a letter/],
  [{ items: [] }, 'INVALID_BODY', '/include/items', /must be an object/],
  [{ items: { where: {} } }, 'INVALID_BODY', '/include/items/where', /the fields are/],
  [{ items: { on: {} } }, 'INVALID_BODY', '/include/items/on', /columns/],
  [{ items: { limit: 0 } }, 'LIMIT_OUT_OF_RANGE', '/include/items/limit', /1 to 1000/],
  [{ items: { limit: 1001 } }, 'LIMIT_OUT_OF_RANGE', '/include/items/limit', /1 to 1000/],
  [{ items: { aggregates: { n: { $count: '*' } }, limit: 5 } }, 'INVALID_BODY', '/include/items/limit', /"aggregates"/],
  [{ items: { aggregates: { n: {} } } }, 'INVALID_BODY', '/include/items/aggregates/n', /function/],
  [{ note: { table: 'items' } }, 'INVALID_BODY', '/include/note', /another name/],
  [{ nothing: {} }, 'TABLE_NOT_FOUND', '/include/nothing', /"nothing"/],
  [
    { items: { include: { x: { table: 'nothing' } } } }, 'TABLE_NOT_FOUND', '/include/items/include/x/table',
    /"nothing"/
  ],
  [{ all_orders: {} }, 'INVALID_BODY', '/include/all_orders', /say "on"/],
  [{ all_orders: { on: { id: 'nothing' } } }, 'INVALID_BODY', '/include/all_orders/on', /"nothing"/],
  [{ all_orders: { on: { note: 'id' } } }, 'INVALID_BODY', '/include/all_orders/on', /cannot relate/],
  [
    { customer: { table: 'customers' } }, 'INVALID_BODY', '/include/customer',
    /(?=.*\{"customer_id":"id"\})(?=.*\{"billed_to":"id"\})/
  ],
  [{ parents: {} }, 'INVALID_BODY', '/include/parents', /no foreign key/],
  [{ items: { on: { id: 'nothing' } } }, 'INVALID_BODY', '/include/items/on', /"items", which has no column "nothing"/],
  [
    { items: { on: { nothing: 'order_id' } } }, 'INVALID_BODY', '/include/items/on',
    /"orders", which has no column "nothing"/
  ],
  [{ items: { on: { id: 'sku' } } }, 'INVALID_BODY', '/include/items/on', /cannot relate/],
  [{ items: { on: { code: 'sku' } } }, 'INVALID_BODY', '/include/items/on', /begins with "sku"/],
  [{ items: { on: { id: 'product_id' } } }, 'INVALID_BODY', '/include/items/on', /begins with "product_id"/],
  [{ items: { on: { id: 'line' } } }, 'INVALID_BODY', '/include/items/on', /begins with "line"/],
  [{ others: { table: 'orders', on: { ratio: 'ratio' } } }, 'INVALID_BODY', '/include/others/on', /floating-point/],
  [{ coded: { table: 'customers', on: { code: 'code' } } }, 'INVALID_BODY', '/include/coded/on', /collation/],
  [
    { customer: { table: 'customers', on: { customer_id: 'id' }, limit: 2 } }, 'INVALID_BODY',
    '/include/customer/limit', /one row at most/
  ],
  [{ items: { filters: { line: 1 }, orderBy: 'sku' } }, 'INVALID_BODY', '/include/items/orderBy', /one row at most/],
  [
    { customer: { table: 'customers', on: { customer_id: 'id' }, as: 'object', limit: 1 } }, 'INVALID_BODY',
    '/include/customer/limit', /"as": "object"/
  ],
  [{ items: { as: 'list', aggregates: { n: { $count: '*' } } } }, 'INVALID_BODY', '/include/items/as', /"aggregates"/],
  [{ items: { as: 'first' } }, 'INVALID_BODY', '/include/items/as', /list, object/],
  [{ items: { as: 'object', limit: 1 } }, 'INVALID_BODY', '/include/items/limit', /"as": "object"/],
  [{ items: { as: 'object', orderBy: 'nothing' } }, 'COLUMN_NOT_FOUND', '/include/items/orderBy', /"nothing"/],
  [
    { customer: { table: 'customers', on: { customer_id: 'id' }, as: 'object', orderBy: 'nothing' } },
    'COLUMN_NOT_FOUND', '/include/customer/orderBy', /"nothing"/
  ],
  [
    { items: { orderBy: 'order.nothing', include: { order: { table: 'orders' } } } }, 'COLUMN_NOT_FOUND',
    '/include/items/orderBy', /"nothing"/
  ],
  [
    { items: { orderBy: [{ order: { nothing: 'ASC' } }], include: { order: { table: 'orders' } } } },
    'COLUMN_NOT_FOUND', '/include/items/orderBy/0/order/nothing', /"nothing"/
  ],
  [{
    items: {
      orderBy: [{ lines: { line: 'ASC' } }], include: { lines: { table: 'items', on: { order_id: 'order_id' } } }
    }
  }, 'INVALID_ORDER_BY', '/include/items/orderBy', /"lines", which is a list/],
  [
    { items: { orderBy: 'order.id', include: { order: { table: 'orders', as: 'list' } } } }, 'INVALID_ORDER_BY',
    '/include/items/orderBy', /"order", which is a list/
  ],
  [{
    items: {
      orderBy: 'n.n',
      include: { n: { table: 'items', on: { order_id: 'order_id' }, aggregates: { n: { $count: '*' } } } }
    }
  }, 'INVALID_ORDER_BY', '/include/items/orderBy', /"n", which is computed/],
  [
    { items: { orderBy: [{ order: { id: 'ASC' } }] } }, 'INVALID_ORDER_BY', '/include/items/orderBy/0/order',
    /not a member of "include"/
  ],
  [{ items: { as: 'rows' } }, 'INVALID_BODY', '/include/items/as', /one of list, object/],
  [{ items: { as: null } }, 'INVALID_BODY', '/include/items/as', /one of list, object/],
  [{ items: { as: 'list', aggregates: { n: { $count: '*' } } } }, 'INVALID_BODY', '/include/items/as', /"aggregates"/],
  [{ items: { filters: { nothing: 1 } } }, 'COLUMN_NOT_FOUND', '/include/items/filters/nothing', /"nothing"/],
  [{ items: { filters: { line: 'x' } } }, 'INVALID_VALUE', '/include/items/filters/line', /"line"/],
  [{ items: { columns: ['nothing'] } }, 'COLUMN_NOT_FOUND', '/include/items/columns/0', /"nothing"/],
  [{ items: { orderBy: 'nothing' } }, 'COLUMN_NOT_FOUND', '/include/items/orderBy', /"nothing"/],
  [{ items: { aggregates: { n: { $sum: 'sku' } } } }, 'INVALID_VALUE', '/include/items/aggregates/n/$sum', /"sku"/],
  [{
    items: { include: { order: { table: 'orders', include: { items: { include: { order: { table: 'orders' } } } } } } }
  }, 'INVALID_BODY', '/include/items/include/order/include/items/include', /3 levels/],
  [
    Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`m${index}`, { table: 'items' }])), 'INVALID_BODY',
    '/include/m10', /10 members/
  ]
]

const testRefusals = sharedOnEachEngine(t, { schema: refused })

await testRefusals('what is wrong with a member has its place', async (t, { post, operate }) => {
  for (const [include, code, path, message] of cases) {
    const { json } = await post('orders', { verb: 'select', include })
    t.match(
      { code: json.error?.code, path: json.error?.details[0]?.path, message: json.error?.message },
      { code, path, message }, JSON.stringify(include)
    )
  }
  for (const more of [{ groupBy: ['id'] }, { aggregates: { n: { $count: '*' } } }]) {
    t.match(
      (await post('orders', { verb: 'select', include: { items: {} }, ...more })).json.error,
      { code: 'INVALID_BODY', details: [{ path: '/include' }] }
    )
  }
  t.match((await operate([{ table: 'orders', verb: 'select', lock: true, include: { items: {} } }])).json.error, {
    code: 'INVALID_BODY', details: [{ path: '/operations/0/include' }]
  })
  t.match((await operate([{ table: 'orders', verb: 'select', include: { nothing: {} } }])).json.error, {
    code: 'TABLE_NOT_FOUND', details: [{ path: '/operations/0/include/nothing' }]
  })
  t.match(
    (await post('parents', { verb: 'select', include: { parent: { table: 'parents' } } })).json.error,
    { code: 'INVALID_BODY', message: /\{"parent_id":"id"\}, \{"id":"parent_id"\}/ },
    'a key of a table to itself counts as two'
  )
  const levels = 20_000
  t.equal((await post(
    'orders', `{"verb":"select","include":${'{"items":{"include":'.repeat(levels)}{"items":{}}${'}}'.repeat(levels)}}`
  )).status, 400)
})

await testRefusals('a setting of 0 refuses members', async (t, { url }) => {
  const { post } = await startService(t, url, { options: { limits: { include: { levels: 0 } } } })
  t.match((await post('orders', { verb: 'select', include: { items: {} } })).json.error, {
    code: 'INVALID_BODY', message: /limits\.include/
  })
})
