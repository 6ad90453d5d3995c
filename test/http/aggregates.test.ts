/** `groupBy`, `aggregates` and `having` of a select. */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { type Answer, type EngineName, type Service, sharedOnEachEngine } from '../support/service.ts'

const ODD = ['v0', 'V1', 'v_0', 'sum(x)', 'a.b', '$or', '__proto__', 'c0', 't', 'q"`?']

/** Names with odd characters, and columns that a grant hides. */
function schemaOfNames (engine: EngineName): string[] {
  const quote = (name: string): string =>
    engine === 'sqlite' ? `"${name.replaceAll('"', '""')}"` : `\`${name.replaceAll('`', '``')}\``
  return [
    `create table odd (${ODD.map((name) => `${quote(name)} int not null`).join(', ')})`,
    'insert into odd values (1, 20, 3, 4, 5, 6, 7, 8, 9, 10), (1, 30, 4, 5, 6, 7, 8, 9, 10, 11)',
    `create table hidden (
      id int not null, v0 int not null, v1 int not null, v_0 int not null, n int not null, secret int not null)`,
    ...[1, 2, 3, 4].map((id) => `insert into hidden values (${id}, ${id}, ${id % 2}, 7, 7, ${id % 2})`)
  ]
}
const seen = { select: ['id', 'v1'] }
const tokens = [
  tokenFor('narrow', { hidden: { columns: seen } }),
  tokenFor('half', { hidden: { columns: seen, rows: { secret: 1 } } })
]

/** Sums that are large, values of each type, and long texts. */
function schemaOfTypes (engine: EngineName): string[] {
  const isSqlite = engine === 'sqlite'
  const large = [
    [
      1, 1, '9223372036854775807', '9999999999999.99', '1.7e308', '18446744073709551615', '0.1', '9'.repeat(65),
      `${'9'.repeat(35)}.${'9'.repeat(30)}`
    ],
    [2, 1, '1', '0.01', '1.7e308', '18446744073709551615', '0.2', '1', '1'],
    [
      3, 2, '-9223372036854775808', '0.10', '1e-300', '18446744073709551615', '0.1', `-${'9'.repeat(65)}`,
      '0.000000000000000000000000000001'
    ],
    [4, 2, '9223372036854775807', '0.20', '0.1', '0', '0.7', '0', '0.2']
  ]
  return [
    `create table large (
      id int not null primary key, g int not null, b bigint null, p decimal(15,2) null, d double null
      ${isSqlite ? '' : ', bu bigint unsigned null, f float null, w decimal(65,0) null, x decimal(65,30) null'})`,
    ...large.map((values) => `insert into large values (${(isSqlite ? values.slice(0, 5) : values).join(', ')})`),
    ...isSqlite
      ? [
          `create table typed (
            id integer primary key, tiny tinyint(1), big bigint, y year, num decimal(10,2), f float, fd double,
            day date, moment timestamp, clock time, txt text, bin blob, doc json, what)`,
          `insert into typed values
            (1, 1, 9223372036854775807, 2026, 1.5, 0.5, 0.1, '2026-01-02', '2026-01-02 03:04:05.006', '-12:30:00.5',
              'ä"', x'610062', '{"a": 1}', 1),
            (2, 0, 0, 0, 0, -0.5, 0.2, '0000-00-00', '1970-01-01 00:00:01', '838:59:59', '', x'', 'null', 2)`
        ]
      : [
          `create table typed (
            id int not null primary key, tiny tinyint(1), big bigint unsigned, y year,
            num decimal(10,2) unsigned zerofill, f float, fd double(10,2), day date, moment timestamp(3) null,
            clock time(3), txt longtext, bin varbinary(10), en enum('z', 'a'), st set('x', 'y'), bits bit(5),
            flag bit(1), doc json, place point)`,
          `insert into typed values
            (1, 1, 18446744073709551615, 2026, '1.50', 0.1, 0.10, '2026-01-02', '2026-01-02 03:04:05.006',
              '-12:30:00.5', 'ä"', 'a\\0b', 'z', 'x,y', b'10101', b'1', '{"a": 1}', point(1, 2)),
            (2, 0, 0, 0, '0.00', -0.1, 0.20, '0000-00-00', '1970-01-01 00:00:01', '838:59:59', '', '', 'a', '', b'0',
              b'0', 'null', point(0, 0))`
        ],
    'insert into typed (id) values (3)',
    isSqlite
      ? 'create table words (id integer primary key, word text collate nocase, long_word text)'
      : `create table words (id int primary key, word varchar(20) collate utf8mb4_general_ci,
          long_word longtext collate utf8mb4_bin)`,
    `insert into words values (1, 'a', '${'x'.repeat(70_000)}1'), (2, 'A', '${'x'.repeat(70_000)}2'), (3, 'b', null)`,
    `create table texts (id int not null primary key, ${
      TEXTS.map((name) => `${name} ${isSqlite ? 'text' : 'longtext'} null`).join(', ')
    })`,
    `insert into texts (id, t0) values ${Array.from({ length: 200 }, (_, id) => `(${id}, 'x${id % 3}')`).join()}`
  ]
}
const TEXTS = Array.from({ length: 30 }, (_, index) => `t${index}`)

