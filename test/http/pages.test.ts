/** Pages: `after`, `next`, `offset` and `total`. */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { readPages, type Body } from '../support/pages.ts'
import {
  type Answer, type EngineName, onEachEngine, type Service, sharedOnEachEngine, startService
} from '../support/service.ts'

const schema = (engine: EngineName): string[] => [
  `create table events (id integer not null primary key, created_at datetime${engine === 'sqlite' ? '' : '(3)'} null,
    kind varchar(10) not null, note text null)`,
  `insert into events values (1, '2026-01-01 00:00:00.000', 'b', null), (2, null, 'a', 'x'),
    (3, '2026-01-02 00:00:00.500', 'a', null), (4, null, 'b', 'y'), (5, '2026-01-01 00:00:00.000', 'a', 'z')`
]
const ids = ({ json }: Answer): number[] => json.data.rows.map(({ id }: { id: number }) => id)

const keys = (engine: EngineName): string[] => [
  'create table no_key (a int null, b int not null)', 'insert into no_key values (1, 2), (1, 2), (null, 1)',
  'create view seen as select b from no_key',
  'create table nullable_key (a int null, b int not null, unique (a), unique (b, a))',
  `create table by_fewest (a int not null, b int not null, c int not null, d int not null,
    unique (a, b), unique (d), unique (c))`,
  'insert into by_fewest values (1, 2, 3, 4), (2, 1, 4, 3)',
  `create table by_second (a int not null, b int not null, c int not null, d int not null,
    unique (a, b, c), unique (d, c), unique (a, c))`,
  'insert into by_second values (1, 2, 3, 4), (2, 1, 4, 3)',
  `create table by_primary (a int not null, b int not null, c varchar(10) not null, primary key (c, b),
    unique (a))${engine === 'sqlite' ? ' without rowid' : ''}`,
  "insert into by_primary values (1, 2, 'x'), (2, 1, 'x')"
]

const COLLATIONS = ['utf8mb4_bin', 'utf8mb4_general_ci', 'utf8mb4_unicode_ci', 'latin1_swedish_ci', 'ascii_bin']
const texts = (engine: EngineName): string[] => {
  const columns = COLLATIONS.map((name, index) =>
    `c${index} varchar(3000) ${engine === 'sqlite'
      ? ''
      : `character set ${name.split('_')[0]} collate ${name}`} not null`)
  const length = engine === 'sqlite' ? 'text' : 'text collate utf8mb4_general_ci'
  return [
    `create table urls (id int primary key, ${columns.slice(0, 2).join()}, long_text ${length} not null)`,
    `create table others (id int primary key, ${columns.slice(2).join()})`
  ]
}

/** Rows with which MariaDB 10.11 loses those of a page: its plan is `range|filter`, by two indexes. */
const virtual = (engine: EngineName): string[] => [
  `create table shifts (id int primary key, a int, d datetime,
    g int generated always as (${engine === 'sqlite' ? 'a + 1' : '(a + 1)'}) virtual)`,
  'create index gd on shifts (g, d)', 'create index idd on shifts (d, id)', 'create index ab on shifts (a)',
  `insert into shifts (id, a, d) values ${Array.from({ length: 90 }, (_, index) =>
    `(${index + 1}, ${['null', 0, 1, 2][at(2 * index)]}, ${DAYS[at(2 * index + 1)]})`).join()}`
]
const DAYS = ['null', "'2020-01-01 00:00:00'", "'2021-01-01 00:00:00'", "'2020-06-01 10:00:00'"]

/** One digit, from 0 to 3, for the value of a row. */
const DIGITS =
  '121030013103313312012110323101100001013030320210012300022211020012010330033121231312020001130023201001200032213312' +
    '020030221003021303301101230221303112332303010132312120003220012133'
const at = (index: number): number => Number(DIGITS[index])

/** The ids of all pages, one after the other. */
const read = async (service: Service, table: string, body: object, limit: number): Promise<unknown[]> =>
  (await readPages(service, table, { columns: ['id'], limit, ...body })).map(({ id }) => id)

const SERVERS = ['mariadb', 'mysql'] as const

