// night: thirty services, for what no program writes by accident
/**
 * What other programs have stored in SQLite: values of another storage class than the type of their column, times in
 * another notation, texts that are not UTF-8.
 */
import t from 'tap'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { buffer as bytesOf } from 'node:stream/consumers'
import { readPages } from '../support/pages.ts'
import { onEachEngine, startService, type Service } from '../support/service.ts'
import { listen, request } from '../support/wire.ts'

/** A column of a type: two values of the service, the lower one first, and others, as SQL. */
interface Other {
  readonly type: string,
  readonly own: readonly [low: string, high: string],
  readonly low: unknown,
  readonly high: unknown,
  readonly others: readonly string[],
  readonly isText?: true
}

const TIMES = ['1900000000', '12.5', "'soon'", "x'323032362d31312d3230'", "''"]
const columns: readonly Other[] = [
  { type: 'integer', own: ['5', '7'], low: 5, high: 7, others: ["'x'", "x'35'", "''"] },
  { type: 'boolean', own: ['0', '1'], low: false, high: true, others: ["'yes'", "x'31'"] },
  { type: 'year', own: ['2020', '2030'], low: 2020, high: 2030, others: ["'x'", "x'35'"] },
  { type: 'real', own: ['1.5', '2'], low: 1.5, high: 2, others: ["'x'", "x'35'"] },
  { type: 'decimal(10,2)', own: ['1.5', '20'], low: '1.50', high: '20.00', others: ["'x'", "x'35'"] },
  { type: 'varchar(20)', own: ["'a'", "'b'"], low: 'a', high: 'b', others: ["x'61'", "x''", "x'ff'"], isText: true },
  { type: 'text collate nocase', own: ["'a'", "'B'"], low: 'a', high: 'B', others: ["x'61'"], isText: true },
  { type: 'blob', own: ["x'41'", "x'4242'"], low: 'QQ==', high: 'QkI=', others: ["'QQ=='", "'A'", '5', '2.5'] },
  {
    type: 'string', own: ["'a'", "'b'"], low: 'a', high: 'b', others: ['5', "'007'", "' 2.5e1 '", "x'61'"], isText: true
  },
  {
    type: 'uuid collate nocase',
    own: ["'a'", "'B'"],
    low: 'a',
    high: 'B',
    others: ["'12345678901234567890123456789012'", "x'61'"],
    isText: true
  },
  { type: 'varbinary(2)', own: ["x'41'", "x'4242'"], low: 'QQ==', high: 'QkI=', others: ["'QQ=='", "'7'", '2.5'] },
  {
    type: 'date',
    own: ["'2020-01-02'", "'2030-01-02'"],
    low: '2020-01-02',
    high: '2030-01-02',
    others: [...TIMES, "'2026-11-20T00:00:00'", "'2026-11-20 00:00:00'", "'20261120'", "'2026-11-2'"]
  },
  {
    type: 'time',
    own: ["'-10:15:00'", "'810:15:00.25'"],
    low: '-10:15:00',
    high: '810:15:00.25',
    others: [...TIMES, "'10:15'", "'9:15:00'", "'10:15:00.'", "'10:15:00.5Z'", "'10:15:00+02:00'"]
  },
  {
    type: 'datetime',
    own: ["'2020-01-02 10:15:00'", "'2030-01-02 10:15:00.5'"],
    low: '2020-01-02T10:15:00',
    high: '2030-01-02T10:15:00.5',
    others: [
      ...TIMES, "'2026-11-20'", "'2026-11-20T10:15:00'", "'2026-11-20 10:15'", "'2026-11-20 10:15:00Z'",
      "'2026-11-20 10:15:00+02:00'", "'2026-11-20 10:15:00.'", "'2026-11-20 10:15:00.5 '"
    ]
  },
  {
    type: 'timestamp',
    own: ["'2020-01-02 10:15:00'", "'2030-01-02 10:15:00.5'"],
    low: '2020-01-02T10:15:00Z',
    high: '2030-01-02T10:15:00.5Z',
    others: [
      ...TIMES, "'2026-11-20T10:15:00.000Z'", "'2026-11-20T10:15:00'", "'2026-11-20 10:15:00+00:00'",
      "'2026-11-20 10:15:00.123+02'"
    ]
  }
]

