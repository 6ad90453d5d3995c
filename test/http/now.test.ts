// night: sixteen hundred cases of moments
/** `{"$now": true}` and `{"$now": {"days": -30}}`: in `data` of every write, and as an operand in `filters`. */
import fc from 'fast-check'
import t from 'tap'
import { ConfigError } from '../../src/config-errors.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { tokenFor } from '../grants/support.ts'
import { plainId } from '../support/definitions.ts'
import '../support/seed.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import { isRefusal } from '../support/refusals.ts'
import { type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'

const COLUMNS = 'id int not null primary key, base datetime(3) null, d date null, t time(3) null, dt datetime null, ' +
  'dt3 datetime(3) null, ts timestamp null, ts2 timestamp(2) null, y year null, word varchar(10) null'

type Offset = Record<string, number>

/**
 * Adds years and months first, the day at most the last of its month, then the rest. Written on purpose in another way
 * than in src/types/moment.ts.
 */
function moved (base: string, { years = 0, months = 0, days = 0, hours = 0, minutes = 0, seconds = 0 }: Offset): Date {
  const date = new Date(`${base}Z`)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCFullYear(date.getUTCFullYear() + years)
  date.setUTCMonth(date.getUTCMonth() + months)
  const last = new Date(date)
  last.setUTCMonth(last.getUTCMonth() + 1)
  last.setUTCDate(0)
  date.setUTCDate(Math.min(day, last.getUTCDate()))
  return new Date(date.getTime() + (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
}

/** As a select shows them: SQLite leaves out zeros at the end of a fraction. */
const shown = (text: string): string => text.replace(/(\.\d*?)0+(Z?)$/, '$1$2').replace(/\.(Z?)$/, '$1')
const normal = (row: Record<string, unknown>): Record<string, unknown> => Object.fromEntries(
  Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? shown(value) : value])
)

function expectedRow (base: string, offset: Offset): Record<string, unknown> {
  const text = moved(base, offset).toISOString()
  return normal({
    d: text.slice(0, 10),
    t: text.slice(11, 23),
    dt: text.slice(0, 19),
    dt3: text.slice(0, 23),
    ts: `${text.slice(0, 19)}Z`,
    ts2: `${text.slice(0, 22)}Z`,
    y: Number(text.slice(0, 4))
  })
}

const NAMES = ['d', 't', 'dt', 'dt3', 'ts', 'ts2', 'y']
const givenRow = (id: number, now: unknown): Record<string, unknown> => ({
  id, base: { $now: true }, ...Object.fromEntries(NAMES.map((name) => [name, { $now: now }]))
})

const small = (most: number) => fc.integer({ min: -most, max: most })
/** Years from 1990 to 2037, which every column holds. */
const offsets = fc.record({
  years: small(8), months: small(24), days: small(400), hours: small(100), minutes: small(3000), seconds: small(100_000)
}, { requiredKeys: [] }).filter((offset) => Object.keys(offset).length > 0)

async function rowsOf ({ post }: Service, ids: unknown): Promise<Array<Record<string, unknown>>> {
  return (await post('moments', { verb: 'select', filters: { id: ids }, orderBy: 'id', limit: 1000 })).json.data.rows
}

const keyed = [
  'create table keyed (at datetime(3) not null primary key, word varchar(10) null)',
  'create table plain (at datetime(3) null, word varchar(10) null)'
]

const ruled = tokenFor('ruled', { moments: { rows: { dt: { $gte: '2020-01-01T00:00:00' } } } })

const related: Schema = (engine) => [
  `create table parents (${plainId(engine)}, at datetime(6) not null)`,
  `create table children (parent_id int not null, id int not null, at datetime(6) not null,
    primary key (parent_id, id))`,
  "insert into parents values (1, '2026-01-01 00:00:00'), (2, '2026-01-01 00:00:00')",
  "insert into children values (1, 1, '2026-01-01 00:00:00'), (2, 2, '9999-01-01 00:00:00')"
]

const test = sharedOnEachEngine(t, {
  schema: (engine) => [`create table moments (${COLUMNS})`, ...keyed, ...related(engine)],
  tokens: [ruled],
  options: { metrics: true }
})

await test('inserts, lists, updates and upserts store the present time moved by an offset, one moment for ' +
  'the whole statement', async (t, service) => {
  const { post } = service
  const wanted: Array<Offset | true> = [
    true, { months: 1 }, { months: -1 }, { days: 1 }, { hours: -30 }, ...fc.sample(offsets, 15)
  ]
  const matches = (rows: Array<Record<string, unknown>>, why: string): void => {
    t.equal(rows.length, wanted.length, why)
    for (const [index, row] of rows.entries()) {
      const { id: _, word: _word, base, ...given } = row
      t.same(
        normal(given), expectedRow(base as string, wanted[index] === true ? {} : wanted[index] as Offset),
        `${why}: ${JSON.stringify(wanted[index])} at ${String(base)}`
      )
    }
  }
  const written = await post('moments', { verb: 'insert', data: wanted.map((now, index) => givenRow(index, now)) })
  t.same([written.status, written.json.data], [200, { inserted: wanted.length, id: 0 }])
  const list = await rowsOf(service, { $lt: 1000 })
  matches(list, 'a list')
  t.equal(new Set(list.map(({ base }) => base)).size, 1, 'a list has one moment')

  for (const [index, now] of wanted.entries()) {
    await post('moments', { verb: 'insert', data: givenRow(1000 + index, now) })
  }
  matches(await rowsOf(service, { $between: [1000, 1999] }), 'one row')

  const { rows } = (await post('moments', {
    verb: 'insert', data: wanted.map((now, index) => givenRow(2000 + index, now)), returning: '*'
  })).json.data
  matches(rows, 'returning')
  matches(await rowsOf(service, { $between: [2000, 2999] }), 'returning')

  await post('moments', { verb: 'insert', data: wanted.map((_, index) => ({ id: 3000 + index })) })
  for (const [index, now] of wanted.entries()) {
    const { id, ...data } = givenRow(3000 + index, now)
    t.same((await post('moments', { verb: 'update', filters: { id }, data })).json.data, { updated: 1 })
  }
  matches(await rowsOf(service, { $between: [3000, 3999] }), 'an update')

  const { id: _, ...set } = givenRow(0, wanted.at(-1))
  const upsert = await post('moments', {
    verb: 'insert', data: [{ id: 3000 }, { id: 4000 }], onConflict: { key: ['id'], set }
  })
  t.same(upsert.json.data, { inserted: 1, updated: 1, unchanged: 0, id: null })
  const [row] = await rowsOf(service, 3000) as [Record<string, unknown>]
  const { id: _id, word: _word, base, ...given } = row
  t.same(normal(given), expectedRow(base as string, wanted.at(-1) as Offset), 'set of a conflict')
  t.equal((await post('moments', {
    verb: 'insert', data: { id: 4000, ...set }, onConflict: { key: ['id'] }
  })).json.data.updated, 1)
})

await test('a month has its last day where it lacks the day of the moment', async (t, service) => {
  // from any day of a year, this many months ago is some 29th to 31st of which February has none
  const data = Array.from({ length: 100 }, (_, index) => ({
    id: index,
    base: { $now: true },
    d: { $now: { months: index - 50, days: 31 } },
    dt: { $now: { years: Math.trunc((index - 50) / 10), months: 1 } }
  }))
  await service.post('moments', { verb: 'insert', data })
  for (const { id, base, d, dt } of await rowsOf(service, { $gte: 0 })) {
    const index = id as number
    t.equal(d, moved(base as string, { months: index - 50, days: 31 }).toISOString().slice(0, 10))
    t.equal(dt, moved(base as string, { years: Math.trunc((index - 50) / 10), months: 1 }).toISOString().slice(0, 19))
  }
})

const far: Array<[column: string, offset: Offset]> = [
  ['dt', { years: 8000 }], ['dt', { years: -2100 }], ['dt', { years: 100_000, months: 100_000 }],
  ['dt', { years: -100_000 }], ['d', { years: 7900, days: 100_000 }],
  ['d', { years: -2000, days: -20_000 }], ['ts', { years: 100 }], ['ts2', { years: -60 }], ['ts', { days: -40_000 }],
  ['dt3', { years: 7970, days: 2000 }]
]

await test('a moment that the column cannot hold is VALUE_OUT_OF_RANGE in data, and ' +
  'nothing is stored', async (t, service) => {
  const { post, engine } = service
  await post('moments', { verb: 'insert', data: { id: 1 } })
  for (const [column, offset] of [...far, ['t', { years: 8000 }], ['y', { years: engine === 'sqlite' ? 8000 : 200 }], [
    'y', { years: engine === 'sqlite' ? -2100 : -140 }
  ]] as Array<[string, Offset]>) {
    const why = `${column} ${JSON.stringify(offset)}`
    const now = { $now: offset }
    const refused = { status: 422, code: 'VALUE_OUT_OF_RANGE', why }
    isRefusal(t, await post('moments', { verb: 'insert', data: { id: 2, [column]: now } }), refused)
    isRefusal(t, await post('moments', { verb: 'insert', data: { id: 2, [column]: now }, returning: ['id'] }), refused)
    const list = await post('moments', {
      verb: 'insert', data: [{ id: 3 }, { id: 4, [column]: { $now: true } }, { id: 5, [column]: now }, { id: 6 }]
    })
    isRefusal(t, list, refused)
    t.equal(list.json.error.details[0]?.path, '/data/2', why)
    isRefusal(
      t, await post('moments', { verb: 'update', data: { [column]: now, word: 'x' }, filters: { id: 1 } }), refused
    )
    isRefusal(
      t, await post('moments', { verb: 'update', data: { [column]: now }, filters: { id: 1 }, returning: '*' }), refused
    )
    isRefusal(t, await post('moments', {
      verb: 'insert', data: { id: 1 }, onConflict: { key: ['id'], set: { [column]: now } }
    }), refused)
    t.same(await rowsOf(service, { $gte: 0 }), [
      { id: 1, base: null, d: null, t: null, dt: null, dt3: null, ts: null, ts2: null, y: null, word: null }
    ], why)
  }
})

await test('in filters such a moment selects no row, whatever the operator is, and a ' +
  'write changes none', async (t, { post }) => {
  await post('moments', { verb: 'insert', data: [givenRow(1, true), givenRow(2, { days: -3 })] })
  for (const [index, [column, offset]] of far.entries()) {
    const now = { $now: offset }
    const all = [
      now, { $between: [{ $now: { days: -9 } }, now] }, { $eq: now }, { $ne: now }, { $gt: now }, { $gte: now },
      { $lt: now }, { $lte: now }, { $between: [now, now] }
    ]
    for (const operators of all.slice(0, index < 2 ? all.length : 2)) {
      const why = `${column} ${JSON.stringify(operators)}`
      for (const filters of [{ [column]: operators }, { id: { $gt: 0 }, [column]: operators }]) {
        t.same((await post('moments', { verb: 'select', filters })).json.data?.count, 0, why)
      }
      t.same(
        (await post('moments', { verb: 'update', filters: { [column]: operators }, data: { word: 'x' } })).json.data,
        { updated: 0 }, why
      )
      t.same(
        (await post('moments', { verb: 'delete', filters: { [column]: operators }, returning: ['id'] })).json.data,
        { deleted: 0, rows: [] }, why
      )
    }
    t.same(
      (await post('moments', { verb: 'select', filters: { $not: { [column]: { $gt: now } } } })).json.data.count, 0,
      `not ${column}`
    )
    t.same(
      (await post('moments', { verb: 'select', filters: { $or: [{ [column]: now }, { id: 2 }] } })).json.data.count, 1,
      `or ${column}`
    )
  }
})

await test('filters compare columns of time with the moment, in selects, updates, ' +
  'deletes and aggregates', async (t, { post }) => {
  const ago = [0, 1, 6, 8, 31, 400]
  await post('moments', { verb: 'insert', data: ago.map((days) => givenRow(days, { days: -days })) })
  await post('moments', { verb: 'insert', data: { id: 999 } })
  const ids = async (filters: unknown): Promise<number[]> => (await post('moments', {
    verb: 'select', filters, columns: ['id'], orderBy: 'id'
  })).json.data.rows.map(({ id }: { id: number }) => id)
  const at = (days: number, hours = 0): unknown => ({ $now: { days: -days, hours } })
  for (const column of ['d', 'dt', 'dt3', 'ts', 'ts2']) {
    // hours of a date would depend on the time of the day
    const [below, upTo] = column === 'd' ? [at(0), at(8)] : [at(1, 12), at(8, 12)]
    t.same(await ids({ [column]: { $gte: at(7) } }), [0, 1, 6], column)
    t.same(await ids({ [column]: { $gt: at(7), $lt: below } }), [1, 6], column)
    t.same(await ids({ [column]: { $lte: upTo } }), [8, 31, 400], column)
    t.same(await ids({ [column]: { $between: [at(32), at(5)] } }), [6, 8, 31], column)
    t.same(await ids({ [column]: { $ne: { $now: { years: -20 } } } }), ago, column)
    t.same(await ids({ $not: { [column]: { $lt: at(7) } } }), [0, 1, 6], column)
  }
  const days = await ids({ d: { $now: { days: -31 } } })
  t.same(days, [31], 'equality, which for a date is that of the day')
  t.same(await ids({ d: { $eq: { $now: true } } }), [0])
  t.same((await post('moments', {
    verb: 'select', filters: { dt: { $gte: at(7) } }, total: true, offset: 0, limit: 2
  })).json.data.total, 3)
  t.same((await post('moments', {
    verb: 'select', filters: { dt: { $gte: at(7) } }, aggregates: { n: { $count: '*' } }
  })).json.data.rows, [{ n: 3 }])
  t.same(
    (await post('moments', { verb: 'update', filters: { ts: { $lt: at(30) } }, data: { word: 'old' } })).json.data,
    { updated: 2 }
  )
  t.same((await post('moments', {
    verb: 'delete', filters: { ts: { $lt: at(30) } }, returning: ['id', 'word'], expect: 2
  })).json.data.rows.length, 2)
})

await test('a row whose key is the present time has it as its id, and is returned', async (t, { post }) => {
  const { id } = (await post('keyed', { verb: 'insert', data: { at: { $now: { days: -1 } } } })).json.data
  t.match(id, /^\d{4}-\d\d-\d\dT/)
  t.same((await post('keyed', { verb: 'select' })).json.data.rows, [{ at: id, word: null }])
  const insert = (await post('keyed', {
    verb: 'insert', data: { at: { $now: { days: -2 } }, word: 'x' }, returning: '*'
  })).json.data
  t.same(insert.rows, [{ at: insert.id, word: 'x' }])
  const list = (await post('keyed', {
    verb: 'insert', data: [{ at: { $now: { days: -3 } } }, { at: { $now: { days: -4 } }, word: 'y' }], returning: '*'
  })).json.data
  t.same(list.rows.map(({ word }: { word: string | null }) => word), [null, 'y'])
  const upsert = (await post('keyed', {
    verb: 'insert', data: { at: { $now: { days: -5 } }, word: 'z' }, onConflict: { key: ['at'] }, returning: '*'
  })).json.data
  t.same(upsert.rows, [{ at: upsert.id, word: 'z' }])
  const moved = (await post('keyed', {
    verb: 'update', filters: { word: 'z' }, data: { at: { $now: { days: -6 } } }, returning: '*'
  })).json.data
  t.equal(moved.rows[0].word, 'z')
  t.not(moved.rows[0].at, upsert.id)
  t.match(
    (await post('plain', { verb: 'insert', data: { at: { $now: true }, word: 'p' }, returning: ['word'] })).json.error,
    { code: 'NOT_SUPPORTED' }, 'a table without a key'
  )
})

await test('operations and their references work with the present time', async (t, { operate }) => {
  const answer = await operate([
    { table: 'moments', verb: 'insert', data: [{ id: 1, dt: { $now: { days: -2 } } }, { id: 2, dt: { $now: true } }] },
    { table: 'moments', verb: 'select', filters: { dt: { $lt: { $now: { days: -1 } } } }, columns: ['id', 'dt'] },
    {
      table: 'moments',
      verb: 'update',
      filters: { dt: { $ref: '/1/rows/0/dt' } },
      data: { ts: { $now: { hours: 1 } } },
      returning: ['id']
    }
  ])
  t.same(answer.json.data.results[1].rows[0].id, 1)
  t.same(answer.json.data.results[2], { updated: 1, rows: [{ id: 1 }] })
})

await test('a column with a rule of the grant cannot get the present time, which is not known before the write, ' +
  'and a rule has none', async (t, { post }) => {
  isRefusal(t, await post('moments', { verb: 'insert', data: { id: 2, dt: { $now: true } } }, { token: 'ruled' }), {
    status: 403, code: 'PERMISSION_DENIED', why: 'a rule'
  })
  for (const rule of [{ $now: true }, { $gte: { $now: { days: -1 } } }, [{ $now: true }]]) {
    t.throws(() => resolveSettings({
      databases: { shop: { url: 'sqlite:x.db' } },
      tokens: [{ ...ruled, databases: { shop: { moments: { rows: { dt: rule } } } } }]
    }), ConfigError, JSON.stringify(rule))
  }
})

await test('requests with different offsets are one statement each, whose ' +
  'text is built once', async (t, { post, statements, server }) => {
  const built = async (): Promise<number | undefined> => valueOf(
    parseMetrics(await server.rows.registry.metrics()), 'row_query_statements_total',
    { database: 'shop', source: 'built' }
  )
  await post('moments', { verb: 'select', filters: { dt: { $gt: { $now: { days: -1 } } } } })
  statements()
  const before = await built()
  for (const now of [true, { days: -7 }, { years: 1, seconds: 5 }]) {
    await post('moments', { verb: 'select', filters: { dt: { $gt: { $now: now } } } })
  }
  t.equal(statements().length, 3)
  t.equal(await built(), before)
})

await test('a select with members takes the time once for all ' +
  'of its statements', async (t, { engine, post, statements }) => {
  const on = { id: 'parent_id' }
  const past = { at: { $lte: { $now: true } } }
  const n = { table: 'children', on, aggregates: { n: { $count: '*', filters: past } } }
  for (const [body, rows] of [
    [{ filters: past, include: { children: { on, columns: ['id'], filters: past } } }, [
      { children: [{ id: 1 }] }, { children: [] }
    ]],
    [{ include: { children: { on, columns: ['id'], filters: past } } }, [{ children: [{ id: 1 }] }, { children: [] }]],
    [{ include: { n } }, [{ n: { n: 1 } }, { n: { n: 0 } }]],
    [
      { include: { n: { ...n, aggregates: { n: { $count: '*' } }, filters: { at: { $gt: { $now: { days: 1 } } } } } } },
      [{ n: { n: 0 } }, { n: { n: 1 } }]
    ],
    [{
      include: {
        same: {
          table: 'parents',
          on: { id: 'id' },
          columns: ['id'],
          include: { children: { on, columns: ['id'], filters: past } }
        }
      }
    }, [{ same: { id: 1, children: [{ id: 1 }] } }, { same: { id: 2, children: [] } }]],
    [{ total: true, filters: past }, [{}, {}]],
    [{ filters: { $some: { children: { on, filters: past } } }, include: { children: { on, columns: ['id'] } } }, [
      { children: [{ id: 1 }] }
    ]]
  ] as const) {
    statements()
    const answer = await post('parents', { verb: 'select', columns: ['id'], orderBy: 'id', ...body })
    t.match(answer.json.data?.rows, rows, answer.text)
    // the clock is read by one statement before all others
    if (engine !== 'sqlite') {
      t.ok(statements().filter((sql) => /^\W*select .* from/.test(sql))
        .every((sql) => !/current_timestamp|now\(/i.test(sql)), JSON.stringify(body))
    }
  }
})