const test = sharedOnEachEngine(t, {
  schema: (engine) => [
    ...schema(engine), ...keys(engine), ...texts(engine), ...virtual(engine),
    'create table parts (id int not null primary key, tenant int not null, code varchar(10) not null, secret int not ' +
      'null, unique (code))',
    "insert into parts values (1, 1, 'c', 7), (2, 2, 'b', 8), (3, 1, 'a', 9), (4, 1, 'd', 9)",
    ...engine === 'sqlite'
      ? []
      : [
          `create table words (id int primary key,
            word varchar(9) character set latin7 collate latin7_general_ci not null)`,
          "insert into words values (1, 'a'), (2, concat('a', char(127))), (3, 'b')",
          "create table enum_labels (id int not null primary key, label enum('z', '😀', 'a', 'M') null)",
          "insert into enum_labels values (1, 'a'), (2, '😀'), (3, 'z'), (4, null), (5, 'M'), (6, '😀')",
          "create table set_labels (id int not null, labels set('b', 'a') not null, primary key (labels, id))",
          "insert into set_labels values (1, 'a'), (2, 'b'), (3, '')",
          `create table moods (id int primary key, v enum('new', '😀', '😁', 'done') not null,
            s set('😀', 'q', '😁') not null) collate utf8mb4_bin`,
          "insert into moods values (1, '😀', '😀'), (2, '😁', '😁'), (3, 'new', '😀,😁'), (4, 'done', 'q')"
        ],
    ...engine === 'mysql'
      ? [
          'create table tagged (id int primary key, tenant int not null, tags json, key a_tagged (tenant, id, ' +
            '(cast(tags as unsigned array))), key b_plain (tenant, id))',
          "insert into tagged values (1, 1, '[]'), (2, 1, '[1, 2, 3]'), (3, 2, '[]'), (4, 1, null), (5, 1, " +
            "'5'), (6, 1, '[]')"
        ]
      : []
  ],
  tokens: [tokenFor('narrow', {
    parts: { permissions: ['select'], columns: { select: ['code', 'secret'] }, rows: { tenant: 1 } }
  })]
})

await test('after: null begins, next goes back as after, and next: null is the end', async (t, { post }) => {
  const page = async (after: unknown) =>
    await post('events', { verb: 'select', columns: ['id'], orderBy: 'created_at DESC', limit: 2, after })
  const first = await page(null)
  t.equal(
    first.text, '{"success":true,"data":{"rows":[{"id":3},{"id":5}],"count":2,' +
      '"next":{"created_at":"2026-01-01T00:00:00.000","id":5}}}'
  )
  const second = await page(first.json.data.next)
  t.equal(
    second.text, '{"success":true,"data":{"rows":[{"id":1},{"id":4}],"count":2,"next":{"created_at":null,"id":4}}}'
  )
  t.equal((await page(second.json.data.next)).text, '{"success":true,"data":{"rows":[{"id":2}],"count":1,"next":null}}')
})

await test('next is null exactly when no row follows', async (t, { post }) => {
  for (const [limit, next] of [[4, { id: 4 }], [5, null], [6, null]]) {
    t.same(
      (await post('events', { verb: 'select', limit, after: null })).json.data.next, next,
    `limit ${JSON.stringify(limit)}`
    )
  }
  t.equal(
    (await post('events', { verb: 'select', filters: { id: 9 }, after: null })).text,
    '{"success":true,"data":{"rows":[],"count":0,"next":null}}'
  )
  t.equal(
    (await post('events', { verb: 'select', after: { id: 9 } })).text,
    '{"success":true,"data":{"rows":[],"count":0,"next":null}}'
  )
  t.same(ids(await post('events', { verb: 'select', after: { id: 3 } })), [4, 5], 'a position may be made by hand')
})

await test('pages have every row once, in the order asked for', async (t, service) => {
  const orders: Array<[orderBy: string | undefined, ids: number[]]> = [
    [undefined, [1, 2, 3, 4, 5]], ['id DESC', [5, 4, 3, 2, 1]], ['created_at', [2, 4, 1, 5, 3]],
    ['created_at DESC', [3, 5, 1, 4, 2]],
    ['kind, created_at DESC', [3, 5, 2, 1, 4]], ['kind DESC, created_at', [4, 1, 2, 5, 3]],
    ['note DESC, kind', [5, 4, 2, 3, 1]], ['created_at DESC, id', [3, 1, 5, 2, 4]]
  ]
  for (const [orderBy, expected] of orders) {
    for (const limit of [1, 2, 3, 5]) {
      const ids = await read(service, 'events', { ...orderBy !== undefined && { orderBy } }, limit)
      t.same(ids, expected, `${orderBy} by ${limit}`)
    }
  }
})

