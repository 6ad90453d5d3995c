// night: tables of a million rows
/** What pages, members and filters by related rows cost: rows read by the server's own counters. */
import t from 'tap'
import { numbersOf } from '../support/numbers.ts'
import { countReadRows } from '../support/read-rows.ts'
import { onEachEngine, type Service } from '../support/service.ts'

const ROWS = 300_000
const LIMIT = 100

/** `created` has NULLs and ties, `kind` has long runs of ties, `code` has a collation. */
const schema = (): string[] => [
  `create table events (
    id int not null auto_increment primary key, tenant int not null, created datetime null, price int not null,
    kind enum('b', 'c', 'a') not null, code varchar(10) not null, key by_created (created),
    key newest (tenant, created, id), key mixed (price desc, created), key by_kind (kind), key by_code (tenant, code))`,
  `insert into events (tenant, created, price, kind, code)
    select n % 3, if(n % 1000 = 0, null, date_add('2020-01-01', interval (n * 7919) % 100000 minute)),
      n % 500, 1 + n % 3, concat(char(97 + n % 26), n % 1000)
    from ${numbersOf(6)} where n < ${ROWS}`,
  'analyze table events'
]

/** `where`: the filters in SQL. */
const pages: Array<{ orderBy?: string, filters?: object, where?: string, only?: string }> = [
  {}, { orderBy: 'id DESC' }, { orderBy: 'created' }, { orderBy: 'created DESC' }, { orderBy: 'price DESC, created' },
  { orderBy: 'price, created DESC', only: 'mariadb' }, { orderBy: 'kind' }, { orderBy: 'kind DESC' },
  { orderBy: 'created DESC', filters: { tenant: 1 }, where: 'tenant = 1' },
  { orderBy: 'created', filters: { tenant: { $in: [1] } }, where: 'tenant = 1' },
  { orderBy: 'tenant, created', filters: { tenant: 1 }, where: 'tenant = 1' },
  { orderBy: 'tenant DESC, created DESC', filters: { tenant: 2 }, where: 'tenant = 2' },
  { orderBy: 'tenant DESC, created DESC' }, { orderBy: 'code DESC', filters: { tenant: 2 }, where: 'tenant = 2' },
  {
    orderBy: 'created DESC',
    filters: { tenant: 1, created: { $lt: '2020-03-01T00:00:00' } },
    where: "tenant = 1 and created < '2020-03-01'"
  }
]

/** The position at a share of the rows, as the service gives it for the row there. */
async function positionAt (
  { post, sql }: Service, { orderBy = 'id', where = '1 = 1' }: typeof pages[number], share: number
): Promise<unknown> {
  const [{ matching }] = await sql(`select count(*) matching from events where ${where}`)
  const complete = /\bid\b/.test(orderBy) ? orderBy : `${orderBy}, id ${/DESC$/.test(orderBy) ? 'desc' : 'asc'}`
  const [{ id }] = await sql(
    `select id from events where ${where} order by ${complete} limit 1 offset ${Math.floor(matching * share)}`
  )
  const { json } = await post('events', { verb: 'select', filters: { id }, orderBy, limit: 1, after: null })
  const [row] = json.data.rows
  return Object.fromEntries(complete.split(', ').map((term) => {
    const [name = ''] = term.split(' ')
    return [name, row[name]]
  }))
}

await onEachEngine(t, 'a page far into a table reads as many rows as the first one', {
  schema, only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 }
}, async (t, service) => {
  for (const each of pages) {
    const { only, where, ...page } = each
    // MySQL does not read backwards an index whose parts have different directions
    if (only !== undefined && only !== service.engine) continue
    for (const share of [0, 0.5, 0.9]) {
      const after = share === 0 ? null : await positionAt(service, each, share)
      service.statements()
      const { json } = await service.post('events', { verb: 'select', limit: LIMIT, ...page, after })
      t.equal(json.data.count, LIMIT)
      t.not(json.data.next, null)
      const statement = service.statements().at(-1) as string
      const read = await countReadRows(service.sql, [statement])
      const [{ Value: sorted }] = await service.sql("show session status like 'Sort_rows'")
      t.ok(read <= LIMIT + 10 && Number(sorted) === 0, `${read} rows read: ${statement}`)
    }
  }
})

// What members cost: statements, and rows read by the server's own counters, also where one row has many more related
// rows than the others.

const PARENTS = 300
const MANY = 20_000
const CROWDED = 50
const EACH = [1, 3, 8]

