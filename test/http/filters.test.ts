/** Which rows each operator and combinator selects, and which filters a write must have. */
import t from 'tap'
import { useEachEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine, type Schema, sharedOnEachEngine, startService } from '../support/service.ts'

useEachEngine(t)

const rows = 'insert into things (id, name, size, price, note, made, doc) values ' +
  "(1, 'Ant', 1, '0.50', null, '2026-01-01 00:00:00', '{\"a\": 1}'), (2, 'bee', 2, '1.00', '100% sure', '2026-01-02 " +
    "00:00:00', '[1, 2]'), " +
  "(3, 'Cat', 3, '10.00', 'a_b', '2026-01-03 00:00:00', null), (4, 'dog', null, '9.99', 'axb', null, 'null'), (5, " +
    "'a\\\\b', 5, '-1.00', '', '2026-01-05 00:00:00', '{}')"

const things = (quote: string): string => `create table things (
  id integer not null primary key, name varchar(20) not null, size int null, price decimal(10,2) not null,
  note varchar(20) null, made datetime null, doc json null,
  ${quote}$or${quote} int generated always as (id) virtual)`
const members = Array.from({ length: 64 }, (_, index) => `m${index}`)
const schema: Schema = {
  mysql: [
    `${things('`')} collate utf8mb4_bin`, rows,
    `create table posts (id int not null primary key, tags set('a','b','A b','ö','x😀') null,
      wide set(${members.map((name) => `'${name}'`).join(',')}) not null default '', word varchar(10) null)`,
    `create table locked (id int not null primary key, name varchar(20) not null, kind enum('a', 'B') null,
      marks set('x', 'y') null, note text null) collate utf8mb4_general_ci`,
    "insert into locked values (1, 'acme', 'a', 'x', null)",
    "insert into posts (id, tags, wide) values (1, 'a', 'm0'), (2, 'a,b', 'm63'), (3, 'b,A b', 'm0,m63'), (4, '', " +
      "'m62'), (5, null, 'm31,m32'), (6, 'ö,x😀', '')"
  ],
  sqlite: [
    things('"'), rows.replace('\\\\', '\\'),
    `create table locked (id integer not null primary key, name varchar(20) not null collate nocase, kind text null,
      marks text null, note text null)`,
    "insert into locked values (1, 'acme', 'a', 'x', null)"
  ]
}

