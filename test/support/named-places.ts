/**
 * Hostile values in every place where a parameter of a named request may stand, by POST and by GET, beside the same
 * value in the body of a request.
 */
import type { Test } from 'tap'
import type { RequestsOptions } from '../../schemas/options.ts'
import { seed } from './seed.ts'
import { onEachEngine, TOKEN, type EngineName, type Service } from './service.ts'

// The tables.

const columnsOf = (engine: EngineName): string =>
  `n bigint null, p decimal(10,2) null, v varchar(60) null, j json null, d datetime null, b ${
    engine === 'sqlite' ? 'blob' : 'varbinary(60)'} null`
const fill = [
  'insert into boxes (id, n, p, v, j, d) values (1, 1, 1, \'a\', \'{"$gt": 0}\', \'2026-01-02 03:04:05\'), ' +
    "(2, 9007199254740993, 2.5, '50%', '[\"a\"]', null)",
  "insert into items (id, box, n, v, j) values (1, 1, 1, 'a', '{}'), (2, 1, 9007199254740993, '50%', null), " +
    "(3, 2, null, null, '1')"
]
const schema = (engine: EngineName): string[] => [
  `create table boxes (id integer not null primary key, ${columnsOf(engine)}${
    engine === 'sqlite' ? '' : ', fulltext key words (v)'})`,
  `create table items (id integer not null primary key, box integer not null, ${columnsOf(engine)})`,
  'create index items_box on items (box)',
  ...fill,
  ...engine === 'sqlite'
    ? [
        "create virtual table words using fts5(v, content='boxes', content_rowid='id')",
        "insert into words (words) values ('rebuild')"
      ]
    : []
]
const reset = async ({ sql }: Service): Promise<void> => {
  for (const statement of ['delete from items', 'delete from boxes', ...fill]) await sql(statement)
}

// The places: bodies with a value of a column.

type BodyWith = (x: unknown, column: string) => Record<string, unknown>
const box = { verb: 'select', columns: ['id'], orderBy: 'id' }
const item = { table: 'items', on: { id: 'box' } }
const count = { count: { $count: '*' } }
const filtered = (filters: (x: unknown, column: string) => object, rest: object = box): BodyWith =>
  (x, column) => ({ ...rest, filters: filters(x, column) })
const operated = (operand: (x: unknown) => object): BodyWith => filtered((x, column) => ({ [column]: operand(x) }))
/** Another end of `$between`. */
const ENDS: Readonly<Record<string, readonly [least: unknown, most: unknown]>> = {
  v: ['a', 'z'], d: ['2020-01-01T00:00:00', '2027-01-01T00:00:00'], n: [0, 5], p: [0, 5]
}

