/** Orders by values inside JSON columns. The law of all values is in json-paths-law.test.ts. */
import t, { type Test } from 'tap'
import { tokenFor } from '../grants/support.ts'
import { type EngineName, onEachEngine } from '../support/service.ts'

/**
 * In their order, each with what it is equal to: every engine sorts some of them in another way by `json_extract`
 * alone.
 */
const GROUPS: ReadonlyArray<ReadonlyArray<string | null>> = [
  [null, '{}', '{"v":null}', '[]', '"v"', '{"w":1}'], ['{"v":false}'], ['{"v":true}'],
  ['{"v":-9223372036854775808}'], ['{"v":-10}'], ['{"v":-1.5}'], ['{"v":0}', '{"v":-0}', '{"v":0.0}'], ['{"v":0.1}'],
  ['{"v":1}', '{"v":1.0}', '{"v":1e0}'], ['{"v":2}'], ['{"v":9}'], ['{"v":10}', '{"v":1e1}'],
  ['{"v":9007199254740991}'], ['{"v":9007199254740992}'], ['{"v":9007199254740993}'], ['{"v":9007199254740994}'],
  ['{"v":9223372036854775806}'], ['{"v":9223372036854775807}'], ['{"v":1e300}'],
  ['{"v":""}'], ['{"v":"\\u0000"}'], ['{"v":" "}'], ['{"v":"10"}'], ['{"v":"9"}'], ['{"v":"A"}', '{"v":"\\u0041"}'],
  ['{"v":"B"}'], [
    '{"v":"a"}'
  ], ['{"v":"a\\u0000"}'], ['{"v":"a\\u0000b"}'], ['{"v":"a "}'], ['{"v":"ab"}'], ['{"v":"false"}'], ['{"v":"null"}'],
  ['{"v":"z"}'],
  ['{"v":"ß"}'], ['{"v":"é"}'], ['{"v":"\uffff"}'], ['{"v":"😀"}', '{"v":"\\ud83d\\ude00"}'],
  ['{"v":[]}', '{"v":{}}', '{"v":[1]}', '{"v":{"a":1}}', '{"v":["a"]}', '{"v":[[0]]}']
]
/** Twelve digits of a key for rows in any order: rows of a group have ids that go up. */
const DOCUMENTS = GROUPS.flatMap(
  (group, rank) => group.map((document, place) => ({ id: (rank * 37 + 11) % 1009 + place * 2000, rank, document }))
)
const quoted = (document: string | null, engine: EngineName): string =>
  document === null
    ? 'null'
    : `'${(engine === 'sqlite' ? document : document.replaceAll('\\', '\\\\')).replaceAll("'", "''")}'`

const schema = (engine: EngineName): string[] => {
  const int = engine === 'sqlite' ? 'integer' : 'int'
  const rows = DOCUMENTS.map(
    ({ id, document }) => `(${id}, ${id % 2}, ${quoted(document, engine)}, ${quoted(document, engine)}, 'n')`
  )
  return [
    `create table docs (id ${int} not null primary key, half ${int} not null, meta json, secret json,
      name varchar(10))`,
    `insert into docs values ${rows.join()}`, 'create index by_half on docs (half)',
    `create table halves (id ${int} not null primary key, meta json)`,
    "insert into halves values (0, '{\"v\":2}'), (1, '{\"v\":1}')",
    `create table parts (id ${int} not null primary key, a ${int}, b varchar(5), meta json)`,
    'create index by_a on parts (a, b)', "insert into parts values (1, 0, 'x', '{\"n\":[1,5]}'), (2, 0, 'x', " +
      "'{\"n\":[9,3]}'), (3, 0, 'x', '{\"n\":\"t\"}'), (4, 1, 'x', null), (5, 1, 'x', '{\"n\":[2]}')",
    `create table owners (id ${int} not null primary key, a ${int}, b varchar(5))`,
    "insert into owners values (1, 0, 'x'), (2, 1, 'x'), (3, 1, 'y')", 'create index owner_of on owners (a)',
    'create view seen_parts as select * from parts',
    `create table odd (id ${int} not null primary key, meta json)`
  ]
}
const SELLER = 'seller-token-that-sees-the-odd-half-0123456789'
const tokens = [tokenFor(SELLER, { docs: { columns: { select: ['id', 'meta'] }, rows: { half: 1 } } })]
/** The ids of rows by ranks, and by ids within one. */
const inOrder = (compare: (one: number, other: number) => number, documents = DOCUMENTS): number[] =>
  documents.toSorted((one, other) => compare(one.rank, other.rank) || one.id - other.id).map(({ id }) => id)