/** Rows: 1 has the low value, 2 the high one, 3 NULL, the others what no comparison covers. */
const tableOf = ({ type, own, others }: Other, index: number): string[] => [
  `create table t${index} (id integer primary key, v ${type}, p int not null default 1)`,
  `create index i${index} on t${index} (v)`, `create index p${index} on t${index} (p)`,
  ...[...own, 'null', ...others].map((value) => `insert into t${index} (v) values (${value})`)
]
const schema = {
  mysql: [],
  sqlite: [
    'create table parents (id integer primary key)', 'insert into parents values (1)', ...columns.flatMap(tableOf)
  ]
}

/** Filters of `v`, and the rows that pass them. */
const filtersOf = ({ low, high, isText }: Other): ReadonlyArray<readonly [filter: object, ids: readonly number[]]> => [
  [{ v: low }, [1]], [{ v: { $ne: low } }, [2]], [{ v: { $lt: high } }, [1]], [{ v: { $lte: high } }, [1, 2]],
  [{ v: { $gt: low } }, [2]], [{ v: { $gte: low } }, [1, 2]], [{ v: { $between: [low, high] } }, [1, 2]],
  [{ v: { $in: [low, high] } }, [1, 2]], [{ v: { $nin: [low] } }, [2]], [{ v: { $in: [low, null] } }, [1, 3]],
  [{ v: { $is: high } }, [2]],
  [{ $not: { v: low } }, [2]], [{ $not: { v: { $ne: low } } }, [1]], [{ $not: { v: { $lt: high } } }, [2]], [
    { $not: { v: { $gt: low } } }, [1]
  ], [{ $not: { v: { $between: [low, low] } } }, [2]], [{ $not: { v: { $in: [low] } } }, [2]],
  [{ $not: { v: { $nin: [low] } } }, [1]], [{ $not: { v: { $is: high } } }, [1, 3]], [
    { $not: { $not: { v: { $lt: high } } } }, [1]
  ], [{ $not: { $or: [{ v: { $lt: low } }, { v: high }] } }, [1]],
  [{ $or: [{ v: { $lt: low } }, { v: { $gt: low } }] }, [2]],
  ...isText === true
    ? [
        [{ v: { $like: '%' } }, [1, 2]], [{ v: { $nlike: 'a' } }, [2]], [{ v: { $contains: '' } }, [1, 2]],
        [{ v: { $startsWith: 'a' } }, [1]], [{ $not: { v: { $like: 'a' } } }, [2]],
        [{ $not: { v: { $nlike: 'a' } } }, [1]]
      ] as const
    : [],
  [{ v: null }, [3]]
]

const eachColumn = columns.map((column, index) => ({
  ...column,
  table: `t${index}`,
  index,
  filters: filtersOf(column),
  all: [1, 2, 3, ...column.others.map((_value, other) => 4 + other)]
}))
type Column = typeof eachColumn[number]

async function idsOf ({ post }: Service, table: string, filters: object): Promise<number[]> {
  const { text, json } = await post(table, { verb: 'select', columns: ['id'], filters, orderBy: 'id' })
  if (json.success !== true) throw new Error(text)
  return json.data.rows.map(({ id }: { id: number }) => id)
}