await test('columns of the position need not be among the columns', async (t, service) => {
  for (const columns of [['note'], ['kind', 'note'], ['id'], ['note', 'created_at', 'id', 'kind']]) {
    const rows = await readPages(service, 'events', { columns, orderBy: 'created_at DESC, kind', limit: 2 })
    t.same(rows.map((row) => Object.keys(row)), Array(5).fill(columns))
    t.same(
      rows.map(({ note }) => note), columns.includes('note') ? [null, 'z', null, 'x', 'y'] : Array(5).fill(undefined)
    )
  }
})

await test('the key of a page is the shortest one of those that the database has', async (t, { post }) => {
  for (const table of ['no_key', 'seen', 'nullable_key']) {
    t.match(await post(table, { verb: 'select', after: null }), {
      status: 422, json: { error: { code: 'NOT_SUPPORTED' } }
    })
    t.match(await post(table, { verb: 'select', offset: 0 }), { status: 200 })
  }
  const nextOf = async (table: string): Promise<object> =>
    (await post(table, { verb: 'select', limit: 1, after: null })).json.data.next
  t.same(await nextOf('by_fewest'), { d: 3 })
  t.same(Object.keys(await nextOf('by_second')), ['d', 'c'])
  t.same(Object.entries(await nextOf('by_primary')), [['c', 'x'], ['b', 1]])
})

await test('offset skips rows, and next is the next offset', async (t, { post }) => {
  const page = async (offset: number) =>
    (await post('events', { verb: 'select', columns: ['id'], orderBy: 'kind', offset, limit: 2 })).text
  t.equal(await page(0), '{"success":true,"data":{"rows":[{"id":2},{"id":3}],"count":2,"next":2}}')
  t.equal(await page(2), '{"success":true,"data":{"rows":[{"id":5},{"id":1}],"count":2,"next":4}}')
  t.equal(await page(4), '{"success":true,"data":{"rows":[{"id":4}],"count":1,"next":null}}')
  t.equal(await page(100_000), '{"success":true,"data":{"rows":[],"count":0,"next":null}}')
})

await test('limits.offset is a setting', async (t, { url }) => {
  const { post } = await startService(t, url, { options: { limits: { offset: 3 } } })
  t.equal((await post('events', { verb: 'select', offset: 3 })).status, 200)
  t.match((await post('events', { verb: 'select', offset: 4 })).json.error, {
    code: 'INVALID_BODY', message: /from 0 to 3/
  })
})

await test('total counts the rows that the filters select, up to a number', async (t, { post }) => {
  const dataOf = async (body: Body): Promise<unknown> =>
    (await post('events', { verb: 'select', columns: ['id'], limit: 1, orderBy: 'id', ...body })).json.data
  t.same(await dataOf({ total: true }), { rows: [{ id: 1 }], count: 1, total: 5 })
  t.same(await dataOf({ total: 4 }), { rows: [{ id: 1 }], count: 1, total: 4 })
  t.same(await dataOf({ total: 5 }), { rows: [{ id: 1 }], count: 1, total: 5 })
  t.same(await dataOf({ total: Number.MAX_SAFE_INTEGER, filters: { kind: 'b' } }), {
    rows: [{ id: 1 }], count: 1, total: 2
  })
  t.same(await dataOf({ total: true, filters: { kind: 'b' }, after: { id: 3 } }), {
    rows: [{ id: 4 }], count: 1, next: null, total: 2
  })
  t.same(await dataOf({ total: 1, offset: 1 }), { rows: [{ id: 2 }], count: 1, next: 2, total: 1 })
  t.same(await dataOf({ total: true, filters: { id: { $in: [] } } }), { rows: [], count: 0, total: 0 })
  t.equal(
    (await post('events', { verb: 'select', columns: ['id'], limit: 1, after: null, total: true })).text,
    '{"success":true,"data":{"rows":[{"id":1}],"count":1,"next":{"id":1},"total":5}}'
  )
})