const up = (one: number, other: number): number => one - other
const greatest = (rank: number): number => rank === 0 ? Infinity : rank
const upNullsLast = (one: number, other: number): number => one === other ? 0 : greatest(one) - greatest(other)

await onEachEngine(t as Test, 'orders by a path', { schema, tokens }, async (t, service) => {
  const { engine, post, operate, server, statements, sql } = service
  const read = async (orderBy: unknown, more: object = {}, options: object = {}, table = 'docs'): Promise<unknown> => {
    const { json, text } = await post(table, {
      verb: 'select', columns: ['id'], orderBy, limit: 1000, ...more
    }, options)
    return json.error === undefined
      ? json.data.rows.map(({ id }: { id: number }) => id)
      : json.error.details[0] === undefined ? text : `${json.error.code} ${json.error.details[0].path}`
  }
  const by = (direction: string, path = '$.v', rest: object[] = [{ id: 'ASC' }]): object[] => [
    { meta: { [path]: direction } }, ...rest
  ]

  await t.test('types have ranks, and values of one type are compared as $at compares them', async (t) => {
    t.same(await read(by('ASC')), inOrder(up))
    t.same(await read(by('desc')), inOrder((one, other) => up(other, one)))
    t.same(await read(by('ASC NULLS FIRST')), inOrder(up))
    t.same(await read(by('DESC NULLS LAST')), inOrder((one, other) => up(other, one)))
    t.same(await read(by('asc nulls last')), inOrder(upNullsLast))
    t.same(await read(by('DESC NULLS FIRST')), inOrder((one, other) => upNullsLast(other, one)))
    t.same(await read(by('DESC', '$."v"')), inOrder((one, other) => up(other, one)))
    t.same(await read(by('ASC', '$.none')), inOrder(() => 0))
  })

  await t.test('each pair of neighbours is told apart by $at, too', async (t) => {
    for (const group of [18, 19, 20, 21, 22, 23].map((rank) => GROUPS[rank]?.[0] ?? '')) {
      const { id } = DOCUMENTS.find(({ document }) => document === group) as { id: number }
      const [, value = ''] = /"v":(.*)\}$/.exec(group) ?? []
      const { json } = await post(
        'docs', `{"verb":"select","columns":["id"],"filters":{"meta":{"$at":{"$.v":${value}}}},"limit":1000}`
      )
      t.same(json.data?.rows, [{ id }], group)
    }
  })

  await t.test('a path leads through lists, from either end, and through the value itself', async (t) => {
    const parts = (path: string, direction = 'ASC', more = {}): Promise<unknown> => read(
      [{ meta: { [path]: direction } }, { id: 'DESC' }], more, {}, 'parts'
    )
    t.same(await parts('$.n[0]'), [4, 3, 1, 5, 2])
    t.same(await parts('$.n[last]'), [4, 3, 5, 2, 1])
    t.same(await parts('$.n[last]', 'DESC NULLS LAST'), [1, 2, 5, 4, 3])
    t.same(await parts('$.n[last-1]', 'DESC'), [2, 1, 5, 4, 3])
    t.same(await parts('$.n', 'DESC'), [5, 2, 1, 3, 4])
    t.same(await parts('$', 'DESC'), [5, 3, 2, 1, 4])
    t.same(
      await read([{ meta: { '$.n[0]': 'ASC' } }, { meta: { '$.n[1]': 'DESC' } }, { id: 'ASC' }], {}, {}, 'parts'),
      [3, 4, 1, 5, 2]
    )
    t.same(await read([{ a: 'DESC' }, { meta: { '$.n[1]': 'DESC' } }, { id: 'ASC' }], {}, {}, 'parts'), [4, 5, 1, 2, 3])
  })

  await t.test('rows of lists, also of a view and of several columns, are sorted by their own columns', async (t) => {
    const include = (orderBy: unknown, table = 'parts', limit = 2): object => ({
      columns: ['id'], orderBy: 'id', include: { p: { table, on: { a: 'a', b: 'b' }, columns: ['id'], orderBy, limit } }
    })
    const listed = async (body: object): Promise<unknown> => {
      const { json, text } = await post('owners', { verb: 'select', ...body })
      return json.error === undefined
        ? json.data.rows.map(({ p }: { p: Array<{ id: number }> }) => p.map(({ id }) => id))
        : text
    }
    t.same(await listed(include([{ meta: { '$.n[last]': 'DESC' } }])), [[1, 2], [5, 4], []])
    t.same(await listed(include([{ meta: { '$.n[last]': 'ASC NULLS LAST' } }])), [[2, 1], [5, 4], []])
    if (engine !== 'mariadb') {
      t.same(await listed(include([{ meta: { '$.n[last]': 'DESC' } }], 'seen_parts')), [[1, 2], [5, 4], []])
    }
    const one = {
      columns: ['id'],
      orderBy: 'id',
      include: {
        p: { table: 'parts', on: { a: 'a' }, columns: ['id'], orderBy: [{ meta: { '$.n[0]': 'DESC' } }], as: 'object' }
      }
    }
    t.same((await post('owners', { verb: 'select', ...one })).json.data.rows.map(({ p }: { p: object }) => p), [
      { id: 2 }, { id: 5 }, { id: 5 }
    ])
    const nested = {
      columns: ['id'],
      include: {
        owners: {
          on: { id: 'a' },
          columns: ['id'],
          orderBy: 'id',
          include: {
            p: { table: 'parts', on: { a: 'a' }, columns: ['id'], orderBy: [{ meta: { '$.n[0]': 'DESC' } }], limit: 1 }
          }
        }
      },
      orderBy: [{ meta: { '$.v': 'ASC' } }]
    }
    const deep = await post('halves', { verb: 'select', ...nested })
    t.same(deep.json.data?.rows, [{ id: 1, owners: [{ id: 2, p: [{ id: 5 }] }, { id: 3, p: [{ id: 5 }] }] }, {
      id: 0, owners: [{ id: 1, p: [{ id: 2 }] }]
    }], deep.text)
  })

  await t.test('pages by offset have every row once, in the order that the key completes', async (t) => {
    const pages: number[] = []
    for (let offset: number | null = 0, page = 0; offset !== null && page < 20; page++) {
      const { json } = await post('docs', {
        verb: 'select', columns: ['id'], orderBy: [{ meta: { '$.v': 'DESC' } }], limit: 7, offset
      })
      pages.push(...json.data.rows.map(({ id }: { id: number }) => id))
      offset = json.data.next
    }
    t.same(pages, DOCUMENTS.toSorted((one, other) => other.rank - one.rank || other.id - one.id).map(({ id }) => id))
    const total = await post('docs', {
      verb: 'select',
      columns: ['id'],
      orderBy: by('ASC'),
      limit: 1,
      total: true,
      filters: { meta: { $at: { '$.v': { $gt: 0 } } } }
    })
    t.match(total.json.data, {
      rows: [{ id: DOCUMENTS.find(({ document }) => document === '{"v":0.1}')?.id }], total: 15
    })
  })

  await t.test('streams, operations, QUERY and calls in process have it', async (t) => {
    const [first, second] = inOrder((one, other) => up(other, one))
    const body = { verb: 'select', columns: ['id'], orderBy: by('DESC') }
    for (const accept of ['text/csv', 'application/x-ndjson']) {
      const stream = await post('docs', body, { headers: { accept } })
      t.same((stream.text.match(/\d+/g) ?? []).slice(0, DOCUMENTS.length).map(Number), inOrder(
        (one, other) => up(other, one)
      ), accept)
    }
    t.same((await operate([{ table: 'docs', ...body, limit: 2 }])).json.data.results[0].rows, [
      { id: first }, { id: second }
    ])
    const query = await post('docs', { ...body, limit: 1 }, { method: 'QUERY' as 'POST' })
    t.same(query.json.data.rows, [{ id: first }])
    const call = await server.rows.execute({
      database: 'shop',
      table: 'docs',
      grant: { permissions: ['select'] },
      body: { verb: 'select', columns: ['id'], orderBy: [{ meta: { '$.v': 'DESC' } }, { id: 'ASC' }], limit: 1 }
    })
    t.match(call, { rows: [{ id: first }] })
    const locked = await operate({ operations: [{ table: 'docs', ...body, limit: 1, lock: true }] })
    t.same(locked.json.data?.results?.[0].rows, [{ id: first }], locked.text)
  })

  await t.test('a grant sorts its own rows by the columns that it sees', async (t) => {
    t.same(await read(by('ASC'), {}, { token: SELLER }), inOrder(up, DOCUMENTS.filter(({ id }) => id % 2 === 1)))
    for (const name of ['secret', 'nothing']) {
      t.equal(await read([{ [name]: { '$.v': 'ASC' } }], {}, { token: SELLER }), `COLUMN_NOT_FOUND /orderBy/0/${name}`)
      t.equal(
        await read([{ [name]: { nonsense: 'ASC' } }], {}, { token: SELLER }), `INVALID_ORDER_BY /orderBy/0/${name}`
      )
    }
  })

  await t.test('is refused', async (t) => {
    const long = `$.${'a'.repeat(1000)}`
    for (const [orderBy, error] of [
      [by('ASC', '$v'), 'INVALID_BODY /orderBy/0/meta/$v'], [by('ASC', long), `INVALID_BODY /orderBy/0/meta/${long}`],
      [by('ASC', '$.v', [{ meta: { '$.v': 'ASC' } }]), 'INVALID_ORDER_BY /orderBy']
    ] as const) t.equal(await read(orderBy), error)
    t.same(await read(by('ASC', '$."-a"')), engine === 'mariadb'
      ? 'NOT_SUPPORTED /orderBy/0/meta/$."-a"'
      : inOrder(() => 0), '-a')
    t.same(await read(by('ASC', '$."\\u0000"')), engine === 'sqlite'
      ? 'NOT_SUPPORTED /orderBy/0/meta/$."\\u0000"'
      : inOrder(() => 0), 'NUL')
    const many = (length: number): unknown =>
      Array.from({ length }, (_, index) => ({ meta: { [`$.v${index}`]: 'ASC' } })).concat([{ id: 'ASC' }] as never)
    t.same(await read(many(16)), inOrder(() => 0), '16 paths')
    t.same(await read(many(17)), engine === 'mariadb' ? 'NOT_SUPPORTED /orderBy' : inOrder(() => 0), '17 paths')
    const deep = (length: number): unknown => Array.from(
      { length }, (_, index) => ({ meta: { [`$.p${index}${'[0]'.repeat(29)}`]: 'ASC' } })
    ).concat([{ id: 'ASC' }] as never)
    t.same(await read(deep(8)), inOrder(() => 0), 'a further step into a list counts as a path')
    t.equal(await read(deep(9)), 'INVALID_BODY /orderBy')
    if (engine === 'mariadb') return
    t.same(await read(many(256)), inOrder(() => 0), '256 paths')
    t.equal(await read(many(257)), 'INVALID_BODY /orderBy')
  })

  await t.test('a stored text that is not JSON is lowest, and of a key that occurs twice one counts', async (t) => {
    const texts = ['x', '{"v":2}', '{"v":5,"v":1}', '{"v"', '{"v":3}', '']
    for (const [id, text] of texts.entries()) {
      if (engine === 'mysql' && !['{"v":2}', '{"v":5,"v":1}', '{"v":3}'].includes(text)) continue
      await sql(
        `${engine === 'mariadb' ? 'set statement check_constraint_checks = 0 for ' : ''}insert into odd values (?, ?)`,
        [id, text]
      )
    }
    t.same(await read(by('ASC'), {}, {}, 'odd'), engine === 'mysql' ? [2, 1, 4] : [0, 3, 5, 1, 4, 2])
  })

  await t.test('paths of one form are parameters of one statement, and no request without a path has ' +
    'more in its statement', async (t) => {
    statements()
    for (const path of ['$.v', '$.w', '$."it\'s"']) await read(by('ASC', path))
    const texts = statements().filter((text) => /[`" ]docs/.test(text)).map(
      (text) => text.replaceAll(/'(?:[^'\\]|\\.|'')*'/g, '?')
    )
    t.equal(texts.length, 3)
    t.equal(new Set(texts).size, 1)
  })
})