const test = sharedOnEachEngine(t, {
  schema: (engine) => [
    `create table orders (
      id bigint not null primary key, status varchar(10) not null, customer int null, total decimal(10,2) null,
      items int null, weight double null, paid date null, note varchar(10) null)`,
    `insert into orders (id, status, customer, total, items, weight, paid, note) values
      (1, 'new', 7, '10.10', 1, 0.5, '2026-01-01', 'b'), (2, 'new', 7, '0.20', 2, 0.25, NULL, 'a'),
      (3, 'paid', 8, '5.00', NULL, NULL, '2026-03-01', NULL), (4, 'paid', 7, NULL, 4, 4, '2026-02-01', 'c'),
      (5, 'paid', NULL, '1.01', 5, 1, '2026-02-01', 'd'), (6, 'sent', NULL, NULL, NULL, NULL, NULL, NULL)`,
    'create view new_orders as select status, total, items * 2 as twice from orders',
    ...schemaOfNames(engine), ...schemaOfTypes(engine)
  ],
  tokens
})

const selectFrom = ({ post }: Pick<Service, 'post'>, table = 'orders') =>
  (body: object): Promise<Answer> => post(table, { verb: 'select', ...body })
const rowsOf = async (answer: Promise<Answer>): Promise<any[]> => (await answer).json.data.rows