await onEachEngine(t, 'other values', { schema, only: ['sqlite'] }, async (t, service) => {
  const { post, sql, statements } = service

  await t.test('a value of another class or notation passes no comparison, as NULL', async (t) => {
    for (const { type, table, filters, all } of eachColumn) {
      for (const [filter, ids] of filters) {
        t.same(await idsOf(service, table, filter), ids, `${type} ${JSON.stringify(filter)}`)
      }
      t.same(
        await idsOf(service, table, { v: { $null: false } }), all.filter((id) => id !== 3), `${type}: it is not NULL`
      )
    }
  })

  await t.test('the same holds in filters of aggregates, of members, of related rows, and in having', async (t) => {
    const related = { on: { id: 'p' } }
    for (const { type, table, filters, all, low } of eachColumn) {
      const aggregates = Object.fromEntries(
        filters.map(([filter], index) => [`n${index}`, { $count: '*', filters: filter }])
      )
      const counts = Object.fromEntries(filters.map(([, ids], index) => [`n${index}`, ids.length]))
      t.same((await post(table, { verb: 'select', aggregates })).json.data.rows, [counts], type)
      for (const [filter, ids] of filters) {
        const select = async (body: object): Promise<any[]> =>
          (await post('parents', { verb: 'select', ...body })).json.data.rows
        const member = { table, filters: filter, ...related }
        const what = `${type} ${JSON.stringify(filter)}`
        t.same(await select({
          include: {
            them: { ...member, columns: ['id'], orderBy: 'id' },
            n: { table, filters: filter, ...related, aggregates: { n: { $count: '*' } } }
          }
        }), [{ id: 1, them: ids.map((id) => ({ id })), n: { n: ids.length } }], what)
        t.equal((await select({
          filters: { $some: { them: { ...related, table, filters: { ...filter, id: { $gt: 3 } } } } }
        })).length, 0, `$some: ${what}`)
        t.equal((await select({
          filters: { $none: { them: { ...related, table, filters: { ...filter, id: { $gt: 3 } } } } }
        })).length, 1, `$none: ${what}`)
      }
      const having = (await post(table, {
        verb: 'select', groupBy: ['id', 'v'], having: { v: { $ne: low } }
      })).json.data.rows
      t.same(having.map(({ id }: { id: number }) => id), [2], type)
      const groups = (await post(table, {
        verb: 'select', groupBy: ['v'], aggregates: { n: { $count: 'v' } }, limit: 100
      })).json.data.rows
      t.equal(groups.reduce((sum: number, { n }: { n: number }) => sum +
        n, 0), all.length - 1, `${type}: groupBy and $count take the values as they are`)
    }
  })

  await t.test('an index serves comparisons, orders and positions', async (t) => {
    const planOf = async (table: string, body: object): Promise<string> => {
      statements()
      const { json } = await post(table, { verb: 'select', ...body })
      if (json.success !== true) throw new Error(JSON.stringify(json))
      const statement = statements().at(-1) as string
      const rows = await sql(`explain query plan ${statement}`, Array(statement.split('?').length - 1).fill(1))
      return rows.map(({ detail }) => detail).join('; ')
    }
    for (const { type, table, index, low, high } of eachColumn) {
      const search = new RegExp(`^SEARCH ${table} USING (COVERING )?INDEX i${index} \\(v[=<>]`)
      for (const filter of [
        { $eq: low }, { $in: [low, high] }, { $lt: high }, { $gte: low }, { $between: [low, high] }, { $is: low }
      ]) t.match(await planOf(table, { filters: { v: filter } }), search, `${type} ${JSON.stringify(filter)}`)
      t.match(await planOf(table, { orderBy: 'v', after: { v: low, id: 1 } }), search, type)
      t.match(await planOf(table, { orderBy: 'v DESC', limit: 1 }), new RegExp(
        `^SCAN ${table} USING (COVERING )?INDEX i${index}$`
      ), type)
      t.match(
        await planOf(table, { aggregates: { max: { $max: 'v' } } }),
        new RegExp(`^SEARCH ${table} USING (COVERING )?INDEX i${index}$`), `$max of ${type}`
      )
    }
  })

  await t.test('a walk gives every row once, such values included, in the order of SQLite', async (t) => {
    for (const { type, table, all } of eachColumn) {
      for (const direction of ['asc', 'desc']) {
        const ids = (await service.sql(`select id from ${table} order by v ${direction}, id ${direction}`)).map(
          ({ id }) => id
        )
        t.equal(ids.length, all.length)
        for (const limit of [1, 2, 5]) {
          t.same((await readPages(service, table, {
            columns: ['id'], orderBy: `v ${direction}`, limit
          })).map(({ id }) => id), ids, `${type} ${direction} by ${limit}`)
        }
      }
    }
  })

  await t.test('a position takes numbers as a select shows them, and texts and bytes with their class', async (t) => {
    const after = async (table: string, v: unknown) =>
      (await post(table, { verb: 'select', columns: ['id'], orderBy: 'v', after: { v, id: 0 }, limit: 1 })).json
    const { table, others } = eachColumn.at(-1) as Column
    for (const [index, value] of others.entries()) {
      const [row] = (await post(table, { verb: 'select', filters: { id: 4 + index } })).json.data.rows
      const { data } = await after(
        table, value.startsWith("'") ? { $text: value.slice(1, -1) } : value.startsWith('x') ? { $bytes: row.v } : row.v
      )
      t.same(data.rows, [{ id: 4 + index }], value)
    }
    t.match((await after(table, 'soon')).error, { code: 'INVALID_VALUE', details: [{ path: '/after/v' }] })
    t.match((await after(table, { $text: 5 })).error, { code: 'INVALID_VALUE', details: [{ path: '/after/v' }] })
    t.match((await after(table, { $gt: 5 })).error, { code: 'INVALID_VALUE', details: [{ path: '/after/v' }] })
    t.match(
      (await post(table, { verb: 'select', after: { id: 'x' } })).json.error,
      { code: 'INVALID_VALUE', details: [{ path: '/after/id' }] }, 'a rowid is an integer'
    )
  })

  await t.test('sums, averages, the least and the greatest pass over such values', async (t) => {
    for (const { type, table, low, high } of eachColumn) {
      const of = async (aggregates: object, rest: object = {}): Promise<any> =>
        (await post(table, { verb: 'select', aggregates, ...rest })).json.data.rows[0]
      const shown = (value: unknown): unknown => typeof value === 'boolean' ? Number(value) : value
      t.same(await of({ least: { $min: 'v' }, most: { $max: 'v' } }), { least: shown(low), most: shown(high) }, type)
      t.same(
        [await of({ most: { $max: 'v' } }), await of({ least: { $min: 'v' } }, { groupBy: ['p'] })],
        [{ most: shown(high) }, { least: shown(low), p: 1 }], `${type}: alone and in a group`
      )
      t.same((await post('parents', {
        verb: 'select',
        include: {
          they: {
            table,
            on: { id: 'p' },
            aggregates: { most: { $max: 'v' }, late: { $min: 'v', filters: { id: { $gt: 3 } } } }
          }
        }
      })).json.data.rows, [{ id: 1, they: { most: shown(high), late: null } }], type)
    }
    const sums = async (table: string): Promise<any> =>
      (await post(table, { verb: 'select', aggregates: { sum: { $sum: 'v' }, avg: { $avg: 'v' } } })).json.data.rows[0]
    t.same(await sums('t0'), { sum: '12', avg: '6.0000' })
    t.same(await sums('t3'), { sum: 3.5, avg: 1.75 })
    t.same(await sums('t4'), { sum: '21.50', avg: '10.750000' })
  })

  await t.test('an update or delete changes only what a comparison covers', async (t) => {
    for (const { type, table, low, high, all } of eachColumn) {
      t.same((await post(table, { verb: 'update', data: { p: 2 }, filters: { v: { $lt: high } } })).json.data, {
        updated: 1
      }, type)
      t.same((await post(table, {
        verb: 'update', data: { p: 3 }, filters: { $not: { v: { $lt: high } } }, expect: 1
      })).json.data, { updated: 1 }, type)
      t.same(await sql(`select id from ${table} where p = 1 order by id`), all.slice(2).map((id) => ({ id })), type)
      t.same((await post(table, { verb: 'delete', filters: { v: { $ne: low } } })).json.data, { deleted: 1 }, type)
      t.same((await post(table, { verb: 'delete', filters: { $not: { v: { $gt: high } } } })).json.data, {
        deleted: 1
      }, type)
      t.same(await sql(`select id from ${table} order by id`), all.slice(2).map((id) => ({ id })), type)
    }
  })
})

