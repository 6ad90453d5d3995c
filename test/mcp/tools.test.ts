/**
 * The tools over HTTP: what each returns, refusals, exact numbers, grants, and requests that are closed. Tasks that
 * people give to a model, as sequences of calls: a call that fails is one that a model makes at first; its answer must
 * contain what the next, right call needs (`tells`). Descriptions fit into the context of a model: those of wide
 * tables, and lists of many tables.
 */
import t from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import { ENVELOPE } from '../../src/response/response-sink.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { running } from '../support/connections.ts'
import { callOf, connectTo, ERAS, send } from '../support/mcp.ts'
import { anyEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine, type Schema, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { listen, request } from '../support/wire.ts'

const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const big = 'create table big (id bigint not null primary key, total decimal(15,5) not null, doc json null)'
const texts = 'create table texts (id int not null primary key, body longtext not null, note varchar(10) null)'
const broken = ['create table gone (id int)', 'create view broken as select id from gone', 'drop table gone']
const schema: Schema = {
  sqlite: [...sqlite, big, texts.replace('longtext', 'text'), ...broken],
  mysql: [
    ...mysql, big, texts, ...broken, 'create table hidden_parents (id int not null primary key)',
    'create view slow as select id, sleep(20) as slept from customers'
  ]
}

const tokens = [
  tokenOf('reader', { permissions: ['select'] }),
  tokenOf('writer', { permissions: ['insert'], databases: { shop: ['settings'] } }),
  tokenFor('narrow', {
    orders: { permissions: ['select'], columns: { select: ['id', 'customer_id'] }, rows: { id: 1 } },
    customers: { permissions: ['select', 'update'], columns: { select: ['id', 'name'], update: ['name', 'note'] } }
  }),
  tokenOf('nobody', { permissions: ['delete'], databases: { shop: { settings: { permissions: [] } } } }),
  tokenFor('claimless', { orders: { permissions: ['select'], rows: { id: { $claim: '/order' } } } })
]

const only = await anyEngine(t)
const settings = { schema, only, tokens, options: { mcp: { verbs: [...VERBS] }, requestLog: true, metrics: true } }
const inShop = (table: string, rest: object = {}) => ({ database: 'shop', table, ...rest })

await onEachEngine(t, 'tools', settings, async (t, service) => {
  const { engine, post, sql, log } = service
  const isServer = engine !== 'sqlite'

  await t.test('in both eras of the protocol, a client finds the tools and calls each of them', async (t) => {
    for (const era of ERAS) {
      const { client, call } = await connectTo(t as never, service, { era })
      t.equal(client.getNegotiatedProtocolVersion(), era === 'auto' ? '2026-07-28' : '2025-11-25')
      t.match(client.getServerVersion(), { name: 'row-query' })
      t.match(client.getInstructions(), /list_tables/)
      const { tools } = await client.listTools()
      for (const { name, description } of tools) {
        if ([
          'select', 'update', 'delete'
        ].includes(name)) t.match(description, /\$between.*\$none/s, 'filters, also by related rows')
      }
      t.same(tools.map(({ name, annotations }) => [name, annotations]), [
        ['list_tables', { readOnlyHint: true, openWorldHint: false }],
        ['describe_table', { readOnlyHint: true, openWorldHint: false }],
        ['select', { readOnlyHint: true, openWorldHint: false }],
        ['insert', { readOnlyHint: false, destructiveHint: false, openWorldHint: false }],
        ['update', { readOnlyHint: false, destructiveHint: true, openWorldHint: false }],
        ['delete', { readOnlyHint: false, destructiveHint: true, openWorldHint: false }]
      ])
      for (const tool of tools) {
        t.equal(tool.outputSchema, undefined)
        t.match(tool.inputSchema, {
          type: 'object', properties: { database: { enum: ['shop'] } }, additionalProperties: false
        }, tool.name)
      }
      const { result: { tables, ...page } } = await call('list_tables')
      t.match(page, { databases: ['shop'], next: null, count: tables.length })
      t.match(tables.find(({ table }: { table: string }) => table === 'orders'), {
        database: 'shop', table: 'orders', kind: 'table', comment: '', verbs: [...VERBS]
      })
      t.match(tables.find(({ table }: { table: string }) => table === 'order_lines'), {
        kind: 'view', verbs: ['select']
      })

      const { result: described } = await call('describe_table', inShop('orders'))
      t.match(described, {
        database: 'shop', table: 'orders', verbs: [...VERBS], primaryKey: ['id'], insert: { required: ['customer_id'] }
      })
      t.match(described.columns, [
        { name: 'id', type: String, schema: { type: 'integer' }, nullable: false, autoIncrement: true },
        { name: 'customer_id', nullable: false },
        { name: 'note', type: /^varchar/, schema: { type: 'string' }, nullable: true, operators: 'text' }
      ])
      t.same(described.relations, [{ table: 'customers', on: { customer_id: 'id' }, rows: 'one' }, {
        table: 'order_items', on: { id: 'order_id' }, rows: 'many'
      }])

      t.match(tools.find(({ name }) => name === 'describe_table')?.description, /A view .* needs "on"/)

      t.same((await call('insert', inShop('settings', { data: { id: 50, level: 1 } }))).result, { inserted: 1, id: 50 })
      t.same((await call(
        'update', inShop('settings', { data: { level: { $inc: 4 } }, filters: { id: 50 }, expect: 1, dryRun: true })
      )).result, { updated: 1, dryRun: true })
      t.same((await call('update', inShop('settings', {
        data: { level: { $inc: 4 } }, filters: { id: 50 }, expect: 1, returning: ['level']
      }))).result, { rows: [{ level: 5 }], updated: 1 })
      t.same((await call('select', inShop('settings', { filters: { id: 50 } }))).result, {
        rows: [{ id: 50, level: 5, note: null }], count: 1, next: null
      })
      t.same((await call('delete', inShop('settings', { filters: { id: 50 } }))).result, { deleted: 1 })
      t.same(log.splice(0).map((line) => JSON.parse(line)).filter(({ tool }) => tool !== undefined).map((
        { tool, verb, table, status, rows, token }
      ) => [tool, verb, table, status, rows, token].filter((each) => each !== undefined)), [
        ['list_tables', 200, 'everything'], ['describe_table', 200, 'everything'],
        ['insert', 'insert', 'settings', 200, 1, 'everything'],
        ['update', 'update', 'settings', 200, 1, 'everything'], ['update', 'update', 'settings', 200, 1, 'everything'],
        ['select', 'select', 'settings', 200, 1, 'everything'], ['delete', 'delete', 'settings', 200, 1, 'everything']
      ], 'one record for each call')
      const lines = {
        include: { order_lines: { on: { id: 'order_id' }, columns: ['line'] } },
        filters: { $some: { order_lines: { on: { id: 'order_id' } } } },
        limit: 1
      }
      t.ok((await call('select', inShop('orders', lines))).result.rows[0].order_lines.length > 0)
      log.splice(0)
    }
  })

  await t.test('a select is a page of 50 where the table and the order allow it', async (t) => {
    const { call } = await connectTo(t as never, service)
    await post('settings', {
      verb: 'insert', data: Array.from({ length: 60 }, (_, index) => ({ id: 100 + index, level: index % 3 }))
    })
    const first = (await call('select', inShop('settings'))).result
    t.match([first.count, first.next], [50, { id: 149 }])
    t.match((await call('select', inShop('settings', { after: first.next }))).result, { count: 10, next: null })
    t.match((await call('select', inShop('settings', { limit: 60, orderBy: 'level DESC', columns: ['id'] }))).result, {
      count: 60, next: null
    })
    t.same(Object.keys((await call('select', inShop('order_lines'))).result), ['rows', 'count'], 'a view has no key')
    t.same((await call('select', inShop('settings', { offset: 58, columns: ['id'] }))).result, {
      rows: [{ id: 158 }, { id: 159 }], count: 2, next: null
    })
    t.same((await call(
      'select', inShop('settings', { groupBy: ['level'], aggregates: { n: { $count: '*' } }, orderBy: 'level' })
    )).result, { rows: [{ level: 0, n: 20 }, { level: 1, n: 20 }, { level: 2, n: 20 }], count: 3 })
    t.match(
      (await call('select', inShop('products', { orderBy: 'tags' }))),
      { isError: true, result: { code: 'INVALID_ORDER_BY', message: /sorted/ } }, 'an order that is never possible'
    )
    t.match((await call('select', inShop('orders', {
      columns: ['id'],
      include: { customers: { columns: ['name'] }, order_items: { aggregates: { n: { $count: '*' } } } }
    }))).result, {
      rows: [{
        id: 1, customers: { name: 'Ada' }, order_items: { n: 2 }
      }, { id: 2, customers: { name: 'Grace' }, order_items: { n: 0 } }],
      count: 2,
      next: null
    })
    t.same((await call('select', inShop('orders', {
      columns: ['id'], include: { customers: { columns: ['name'] } }, orderBy: 'customers.name DESC'
    }))).result, {
      rows: [{ id: 2, customers: { name: 'Grace' } }, { id: 1, customers: { name: 'Ada' } }], count: 2
    }, 'an order by a member has no position')
    await post('settings', { verb: 'delete', filters: { id: { $gte: 100 } } })
  })

  await t.test('numbers are exact in both directions', async (t) => {
    const id = '9007199254740993'
    const inserted = await send(service, callOf(
      'insert',
      '{"database":"shop","table":"big","data":{"id":' +
        `${id},"total":1234567890.10000,"doc":{"n":52.0,"big":18446744073709551615}},"returning":"*"}`
    ))
    const row = `{"id":${id},"total":"1234567890.10000","doc":{"n":52.0,"big":18446744073709551615}}`
    const compact = inserted.text.replaceAll(' ', '')
    t.match(compact, `"structuredContent":{"rows":[${row}],"inserted":1,"id":${id}}`)
    t.match(compact, JSON.stringify(`{"rows":[${row}],"inserted":1,"id":${id}}`), 'in the text too')
    t.match((await send(
      service, callOf('select', `{"database":"shop","table":"big","filters":{"id":{"$gte":${id}}},"columns":["id"]}`)
    )).text, `"structuredContent":{"rows":[{"id":${id}}],"count":1,"next":null}`)
    for (const filters of ['{"id":9007199254740992}', `{"id":{"$gt":${id}}}`]) {
      t.match((await send(
        service, callOf('select', `{"database":"shop","table":"big","filters":${filters}}`)
      )).json.result.structuredContent, { count: 0 }, 'its neighbour is another number')
    }
    t.equal((await send(
      service, callOf('select', '{"database":"shop","table":"big","limit":1.0}')
    )).json.result.structuredContent.count, 1, 'fields have ordinary numbers')
    await post('big', { verb: 'delete', filters: { id: { $gt: 0 } } })
  })

  await t.test('every refusal is a result with code, message and details', async (t) => {
    const { call } = await connectTo(t as never, service)
    log.splice(0)
    const refused: Array<[tool: string, args: Record<string, unknown>, code: string, path?: string]> = [
      ['select', {}, 'INVALID_BODY', '/database'],
      ['select', { database: 'shop' }, 'INVALID_BODY', '/table'],
      ['select', { database: 5, table: 'orders' }, 'INVALID_BODY', '/database'],
      ['select', { database: 'nope', table: 'orders' }, 'DATABASE_NOT_FOUND'],
      ['select', inShop('nope'), 'TABLE_NOT_FOUND'],
      ['select', inShop('orders', { verb: 'delete', filters: { id: 1 } }), 'INVALID_BODY', '/verb'],
      ['select', inShop('orders', { data: {} }), 'INVALID_BODY', '/data'],
      ['select', inShop('orders', { columns: ['id', 'nope'] }), 'COLUMN_NOT_FOUND', '/columns/1'],
      ['select', inShop('orders', { filters: { id: 'x' } }), 'INVALID_VALUE', '/filters/id'],
      ['select', inShop('orders', { expect: 7 }), 'EXPECTATION_FAILED', '/expect'],
      ['insert', inShop('orders', { data: { customer_id: 999 } }), 'FOREIGN_KEY_VIOLATION'],
      ['insert', inShop('customers', { data: { email: 'ada@example.com', name: 'Ada' } }), 'UNIQUE_VIOLATION'],
      [
        'insert', inShop('customers', { data: { email: 'x@example.com', name: 'x', credit: '-200' } }),
        'CHECK_VIOLATION'
      ],
      [
        'update', inShop('orders', { data: { note: 'x' }, filters: { id: 1 }, expect: 2 }), 'EXPECTATION_FAILED',
        '/expect'
      ],
      ['delete', inShop('orders', { filters: {} }), 'FILTERS_REQUIRED', '/filters'],
      ['list_tables', { database: 'nope' }, 'DATABASE_NOT_FOUND'],
      ['list_tables', { limit: 0 }, 'LIMIT_OUT_OF_RANGE', '/limit'],
      ['list_tables', { limit: 'x' }, 'INVALID_BODY', '/limit'],
      ['list_tables', { contains: 5 }, 'INVALID_BODY', '/contains'],
      ['list_tables', { after: 'x' }, 'INVALID_BODY', '/after'],
      ['list_tables', { after: { database: 'nope', table: 'x' } }, 'INVALID_BODY', '/after'],
      ['list_tables', { tables: 5 }, 'INVALID_BODY', '/tables'],
      ['describe_table', {}, 'INVALID_BODY', '/database'],
      ['describe_table', inShop('nope'), 'TABLE_NOT_FOUND'],
      ['describe_table', inShop('broken'), 'BROKEN_DEFINITION'],
      ['describe_table', inShop('orders', { columns: [] }), 'INVALID_BODY', '/columns'],
      ['describe_table', inShop('orders', { columns: ['nope'] }), 'COLUMN_NOT_FOUND', '/columns/0'],
      ['describe_table', inShop('orders', { columns: ['id', 'note', 'id'] }), 'INVALID_BODY', '/columns']
    ]
    for (const [tool, args, code, path] of refused) {
      const { isError, result } = await call(tool, args)
      t.same([isError, result.code], [true, code], `${tool} ${JSON.stringify(args)}: ${result.message}`)
      t.same(Object.keys(result), ['code', 'message', 'details'])
      if (path !== undefined) t.equal(result.details[0].path, path, tool)
    }
    for (const line of log.splice(0).map((each) => JSON.parse(each)).filter(({ tool }) => tool !== undefined)) {
      t.ok(line.status >= 400 && line.code !== undefined, 'a record has the status that a request would have')
    }
    t.match(
      await service.server.rows.registry.metrics(),
      /row_query_requests_total\{verb="select",database="shop",status="404",code="TABLE_NOT_FOUND"\} 1\n/
    )
    await t.rejects(call('operations', {}), { code: -32602, message: /Unknown tool/ }, 'operations are no tool')
    await t.rejects(call('nope'), {
      code: -32602, message: /Unknown tool: nope; the tools are list_tables, describe_table, select, /
    })
    t.same(await sql('select count(*) as n from orders'), [{ n: 2 }], 'nothing was changed')
  })

  await t.test('a result has at most 256 KiB', async (t) => {
    const { call } = await connectTo(t as never, service)
    await post('texts', {
      verb: 'insert', data: [{ id: 1, body: 'x'.repeat(150_000) }, { id: 2, body: 'y'.repeat(150_000) }]
    })
    const { isError, result } = await call('select', inShop('texts'))
    t.same([isError, result.code], [true, 'RESULT_TOO_LARGE'])
    t.match(result.message, /larger than 262144 bytes; .*name fewer "columns"/)
    const { text } = await call('select', inShop('texts', { limit: 1 }))
    t.ok(text.length > 150_000 && text.length < 262_144 - ENVELOPE.length)
    t.match((await call('select', inShop('texts', { columns: ['id'] }))).result, { count: 2 })
    t.match((await call('delete', inShop('texts', { filters: { id: [1, 2] }, returning: '*' }))), {
      isError: true, result: { code: 'RESULT_TOO_LARGE' }
    })
    t.same((await sql('select count(*) as n from texts')), [{ n: 2 }], 'rolled back')
    for (const [tool, args] of [
      ['select', inShop('texts', { columns: ['é'.repeat(200_000)] })], ['select', inShop('é'.repeat(200_000))],
      ['describe_table', inShop('texts', { columns: ['é'.repeat(200_000)] })]
    ] as const) {
      const refused = await call(tool, args)
      t.ok(
        refused.isError && Buffer.byteLength(refused.text) < 10_000,
        `a refusal repeats what was sent only in part: ${refused.text.slice(0, 40)}`
      )
      t.match(refused.result, { code: /_NOT_FOUND$/, details: [] })
    }
    t.equal((await post('texts', { verb: 'select' })).status, 200, 'requests have their own limit')
    await post('texts', { verb: 'delete', filters: { id: [1, 2] } })
  })

  await t.test('a token sees and does what its grant allows', async (t) => {
    const reader = await connectTo(t as never, service, { token: 'reader' })
    t.same((await reader.client.listTools()).tools.map(({ name }) => name), ['list_tables', 'describe_table', 'select'])
    t.match(await reader.call('delete', inShop('orders', { filters: { id: 1 } })), {
      isError: true, result: { code: 'PERMISSION_DENIED' }
    })

    const writer = await connectTo(t as never, service, { token: 'writer' })
    t.same((await writer.client.listTools()).tools.map(({ name }) => name), ['list_tables', 'describe_table', 'insert'])
    t.match((await writer.call('list_tables')).result, { tables: [{ table: 'settings', verbs: ['insert'] }], count: 1 })
    t.match((await writer.call('describe_table', inShop('settings'))).result, { verbs: ['insert'], relations: [] })
    t.match((await writer.call('insert', inShop('settings', { data: {}, returning: '*' }))).result, {
      code: 'PERMISSION_DENIED'
    })

    const narrow = await connectTo(t as never, service, { token: 'narrow' })
    t.match((await narrow.call('list_tables')).result.tables, [
      { table: 'customers', verbs: ['select', 'update'] }, { table: 'orders', verbs: ['select'] }
    ])
    const { result: described, text } = await narrow.call('describe_table', inShop('customers'))
    t.same(described.columns.map(({ name }: { name: string }) => name), ['id', 'name'])
    t.match(described, { writeOnlyColumns: [{ name: 'note' }], update: { columns: ['name', 'note'] } })
    t.notMatch(text, /email|credit|created_at|login|order_items/, 'nothing of what is hidden')
    const { result: named } = await narrow.call('describe_table', inShop('customers', { columns: ['note', 'id'] }))
    t.match(
      [named.columns, named.writeOnlyColumns], [[{ name: 'id' }], [{ name: 'note', type: String }]],
      'columns that it can only write can be named'
    )
    t.equal(named.columns.length, 1)
    t.same(described.relations, [{ table: 'orders', on: { id: 'customer_id' }, rows: 'many' }])
    t.same((await narrow.call('select', inShop('orders', { include: { customers: {} } }))).result, {
      rows: [{ id: 1, customer_id: 1, customers: { id: 1, name: 'Ada' } }], count: 1, next: null
    })
    const hidden = await narrow.call('describe_table', inShop('products'))
    t.strictSame(
      hidden.text.replace('products', 'nowhere'), (await narrow.call('describe_table', inShop('nowhere'))).text,
      'a hidden table looks like none'
    )
    t.match((await narrow.call('describe_table', inShop('orders', { columns: ['note'] }))).result, {
      code: 'COLUMN_NOT_FOUND'
    })
    t.match((await narrow.call('list_tables', { contains: 'product' })).result, { tables: [], count: 0, next: null })
    t.match((await narrow.call('select', inShop('orders', { include: { products: {} } }))).result, {
      code: 'TABLE_NOT_FOUND'
    })

    const nobody = await connectTo(t as never, service, { token: 'nobody' })
    t.same((await nobody.client.listTools()).tools, [])
    t.match((await nobody.call('list_tables')).result, { databases: [], tables: [] })
    t.match((await nobody.call('list_tables', { database: 'shop' })).result, { code: 'DATABASE_NOT_FOUND' })

    const claimless = await connectTo(t as never, service, { token: 'claimless' })
    t.match(await claimless.call('select', inShop('orders')), {
      isError: true, result: { code: 'PERMISSION_DENIED', message: /claim/ }
    })
  })

  if (!isServer) return
  await t.test('a request that is closed ends its statement', async () => {
    const wire = await listenOn(service)
    const socket = await wire.open()
    socket.on('error', () => {})
    socket.write(request({ start: 'POST /api/mcp HTTP/1.1', body: callOf('select', inShop('slow')) }))
    await until('the statement runs', async () => (await running(service)).some(
      (statement) => statement.startsWith('select `id`')
    ))
    socket.resetAndDestroy()
    await until('it has ended', async () => (await running(service)).length === 0)
    await until('the reason is logged', () => log.some((line) => line.includes('"reason":"CLIENT_GONE"')))
  })
})

/** The service listens already. */
async function listenOn (service: Service): ReturnType<typeof listen> {
  const { server } = service.server.app
  return await listen({
    ...service, server: { ...service.server, app: { ...service.server.app, listen: async () => '', server } as never }
  })
}

const id = (engine: EngineName): string =>
  engine === 'sqlite' ? 'id integer primary key autoincrement' : 'id bigint not null auto_increment primary key'
const status = (engine: EngineName): string => engine === 'sqlite'
  ? "varchar(10) not null default 'new' check (status in ('new', 'paid', 'sent'))"
  : "enum('new', 'paid', 'sent') not null default 'new'"

const tasksSchema = (engine: EngineName): string[] => [
  `create table customers (${id(engine)}, email varchar(100) not null, name varchar(50) not null,
    street varchar(100) null, constraint customers_email unique (email))`,
  'create table products (sku varchar(20) not null primary key, name varchar(50) not null, price decimal(10,2) not ' +
    'null, stock int not null default 0)',
  `create table orders (${id(engine)}, customer_id bigint not null, delivered_to bigint null, status ${status(engine)},
    total decimal(10,2) not null default 0, ordered_at datetime not null,
    constraint orders_customer foreign key (customer_id) references customers (id),
    constraint orders_delivered foreign key (delivered_to) references customers (id))`,
  `create table order_items (order_id bigint not null, line int not null, product_sku varchar(20) not null,
    quantity int not null,
    primary key (order_id, line), foreign key (order_id) references orders (id),
    foreign key (product_sku) references products (sku))`,
  "insert into customers (id, email, name, street) values (1, 'ada@example.com', 'Ada Byron', '1 Main Sreet'), (2, " +
    "'grace@example.com', 'Grace Hopper', null), (3, 'linus@example.com', 'Linus Pauling', 'Side Road 2')",
  "insert into products values ('MUG', 'Mug', '7.50', 10), ('CUP', 'Cup', '5.00', 3), ('POT', 'Tea Pot', '30.00', 0)",
  `insert into orders (id, customer_id, delivered_to, status, total, ordered_at) values (1, 1, null, 'paid', '15.00',
    '2026-01-10 10:00:00'), (2, 2, 1, 'sent', '20.00', '2026-02-10 10:00:00'),
    (3, 1, null, 'new', '7.50', '2026-02-20 10:00:00'), (4, 3, null, 'new', '5.00', '2026-03-01 10:00:00')`,
  "insert into order_items values (1, 1, 'MUG', 2), (2, 1, 'CUP', 4), (3, 1, 'MUG', 1), (4, 1, 'CUP', 1)"
]

interface Step {
  readonly tool: string
  readonly args: Record<string, unknown>
  /** What the result has. */
  readonly gives?: unknown
  /** The code of a refusal, and what its text has for the next call. */
  readonly refused?: string
  readonly tells?: RegExp
}

const of = (table: string, rest: object = {}) => ({ database: 'shop', table, ...rest })

const tasks: ReadonlyArray<[task: string, steps: readonly Step[]]> = [
  ['Find the customer whose e-mail begins with grace.', [
    {
      tool: 'list_tables', args: { contains: 'customer' }, gives: { tables: [{ database: 'shop', table: 'customers' }] }
    },
    {
      tool: 'describe_table',
      args: of('customers'),
      gives: { columns: [{ name: 'id' }, { name: 'email' }, { name: 'name' }, { name: 'street' }] }
    },
    {
      tool: 'select',
      args: of('customers', { filters: { email: { $startsWith: 'grace' } } }),
      gives: { rows: [{ id: 2, name: 'Grace Hopper' }], count: 1, next: null }
    }
  ]],
  ['In which month did we sell most?', [
    {
      tool: 'select', args: of('sales'), refused: 'TABLE_NOT_FOUND', tells: /"sales" does not exist in database "shop"/
    },
    { tool: 'list_tables', args: {}, gives: { count: 4 } },
    { tool: 'describe_table', args: of('orders'), gives: { table: 'orders' } },
    {
      tool: 'select',
      args: of('orders', { groupBy: ['month'], aggregates: { sum: { $sum: 'total' } } }),
      refused: 'COLUMN_NOT_FOUND',
      tells: /"month" does not exist in table "orders"/
    },
    {
      tool: 'select',
      args: of('orders', {
        groupBy: [{ month: { $month: 'ordered_at' } }],
        aggregates: { sum: { $sum: 'total' } },
        orderBy: 'sum DESC',
        limit: 1
      }),
      gives: { rows: [{ month: '2026-02', sum: '27.50' }], count: 1 }
    }
  ]],
  ['Correct the misspelt address of Ada, but show me first.', [
    {
      tool: 'select',
      args: of('customers', { filters: { name: { $contains: 'Ada' } } }),
      gives: { rows: [{ id: 1, street: '1 Main Sreet' }], count: 1 }
    },
    {
      tool: 'update',
      args: of('customers', {
        data: { street: '1 Main Street' },
        filters: { id: 1, street: '1 Main Sreet' },
        expect: 1,
        returning: ['street'],
        dryRun: true
      }),
      gives: { rows: [{ street: '1 Main Street' }], updated: 1, dryRun: true }
    },
    {
      tool: 'select',
      args: of('customers', { filters: { id: 1 }, columns: ['street'] }),
      gives: { rows: [{ street: '1 Main Sreet' }] }
    },
    {
      tool: 'update',
      args: of('customers', {
        data: { street: '1 Main Street' }, filters: { id: 1, street: '1 Main Sreet' }, expect: 1
      }),
      gives: { updated: 1 }
    }
  ]],
  ['Why does my insert of an order for customer 99 fail?', [
    {
      tool: 'insert',
      args: of('orders', { data: { customer_id: 99, total: '5.00' } }),
      refused: 'MISSING_COLUMN',
      tells: /ordered_at/
    },
    {
      tool: 'insert',
      args: of('orders', { data: { customer_id: 99, total: '5.00', ordered_at: '20 November' } }),
      refused: 'INVALID_VALUE',
      tells: /"ordered_at": expected a date and time without an offset, such as 2026-11-20T10:15:00/
    },
    {
      tool: 'insert',
      args: of('orders', { data: { customer_id: 99, total: '5.00', ordered_at: { $now: true } } }),
      refused: 'FOREIGN_KEY_VIOLATION',
      tells: /foreign key ".*" on "customer_id"/
    },
    {
      tool: 'describe_table',
      args: of('orders'),
      tells: /\{"table":"customers","on":\{"customer_id":"id"\},"rows":"one"\}/
    },
    { tool: 'select', args: of('customers', { filters: { id: 99 } }), gives: { count: 0 } }
  ]],
  ['Show me the last two orders of Ada with what was in them.', [
    {
      tool: 'select',
      args: of('orders', {
        filters: { customer_id: 1 }, orderBy: 'ordered_at desc', limit: 2, include: { customer: { table: 'customers' } }
      }),
      refused: 'INVALID_BODY',
      tells: /say "on", one of .*\{"customer_id":"id"\}/
    },
    {
      tool: 'select',
      args: of('orders', {
        filters: { customer_id: 1 },
        orderBy: 'ordered_at desc',
        limit: 2,
        columns: ['id'],
        include: {
          customer: { table: 'customers', on: { customer_id: 'id' }, columns: ['name'] },
          order_items: { columns: ['quantity'], include: { product: { table: 'products', columns: ['name'] } } }
        }
      }),
      gives: {
        rows: [{
          id: 3, customer: { name: 'Ada Byron' }, order_items: [{ quantity: 1, product: { name: 'Mug' } }]
        }, { id: 1, order_items: [{ quantity: 2 }] }],
        count: 2,
        next: null
      }
    }
  ]],
  ['Which products has nobody ordered?', [
    {
      tool: 'select',
      args: of('products', {
        columns: ['sku'], include: { sold: { table: 'order_items', aggregates: { n: { $sum: 'quantity' } } } }
      }),
      gives: {
        rows: [{ sku: 'CUP', sold: { n: '5' } }, { sku: 'MUG', sold: { n: '3' } }, { sku: 'POT', sold: { n: null } }]
      }
    },
    {
      tool: 'select',
      args: of('products', { columns: ['sku'], filters: { $none: { order_items: {} } } }),
      gives: { rows: [{ sku: 'POT' }], count: 1, next: null }
    }
  ]],
  ['Mark the new orders of February as paid.', [
    {
      tool: 'update',
      args: of('orders', {
        data: { status: 'payed' }, filters: { status: 'new', ordered_at: { $gte: '2026-02-01', $lt: '2026-03-01' } }
      }),
      refused: 'INVALID_VALUE',
      tells: /filters\/ordered_at.*such as 2026-11-20T10:15:00/
    },
    {
      tool: 'update',
      args: of('orders', {
        data: { status: 'paid' },
        filters: { status: 'new', ordered_at: { $gte: '2026-02-01T00:00:00', $lt: '2026-03-01T00:00:00' } },
        expect: 2
      }),
      refused: 'EXPECTATION_FAILED',
      tells: /there is 1 row/
    },
    {
      tool: 'update',
      args: of('orders', {
        data: { status: 'paid' },
        filters: { status: 'new', ordered_at: { $gte: '2026-02-01T00:00:00', $lt: '2026-03-01T00:00:00' } },
        expect: 1,
        returning: ['id']
      }),
      gives: { rows: [{ id: 3 }], updated: 1 }
    }
  ]],
  ['Update our price list: the mug costs 8 now, and there is a new plate for 12.', [
    {
      tool: 'insert',
      args: of('products', { data: [{ sku: 'MUG', price: '8.00' }, { sku: 'PLATE', price: '12.00' }] }),
      refused: 'MISSING_COLUMN',
      tells: /no default: "name"/
    },
    {
      tool: 'insert',
      args: of('products', {
        data: [{ sku: 'MUG', name: 'Mug', price: '8.00' }, { sku: 'PLATE', name: 'Plate', price: 12 }]
      }),
      refused: 'UNIQUE_VIOLATION',
      tells: /unique key ".*" on "sku"/
    },
    {
      tool: 'insert',
      args: of('products', {
        data: [{ sku: 'MUG', name: 'Mug', price: '8.00' }, { sku: 'PLATE', name: 'Plate', price: 12 }],
        onConflict: { key: ['sku'], set: ['price'] },
        returning: ['sku', 'price', 'stock']
      }),
      gives: {
        inserted: 1,
        updated: 1,
        rows: [{ sku: 'MUG', price: '8.00', stock: 10 }, { sku: 'PLATE', price: '12.00', stock: 0 }]
      }
    }
  ]],
  ['Delete the test orders of Linus, all of them.', [
    {
      tool: 'delete',
      args: of('orders'),
      refused: 'FILTERS_REQUIRED',
      tells: /delete requires "filters" that restrict the affected rows/
    },
    {
      tool: 'select',
      args: of('orders', { filters: { customer_id: 3 }, columns: ['id'], total: true }),
      gives: { rows: [{ id: 4 }], total: 1 }
    },
    {
      tool: 'delete',
      args: of('orders', { filters: { id: 4 }, expect: 1 }),
      refused: 'FOREIGN_KEY_VIOLATION',
      tells: /rows of "order_items" refer to this one by "order_id"/
    },
    {
      tool: 'describe_table',
      args: of('orders'),
      tells: /\{"table":"order_items","on":\{"id":"order_id"\},"rows":"many"\}/
    },
    {
      tool: 'delete', args: of('order_items', { filters: { order_id: 4 }, expect: { $lte: 5 } }), gives: { deleted: 1 }
    },
    { tool: 'delete', args: of('orders', { filters: { id: 4 }, expect: 1 }), gives: { deleted: 1 } }
  ]],
  ['Give me all e-mail addresses, however many there are.', [
    {
      tool: 'select',
      args: of('customers', { columns: ['mail'] }),
      refused: 'COLUMN_NOT_FOUND',
      tells: /"mail" does not exist in table "customers"/
    },
    { tool: 'select', args: of('customers', { columns: ['email'], limit: 2 }), gives: { count: 2, next: { id: 2 } } },
    {
      tool: 'select',
      args: of('customers', { columns: ['email'], limit: 2, after: { id: 2 } }),
      gives: { rows: [{ email: 'linus@example.com' }], count: 1, next: null }
    }
  ]]
]

await onEachEngine(t, 'tasks', {
  schema: tasksSchema, only, options: { mcp: { verbs: [...VERBS] } }
}, async (t, service) => {
  const { call } = await connectTo(t as never, service)
  for (const [task, steps] of tasks) {
    await t.test(task, async (t) => {
      for (const { tool, args, gives = {}, refused, tells = /./ } of steps) {
        const { isError, result, text } = await call(tool, args)
        const shown = `${tool} ${JSON.stringify(args)}`
        t.same([isError, result.code], [refused !== undefined, refused], `${shown}: ${text}`)
        t.match(result, gives, shown)
        t.match(text.replaceAll('\\"', '"'), tells, shown)
      }
    })
  }
})

/** Forty columns as tables of shops have them: keys, texts, numbers, times, and a comment for every fourth. */
function wideTable (engine: EngineName): string {
  const types = [
    'bigint not null', 'varchar(100) not null default \'\'', 'decimal(10,2) not null default 0', 'datetime null',
    'text null', 'tinyint(1) not null default 1', 'date null', 'int not null default 0', 'timestamp null',
    'varchar(20) null'
  ]
  const columns = Array.from({ length: 39 }, (_, index) =>
    `column_number_${index} ${types[index % types.length]}` +
      `${engine !== 'sqlite' && index % 4 === 0 ? " comment 'what it means'" : ''}`)
  const id = engine === 'sqlite'
    ? 'id integer primary key autoincrement'
    : 'id bigint not null auto_increment primary key'
  return `create table wide (${id}, ${columns.join(', ')}, unique (column_number_1),
    foreign key (column_number_0) references parents (id))`
}

const TABLES = 210
const nameOf = (index: number): string => `table_${String(index).padStart(3, '0')}`

const parents = (engine: EngineName): string =>
  `create table parents (id bigint not null primary
    key)${engine === 'sqlite' ? '' : ` comment '${'parents of others '.repeat(40)}'`}`
const wide = (engine: EngineName): string[] => [parents(engine), wideTable(engine)]
/** In one transaction: each other one would wait for the disk. */
const many = ['begin', ...wide('sqlite'), ...Array.from(
  { length: TABLES - 2 }, (_, index) => `create table ${nameOf(index)} (id int not null primary key)`
), 'commit']

const kinds = (engine: EngineName): string =>
  `create table kinds (id integer not null primary key, j json, e ${engine === 'sqlite' ? 'json' : "enum('a')"})`

await onEachEngine(t, 'a table of 40 columns is described in less than 6 kB', {
  only,
  schema: (engine) => [...wide(engine), kinds(engine)],
  options: { mcp: { verbs: [...VERBS] } }
}, async (t, service) => {
  const { call } = await connectTo(t as never, service)
  const { text, result } = await call('describe_table', { database: 'shop', table: 'wide' })
  t.equal(result.columns.length, 40)
  t.ok(Buffer.byteLength(text) < 6000, `${Buffer.byteLength(text)} bytes`)
  t.match(result, { primaryKey: ['id'], relations: [{ table: 'parents', on: { column_number_0: 'id' }, rows: 'one' }] })
  t.ok(result.uniqueKeys.some((key: string[]) => key.join() === 'column_number_1'))
  t.match(result.columns[4], {
    name: 'column_number_3', type: 'datetime', schema: { type: 'string', example: /^2026-/ }, nullable: true
  })
  t.match(result.columns[3], { default: '0.00', schema: { type: 'string' } })
  if (service.engine !== 'sqlite') t.match(result.columns[1], { comment: 'what it means' })
  t.same([
    result.operators.default.includes('$gte'), result.operators.text.includes('$like'),
    result.operators.default.includes('$like')
  ], [true, true, false])
  t.same((await call('describe_table', { database: 'shop', table: 'wide', columns: ['id'] })).result.columns.length, 1)
  const { columns: [, json, members], operators } = (await call('describe_table', {
    database: 'shop', table: 'kinds'
  })).result
  t.same(
    [json, members].map((column) => operators[column.operators ?? 'default'].includes('$at')),
    [true, service.engine === 'sqlite'], 'only JSON has paths'
  )
  const { tables: [{ comment }] } = (await call('list_tables', { limit: 1 })).result
  t.ok(comment.length <= 201, 'a long comment is cut in the list')
})

await onEachEngine(t, 'many tables', {
  schema: () => many,
  only: ['sqlite'],
  options: { mcp: {} }
}, async (t, service) => {
  const { call } = await connectTo(t as never, service)

  await t.test('many tables are listed in pages, each once', async (t) => {
    const seen: string[] = []
    const counts: number[] = []
    for (let after: unknown = null; ;) {
      const { result } = await call('list_tables', after === null ? {} : { after })
      counts.push(result.count)
      seen.push(...result.tables.map(({ table }: { table: string }) => table))
      after = result.next
      if (after === null) break
    }
    t.same(counts, [100, 100, 10])
    t.same(seen, ['parents', 'wide', ...Array.from({ length: TABLES - 2 }, (_, index) => nameOf(index))].sort())
    t.match((await call('list_tables', { contains: 'LE_01', limit: 3 })).result, {
      count: 3, tables: [{ table: 'table_010' }, {}, {}], next: { database: 'shop', table: 'table_012' }
    })
    t.match((await call('list_tables', { database: 'shop', limit: 1000 })).result, { count: TABLES, next: null })
  })
})

await onEachEngine(t, 'small results', {
  schema: () => many,
  only: ['sqlite'],
  options: { mcp: { resultLimit: 4096 } }
}, async (t, service) => {
  const { call } = await connectTo(t as never, service)

  await t.test('a page has as many tables as fit', async (t) => {
    const { result, text } = await call('list_tables', { limit: 1000 })
    t.ok(Buffer.byteLength(text) <= 4096)
    t.ok(result.count > 10 && result.count < 100)
    t.match(result.next, { database: 'shop', table: result.tables.at(-1).table })
  })

  await t.test('a description that is too large says what to do', async (t) => {
    t.match(await call('describe_table', { database: 'shop', table: 'wide' }), {
      isError: true, result: { code: 'RESULT_TOO_LARGE', message: /name fewer "columns"/ }
    })
    t.match((await call('describe_table', {
      database: 'shop', table: 'wide', columns: ['column_number_5', 'id']
    })).result.columns, [{ name: 'column_number_5' }, { name: 'id' }])
  })
})