await onEachEngine(t, 'the limit of an answer counts its rows and its position, and not the row that follows', {
  schema: (engine) => [
    `create table notes (id int not null primary key, note ${engine === 'sqlite' ? 'text' : 'mediumtext'} not null)`,
    ...[300, 1500, 700, 200].map((length, index) =>
      `insert into notes values (${index + 1}, '${'abcd'.charAt(index).repeat(length)}')`)
  ],
  database: { resultLimit: 1000 }
}, async (t, { post }) => {
  const page = async (body: Body) => await post('notes', { verb: 'select', limit: 1, ...body })
  t.match(
    (await page({ columns: ['note'], after: null })).json.data, { count: 1, next: { id: 1 } },
    'the next row would be too large'
  )
  t.match((await page({ columns: ['note'], after: { id: 1 } })).json.error, { code: 'RESULT_TOO_LARGE' })
  t.match((await page({ columns: ['id'], after: { id: 2 } })).json.data, { rows: [{ id: 3 }], next: { id: 3 } })
  t.match(
    (await page({ columns: ['id'], orderBy: 'note', after: null })).json.data,
    { rows: [{ id: 1 }], next: { note: 'a'.repeat(300), id: 1 } }, 'columns that are not shown'
  )
  t.match(
    (await page({ columns: ['id', 'note'], orderBy: 'note DESC', filters: { id: [1, 3] }, after: null })).json.error,
    { code: 'RESULT_TOO_LARGE' }, 'a row and a position of 700 bytes each'
  )
  t.match((await page({ columns: ['id', 'note'], orderBy: 'note DESC', filters: { id: 3 }, after: null })).json.data, {
    count: 1, next: null
  })
})

await test('count and page are of one snapshot', async (t, { post, sql, statements }) => {
  statements()
  await post('events', { verb: 'select', columns: ['id'], total: true, filters: { kind: 'a' } })
  t.match(statements().filter((statement) => !/^select `kind`/.test(statement)), [
    /^start transaction with consistent snapshot, read only/i, /^select count\(\*\)/, /^select `id`/
  ])
  t.same(await sql('select count(*) as n from events'), [{ n: 5 }])
}, SERVERS)

await test('an ENUM is ordered by its members, also those that the catalog ' +
  'does not show exactly', async (t, service) => {
  for (const limit of [1, 2, 4]) {
    t.same(await read(service, 'enum_labels', { orderBy: 'label' }, limit), [4, 3, 2, 6, 1, 5])
    t.same(await read(service, 'enum_labels', { orderBy: 'label DESC' }, limit), [5, 1, 6, 2, 3, 4])
  }
}, SERVERS)

await test('a SET can be in the order with offset', async (t, { post }) => {
  t.match((await post('set_labels', { verb: 'select', after: null })).json.error, {
    code: 'INVALID_ORDER_BY', message: /"labels"/
  })
  t.same((await post('set_labels', { verb: 'select', columns: ['id'], offset: 1, limit: 1 })).json.data, {
    rows: [{ id: 2 }], count: 1, next: 2
  })
}, SERVERS)

await test('a key with a column that the token does not see is not used, and rules hold ' +
  'for pages and totals', async (t, { post }) => {
  const select = async (body: Body) => (await post('parts', { verb: 'select', ...body }, { token: 'narrow' })).json
  t.same((await select({ limit: 1, after: null, total: true })).data, {
    rows: [{ code: 'a', secret: 9 }], count: 1, next: { code: 'a' }, total: 3
  })
  t.same((await select({ limit: 1, after: { code: 'a' }, total: 2, columns: ['secret'] })).data, {
    rows: [{ secret: 7 }], count: 1, next: { code: 'c' }, total: 2
  })
  t.match((await select({ after: { id: 1 } })).error, { code: 'INVALID_BODY' })
  t.same((await select({ limit: 2, offset: 1, orderBy: 'secret DESC' })).data, {
    rows: [{ code: 'a', secret: 9 }, { code: 'c', secret: 7 }], count: 2, next: null
  })
})

