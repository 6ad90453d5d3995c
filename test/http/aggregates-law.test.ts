// night: many random cases
/** Random groups: what a model, and what plain SQL, computes from the rows. */
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { seed } from '../support/seed.ts'
import { type EngineName, onEachEngine, type Schema, type Service } from '../support/service.ts'
import { declare, groupsOn, sampleRows } from '../support/typed-columns.ts'

const RUNS = 60
const REQUESTS = 12

/** A value as JavaScript compares it: integers and decimals as whole numbers of their last digit. */
type Value = bigint | number | string | null
type Row = Readonly<Record<string, Value>>

/** How the values of a column or an aggregate are compared and written in JSON. */
interface Kind {
  readonly write: (value: Exclude<Value, null>) => unknown, readonly others: Arbitrary<Exclude<Value, null>>
}

const small = fc.integer({ min: -3, max: 3 })
const whole: Kind = { write: (value) => JSON.rawJSON(String(value)), others: small.map(BigInt) }
const decimal = (scale: number): Kind => ({
  write: (value) => withPoint(value as bigint, scale), others: fc.integer({ min: -500, max: 500 }).map(BigInt)
})
const double: Kind = {
  write: (value) => value, others: fc.integer({ min: -40, max: 40 }).map((eighths) => eighths / 8)
}
const plain = (others: Arbitrary<string>): Kind => ({ write: (value) => value, others })