const ofFilters: Record<string, BodyWith> = {
  plain: operated((x) => x as object),
  $eq: operated((x) => ({ $eq: x })),
  $ne: operated((x) => ({ $ne: x })),
  $is: operated((x) => ({ $is: x })),
  row: filtered((x, column) => ({ $is: { [column]: x } })),
  $in: operated((x) => ({ $in: [x] })),
  $nin: operated((x) => ({ $nin: [x] })),
  $or: filtered((x, column) => ({ $or: [{ [column]: { $eq: x } }, { id: 2 }] })),
  $not: filtered((x, column) => ({ $not: { [column]: { $eq: x } } })),
  $some: filtered((x, column) => ({ $some: { items: { ...item, filters: { [column]: { $eq: x } } } } })),
  $none: filtered((x, column) => ({ $none: { items: { ...item, filters: { [column]: { $eq: x } } } } })),
  member: (x, column) => ({
    ...box, include: { items: { ...item, columns: ['id'], filters: { [column]: { $eq: x } } } }
  }),
  counted: (x, column) => ({
    ...box, include: { items: { ...item, aggregates: count, filters: { [column]: { $eq: x } } } }
  }),
  aggregate: (x, column) => ({
    verb: 'select', aggregates: { count: { $count: '*', filters: { [column]: { $eq: x } } } }
  }),
  grouped: filtered((x, column) => ({ [column]: { $eq: x } }), { verb: 'select', groupBy: ['id'], orderBy: 'id' }),
  update: filtered(
    (x, column) => ({ [column]: { $eq: x } }), { verb: 'update', data: { p: 3 }, returning: ['id', 'p'] }
  ),
  delete: filtered((x, column) => ({ [column]: { $eq: x } }), { verb: 'delete', returning: ['id'] })
}
const ofOrder: Record<string, BodyWith> = {
  ...Object.fromEntries(['$gt', '$gte', '$lt', '$lte'].map((name) => [name, operated((x) => ({ [name]: x }))])),
  from: filtered((x, column) => ({ [column]: { $between: [x, ENDS[column]?.[1]] } })),
  to: filtered((x, column) => ({ [column]: { $between: [ENDS[column]?.[0], x] } }))
}
const ofTexts: Record<string, BodyWith> = {
  $startsWith: operated((x) => ({ $startsWith: x })),
  $contains: operated((x) => ({ $contains: x })),
  $case: operated((x) => ({ $eq: x, $case: 'ignore' })),
  $match: filtered((x, column) => ({ $match: { columns: [column], text: x } }))
}
const inserted = (onConflict?: (column: string) => object): BodyWith => (x, column) => ({
  verb: 'insert',
  data: { id: onConflict === undefined ? 9 : 1, [column]: x },
  ...onConflict !== undefined && { onConflict: { key: ['id'], ...onConflict(column) } },
  returning: ['id', column]
})
const ofData: Record<string, BodyWith> = {
  insert: inserted(),
  rows: (x, column) => ({ ...inserted()(x, column), data: [{ id: 8 }, { id: 9, [column]: x }] }),
  upsert: inserted(() => ({})),
  listed: inserted((column) => ({ set: [column] })),
  kept: inserted(() => ({ set: [] })),
  change: (x, column) => ({ verb: 'update', filters: { id: 1 }, data: { [column]: x }, returning: ['id', column] }),
  keyed: (x, column) => ({
    verb: 'update', key: ['id'], filters: {}, data: [{ id: 1, [column]: x }, { id: 2, p: 1 }], returning: ['id']
  })
}
const ofKeys: Record<string, BodyWith> = {
  key: (x) => ({ verb: 'update', key: ['id'], filters: {}, data: [{ id: x, p: 1 }], returning: ['id', 'p'] }),
  conflict: (x) => ({ verb: 'insert', data: { id: x, p: 1 }, onConflict: { key: ['id'] }, returning: ['id', 'p'] }),
  returned: (x) => ({
    verb: 'update',
    filters: { id: 1 },
    data: { p: 3 },
    returning: ['id'],
    include: { items: { ...item, columns: ['id'], filters: { id: { $eq: x } } } }
  })
}
const ofPages: Record<string, BodyWith> = {
  limit: (x) => ({ ...box, limit: x }),
  offset: (x) => ({ ...box, offset: x }),
  after: (x) => ({ ...box, after: x }),
  limitOfMember: (x) => ({ ...box, include: { items: { ...item, columns: ['id'], limit: x } } })
}
const first = { table: 'boxes', verb: 'select', columns: ['id'], filters: { id: 1 } }
const within = (body: BodyWith): BodyWith => (x, column) => ({
  operations: [first, { table: 'boxes', ...body(x, column) }, { ...first, filters: { id: { $ref: '/0/rows/0/id' } } }]
})
const ofOperations = Object.fromEntries(
  ([['$eq', ofFilters], ['update', ofFilters], ['insert', ofData], ['change', ofData]] as const).map(
    ([name, bodies]) => [`operations ${name}`, within(bodies[name] as BodyWith)]
  )
)

interface Place {
  readonly id: string
  readonly name: string
  readonly column: string
  readonly body: BodyWith
  /** Whether it is a column of `data`, a field, or an operand that is a list. */
  readonly isData: boolean
  readonly isField: boolean
  readonly isList: boolean
  readonly isRead: boolean
}