await test('an order with after has as many columns as there may be conditions', async (t, { url }) => {
  const { post } = await startService(t, url, { options: { limits: { filterConditions: 2 } } })
  t.equal((await post('events', { verb: 'select', orderBy: 'kind', after: null })).status, 200)
  t.match((await post('events', { verb: 'select', orderBy: 'kind, note', after: null })).json.error, {
    code: 'INVALID_BODY', details: [{ path: '/orderBy' }]
  })
  t.equal((await post('events', { verb: 'select', orderBy: 'kind, note', offset: 1 })).status, 200)
})

await test('groups have pages by offset', async (t, { post }) => {
  const groups = async (body: Body) => (await post('events', {
    verb: 'select', groupBy: ['kind'], aggregates: { n: { $count: '*' } }, limit: 1, ...body
  })).json
  t.same((await groups({ offset: 0 })).data, { rows: [{ kind: 'a', n: 3 }], count: 1, next: 1 })
  t.same((await groups({ offset: 1 })).data, { rows: [{ kind: 'b', n: 2 }], count: 1, next: null })
  t.same((await groups({ offset: 0, orderBy: 'n' })).data, { rows: [{ kind: 'b', n: 2 }], count: 1, next: 1 })
  t.same((await post('events', {
    verb: 'select', groupBy: ['note', 'kind'], orderBy: 'kind DESC', offset: 1, limit: 2
  })).json.data, { rows: [{ note: null, kind: 'b' }, { note: 'z', kind: 'a' }], count: 2, next: 3 })
  t.match((await groups({ after: null })).error, { code: 'INVALID_BODY', details: [{ path: '/after' }] })
  t.match((await groups({ offset: 100_001 })).error, { code: 'INVALID_BODY', details: [{ path: '/offset' }] })
})

await test('pages and totals can be read in operations', async (t, { operate }) => {
  const { json } = await operate([
    { table: 'events', verb: 'select', columns: ['kind'], limit: 1, after: null, total: true },
    { table: 'events', verb: 'select', columns: ['id'], offset: 4 }
  ])
  t.same(json.data, {
    results: [
      { rows: [{ kind: 'b' }], count: 1, next: { id: 1 }, total: 5 }, { rows: [{ id: 5 }], count: 1, next: null }
    ]
  })
})

await test('a walk in an order that the server itself does not keep is refused', async (t, { post }) => {
  const walk = async (body: object) => await post('words', { verb: 'select', orderBy: 'word', limit: 1, ...body })
  t.match((await walk({ after: null })).json.error, { code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }] })
  const ids: number[] = []
  for (let offset = 0; offset !== null;) {
    const { rows, next } = (await walk({ offset })).json.data
    ids.push(rows[0].id)
    offset = next
  }
  t.same(ids.sort(), [1, 2, 3], 'offset works')
}, SERVERS)

// Pages where the order of the database is easily not that of its comparisons, or where its optimizer loses rows.

await test('texts that differ after thousands of characters are in order, and come once', async (t, service) => {
  const prefix = 'p'.repeat(2500)
  for (const [index, letter] of [...'bacedBAhgfj'].entries()) {
    const text = prefix + letter
    await service.sql('insert into urls values (?, ?, ?, ?)', [index + 1, text, text, text])
    await service.sql('insert into others values (?, ?, ?, ?)', [index + 1, text, text, text])
  }
  for (const [table, column] of [
    ['urls', 'c0'], ['urls', 'c1'], ['urls', 'long_text'], ['others', 'c2'], ['others', 'c3'], ['others', 'c4']
  ] as const) {
    const last = (column === 'c1' || column === 'c2' || column === 'c3' || column === 'long_text') &&
      service.engine !== 'sqlite'
    const byText = [...'bacedBAhgfj'].map(
      (letter, index) => ({ letter: last ? letter.toLowerCase() : letter, id: index + 1 })
    )
      .sort((one, other) => one.letter < other.letter ? -1 : one.letter > other.letter ? 1 : one.id - other.id).map(
        ({ id }) => id
      )
    for (const limit of [1, 2, 100]) {
      t.same(await read(service, table, { orderBy: column }, limit), byText, `${column}, ${limit} rows`)
      t.same(
        (await read(service, table, { orderBy: `${column} DESC` }, limit)).toReversed(), byText,
        `${column} DESC, ${limit} rows`
      )
    }
    const groups = await service.post(table, {
      verb: 'select', groupBy: [column], aggregates: { n: { $count: '*' } }, orderBy: column, offset: 3, limit: 3
    })
    t.match(groups.json.data.rows.map((row: Record<string, string>) => row[column]?.at(-1)?.toLowerCase()), last
      ? ['d', 'e', 'f']
      : ['b', 'c', 'd'], 'groups')
  }
})