/** filters -> ids of the selected rows. */
const cases: Array<[string, object, number[]]> = [
  ['a plain value is equality', { name: 'Cat' }, [3]],
  ['several keys are all required', { name: 'Cat', size: 2 }, []],
  ['no filters select every row', {}, [1, 2, 3, 4, 5]],
  ['null is IS NULL', { note: null }, [1]],
  ['$eq null is IS NULL', { note: { $eq: null } }, [1]],
  ['$is is the value to the letter', { name: { $is: 'Cat' } }, [3]],
  ['$is of a time', { made: { $is: '2026-01-02T00:00:00' } }, [2]],
  ['$is of JSON, by value', { doc: { $is: [1, 2] } }, [2]],
  ['$is null finds rows without a value', { note: { $is: null } }, [1]],
  ['$is null finds both nulls of JSON', { doc: { $is: null } }, [3, 4]],
  ['$is null of a column that is NOT NULL matches nothing', { name: { $is: null } }, []],
  ['null is a value like others to $is: $not finds it', { $not: { size: { $is: 1 } } }, [2, 3, 4, 5]],
  ['null is a value like others to $is of texts', { $not: { note: { $is: '' } } }, [1, 2, 3, 4]],
  ['null is a value like others to $is of JSON', { $not: { doc: { $is: {} } } }, [1, 2, 3, 4]],
  ['$is of a row', {
    $is: { id: 1, name: 'Ant', size: 1, price: '0.50', note: null, made: '2026-01-01T00:00:00', doc: { a: 1 } }
  }, [1]],
  ['$is of a row that was changed meanwhile', { $is: { id: 1, name: 'Ant', size: 2 } }, []],
  ['$$ and the name of a column that begins with $', { $$or: 4 }, [4]],
  ['$$ twice', { $or: [{ $$or: 1 }, { $$or: { $gte: 5 } }] }, [1, 5]],
  ['$is takes the name as a select shows it', { $is: { $or: 2 } }, [2]],
  ['$ne null is IS NOT NULL', { size: { $ne: null } }, [1, 2, 3, 5]],
  ['$ne leaves out rows without a value, as SQL does', { size: { $ne: 1 } }, [2, 3, 5]],
  ['$null true and false', { size: { $null: true } }, [4]],
  ['$null false', { note: { $null: false } }, [2, 3, 4, 5]],
  ['null of a column that is NOT NULL matches nothing', { name: null }, []],
  ['$gt', { price: { $gt: '1.00' } }, [3, 4]],
  ['$lte on dates', { made: { $lte: '2026-01-02T00:00:00' } }, [1, 2]],
  ['$between has both ends', { size: { $between: [2, 3] } }, [2, 3]],
  ['a list means $in', { size: [1, 5, 7] }, [1, 5]],
  ['$in', { name: { $in: ['bee', 'dog'] } }, [2, 4]],
  ['$nin [] matches everything', { id: { $nin: [] } }, [1, 2, 3, 4, 5]],
  ['a list with null finds rows without a value too', { size: [1, null] }, [1, 4]],
  ['$nin with null leaves out rows without a value', { size: { $nin: [1, null] } }, [2, 3, 5]],
  ['$nin without null leaves them out too, as SQL does', { size: { $nin: [1] } }, [2, 3, 5]],
  ['$like', { name: { $like: '%a%' } }, [3, 5]],
  ['$like with an escaped wildcard', { note: { $like: 'a\\_b' } }, [3]],
  ['$nlike', { note: { $nlike: 'a%' } }, [2, 5]],
  ['$startsWith', { name: { $startsWith: 'A' } }, [1]],
  ['$startsWith takes % as it is', { note: { $startsWith: '100%' } }, [2]],
  ['$startsWith takes a backslash as it is', { name: { $startsWith: 'a\\' } }, [5]],
  ['$contains takes _ as it is', { note: { $contains: '_' } }, [3]],
  ['$contains takes % as it is', { note: { $contains: '%' } }, [2]],
  ['$contains of nothing finds every row with a value', { note: { $contains: '' } }, [2, 3, 4, 5]],
  ['$or', { $or: [{ id: 1 }, { name: 'dog' }] }, [1, 4]],
  ['$or beside a column', { size: { $gt: 1 }, $or: [{ id: 2 }, { id: 4 }] }, [2]],
  ['$not', { $not: { id: { $gt: 2 } } }, [1, 2]],
  ['$not of several: not all of them', { $not: { id: 1, name: 'Ant' } }, [2, 3, 4, 5]],
  ['$not leaves out what is unknown, as SQL does', { $not: { size: 1 } }, [2, 3, 5]],
  ['nested combinators', {
    $or: [{ $and: [{ id: { $gte: 4 } }, { $not: { name: 'dog' } }] }, { $not: { $or: [{ id: { $gt: 1 } }] } }]
  }, [1, 5]],
  ['a JSON column is compared with an object, a list or an empty object', {
    $or: [{ doc: { a: 1 } }, { doc: [1, 2] }, { doc: {} }]
  }, [1, 2, 5]],
  ['$eq on a JSON column', { doc: { $eq: { a: 1 } } }, [1]],
  ['$in on a JSON column takes values', { doc: { $in: [{ a: 1 }, [1, 2]] } }, [1, 2]],
  ['$ne on a JSON column', { doc: { $ne: { a: 1 } } }, [2, 4, 5]],
  ['null finds no value and the null of JSON, which look the same', { doc: null }, [3, 4]],
  ['$ne null leaves out both', { doc: { $ne: null } }, [1, 2, 5]],
  ['$null asks for SQL\'s NULL alone', { doc: { $null: true } }, [3]]
]

const test = sharedOnEachEngine(t, { schema })