await onEachEngine(t, 'a moment is compared with values of the form of its column only', {
  schema: {
    mysql: [],
    sqlite: [
      'create table ses (id integer primary key, expires timestamp not null)',
      "insert into ses values (1, 1900000000), (2, '2020-01-01 00:00:00'), (3, '2100-01-01 00:00:00'), (4, " +
      "'2020-01-01T00:00:00.000Z')"
    ]
  },
  only: ['sqlite']
}, async (t, { post, sql }) => {
  t.same((await post('ses', { verb: 'delete', filters: { expires: { $lt: { $now: { days: -30 } } } } })).json.data, {
    deleted: 1
  })
  t.same((await post('ses', { verb: 'delete', filters: { $not: { expires: { $gte: { $now: true } } } } })).json.data, {
    deleted: 0
  })
  t.same(await sql('select id from ses'), [{ id: 1 }, { id: 3 }, { id: 4 }])
})

await onEachEngine(t, 'rows whose key is such a value are returned after an update', {
  schema: {
    mysql: [],
    sqlite: [
      'create table keyed (at datetime primary key not null, v int)',
      "insert into keyed values (1900000000, 1), ('2026-11-20T10:15:00', 2), ('2026-11-20 10:15:00', 3), (x'00', 4)"
    ]
  },
  only: ['sqlite']
}, async (t, { post }) => {
  const { rows } = (await post('keyed', {
    verb: 'update', data: { v: { $inc: 10 } }, filters: { v: { $gt: 0 } }, returning: ['v']
  })).json.data
  t.same(rows.map(({ v }: { v: number }) => v).sort(), [11, 12, 13, 14])
})