const places = ([
  [ofFilters, ['v', 'n', 'j', 'd', 'b', 'p']], [ofData, ['v', 'n', 'j', 'd', 'b', 'p']],
  [ofOperations, ['v', 'n', 'j', 'd']], [ofOrder, ['v', 'n', 'd', 'p']], [ofTexts, ['v']], [ofKeys, ['id']],
  [ofPages, ['']]
] as const).flatMap(([bodies, columns]) => Object.entries(bodies).flatMap(([name, body]) => columns.map((column) => ({
  id: `${name} ${column}`,
  name,
  column,
  body,
  isData: bodies === ofData || ['conflict', 'operations insert', 'operations change'].includes(name),
  isField: bodies === ofPages,
  isList: name === '$in' || name === '$nin',
  isRead: !/"(?:insert|update|delete)"/.test(JSON.stringify(body('', column)))
} satisfies Place))))

const requests = Object.fromEntries(places.map(({ column, body, isList }, index) => {
  const text = JSON.stringify(body({ $param: 'v' }, column))
  // the whole list is the parameter, so that the body has it as a list of one
  const definition = JSON.parse(isList ? text.replace('[{"$param":"v"}]', '{"$param":"v"}') : text)
  const table = Object.hasOwn(definition, 'operations') ? {} : { table: 'boxes' }
  return [`r${index}`, { database: 'shop', ...table, parameters: { v: {} }, body: definition }]
})) as RequestsOptions

// The values.

const MEGABYTE = 'x'.repeat(2 ** 20 - 1000)
/** JSON texts that look like something else, or like nothing. */
const hostile = [
  '{"$gt":0}', '{"$eq":"x"}', '{"$ref":"/0/rows/0/id"}', '{"$param":"v"}', '{"$claim":"/tenant"}',
  '{"__proto__":{"a":1}}', '{"constructor":1}', '{"toJSON":1}', '{"rawJSON":"1"}', '{"$now":true}', '{"$in":["a"]}',
  '{"$inc":1}', '{"$default":true}', '{"$column":"v"}', '{"$or":[]}', '{}', '[]', '["a"]', '[{"$gt":0}]', '[null]',
  'true', 'null', '""', '"50%"', '"a_%\\\\!"', '"\' or 1=1 -- "', '"\\u0000"', '"\\ud800"', '"\\udc00x"', '"null"',
  '"{}"', '"😀"', `"${MEGABYTE}"`, '1', '-1', '0', '1.0', '1e0', '1.5', '9007199254740993', '18446744073709551616',
  '-9223372036854775809', '1e400', '0.1234567890123456789', '"1"', '"9007199254740993"', '"2026-01-02T03:04:05"',
  '"AA=="'
]
/** What is no UTF-8, in a query string. */
const NO_UTF8 = ['%FF', 'a%ED%A0%80', '%C3', '%', '%C0%80']

const isTree = (value: unknown): boolean => typeof value === 'object' && value !== null

/** A text that JSON.stringify writes as it is, and that the value replaces. */
const X = '~the value~'

interface Called { readonly status: number, readonly text: string, readonly code: string, readonly path: string }