await test('filters select', async (t, { post }) => {
  for (const [name, filters, ids] of cases) {
    const { json } = await post('things', { verb: 'select', columns: ['id'], filters, orderBy: 'id' })
    t.same(json.data.rows?.map((row: { id: number }) => row.id) ?? json, ids, name)
  }
})

const levels = (depth: number, innermost: object = { id: 1 }): object =>
  depth === 0 ? innermost : { $not: levels(depth - 1, innermost) }

await test('filters are accepted up to the limits, which a database takes, and no further', async (t, { post }) => {
  const list = (length: number): number[] => Array.from({ length }, (_, id) => id)
  const limits: Array<[most: number, filters: (number: number) => object]> = [
    [32, (depth) => levels(depth)], [31, (depth) => levels(depth, { $is: { id: 1 } })],
    [256, (length) => ({ $or: list(length).map((id) => ({ id })) })], [10_000, (length) => ({ id: list(length) })],
    ...['a', '%', '😀', '\\'].flatMap((character) => ['$like', '$nlike', '$startsWith', '$contains'].map(
      (operator): typeof limits[number] => [1000, (length) => ({ note: { [operator]: character.repeat(length) } })]
    ))
  ]
  for (const [most, filters] of limits) {
    t.equal((await post('things', { verb: 'select', filters: filters(most) })).status, 200)
    t.match((await post('things', { verb: 'select', filters: filters(most + 1) })).json.error, { code: 'INVALID_BODY' })
  }
})

await test('a pattern with a NUL character matches no other texts', async (t, { post, sql, engine }) => {
  for (const pattern of [{ $contains: '\0' }, { $like: '%\0%' }, { $startsWith: 'a\0z' }, { $like: 'a%\0' }]) {
    for (const verb of ['select', 'delete']) {
      const { json } = await post('things', { verb, filters: { name: pattern } })
      // SQLite's LIKE ends the pattern at NUL: it would read `%\0%` as `%`.
      if (engine === 'sqlite') {
        t.match(
          json.error, { code: 'INVALID_VALUE', details: [{ path: `/filters/name/${Object.keys(pattern)}` }] },
          JSON.stringify(pattern)
        )
      } else t.match(json.data, verb === 'select' ? { count: 0 } : { deleted: 0 }, JSON.stringify(pattern))
    }
  }
  t.match(await sql('select count(*) as count from things'), [{ count: 5 }])
})

await test('a pattern that is too complex for the database is rejected or matches nothing', async (t, { url }) => {
  const { post } = await startService(t, url, { options: { limits: { filterPattern: 65_535 } } })
  for (const pattern of [{ $like: '%a'.repeat(30_000) }, { $contains: '%'.repeat(60_000) }]) {
    const { status, json } = await post('things', { verb: 'select', filters: { note: pattern } })
    t.ok(status === 200 ? json.data.count === 0 : json.error.code === 'VALUE_OUT_OF_RANGE', JSON.stringify(json))
  }
})

// `$has`: which rows have this member of a SET.