const documents = {
  mysql: [],
  sqlite: [
    'create table docs (id integer primary key, j json)',
    "insert into docs values (1, '{\"a\": 1}'), (2, 'no json'), (3, x'00'), (4, null), (5, 5), (6, 9e999), (7, '[')"
  ]
}
await onEachEngine(t, 'what is not JSON in a JSON column passes no ' +
  'comparison, and is no error', { schema: documents, only: ['sqlite'] }, async (t, service) => {
  for (const [filter, ids] of [
    [{ j: { a: 1 } }, [1]], [{ j: { $ne: { a: 2 } } }, [1, 5]], [{ j: { $nin: [5] } }, [1]], [{ $not: { j: 5 } }, [1]],
    [{ $not: { j: { $ne: 5 } } }, [5]], [{ j: { $null: false } }, [1, 2, 3, 5, 6, 7]], [{ j: null }, [4]]
  ] as const) {
    t.same(await idsOf(service, 'docs', filter), ids, JSON.stringify(filter))
  }
})

const REPLACEMENT = '\ufffd'
/** Each statement stores a value that no JSON can show. */
const unreadable: ReadonlyArray<readonly [column: string, value: string]> = [
  ['r', '9e999'], ['r', '-9e999'], ['n', '9e999'], ['d', '9e999'], ['word', "cast(x'61ff62' as text)"],
  ['word', "cast(x'eda080' as text)"], ['word', "cast(x'efbfbdff' as text)"], ['n', "cast(x'78ff' as text)"],
  ['j', "jsonb('{\"a\": 1}')"], ['j', "x'00'"], ['j', '9e999']
]
const plain = [
  'create table plain (id integer primary key, r real, n int, d decimal(10,2), word text, j json)',
  `insert into plain (word) values ('${REPLACEMENT}'), ('a${REPLACEMENT}b')`
]