await test('a page over an index that begins with a virtual column has its rows', async (t, service) => {
  const body = { filters: { g: 1, a: 0 }, orderBy: 'g, d' }
  const all = (await service.sql('select id from shifts where a = 0 order by d, id')).map(({ id }) => id)
  t.ok(all.length > 10)
  for (const limit of [1, 5, 100]) t.same(await read(service, 'shifts', body, limit), all, `${limit} rows`)
})

await test('an ENUM with members that the server shows alike cannot be in the order of pages, and a ' +
  'SET can have both', async (t, { post }) => {
  const after = await post('moods', { verb: 'select', orderBy: 'v', after: null })
  t.match(after, { status: 400, json: { error: { code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }] } } })
  t.match(await post('moods', { verb: 'select', orderBy: 'v', columns: ['id'], offset: 1 }), {
    status: 200, json: { data: { rows: [{ id: 1 }, { id: 2 }, { id: 4 }] } }
  })
  t.match(await post('moods', { verb: 'select', orderBy: 'id', after: null }), {
    status: 200, json: { data: { count: 4 } }
  })
  t.match(await post('moods', { verb: 'insert', data: { id: 5, v: 'new', s: ['😀', '😁'] } }), { status: 200 })
  t.match(await post('moods', { verb: 'insert', data: { id: 6, v: 'new', s: ['😀', '😀'] } }), { status: 400 })
}, SERVERS)

await test('an index of the values in lists is not read in order, because it has no entry ' +
  'for an empty list', async (t, service) => {
  for (const limit of [1, 2, 5]) {
    t.same(await read(service, 'tagged', { filters: { tenant: 1 } }, limit), [1, 2, 4, 5, 6])
    t.same(await read(service, 'tagged', { filters: { tenant: 1 }, orderBy: 'id DESC' }, limit), [6, 5, 4, 2, 1])
  }
}, ['mysql'])

const nullableKeys = [
  'create table codes (code text primary key, v int)',
  "insert into codes values ('a', 1), ('b', 2), (null, 3)",
  'create table pairs (a text, b text, v int, primary key (a, b))',
  "insert into pairs values ('x', 'p', 1), ('x', null, 2), ('w', 'q', 3), (null, 'r', 4)",
  'create table scores (id integer primary key, score int)',
  'insert into scores values (1, null), (2, 5), (3, null), (4, 7)'
]

await onEachEngine(t, 'NULL in a primary key: no page leaves a row out', {
  schema: () => nullableKeys,
  only: ['sqlite']
}, async (t, { post }) => {
  const walk = async (table: string, orderBy: string, limit: number): Promise<Array<number | string>> => {
    const seen: Array<number | string> = []
    for (let after = null; ;) {
      const { json } = await post(table, { verb: 'select', orderBy, limit, after })
      if (json.success !== true) return [...seen, json.error.code]
      seen.push(...json.data.rows.map((row: { v?: number, id?: number }) => row.v ?? row.id))
      after = json.data.next
      if (after === null) return seen
    }
  }
  t.same(await walk('codes', 'code DESC', 2), [2, 1, 3])
  t.same(await walk('codes', 'code', 2), [3, 1, 2])
  t.same(await walk('codes', 'code', 1), ['NOT_SUPPORTED'], 'other rows might have the same position')
  t.same(await walk('pairs', 'a DESC', 1), [1, 'NOT_SUPPORTED'])
  t.same(await walk('pairs', 'a DESC', 3), [1, 2, 3, 4])
  t.same(await walk('scores', 'score DESC', 1), [4, 2, 3, 1], 'NULL in other columns is no trouble')
})