await test('$has finds the sets with a member, or with all members of a list', async (t, { post, operate }) => {
  const ids = async (filters: object): Promise<number[]> => {
    const { json, text } = await post('posts', { verb: 'select', filters, columns: ['id'], orderBy: 'id' })
    return json.data.rows?.map(({ id }: { id: number }) => id) ?? text
  }
  const expected: Array<[filters: object, ids: number[]]> = [
    [{ tags: { $has: 'a' } }, [1, 2]], [{ tags: { $has: ['a'] } }, [1, 2]], [{ tags: { $has: ['a', 'b'] } }, [2]], [
      { tags: { $has: ['b', 'a', 'a'] } }, [2]
    ], [{ tags: { $has: 'A b' } }, [3]], [{ tags: { $has: 'ö' } }, [6]], [{ tags: { $has: 'x😀' } }, [6]],
    [{ $not: { tags: { $has: 'a' } } }, [3, 4, 6]], [{ tags: { $has: 'b', $ne: ['a', 'b'] } }, [3]],
    [{ $or: [{ tags: { $has: ['a', 'A b'] } }, { tags: null }] }, [5]],
    [{ wide: { $has: 'm63' } }, [2, 3]], [{ wide: { $has: ['m0', 'm63'] } }, [3]], [{ wide: { $has: 'm62' } }, [4]],
    [{ wide: { $has: ['m31', 'm32'] } }, [5]], [{ wide: { $has: members } }, []]
  ]
  for (const [filters, found] of expected) t.same(await ids(filters), found, JSON.stringify(filters))
  t.same((await post('posts', {
    verb: 'select',
    groupBy: ['tags'],
    having: { tags: { $has: 'b' } },
    aggregates: { n: { $count: '*', filters: { wide: { $has: 'm63' } } } },
    orderBy: 'tags'
  })).json.data?.rows, [{ tags: ['a', 'b'], n: 1 }, { tags: ['b', 'A b'], n: 1 }])
  t.same((await post('posts', { verb: 'update', filters: { tags: { $has: 'b' } }, data: { word: 'x' } })).json.data, {
    updated: 2
  })
  const { json } = await operate([
    { table: 'posts', verb: 'select', filters: { id: 1 } },
    {
      table: 'posts',
      verb: 'select',
      filters: { tags: { $has: { $ref: '/0/rows/0/tags/0' } } },
      columns: ['id'],
      orderBy: 'id'
    },
    {
      table: 'posts', verb: 'select', filters: { tags: { $has: [{ $ref: '/0/rows/0/tags/0' }, 'b'] } }, columns: ['id']
    }
  ])
  t.same(
    json.data.results?.slice(1).map(({ rows }: any) => rows), [[{ id: 1 }, { id: 2 }], [{ id: 2 }]],
    JSON.stringify(json)
  )
  t.same((await post('posts', { verb: 'delete', filters: { wide: { $has: 'm63' } } })).json.data, { deleted: 2 })
}, ['mariadb', 'mysql'])

await test('a row sent back with $is works as an optimistic lock on its whole content, also where the collation ' +
  'finds other spellings equal', async (t, { post, sql }) => {
  const { json: { data: { rows: [row] } } } = await post('locked', { verb: 'select' })
  await sql("update locked set name = 'ACME'")
  t.match(
    (await post('locked', { verb: 'update', data: { note: 'mine' }, filters: { $is: row } })).json,
    { data: { updated: 0 } }, 'a different spelling does not match'
  )
  t.match(
    (await post('locked', { verb: 'update', data: { note: 'mine' }, filters: { id: 1, name: row.name } })).json,
    { data: { updated: 1 } }, 'it matches by the collation'
  )
  t.match(
    (await post('locked', { verb: 'update', data: { note: 'mine' }, filters: { $is: { ...row, name: 'ACME' } } })).json,
    { data: { updated: 0 } }, 'a value does not match null'
  )
  t.match((await post('locked', { verb: 'delete', filters: { $is: { ...row, name: 'ACME', note: 'mine' } } })).json, {
    data: { deleted: 1 }
  })
})

const LINES = ['Bell', 'Bell\nof brass', 'Bell\tbig', 'Bell\u0001', 'Bell ', 'Bell, old', 'Bellow', 'Bel', 'bell', 'z']
const LITERALS = LINES.map((text) => `'${text}'`)
const lines = (engine: EngineName): string[] => engine === 'sqlite'
  ? [
      'create table headings (id integer primary key, bytes varchar(20), part text, latin varchar(20))',
      'create index bytes on headings (bytes)',
      ...LITERALS.map((text, id) => `insert into headings values (${id}, ${text}, ${text}, ${text})`)
    ]
  : [
      'create table headings (id int not null primary key, bytes varchar(20) collate utf8mb4_bin, part text collate ' +
      'utf8mb4_bin, latin varchar(20) character set latin1 collate latin1_bin, key (bytes), key (part(6)), key ' +
      '(latin)) default charset=utf8mb4',
      ...LITERALS.map((text, id) => `insert into headings values (${id}, ${text}, ${text}, ${text})`),
      `insert into headings (id, bytes, part, latin) select n, 'm', 'm', 'm' from (${
        Array.from({ length: 60 }, (_, index) => `select ${100 + index} as n`).join(' union all ')}) as others`,
      'analyze table headings'
    ]