/** Each parent has 1, 3 or 8 children in a table, and one of them has many. */
const schemaOfIncludeCost = (): string[] => [
  'create table parents (id int not null primary key, wide bigint unsigned, code varchar(8) not null, ' +
    'tenant int not null)',
  `insert into parents select n + 1, if(n = 7, 18446744073709551615, n + 1), concat('c', n + 1), 1
    from ${numbersOf(5)} where n < ${PARENTS}`,
  ...EACH.flatMap((each) => [
    `create table children${each} (
      id int not null auto_increment primary key, parent_id int not null, wide int not null, code varchar(8) not null,
      tenant int not null, line int not null, note varchar(20) not null, key by_parent (parent_id, line),
      key by_wide (wide, line), key by_code (code, line), key by_tenant (tenant, parent_id, line))`,
    `insert into children${each} (parent_id, wide, code, tenant, line, note)
      select n div ${each} + 1, n div ${each} + 1, concat('C', n div ${each} + 1), 1, n % ${each}, 'few'
      from ${numbersOf(5)} where n < ${PARENTS * each}`,
    `insert into children${each} (parent_id, wide, code, tenant, line, note)
      select ${CROWDED}, ${CROWDED}, 'c${CROWDED}', 1, 100 + n, 'many' from ${numbersOf(5)} where n < ${MANY}`
  ]),
  'analyze table parents, children1, children3, children8'
]

const ons: Array<readonly [on: Record<string, string>, filters?: object]> = [
  [{ id: 'parent_id' }], [{ wide: 'wide' }], [{ code: 'code' }], [{ id: 'parent_id', tenant: 'tenant' }],
  [{ id: 'parent_id' }, { tenant: 1 }]
]

/** What a list may read: the rows returned, six for each value, and limit + 1 for each 250 values. */
const mostRead = ({ returned, values, limit }: {
  readonly returned: number, readonly values: number, readonly limit: number
}): number =>
  returned + 6 * values + Math.ceil(values / 250) * (limit + 1)

await onEachEngine(t, `rows read for lists are bounded, also with ${MANY} for one row`, {
  schema: schemaOfIncludeCost, only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 }
}, async (t, { post, sql, statements }) => {
  for (const [index, [each, [on, filters]]] of EACH.flatMap((each) => ons.map((on) => [each, on] as const)).entries()) {
    for (const [order, limit] of index % 2 === 0
      ? [
          ['line', 1], ['line DESC', 5], ['line', 100]
        ] as const
      : [['line DESC', 1], ['line', 5], ['line DESC', 100]] as const) {
      const children = {
        table: `children${each}`,
        on,
        ...filters !== undefined && { filters },
        columns: ['parent_id', 'line'],
        orderBy: order,
        limit
      }
      statements()
      const { json } = await post('parents', {
        verb: 'select', columns: ['id', 'wide'], orderBy: 'id', limit: 200, include: { children }
      })
      const sent = statements().filter((statement) => statement.includes(`\`children${each}\``))
      const rows = json.data.rows as Array<{ id: number, children: Array<{ line: number, parent_id: number }> }>
      for (const { id, children } of rows) {
        const lines = id === 8 && 'wide' in on
          ? []
          : [...Array(each).keys(), ...id === CROWDED ? Array.from({ length: MANY }, (_, index) => 100 + index) : []]
        const wanted = (order === 'line' ? lines : lines.reverse()).slice(0, limit)
        if (JSON.stringify(children) !== JSON.stringify(wanted.map((line) => ({ parent_id: id, line })))) {
          t.fail(`${each} ${JSON.stringify(on)} ${order} ${limit}: ${id} has ${JSON.stringify(children)}`)
        }
      }
      t.ok(sent.length <= 2, `${sent.length} statements`)
      const read = await countReadRows(sql, sent)
      const most = mostRead({
        returned: rows.reduce((sum, { children }) => sum + children.length, 0), values: 200, limit
      })
      t.ok(
        read <= most,
        `${JSON.stringify({ each, on, filters, order, limit })}: ${read} rows read, at most ${most}: ` +
          `${sent[0]?.slice(0, 300)}`
      )
    }
  }
  for (const [order, first, most] of [
    ['line', 0, 200], ['line DESC', 100 + MANY - 1, 200], ['note', 0, 2 * MANY + 400]
  ] as const) {
    statements()
    const { json } = await post('parents', {
      verb: 'select',
      columns: ['id'],
      orderBy: 'id',
      limit: 200,
      include: {
        first: { table: 'children1', on: { id: 'parent_id' }, as: 'object', columns: ['line'], orderBy: order }
      }
    })
    t.strictSame(json.data.rows.map(({ first }: { first: object }) => first), Array.from(
      { length: 200 }, (_, index) => ({ line: index + 1 === CROWDED ? first : 0 })
    ))
    const sent = statements().filter((statement) => statement.includes('`children1`'))
    t.equal(sent.length, 1)
    const read = await countReadRows(sql, sent)
    t.ok(read <= most, `an object ordered by ${order}: ${read} rows read, at most ${most}`)
  }
  statements()
  const { json } = await post('parents', {
    verb: 'select',
    columns: ['id'],
    orderBy: 'id',
    limit: 200,
    include: {
      children: {
        table: 'children3',
        on: { id: 'parent_id' },
        limit: 5,
        orderBy: 'parent.code, line',
        columns: ['line'],
        include: { parent: { table: 'parents', on: { parent_id: 'id' }, columns: ['code'] } }
      }
    }
  })
  t.strictSame(json.data?.rows.map(({ children }: { children: unknown[] }) => children), Array.from(
    { length: 200 },
    (_, index) => Array.from({ length: index + 1 === CROWDED ? 5 : 3 }, (_, line) => ({
      line: line < 3 ? line : 97 + line, parent: { code: `c${index + 1}` }
    }))
  ), JSON.stringify(json.error))
  const sorted = statements().filter((statement) => statement.includes('`children3`'))
  t.equal(sorted.length, 1, 'an order by a member reads every related row, once')
  const reads = await countReadRows(sql, sorted)
  t.ok(reads <= 3 * (MANY + 3 * 200), `a list ordered by its member: ${reads} rows read`)
  for (const orderBy of ['line', 'line DESC', 'id']) {
    statements()
    const { json } = await post('parents', {
      verb: 'select',
      columns: ['id'],
      filters: { id: CROWDED },
      include: { children: { table: 'children1', on: { id: 'parent_id' }, orderBy, limit: 10 } }
    })
    t.equal(json.data.rows[0].children.length, 10)
    const read = await countReadRows(sql, statements().filter((statement) => statement.includes('`children1`')))
    // no index has the order by the key
    if (orderBy !== 'id') {
      t.ok(
        read <= mostRead({ returned: 10, values: 1, limit: 10 }),
      `one row alone, ordered by ${orderBy}: ${read} rows read`
      )
    }
  }
  statements()
  t.equal((await post('parents', {
    verb: 'select',
    columns: ['id'],
    orderBy: 'id',
    limit: 300,
    include: { children: { table: 'children1', on: { id: 'parent_id' }, limit: 2 } }
  })).json.data.count, 300)
  t.ok(
    statements().filter((statement) => statement.includes('`children1`')).length <= 4,
    'at most two statements for each 250 values'
  )
})