function withPoint (value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  return (value < 0n ? '-' : '') + (scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`)
}

const words = fc.constantFrom('', 'a', 'A', 'ab', 'é', '😀', "'", '%')
const days = fc.constantFrom('1999-12-31', '2026-01-01', '2026-11-22')
const columns: Readonly<Record<string, Kind>> = {
  id: whole, g: whole, n: whole, price: decimal(2), ratio: double, word: plain(words), day: plain(days)
}
/** SQLite has doubles for averages, and no sums of more than 64 bits. */
const integers = (engine: EngineName): Arbitrary<bigint> => engine === 'sqlite'
  ? small.map(BigInt)
  : fc.oneof(small.map(BigInt), fc.constantFrom(4611686018427387904n, -4611686018427387904n))
const valuesOf = (engine: EngineName): Record<string, Arbitrary<Value>> => ({
  g: fc.option(fc.integer({ min: 0, max: 2 }).map(BigInt), { freq: 4 }),
  n: fc.option(integers(engine), { freq: 4 }),
  price: fc.option(fc.integer({ min: -300, max: 300 }).map(BigInt), { freq: 4 }),
  ratio: fc.option(fc.integer({ min: -20, max: 20 }).map((eighths) => eighths / 8), { freq: 4 }),
  word: fc.option(words, { freq: 4 }),
  day: fc.option(days, { freq: 4 })
})
const names = ['g', 'n', 'price', 'ratio', 'word', 'day']

const COLLATIONS = { sqlite: '', mysql: 'collate utf8mb4_0900_bin', mariadb: 'collate utf8mb4_nopad_bin' }
const schema: Schema = (engine) =>
  [`create table facts (
    id int not null primary key, g int null, n bigint null, price decimal(10,2) null, ratio double null,
    word varchar(10) ${COLLATIONS[engine]} null, day date null)`]

/** An aggregate as it is sent, and what it computes. */
interface Call { readonly call: string, readonly column: string }

const calls: Arbitrary<Call> = fc.oneof(
  fc.constantFrom({ call: '$count', column: '*' }),
  fc.tuple(fc.constantFrom('$count', '$countDistinct', '$min', '$max'), fc.constantFrom(...names)).map(
    ([call, column]) => ({ call, column })
  ),
  fc.tuple(fc.constantFrom('$sum', '$avg'), fc.constantFrom('g', 'n', 'price', 'ratio')).map(
    ([call, column]) => ({ call, column })
  )
)

const SCALES: Readonly<Record<string, number>> = { g: 0, n: 0, price: 2 }

function kindOf ({ call, column }: Call): Kind {
  if (call === '$count' || call === '$countDistinct') return whole
  if (column === 'ratio' || call === '$min' || call === '$max') return columns[column] as Kind
  return decimal((SCALES[column] as number) + (call === '$avg' ? 4 : 0))
}

function compute ({ call, column }: Call, rows: readonly Row[]): Value {
  if (column === '*') return BigInt(rows.length)
  const given = rows.flatMap((row) => row[column] === null ? [] : [row[column] as Exclude<Value, null>])
  if (call === '$count') return BigInt(given.length)
  if (call === '$countDistinct') return BigInt(new Set(given).size)
  if (given.length === 0) return null
  if (call === '$min' || call === '$max') {
    return given.reduce((best, value) => (compare(value, best) < 0) === (call === '$min') ? value : best)
  }
  if (column === 'ratio') {
    return (given as number[]).reduce((sum, value) => sum + value, 0) / (call === '$avg' ? given.length : 1)
  }
  const sum = (given as bigint[]).reduce((total, value) => total + value, 0n)
  return call === '$sum' ? sum : rounded(sum * 10_000n, BigInt(given.length))
}

/** Rounds half away from zero. */
function rounded (dividend: bigint, divisor: bigint): bigint {
  const [sign, absolute] = dividend < 0n ? [-1n, -dividend] : [1n, dividend]
  return sign * ((2n * absolute + divisor) / (2n * divisor))
}

/** NULL is lowest, texts are in the order of their code points. */
function compare (a: Value, b: Value): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null)
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  return a < (b as number) ? -1 : Number(a > (b as number))
}

type Test = (value: Exclude<Value, null>) => boolean
interface Having { readonly json: unknown, readonly holds: (value: Value) => boolean | null }

/** A filter on a value of the result; most of them compare it with a value that occurs. */
function havingOn ({ write, others }: Kind, occurring: readonly Value[]): Arbitrary<Having> {
  const present = occurring.filter((value) => value !== null)
  const operand = present.length === 0
    ? others
    : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...present) }, { weight: 1, arbitrary: others })
  const known = (test: Test) => (value: Value): boolean | null => value === null ? null : test(value)
  return fc.oneof(
    operand.map((other): Having => ({ json: write(other), holds: known((value) => compare(value, other) === 0) })),
    fc.tuple(fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte'), operand).map(([name, other]): Having => ({
      json: { [name]: write(other) },
      holds: known((value) => {
        const sign = compare(value, other)
        return {
          $eq: sign === 0, $ne: sign !== 0, $gt: sign > 0, $gte: sign >= 0, $lt: sign < 0, $lte: sign <= 0
        }[name] as boolean
      })
    })),
    operand.map((other): Having => ({
      json: { $is: write(other) }, holds: (value) => value !== null && compare(value, other) === 0
    })),
    fc.array(operand, { minLength: 1, maxLength: 3 }).map((list): Having => ({
      json: { $nin: list.map(write) }, holds: known((value) => list.every((other) => compare(value, other) !== 0))
    })),
    fc.array(operand, { minLength: 1, maxLength: 3 }).map((list): Having => ({
      json: [...list.map(write), null],
      holds: (value) => value === null || list.some((other) => compare(value, other) === 0)
    })),
    fc.tuple(operand, operand).map(([low, high]): Having => ({
      json: { $between: [write(low), write(high)] },
      holds: known((value) => compare(value, low) >= 0 && compare(value, high) <= 0)
    })),
    fc.boolean().map((isNull): Having => ({ json: { $null: isNull }, holds: (value) => (value === null) === isNull }))
  )
}

interface Request {
  readonly body: Record<string, unknown>,
  readonly expected: readonly object[],
  readonly from: number,
  readonly limit: number
}

/** A request, with the groups that the model finds in their order. */
function requestOn (rows: readonly Row[]): Arbitrary<Request> {
  const by = fc.uniqueArray(fc.constantFrom('g', 'word', 'day', 'n', 'price', 'ratio'), { maxLength: 2 })
  const aggregates = fc.dictionary(fc.constantFrom('a', 'b', 'id', 'v1', 'price2'), calls, { maxKeys: 3 })
  return fc.tuple(by, aggregates, fc.option(fc.integer({ min: -1, max: 2 }))).filter(
    ([groupBy, each]) => groupBy.length + Object.keys(each).length > 0
  ).chain(([groupBy, each, least]) => {
    const selected = rows.filter(({ g }) => least === null || (g !== null && (g as bigint) >= least))
    const groups = Map.groupBy(
      selected, (row) => JSON.stringify(groupBy.map((name) => row[name] === null ? null : String(row[name])))
    )
    const all = groupBy.length === 0 ? [selected] : [...groups.values()]
    const kinds: Record<string, Kind> = {
      ...Object.fromEntries(groupBy.map((name) => [name, columns[name] as Kind])),
      ...Object.fromEntries(Object.entries(each).map(([name, call]) => [name, kindOf(call)]))
    }
    const result = all.map((group): Row => ({
      ...Object.fromEntries(groupBy.map((name) => [name, group[0]?.[name] ?? null])),
      ...Object.fromEntries(Object.entries(each).map(([name, call]) => [name, compute(call, group)]))
    }))
    const listed = Object.keys(kinds)
    const having = fc.option(fc.constantFrom(...listed).chain((name) => havingOn(
      kinds[name] as Kind, result.map((row) => row[name] as Value)
    ).map((test) => ({ name, ...test }))), { freq: 3 })
    return fc.tuple(
      having, fc.boolean(), fc.shuffledSubarray(listed, { minLength: 1 }), fc.boolean(),
      fc.option(fc.integer({ min: 0, max: 4 })), fc.integer({ min: 1, max: 30 })
    ).map(([test, isNegated, order, descending, offset, limit]): Request => {
      const holds = (row: Row): boolean => {
        if (test === null) return true
        const truth = test.holds(row[test.name] as Value)
        return truth !== null && truth !== isNegated
      }
      const complete = [...order, ...groupBy.filter((name) => !order.includes(name))]
      const sorted = result.filter(holds).sort((a, b) =>
        complete.reduce((sign, name) => sign || compare(a[name] as Value, b[name] as Value), 0) * (descending ? -1 : 1))
      const condition = test === null ? undefined : { [test.name]: test.json }
      const body = {
        verb: 'select',
        ...(groupBy.length > 0 && { groupBy }),
        ...(Object.keys(each).length > 0 && {
          aggregates: Object.fromEntries(
            Object.entries(each).map(([name, { call, column }]) => [name, { [call]: column }])
          )
        }),
        ...(least !== null && { filters: { g: { $gte: least } } }),
        ...(condition !== undefined && { having: isNegated ? { $not: condition } : condition }),
        orderBy: complete.map((name) => ({ [name]: descending ? 'DESC' : 'asc' })),
        limit,
        ...(offset !== null && { offset })
      }
      const shown = sorted.map((row) => Object.fromEntries(
        listed.map((name) => [name, row[name] === null ? null : kinds[name]?.write(row[name] as Exclude<Value, null>)])
      ))
      return { body, expected: shown, from: offset ?? 0, limit }
    })
  })
}

await onEachEngine(t, 'groups, aggregates, having, order and pages are ' +
  'those of the model', { schema }, async (t, { post, sql, engine }) => {
  let sent = 0
  const table = fc.array(fc.record(valuesOf(engine)), { maxLength: 24 }).map(
    (rows): Row[] => rows.map((row, index) => ({ id: BigInt(index), ...row }))
  )
  const scenario = table.chain(
    (rows) => fc.tuple(fc.constant(rows), fc.array(requestOn(rows), { minLength: 1, maxLength: REQUESTS, size: 'max' }))
  )
  await fc.assert(fc.asyncProperty(scenario, async ([rows, requests]) => {
    await sql('delete from facts')
    for (const row of rows) {
      const cells = Object.entries(row).map(([name, value]) => value === null
        ? 'null'
        : name === 'price'
          ? withPoint(value as bigint, 2)
          : typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value))
      await sql(`insert into facts (${Object.keys(row).join()}) values (${cells.join()})`)
    }
    for (const { body, expected, from, limit } of requests) {
      sent++
      const page = expected.slice(from, from + limit)
      const next = body['offset'] === undefined ? '' : `,"next":${expected.length > from + limit ? from + limit : null}`
      const { text } = await post('facts', JSON.stringify(body))
      const wanted = `{"success":true,"data":{"rows":${JSON.stringify(page)},"count":${page.length}${next}}}`
      if (text !== wanted) throw new Error(`${JSON.stringify(body)}\n${text}\n${wanted}`)
    }
  }), { numRuns: RUNS })
  t.ok(sent > RUNS, `${sent} requests`)
})

// Groups of columns of every type: each row is in one of them, and a row that was returned, sent back under $is, finds
// its group.

const ROWS = 60
/** Filters of an aggregate that every row passes. */
const every = { id: { $gte: 0 } }

await onEachEngine(t, 'groups of columns of every type', {
  schema: (engine) => groupsOn(engine).map(
    (columns, group) => `create table every${group} (id integer not null primary key, ${declare(engine, columns)})`
  )
}, async (t, { post, engine }) => {
  for (const [group, all] of groupsOn(engine).entries()) {
    const table = `every${group}`
    // few values, so that groups have several rows
    for (const [id, data] of sampleRows(all, ROWS, 20).entries()) {
      t.match(await post(table, `{"verb":"insert","data":{"id":${id},${data}}}`), { status: 200 })
    }
    const columns = [...all.entries()].filter(([, { declaration }]) => !/json|geometry|point|vector/.test(declaration))
    for (const [index, { declaration }] of columns) {
      const column = `c${index}`
      const isRanked = !/^(enum|set|bit)/.test(declaration)
      const aggregates = {
        n: { $count: '*' },
        filled: { $count: column },
        different: { $countDistinct: column },
        ...(isRanked &&
          { least: { $min: column }, greatest: { $max: column, filters: every }, most: { $max: column } }),
        filtered: { $countDistinct: column, filters: every }
      }
      const { status, json, text } = await post(table, {
        verb: 'select', groupBy: [column], aggregates, orderBy: [{ [column]: 'ASC' }]
      })
      t.equal(status, 200, `${declaration}: ${text}`)
      const groups = json.data.rows as Array<Record<string, number | null>>
      t.equal(groups.reduce((sum, { n }) => sum +
        (n as number), 0), ROWS, `${declaration}: each row is in one group (seed ${seed})`)
      t.same(groups.filter((row) => row['filled'] !== (row[column] === null ? 0 : row['n']) ||
        row['different'] !== Number(row[column] !== null) || row['filtered'] !== row['different'] ||
        JSON.stringify(row['greatest']) !== JSON.stringify(row['most'])), [],
        `${declaration}: a group has one value (seed ${seed})`)
      const lost = []
      // as it was sent, with every digit of its numbers
      for (const row of text.slice('{"success":true,"data":{"rows":['.length).matchAll(
        /\{"c\d+":(?:"(?:[^"\\]|\\.)*"|[^{}"])*(?:"(?:[^"\\]|\\.)*"|[^{}"])*\}/g
      )) {
        const found = await post(table, `{"verb":"select","groupBy":["${column}"],"having":{"$is":${row[0]}},` +
          `"aggregates":${JSON.stringify(aggregates)}}`)
        if (found.json.data?.count !== 1) lost.push({ row: row[0], answer: found.text })
      }
      t.same(lost, [], `${declaration}: a group that was returned is found (seed ${seed})`)
    }
  }
})

// Groups by parts of time, and filters of an aggregate.

const groupsOf = async ({ post }: Pick<Service, 'post'>, body: object): Promise<Array<Record<string, unknown>>> => {
  const { status, json, text } = await post('sales', { verb: 'select', limit: 1000, ...body })
  if (status !== 200) throw new Error(text)
  return json.data.rows
}

/** Plain SQL of the same. */
const PARTS: Readonly<Record<string, Record<'sqlite' | 'mysql', (column: string) => string>>> = {
  $year: { sqlite: (c) => `cast(strftime('%Y', ${c}) as integer)`, mysql: (c) => `extract(year from ${c})` },
  $month: { sqlite: (c) => `strftime('%Y-%m', ${c})`, mysql: (c) => `substring(cast(${c} as char), 1, 7)` },
  $week: { sqlite: (c) => `strftime('%G-W%V', ${c})`, mysql: (c) => `insert(yearweek(${c}, 3), 5, 0, '-W')` },
  $date: { sqlite: (c) => `date(${c})`, mysql: (c) => `cast(date(${c}) as char)` },
  $hour: {
    sqlite: (c) => `strftime('%Y-%m-%dT%H', ${c})`,
    mysql: (c) => `replace(substring(cast(${c} as char), 1, 13), ' ', 'T')`
  }
}
const conditions: Array<[filters: object, sql: string]> = [
  [{ status: 'paid' }, "status = 'paid'"], [{ status: { $ne: 'paid' } }, "status <> 'paid'"], [
    { total: { $gte: '1.00' }, n: null }, 'total >= 1 and n is null'
  ], [{ $or: [{ n: 1 }, { word: { $startsWith: 'a' } }] }, "n = 1 or word like 'a%'"],
  [{ $not: { n: { $between: [0, 1] } } }, 'not (n between 0 and 1)'], [
    { dt: { $lt: '2026-06-01T00:00:00' } }, "dt < '2026-06-01 00:00:00'"
  ], [{ n: [1, 2] }, 'n in (1, 2)'], [{ n: { $nin: [] } }, '1 = 1'], [{ n: { $in: [] } }, '1 = 0']
]
const CALLS: Array<[call: object, sql: (condition: string) => string]> = [
  [{ $count: '*' }, (c) => `sum(case when ${c} then 1 else 0 end)`], [{ $count: 'n' }, (c) =>
    `count(case when ${c} then n end)`], [{ $countDistinct: 'n' }, (c) => `count(distinct case when ${c} then n end)`],
  [{ $sum: 'n' }, (c) => `sum(case when ${c} then n end)`], [
    { $sum: 'total' }, (c) => `round(sum(case when ${c} then total end), 2)`
  ], [{ $min: 'word' }, (c) => `min(case when ${c} then word end)`],
  [{ $max: 'n' }, (c) => `max(case when ${c} then n end)`]
]
/** As plain SQL shows a value and as the service does. */
const comparable = (value: unknown): unknown => value === null || value === undefined
  ? null
  : /^-?\d+(\.\d+)?$/.test(String(value)) ? Number(value) : String(value)

const moments = fc.tuple(
  fc.integer({ min: 2019, max: 2027 }), fc.integer({ min: 0, max: 365 }), fc.integer({ min: 0, max: 86_399 })
).map(([year, day, second]) => new Date(Date.UTC(year, 0, 1 + day, 0, 0, second)).toISOString().slice(0, 19))
const rowsOfTime = fc.array(fc.record({
  dt: fc.option(moments, { freq: 8 }),
  status: fc.option(fc.constantFrom('new', 'paid', 'old')),
  n: fc.option(fc.integer({ min: -2, max: 3 })),
  total: fc.option(fc.integer({ min: -300, max: 300 }).map((cents) => (cents / 100).toFixed(2))),
  word: fc.option(fc.constantFrom('a', 'ab', 'b', ''))
}), { minLength: 1, maxLength: 80 })

await onEachEngine(t, 'groups and aggregates with filters are those of plain SQL', {
  schema: (engine) => [
    `create table sales (
      id int not null primary key, d date null, dt datetime(3) null, ts timestamp null, status varchar(10) null,
      total decimal(10,2) null, n int null, word varchar(10) null)${engine === 'sqlite' ? '' : ' collate utf8mb4_bin'}`
  ]
}, async (t, service) => {
  const { engine, post, sql } = service
  const dialect = engine === 'sqlite' ? 'sqlite' : 'mysql'
  // the connection of the test has another time zone
  const inUtc = (column: string): string => column === 'ts' && engine !== 'sqlite'
    ? "convert_tz(ts, @@session.time_zone, '+00:00')"
    : column
  let checked = 0
  await fc.assert(fc.asyncProperty(rowsOfTime, fc.uniqueArray(
    fc.tuple(fc.constantFrom(...Object.keys(PARTS)), fc.constantFrom('d', 'dt', 'ts')).filter(
      ([part, column]) => part !== '$hour' || column !== 'd'
    ),
    { maxLength: 2 }
  ), fc.uniqueArray(fc.nat(CALLS.length * conditions.length - 1), { minLength: 1, maxLength: 3 }),
  fc.option(fc.nat(conditions.length - 1)), async (given, parts, chosen, where) => {
    await sql('delete from sales')
    const data = given.map(
      (row, id) => ({ id, ...row, d: row.dt?.slice(0, 10) ?? null, ts: row.dt === null ? null : `${row.dt}Z` })
    )
    const inserted = await post('sales', { verb: 'insert', data })
    if (inserted.status !== 200) throw new Error(inserted.text)
    const aggregates = chosen.map((each) => [
      CALLS[each % CALLS.length], conditions[Math.floor(each / CALLS.length)]
    ] as [typeof CALLS[number], typeof conditions[number]])
    const body = {
      ...parts.length > 0 && { groupBy: parts.map(([part, column], index) => ({ [`p${index}`]: { [part]: column } })) },
      aggregates: Object.fromEntries(
        aggregates.map(([[call], [filters]], index) => [`a${index}`, { ...call, filters }])
      ),
      ...where !== null && { filters: conditions[where]?.[0] }
    }
    const names = [...parts.map((_, index) => `p${index}`), ...aggregates.map((_, index) => `a${index}`)]
    const list = [
      ...parts.map(([part, column], index) => `${PARTS[part]?.[dialect](inUtc(column))} as p${index}`),
      ...aggregates.map(([[, call], [, condition]], index) => `${call(condition)} as a${index}`)
    ]
    const plain = await sql([
      `select ${list.join(', ')} from sales`,
      ...where === null ? [] : [`where ${conditions[where]?.[1]}`],
      ...parts.length === 0 ? [] : [`group by ${parts.map((_, index) => index + 1).join(', ')}`]
    ].join(' '))
    const isCount = (index: number): boolean => '$count' in (aggregates[index]?.[0][0] ?? {})
    const normal = (list: Array<Record<string, unknown>>): string[] => list.map((row) => JSON.stringify(
      names.map((name) => comparable(row[name]) ?? (name.startsWith('a') && isCount(Number(name.slice(1))) ? 0 : null))
    )).sort()
    const [shown, wanted] = [normal(await groupsOf(service, body)), normal(plain)]
    if (JSON.stringify(shown) !== JSON.stringify(wanted)) {
      throw new Error(`${JSON.stringify(body)}\n${shown.join('\n')}\n${wanted.join('\n')}`)
    }
    checked++
  }), { numRuns: 60 })
  t.equal(checked, 60)
})