await onEachEngine(t, '$startsWith finds, in an index of a collation that compares codes and pads with spaces, also ' +
  'texts that go on with a character less than the space', { schema: lines }, async (t, { post, operate }) => {
  const begins = LINES.flatMap((text, id) => text.startsWith('Bell') ? [id] : [])
  const found = async (filters: object): Promise<unknown> => {
    const { json } = await post('headings', { verb: 'select', columns: ['id'], orderBy: 'id', filters })
    return json.data?.rows.map(({ id }: { id: number }) => id)
  }
  for (const name of ['bytes', 'part', 'latin']) {
    t.same(await found({ [name]: { $startsWith: 'Bell' } }), begins, name)
    t.same(await found({ $not: { [name]: { $startsWith: 'Bel' } }, id: { $lt: 100 } }), [8, 9], name)
    t.same(await found({ [name]: { $startsWith: 'Bell\n' } }), [1], name)
    t.same(await found({ [name]: { $startsWith: 'bell', $case: 'ignore' } }), [...begins, 8], name)
    const { json } = await operate([
      { table: 'headings', verb: 'select', columns: [name], filters: { id: 0 } },
      {
        table: 'headings',
        verb: 'select',
        columns: ['id'],
        orderBy: 'id',
        filters: { [name]: { $startsWith: { $ref: `/0/rows/0/${name}` } } }
      }
    ])
    t.same(json.data?.results[1].rows.map(({ id }: { id: number }) => id), begins, `${name} by a reference`)
  }
})

const streets = (engine: EngineName): string[] => engine === 'sqlite'
  ? [
      'create table streets (id integer primary key, name varchar(6) not null, bare varchar(6), mark blob, ' +
      'note tinytext, k int)',
      'create index name on streets (name)',
      "insert into streets values (1, 'Straße', 'Straße', x'414243', 'x', null), (2, 'Strasse', 'Strasse', " +
      "x'41424344', null, null), (3, 'b', null, null, null, null)"
    ]
  : [
      'create table streets (id int not null primary key, name varchar(6) not null, bare varchar(6), mark ' +
      'varbinary(3), note tinytext, k int, key name (name)) default charset=utf8mb4 collate=utf8mb4_unicode_ci',
      "insert into streets values (1, 'Straße', 'Straße', 'ABC', 'x', null), (2, 'STRASE', 'STRASE', 'ABD', null, " +
      "null), (3, 'b', null, null, null, null)"
    ]