await onEachEngine(t, 'a member that is one row is joined: no statement of its own, and no transaction', {
  schema: schemaOfIncludeCost, only: ['mariadb', 'mysql']
}, async (t, { post, sql, statements }) => {
  statements()
  const { json } = await post('children1', {
    verb: 'select',
    columns: ['parent_id'],
    orderBy: 'id',
    limit: 100,
    include: { parent: { table: 'parents', on: { parent_id: 'id' }, columns: ['code'] } }
  })
  for (const { parent_id: id, parent } of json.data.rows) if (parent.code !== `c${id}`) t.fail(`${id}: ${parent.code}`)
  t.equal(json.data.count, 100)
  const sent = statements()
  t.equal(sent.length, 1, sent.join('\n'))
  const read = await countReadRows(sql, sent)
  t.ok(read <= 300, `${read} rows read`)
  statements()
  const groups = await post('children1', {
    verb: 'select',
    filters: { id: { $lte: 1000 } },
    groupBy: [{ code: { parent: 'code' } }],
    aggregates: { n: { $count: '*' } },
    include: { parent: { table: 'parents', on: { parent_id: 'id' } } },
    limit: 1000
  })
  t.equal(groups.json.data?.count, PARENTS, JSON.stringify(groups.json.error))
  const grouped = statements()
  t.equal(grouped.length, 1)
  const readForGroups = await countReadRows(sql, grouped)
  // each selected row and its parent, then the groups in a temporary table
  t.ok(readForGroups <= 4 * 1000 + 10, `${readForGroups} rows read for groups by a column of a member`)
})