/** Calls a place with one value in each way. Returns what is wrong. */
async function call (service: Service, index: number, value: string): Promise<{ wrong: string[], codes: string[] }> {
  const place = places[index] as Place
  const { id, column, body, isData, isField, isList, isRead, name } = place
  const { server, post, operate } = service
  const wrong: string[] = []
  const send = async (method: 'GET' | 'POST', query: string, payload?: string | Buffer): Promise<Called> => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const answer = await server.app.inject({
      method, url: `/api/requests/r${index}${query}`, headers, ...payload !== undefined && { payload }
    })
    const { error } = answer.json()
    if (!isRead && answer.statusCode === 200) await reset(service)
    const { code = 'done', details: [{ path = '' } = {}] = [] } = error ?? {}
    return { status: answer.statusCode, text: answer.body, code, path }
  }
  const postValue = async (json: string) => await send('POST', '', `{"v":${isList ? `[${json}]` : json}}`)

  const answer = await postValue(value)
  const parsed: unknown = JSON.parse(value)
  // an object is that value of a JSON column, which the body says with "$eq"
  const isWrapped = isTree(parsed) && column === 'j' && (isData || name === 'plain')
  const inPlace = JSON.stringify(body(X, column)).replace(`"${X}"`, () => isWrapped ? `{"$eq":${value}}` : value)
  const expected = Object.hasOwn(requests[`r${index}`] as object, 'table')
    ? await post('boxes', inPlace)
    : await operate(inPlace)
  if (!isRead && expected.status === 200) await reset(service)
  const fail = (why: string, found: Called = answer): void => {
    wrong.push(`${why}: ${id} ${value.slice(0, 40)}: ${found.text.slice(0, 200)} beside ${expected.text.slice(0, 200)}`)
  }
  const isRefused = (parsed === null && !isData && name !== 'after') ||
    (isTree(parsed) && column !== 'j' && !isField) || (parsed === '' && ['$startsWith', '$contains'].includes(name))
  const isDone = expected.status === 200 || answer.status === 200
  if (answer.status >= 500) fail('a fault of the service')
  if (isRefused && answer.code !== 'INVALID_VALUE') fail('not refused')
  if (!isRefused && !isField && expected.status !== answer.status) fail('another status than in the body')
  if (!isRefused && !isField && isDone && expected.text !== answer.text) fail('another answer than in the body')
  if (answer.status === 400 && !/^\/v(?:\/|$)/.test(answer.path)) fail('a place that is no parameter')

  const codes = [answer.code]
  if (!isRead) return { wrong, codes }
  // by GET, a text is read by its column: as JSON, as a number, or as the same text in JSON
  const isJson = column === 'j' || name === 'after'
  const text = typeof parsed === 'string' && !isJson ? parsed : value
  if (text.length < 10_000 && text.isWellFormed()) {
    const got = await send('GET', `?v=${encodeURIComponent(text)}`)
    const isNumber = isField ? /^-?\d+$/.test(text) : typeof parsed === 'number' && ['n', 'id'].includes(column)
    const beside = await postValue(isJson || isNumber ? text : JSON.stringify(text))
    if (isField && !isJson && !/^-?\d+$/.test(text)) {
      if (got.code !== 'INVALID_VALUE') fail('no whole number', got)
    } else if (got.code !== beside.code || got.path !== beside.path) fail('another answer by GET', got)
    else if (got.status === 200 && got.text !== beside.text) fail('other rows by GET', got)
    codes.push(`GET ${got.code}`)
  }
  return { wrong, codes }
}

/** Calls each place with bytes that are no UTF-8. */
async function callWithoutUtf8 ({ server: { app } }: Service, index: number): Promise<string[]> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const url = `/api/requests/r${index}`
  const codes = await Promise.all((places[index] as Place).isRead
    ? NO_UTF8.map(async (text) => (await app.inject({ url: `${url}?v=${text}`, headers })).json().error)
    : [])
  const payload = Buffer.concat([Buffer.from('{"v":"'), Buffer.from([0xff]), Buffer.from('"}')])
  const { error } = (await app.inject({ method: 'POST', url, headers, payload })).json()
  return [
    ...codes.filter((each) => each?.code !== 'INVALID_BODY' || each.details[0].path !== '/v'),
    ...error?.code === 'INVALID_JSON' ? [] : [error]
  ].map((each) => `${(places[index] as Place).id}: ${JSON.stringify(each)}`)
}

/** Holds the table on every engine. `share`: of how many cases one runs, which change from run to run. */
export async function holdPlaces (t: Test, share: number): Promise<void> {
  await onEachEngine(t, 'a value is bound, or refused at its parameter, in every place', {
    schema, options: { requests }
  }, async (t, service) => {
    const counts = new Map<string, number>()
    const wrong: string[] = []
    for (const index of places.keys()) {
      for (const [number, value] of hostile.entries()) {
        if ((index * hostile.length + number + seed) % share !== 0) continue
        const found = await call(service, index, value)
        wrong.push(...found.wrong)
        for (const code of found.codes) counts.set(code, (counts.get(code) ?? 0) + 1)
      }
      if ((index + seed) % share === 0) wrong.push(...await callWithoutUtf8(service, index))
    }
    const told = [...counts].map((each) => each.join(' ')).join(', ')
    t.comment(told)
    t.same(wrong.slice(0, 20), [], `${wrong.length} are wrong`)
    t.same(['done', 'INVALID_VALUE', 'GET done', 'GET INVALID_VALUE'].filter((code) => !counts.has(code)), [], told)
  })
}