await onEachEngine(t, 'a text or bytes longer than the ' +
  'column are in no row', { schema: streets }, async (t, { engine, post }) => {
  const isSqlite = engine === 'sqlite'
  const [long, bytes, note] = ['Strasse', 'QUJDRA==', 'é'.repeat(128)]
  // SQLite holds values of any length, and compares them
  const own = isSqlite ? [2] : []
  const table: Array<[filters: object, ids: number[]]> = [
    [{ name: long }, own], [{ bare: long }, own], [{ name: { $eq: long } }, own], [{ name: { $is: long } }, own],
    [{ $is: { name: long } }, own], [{ mark: bytes }, own], [{ mark: { $is: bytes } }, own],
    [{ name: [long, 'b'] }, [...own, 3]], [{ name: { $in: [long] } }, own], [{ name: [long, null] }, own],
    [{ bare: [long, null] }, [...own, 3]],
    [{ name: { $ne: long } }, isSqlite ? [1, 3] : [1, 2, 3]], [{ bare: { $ne: long } }, isSqlite ? [1] : [1, 2]], [
      { name: { $nin: [long] } }, isSqlite ? [1, 3] : [1, 2, 3]
    ], [{ bare: { $nin: [long] } }, isSqlite ? [1] : [1, 2]],
    [{ bare: { $nin: [long, null] } }, isSqlite ? [1] : [1, 2]],
    [{ bare: { $nin: [long, 'Straße'] } }, isSqlite ? [] : [2]], [{ mark: { $ne: bytes } }, isSqlite ? [1] : [1, 2]],
    // without a value, an inequality is unknown, as any other one is
    [{ $not: { bare: long } }, isSqlite ? [1] : [1, 2, 3]],
    [{ $not: { bare: { $ne: long } } }, own], [{ $not: { bare: { $nin: [long] } } }, own],
    [{ $not: { $and: [{ $not: { bare: { $ne: long } } }] } }, isSqlite ? [1] : [1, 2]], [
      { $not: { $or: [{ bare: { $ne: long } }, { id: 1 }] } }, own
    ], [{ $not: { name: { $ne: long } } }, own], [{ $not: { bare: { $in: [long] } } }, isSqlite ? [1] : [1, 2, 3]],
    [{ $or: [{ name: long }, { id: 3 }] }, [...own, 3]],
    [{ note }, []], [{ note: { $ne: note } }, [1]], [{ name: `b${' '.repeat(6)}` }, []],
    [{ name: { $like: 'Strass%' } }, own], [{ name: '😀'.repeat(6) }, []], [{ name: '😀'.repeat(7) }, []]
  ]
  for (const [filters, ids] of table) {
    const { json, text } = await post('streets', { verb: 'select', columns: ['id'], filters, orderBy: 'id' })
    t.same(json.data.rows?.map(({ id }: { id: number }) => id) ?? text, ids, JSON.stringify(filters))
  }
  const answers = async (body: object): Promise<unknown> => {
    const { json } = await post('streets', body)
    return json.error === undefined ? json.data : `${json.error.code} ${json.error.details[0]?.path}`
  }
  const select = (filters: object, more: object = {}): object => ({
    verb: 'select', columns: ['id'], filters, orderBy: 'id', ...more
  })
  t.same(await answers({ verb: 'select', groupBy: ['bare'], having: { bare: long } }), isSqlite
    ? { rows: [{ bare: long }], count: 1 }
    : { rows: [], count: 0 })
  t.same(await answers({ verb: 'select', aggregates: { n: { $count: '*', filters: { bare: { $ne: long } } } } }), {
    rows: [{ n: isSqlite ? 1 : 2 }], count: 1
  })
  t.same(
    await answers(select({ $some: { other: { table: 'streets', on: { name: 'name' }, filters: { name: long } } } })),
    { rows: isSqlite ? [{ id: 2 }] : [], count: isSqlite ? 1 : 0 }
  )
  t.same(await answers(select({ id: 3 }, {
    include: { same: { table: 'streets', on: { name: 'name' }, columns: ['id'], filters: { bare: long } } }
  })), { rows: [{ id: 3, same: [] }], count: 1 })
})

await onEachEngine(t, 'a longer value of a ' +
  'reference is refused', { schema: streets, only: ['mariadb', 'mysql'] }, async (t, { operate, sql }) => {
  await sql("update streets set note = 'seven letters' where id = 1")
  const { json } = await operate([{ table: 'streets', verb: 'select', filters: { id: 1 } }, {
    table: 'streets', verb: 'select', filters: { name: { $in: [{ $ref: '/0/rows/0/note' }] } }
  }])
  t.match(json.error, { code: 'INVALID_VALUE', details: [{ path: '/operations/1/filters/name/$in/0' }] })
})

await onEachEngine(t, 'a YEAR is compared alike alone and beside a list, also the year 0', {
  schema: () => [
    'create table years (id int not null primary key, y year null)',
    "insert into years values (1, '0000'), (2, '2026'), (3, '0000')"
  ],
  only: ['mariadb', 'mysql']
}, async (t, { post }) => {
  for (const equal of [{ y: 0 }, { y: { $is: 0 } }, { y: { $in: [0] } }]) {
    const ids = async (list: object) => (await post('years', {
      verb: 'select', columns: ['id'], filters: { $and: [equal, { y: list }] }, orderBy: 'id'
    })).json.data.rows.map(({ id }: { id: number }) => id)
    t.same(await ids({ $in: [0, 2155] }), [1, 3])
    t.same(await ids({ $nin: [0, 2155] }), [])
    t.same(await ids({ $ne: 2026 }), [1, 3])
  }
})