await onEachEngine(t, 'a list of long texts or with many filters is divided into statements that the database takes', {
  schema: () => [
    'create table words (id integer not null primary key, word varchar(8000) not null)',
    'create index by_word on words (word)'
  ],
  only: ['sqlite'],
  // a busy machine
  database: { statementTimeout: 60_000 }
}, async (t, { post, statements }) => {
  const word = (id: number): string => `${id} `.padEnd(7000, 'x')
  for (let from = 0; from < 400; from += 100) {
    t.equal((await post('words', {
      verb: 'insert', data: Array.from({ length: 100 }, (_, index) => ({ id: from + index, word: word(from + index) }))
    })).status, 200)
  }
  for (const [rows, filters] of [
    [400, {}], [50, { id: { $in: Array.from({ length: 1000 }, (_, index) => index) } }]
  ] as const) {
    statements()
    const { json } = await post('words', {
      verb: 'select',
      columns: ['id'],
      orderBy: 'id',
      limit: rows,
      include: { same: { table: 'words', on: { word: 'word' }, columns: ['id'], filters } }
    })
    t.same(
      json.data?.rows, Array.from({ length: rows }, (_, id) => ({ id, same: [{ id }] })),
      JSON.stringify(json).slice(0, 300)
    )
    t.ok(statements().length > 2)
  }
})

// What filters by related rows cost: rows read by the server's own counters, with as many related rows as a table can
// hold.

const RELATED = 1000
/** Each parent has a child of each `sku`, and children of each `sku` have all parents. */
const schemaOfRelatedCost = (): string[] => [
  'create table parents (id int not null primary key, code varchar(8) not null)',
  'create table children (id int not null primary key, parent_id int not null, sku int not null, kind int not null)',
  `insert into parents select n + 1, concat('c', n + 1) from ${numbersOf(3)}`,
  `insert into children select n, n div ${RELATED} + 1, n % ${RELATED}, 1 from ${numbersOf(6)}`,
  'alter table children add key by_parent (parent_id), add key by_sku (sku), add key by_kind (kind, parent_id)'
]

const on = { id: 'parent_id' }

/**
 * Filters, how many rows are asked for, how many come, and how many may be read for each row that is looked at, besides
 * the row itself.
 */
const cases: Array<[name: string, filters: object, rows: number, each: number]> = [
  ['some, and the first related row passes', { $some: { children: { on } } }, 100, 2],
  [
    'some, with another index for its filter', { $some: { children: { on, filters: { sku: 999 } } } }, 10,
    RELATED + 2
  ],
  [
    'none, with another index for its filter, and no related row passes',
    { $none: { children: { on, filters: { sku: 1000 } } } }, 10, RELATED + 2
  ],
  ['none, in an index that begins with what the filter holds equal', {
    $none: { children: { on, filters: { kind: 2 } } }
  }, 100, 2],
  ['some, in an index that begins with what the filter holds equal', {
    $some: { children: { on, filters: { kind: 1 } } }
  }, 100, 2],
  ['at least three', { $some: { children: { on, count: { $gte: 3 } } } }, 100, 4],
  [
    'at most as many as there are', { $some: { children: { on, count: { $lte: RELATED } } } }, 10,
    RELATED + 2
  ],
  [
    'between two and some', { $some: { children: { on, count: { $between: [2, RELATED] } } } }, 10,
    RELATED + 5
  ],
  ['two levels', {
    $some: {
      children: {
        on,
        filters: { kind: 1, $some: { parents: { on: { parent_id: 'id' }, filters: { code: { $startsWith: 'c' } } } } }
      }
    }
  }, 100, 4],
  [
    'none of two levels',
    { $none: { children: { on, filters: { kind: 1, $none: { parents: { on: { parent_id: 'id' } } } } } } }, 5,
    2 * RELATED + 2
  ],
  ['an alternative', { $or: [{ id: 5 }, { $some: { children: { on, filters: { kind: 1 } } } }] }, 100, 2]
]

await onEachEngine(t, 'filters read the rows that are related to the rows they look at, and no others', {
  schema: schemaOfRelatedCost, only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 }
}, async (t, { post, statements, sql }) => {
  for (const analyzed of [false, true]) {
    if (analyzed) await sql('analyze table parents, children')
    for (const [name, filters, rows, each] of cases) {
      statements()
      const { json } = await post('parents', { verb: 'select', columns: ['id'], filters, limit: rows })
      t.equal(json.data?.count, rows, JSON.stringify(json.error))
      const [statement = ''] = statements()
      const read = await countReadRows(sql, [statement])
      const most = rows * (1 + each) + 5
      t.ok(read <= most, `${name}: ${read} rows read, at most ${most}: ${statement}`)
    }
    statements()
    t.same((await post('parents', {
      verb: 'update',
      filters: { id: { $lte: 10 }, $some: { children: { on, filters: { sku: 1000 } } } },
      data: { code: 'x' }
    })).json.data, { updated: 0 })
    const [update = ''] = statements()
    const read = await countReadRows(sql, [update])
    t.ok(read <= 10 * (RELATED + 3) + 25, `${read} rows read: ${update}`)
  }
})