await onEachEngine(t, 'infinity, a text that is not UTF-8, and bytes in a JSON column ' +
  'are UNREADABLE_VALUE', { schema: { mysql: [], sqlite: plain }, only: ['sqlite'] }, async (t, service) => {
  const { post, sql } = service
  const wire = await listen(service)
  for (const [column, value] of unreadable) {
    await sql(`insert into plain (id, ${column}) values (9, ${value})`)
    for (const body of [
      {}, { columns: [column], filters: { id: 9 } }, { orderBy: 'id DESC', limit: 1 },
      ...column === 'j' ? [] : [{ groupBy: [column] }]
    ]) {
      const { status, json } = await post('plain', { verb: 'select', ...body })
      t.equal(status, 422, `${value} ${JSON.stringify(body)}`)
      t.match(json.error, { code: 'UNREADABLE_VALUE', message: new RegExp(`"${column}"`) })
    }
    t.same(
      (await post('plain', { verb: 'select', columns: ['id', 'word'], filters: { id: { $lt: 9 } } })).json.data.rows,
      [{ id: 1, word: REPLACEMENT }, { id: 2, word: `a${REPLACEMENT}b` }], 'U+FFFD itself is a character'
    )
    t.same((await post('plain', {
      verb: 'select', columns: ['id', 'word'], orderBy: 'id', limit: 2, after: null
    })).json.data.next, { id: 2 }, 'the row behind the page is not shown')
    for (const accept of ['text/csv', 'application/x-ndjson']) {
      const socket = await wire.open()
      socket.write(request({
        start: 'POST /api/shop/plain HTTP/1.1',
        with: [`Accept: ${accept}`],
        body: JSON.stringify({ verb: 'select', columns: [column], filters: { id: 9 } })
      }))
      const received = await bytesOf(socket).catch(() => Buffer.alloc(0))
      t.notMatch(String(received), /Infinity|\ufffd|AA==/, `a stream ends before ${value}`)
    }
    t.same((await post('plain', { verb: 'delete', filters: { id: 9 } })).json.data, { deleted: 1 })
  }
})

await onEachEngine(t, 'a text is checked in the rows of members, and by it no rows are related', {
  schema: {
    mysql: [],
    sqlite: [
      'create table words (id integer primary key, word text)', 'create table uses (id integer primary key, word text)',
      'create index by_word on uses (word)', `insert into words values (1, 'a'), (2, '${REPLACEMENT}')`,
    `insert into uses values (1, 'a'), (2, '${REPLACEMENT}'), (3, cast(x'ff' as text))`
    ]
  },
  only: ['sqlite']
}, async (t, { post, sql }) => {
  const body = {
    verb: 'select',
    columns: ['id'],
    orderBy: 'id',
    include: { uses: { table: 'uses', on: { word: 'word' }, columns: ['id', 'word'] } }
  }
  t.same((await post('words', body)).json.data.rows, [
    { id: 1, uses: [{ id: 1, word: 'a' }] }, { id: 2, uses: [{ id: 2, word: REPLACEMENT }] }
  ])
  await sql("insert into words values (3, cast(x'ff' as text))")
  t.match((await post('words', body)).json.error, { code: 'UNREADABLE_VALUE', message: /"word"/ })
})

t.test('a text is checked in the encoding of its file, in as many rows as there are', async (t) => {
  for (const encoding of ['UTF-16le', 'UTF-16be']) {
    const path = join(t.testdir(), `${encoding}.db`)
    const file = new DatabaseSync(path)
    file.exec(`pragma encoding = '${encoding}'; create table words (id integer primary key, word text)`)
    file.exec('with recursive n (n) as (select 1 union all select n + 1 from n where n < 5000) insert into words ' +
      'select n, n || case when n % 3 = 0 then char(65533) else \'é\' end from n')
    const { post } = await startService(t, `sqlite:${path}`)
    const rows = (await post('words', {
      verb: 'select', filters: { id: { $gt: 4000 } }, orderBy: 'id', limit: 1000
    })).json.data.rows
    t.same(rows.slice(0, 2), [{ id: 4001, word: '4001é' }, { id: 4002, word: `4002${REPLACEMENT}` }])
    t.equal(rows.length, 1000)
    file.exec(
      `update words set word = cast(x'${encoding === 'UTF-16le' ? '00d86100' : 'd8000061'}' as text) where id = 4500`
    )
    t.match(
      (await post('words', { verb: 'select', filters: { id: { $gt: 4000 } }, orderBy: 'id', limit: 1000 })).json.error,
      { code: 'UNREADABLE_VALUE', message: /"word"/ }
    )
    file.close()
  }
})