await test('a row has the columns of groupBy, then the aggregates, in the order asked for', async (t, service) => {
  const select = selectFrom(service)
  const aggregates = {
    n: { $count: '*' },
    priced: { $count: 'total' },
    customers: { $countDistinct: 'customer' },
    sum: { $sum: 'total' },
    avg: { $avg: 'total' },
    items: { $sum: 'items' },
    mean: { $avg: 'items' },
    weight: { $sum: 'weight' },
    first: { $min: 'paid' },
    last: { $max: 'note' },
    most: { $max: 'items' },
    least: { $min: 'total' },
    heavy: { $max: 'weight' }
  }
  const { status, text } = await select({ groupBy: ['status'], aggregates, orderBy: 'status' })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"rows":[' +
    '{"status":"new","n":2,"priced":2,"customers":1,"sum":"10.30","avg":"5.150000","items":"3","mean":"1.5000",' +
      '"weight":0.75,"first":"2026-01-01","last":"b","most":2,"least":"0.20","heavy":0.5},' +
    '{"status":"paid","n":3,"priced":2,"customers":2,"sum":"6.01","avg":"3.005000","items":"9","mean":"4.5000",' +
      '"weight":5,"first":"2026-02-01","last":"d","most":5,"least":"1.01","heavy":4},' +
    '{"status":"sent","n":1,"priced":0,"customers":0,"sum":null,"avg":null,"items":null,"mean":null,"weight":null,' +
      '"first":null,"last":null,"most":null,"least":null,"heavy":null}],"count":3}}')
  const reversed = await select({
    aggregates: { b: { $max: 'id' }, a: { $min: 'id' } }, groupBy: ['customer', 'status'], orderBy: 'customer, status'
  })
  t.match(reversed.text, /"rows":\[\{"customer":null,"status":"paid","b":5,"a":5\},/)
})

await test('without groupBy there is one row, also for a table without rows', async (t, service) => {
  const select = selectFrom(service)
  const aggregates = {
    n: { $count: '*' },
    m: { $count: 'total' },
    d: { $countDistinct: 'total' },
    s: { $sum: 'total' },
    i: { $sum: 'items' },
    w: { $avg: 'weight' },
    x: { $max: 'note' }
  }
  t.same(await rowsOf(select({ aggregates })), [{ n: 6, m: 4, d: 4, s: '16.31', i: '12', w: 1.4375, x: 'd' }])
  t.same(await rowsOf(select({ aggregates, filters: { id: { $gt: 100 } } })), [
    { n: 0, m: 0, d: 0, s: null, i: null, w: null, x: null }
  ])
  t.same(await rowsOf(select({ aggregates, filters: { id: { $in: [] } }, having: { s: null } })), [
    { n: 0, m: 0, d: 0, s: null, i: null, w: null, x: null }
  ])
  t.same(
    await rowsOf(select({ aggregates, groupBy: ['status'], filters: { id: { $gt: 100 } } })), [],
    'but there are no groups of no rows'
  )
  await service.sql('delete from orders')
  t.same(await rowsOf(select({ aggregates: { n: { $count: '*' }, s: { $avg: 'total' } } })), [{ n: 0, s: null }])
})

await test('filters select the rows that are grouped, having selects groups', async (t, service) => {
  const select = selectFrom(service)
  const groups = async (body: object): Promise<string[]> =>
    (await rowsOf(select({ groupBy: ['status'], aggregates, orderBy: 'status', ...body }))).map(({ status }) => status)
  const aggregates = {
    n: { $count: '*' },
    sum: { $sum: 'total' },
    avg: { $avg: 'total' },
    w: { $sum: 'weight' },
    first: { $min: 'paid' },
    last: { $max: 'note' }
  }
  const expected: ReadonlyArray<readonly [object, string[]]> = [
    [{}, ['new', 'paid', 'sent']], [{ n: 2 }, ['new']], [{ n: { $gt: 1 } }, ['new', 'paid']],
    [{ n: [1, 2] }, ['new', 'sent']], [{ n: { $in: [] } }, []], [{ n: { $between: [2, 3] } }, ['new', 'paid']],
    [{ n: { $null: true } }, []], [{ sum: '10.30' }, ['new']], [{ sum: 10.3 }, ['new']],
    [{ sum: { $gte: '6.01' } }, ['new', 'paid']], [{ sum: null }, ['sent']], [{ sum: { $is: '6.01' } }, ['paid']],
    [{ sum: { $in: ['10.3', null] } }, ['new', 'sent']], [{ sum: { $nin: ['10.3', null] } }, ['paid']],
    [{ avg: { $gt: '3.005' } }, ['new']], [{ w: 0.75 }, ['new']], [{ first: { $lt: '2026-02-01' } }, ['new']],
    [{ last: { $like: '%d%' } }, ['paid']], [{ last: { $gt: 'b' } }, ['paid']],
    [{ status: { $startsWith: 'p' } }, ['paid']], [{ $or: [{ status: 'sent' }, { n: 2 }] }, ['new', 'sent']],
    [{ $not: { status: 'sent' } }, ['new', 'paid']], [{ $is: { status: 'paid', n: 3 } }, ['paid']],
    [{ n: { $gt: 1, $lt: 3 }, status: 'new' }, ['new']]
  ]
  for (const [having, statuses] of expected) t.same(await groups({ having }), statuses, JSON.stringify(having))
  t.same(await groups({ filters: { id: { $gt: 2 } }, having: { n: { $gt: 1 } } }), ['paid'])
  t.same(
    await rowsOf(select({ aggregates: { n: { $count: '*' } }, having: { n: { $gt: 6 } } })), [],
    'having may leave none of one row'
  )
  t.same(await rowsOf(select({ groupBy: ['status'], having: { status: { $ne: 'new' } }, orderBy: 'status' })), [
    { status: 'paid' }, { status: 'sent' }
  ])
})

await test('names have 1 to 64 letters, digits and _, also those that JavaScript knows', async (t, service) => {
  const names = [
    'a', '_1', '_', 'n'.repeat(64), 'constructor', 'toString', '__proto__', 'select', 'v0', 'c0', 't', 'orders', 'id',
    'TOTAL'
  ]
  const each = (value: unknown): string => names.map((name) => `"${name}":${JSON.stringify(value)}`).join()
  const ask = async (having: string): Promise<string> => (await service.post(
    'orders', '{"verb":"select","groupBy":["status"],"limit":1,' +
      `"aggregates":{${each({ $count: '*' })}},"having":{${having}},"orderBy":"${names.join()},status"}`
  )).text
  for (const [status, n, having] of [['sent', 1, ''], ['paid', 3, each(3)]] as const) {
    t.equal(await ask(having), `{"success":true,"data":{"rows":[{"status":"${status}",${each(n)}}],"count":1}}`)
  }
  const [refused] = (await selectFrom(service)({ aggregates: { 'a\n': { $count: '*' } } })).json.error.details
  t.equal(refused.path, '/aggregates/a\n')
})

await test('columns of any name can be grouped, computed and compared', async (t, service) => {
  const { post } = service
  for (const name of ['v_0', 'sum(x)', 'a.b', '__proto__', 'c0', 't', 'q"`?']) {
    const key = JSON.stringify(name)
    const { text } = await post('odd', '{"verb":"select","having":{"v1":{"$gt":"0"},"v0":1},"limit":1,' +
      `"groupBy":["v0",${key}],"aggregates":{"v1":{"$sum":${key}},"n":{"$count":"*"}},` +
      `"orderBy":[{"v1":"DESC"},{${key}:"ASC"}]}`)
    t.match(text, /^\{"success":true,"data":\{"rows":\[\{"v0":1,".*:(\d+),"v1":"\1","n":1\}\],"count":1\}\}$/, name)
  }
  t.equal((await post('odd', {
    verb: 'select', groupBy: ['v0', '$or'], aggregates: { V1: { $max: 'V1' } }, having: { $$or: 6, V1: { $lt: 25 } }
  })).text, '{"success":true,"data":{"rows":[{"v0":1,"$or":6,"V1":20}],"count":1}}')
})

await test('texts that are equal by their collation are one group, shown as any of them', async (t, service) => {
  const select = selectFrom(service, 'words')
  const [a, b] = await rowsOf(
    select({ groupBy: ['word'], aggregates: { n: { $count: '*' }, d: { $countDistinct: 'word' } }, orderBy: 'word' })
  )
  t.match(a, { word: /^a$/i, n: 2, d: 1 })
  t.same(b, { word: 'b', n: 1, d: 1 })
  t.same(await rowsOf(select({ aggregates: { d: { $countDistinct: 'word' } } })), [{ d: 2 }])
  t.equal((await rowsOf(select({ groupBy: ['word'], having: { word: 'A' } }))).length, 1)
  t.same((await rowsOf(
    select({ groupBy: ['long_word'], aggregates: { n: { $count: '*' } }, orderBy: 'long_word' })
  )).map(({ long_word: word, n }) => [word?.length, n]), [
    [undefined, 1], [70_001, 1], [70_001, 1]
  ], 'long texts are compared to their end')
  t.same(await rowsOf(select({ aggregates: { d: { $countDistinct: 'long_word' } } })), [{ d: 2 }])
})

await test('the views of a database have aggregates too', async (t, service) => {
  const { text } = await selectFrom(service, 'new_orders')({
    groupBy: ['status'],
    aggregates: { s: { $sum: 'total' }, t: { $max: service.engine === 'sqlite' ? 'total' : 'twice' } },
    orderBy: 's DESC',
    limit: 1
  })
  t.match(text, /"status":"new","s":"10.30","t":/)
})

await test('a grant computes from the rows and columns that it sees', async (t, { post }) => {
  const ask = async (body: object, token = 'narrow'): Promise<Answer> =>
    await post('hidden', { verb: 'select', ...body }, { token })
  t.same(
    await rowsOf(ask({ aggregates: { n: { $count: '*' }, s: { $sum: 'id' }, m: { $max: 'id' } } }, 'half')),
    [{ n: 2, s: '4', m: 3 }], 'a rule on a hidden column'
  )
  t.same(
    await rowsOf(ask({ groupBy: ['v1'], aggregates: { n: { $count: '*' } }, having: { n: { $gt: 1 } } }, 'half')),
    [{ v1: 1, n: 2 }]
  )
  t.same(await rowsOf(ask({
    groupBy: ['v1'],
    aggregates: { v0: { $max: 'id' }, n: { $min: 'id' }, secret: { $count: '*' } },
    having: { v0: { $gt: 2 }, n: { $gt: 1 } },
    orderBy: 'v0 DESC'
  })), [{ v1: 0, v0: 4, n: 2, secret: 2 }], 'an aggregate may be called like a hidden column')
  t.same(
    await rowsOf(ask({ aggregates: { a: { $min: 'id' }, b: { $max: 'id' } }, having: { a: 1, b: 4 } })),
    [{ a: 1, b: 4 }], 'the column v0 is not compared'
  )
})

await test('columns that have become other types are noticed before a wrong value is returned', async (t, service) => {
  const { sql, server } = service
  const refused = { error: { code: 'INVALID_VALUE' } }
  const rows = (row: object) => ({ data: { rows: [row] } })
  const [sum, avg, max] = ['$sum', '$avg', '$max'].map((call) =>
    (column: string) => ({ aggregates: { n: { [call]: column } } })) as [Body, Body, Body]
  for (const [column, from, to, body, expected] of [
    ['items', 'int', 'varchar(20)', sum('items'), refused],
    ['items', 'int', 'varchar(20)', avg('items'), refused],
    ['items', 'int', 'varchar(20)', max('items'), rows({ n: '5' })],
    ['items', 'int', 'varchar(20)', { groupBy: ['items'], orderBy: 'items DESC', limit: 1 }, rows({ items: '5' })],
    ['items', 'int', 'varchar(20)', { aggregates: { n: { $count: '*' } }, filters: { items: 4 } }, refused],
    ['weight', 'double', 'varchar(20)', sum('weight'), refused],
    ['weight', 'float', 'varchar(20)', max('weight'), rows({ n: '4' })],
    ['note', 'varchar(10)', 'varbinary(10)', max('note'), rows({ n: 'ZA==' })]
  ] as const) {
    await sql(`alter table orders modify ${column} ${from} null`)
    await server.rows.refresh()
    await sql(`alter table orders modify ${column} ${to} null`)
    t.match((await selectFrom(service)(body)).json, expected, `${column} ${from} -> ${to}: ${JSON.stringify(body)}`)
    await sql(`alter table orders modify ${column} ${from} null`)
  }
}, ['mariadb', 'mysql'])
type Body = (column: string) => object

await test('a later operation refers to an aggregate, exact to 64 bits', async (t, { operate, sql }) => {
  await sql("insert into orders (id, status) values (9223372036854775806, 'big')")
  const select = { table: 'orders', verb: 'select', columns: ['id'] }
  const { text } = await operate([
    {
      table: 'orders',
      verb: 'select',
      aggregates: { last: { $max: 'id' }, sum: { $sum: 'id' } },
      filters: { status: 'big' }
    },
    { ...select, filters: { id: { $ref: '/0/rows/0/last' } } },
    { ...select, filters: { id: { $in: [{ $ref: '/0/rows/0/sum' }] } } }
  ])
  const found = '{"rows":[{"id":9223372036854775806}],"count":1}'
  const computed = '{"rows":[{"last":9223372036854775806,"sum":"9223372036854775806"}],"count":1}'
  t.equal(text, `{"success":true,"data":{"results":[${computed},${found},${found}]}}`)
})

// What aggregate functions return for columns of each type, and which columns make groups.

/** Numbers as `number 1`, with all their digits. */
const parseExactly = (text: string): any => JSON.parse(text, (_key: string, value: unknown, { source }: {
  source?: string
}) => typeof value === 'number' ? `number ${source}` : value)

await test('sums are exact; one that is too large is VALUE_OUT_OF_RANGE', async (t, service) => {
  const select = selectFrom(service, 'large')
  const isServer = service.engine !== 'sqlite'
  const tooLarge = async (aggregates: object, why: string, rest: object = { groupBy: ['g'] }): Promise<void> => {
    t.match((await select({ aggregates, ...rest })).json, { error: { code: 'VALUE_OUT_OF_RANGE' } }, why)
  }
  t.match(
    (await select({ aggregates: { s: { $sum: 'p' }, a: { $avg: 'p' } } })).text,
    /\{"s":"10000000000000.30","a":"2500000000000.075000"\}/
  )
  t.same(await rowsOf(select({ aggregates: { s: { $sum: 'b' } }, filters: { g: 2 } })), [{ s: '-1' }])
  for (const rest of [{}, { groupBy: ['g'] }]) await tooLarge({ s: { $sum: 'd' } }, 'a double', rest)
  await tooLarge({ s: { $sum: 'd' } }, 'a double in having', {
    groupBy: ['g'], having: { s: { $gt: 0 } }, orderBy: 's'
  })
  await tooLarge({ s: { $avg: 'd' } }, 'an average of doubles whose sum is too large')
  t.same(
    (await select({ aggregates: { s: { $sum: 'd' }, a: { $avg: 'd' } }, filters: { g: 2 } })).text,
    '{"success":true,"data":{"rows":[{"s":0.1,"a":0.05}],"count":1}}'
  )
  if (!isServer) {
    for (const rest of [{}, { groupBy: ['g'] }]) await tooLarge({ s: { $sum: 'b' } }, 'an integer', rest)
    return
  }
  t.same(await rowsOf(select({
    aggregates: { s: { $sum: 'b' }, u: { $sum: 'bu' }, a: { $avg: 'b' }, f: { $sum: 'f' } },
    groupBy: ['g'],
    orderBy: 'g'
  })), [
    {
      g: 1, s: '9223372036854775808', u: '36893488147419103230', a: '4611686018427387904.0000', f: 0.30000000447034836
    },
    { g: 2, s: '-1', u: '18446744073709551615', a: '-0.5000', f: 0.7999999895691872 }
  ])
  for (const rest of [{}, { groupBy: ['g'] }]) {
    for (const column of ['w', 'x']) {
      for (const call of ['$sum', '$avg']) {
        await tooLarge({ s: { [call]: column } }, `${call} of ${column}`, rest)
      }
    }
  }
  const [row] = await rowsOf(select({
    aggregates: { w: { $sum: 'w' }, x: { $sum: 'x' }, wa: { $avg: 'w' }, xa: { $avg: 'x' } }, filters: { id: 1 }
  }))
  t.same(row, {
    w: '9'.repeat(65),
    x: `${'9'.repeat(35)}.${'9'.repeat(30)}`,
    wa: '9'.repeat(65),
    xa: `${'9'.repeat(35)}.${'9'.repeat(30)}`
  })
  t.same(await rowsOf(select({
    aggregates: { s: { $sum: 'x' }, a: { $avg: 'x' } },
    groupBy: ['g'],
    filters: { g: 2 },
    having: { s: '0.200000000000000000000000000001' }
  })), [
    { g: 2, s: '0.200000000000000000000000000001', a: '0.100000000000000000000000000001' }
  ], 'the average is rounded by the server')
})

await test('values that a DECIMAL of SQLite should not have are added as they are compared', async (t, service) => {
  const select = selectFrom(service, 'large')
  await service.sql('delete from large')
  const put = async (...values: unknown[]): Promise<any> => {
    for (const value of values) {
      await service.sql(
        'insert into large (id, g, p, b) select coalesce(max(id), 0) + 1, 1, ?, ? from large', [value, value]
      )
    }
    const { text, json } = await select({ aggregates: { s: { $sum: 'p' } } })
    await service.sql('delete from large')
    return json.error?.code ?? text.slice(37, -14)
  }
  t.equal(await put('abc', 1), '"1.00"')
  t.equal(await put(0.005, 0.004), '"0.01"', 'each is rounded to the scale')
  t.equal(await put(Buffer.from('x'), -0.5, -0.25), '"-0.75"')
  t.equal(await put(null), 'null')
  t.equal(await put(9e16), '"90000000000000000.00"')
  t.equal(await put(9.3e16), 'VALUE_OUT_OF_RANGE')
  t.equal(await put(1e300), 'VALUE_OUT_OF_RANGE')
  t.equal(await put(-Infinity), 'VALUE_OUT_OF_RANGE')
  await service.sql('insert into large (id, g, b) values (1, 1, 1.5), (2, 1, 9), (3, 1, 1e30)')
  t.equal(
    (await select({ aggregates: { s: { $sum: 'b' }, a: { $avg: 'b' } }, filters: { id: { $lt: 3 } } })).text,
    '{"success":true,"data":{"rows":[{"s":"10.5","a":"5.2500"}],"count":1}}'
  )
  t.equal(
    (await select({ aggregates: { s: { $sum: 'b' } } })).text,
    '{"success":true,"data":{"rows":[{"s":"1000000000000000000000000000000"}],"count":1}}'
  )
  await service.sql('update large set b = 9e999')
  t.match(
    (await select({ aggregates: { s: { $sum: 'b' } } })).json.error,
    { code: 'UNREADABLE_VALUE', message: /column "s"/ }, 'infinity is no JSON number'
  )
}, ['sqlite'])

await test('least and greatest are as their column; other types have none', async (t, service) => {
  const select = selectFrom(service, 'typed')
  const isServer = service.engine !== 'sqlite'
  const ranked = ['tiny', 'big', 'y', 'num', 'f', 'fd', 'day', 'moment', 'clock', 'txt', 'bin']
  const { rows } = parseExactly(
    (await service.post('typed', { verb: 'select', columns: ranked, orderBy: 'id', limit: 2 })).text
  ).data
  for (const column of ranked) {
    const { text } = await select({ aggregates: { low: { $min: column }, high: { $max: column } } })
    const [row] = parseExactly(text).data.rows
    const inOrder = ['clock'].includes(column) ? [rows[0], rows[1]] : [rows[1], rows[0]]
    const expected = column === 'fd' ? [rows[0], rows[1]] : inOrder
    t.same(row, { low: expected[0][column], high: expected[1][column] }, column)
  }
  for (const column of isServer ? ['en', 'st', 'bits', 'flag', 'doc', 'place'] : ['doc', 'what']) {
    t.same(await rowsOf(select({ aggregates: { n: { $count: column } } })), [{ n: 2 }], `${column} can be counted`)
  }
  t.same(
    await rowsOf(select({ aggregates: { s: { $sum: 'tiny' }, a: { $avg: 'y' }, f: { $sum: 'fd' } } })),
    [{ s: '1', a: '1013.0000', f: 0.30000000000000004 }], 'numbers of other kinds'
  )
})

await test('more long texts than MariaDB can sort are NOT_SUPPORTED, because another attempt ' +
  'would fail as well', async (t, service) => {
  const select = selectFrom(service, 'texts')
  t.equal((await select({ groupBy: TEXTS.slice(0, 16), aggregates: { n: { $count: '*' } } })).json.data.count, 3)
  for (const body of [
    { groupBy: TEXTS, aggregates: { n: { $count: '*' } } }, { columns: ['id'], orderBy: TEXTS.join() }
  ]) {
    const { status, json } = await select(body)
    if (service.engine === 'mariadb') {
      t.match({ status, json }, { status: 422, json: { error: { code: 'NOT_SUPPORTED' } } })
    } else t.equal(status, 200)
  }
})
