/** Bodies of many keys that are refused: nothing lists their keys again and again, whatever the way that they came. */
import t, { type Test } from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import { openEntrances } from '../support/entrances.ts'
import { callOf, send } from '../support/mcp.ts'
import { sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const COUNT = 5000
const keys = (value: unknown, prefix = 'k'): object =>
  Object.fromEntries(Array.from({ length: COUNT }, (_, index) => [prefix + index, value]))
const list = (value: unknown): unknown[] => Array.from({ length: COUNT }, () => value)
const select = (fields: object): object => ({ verb: 'select', ...fields })
const insert = (fields: object): object => ({ verb: 'insert', data: { email: 'a' }, ...fields })

/** The body, and where it is refused. */
const bodies: ReadonlyArray<readonly [body: object, code: string, path: string]> = [
  [select({ filters: keys(1) }), 'INVALID_BODY', '/filters/k256'],
  [{ verb: 'delete', filters: keys(1) }, 'INVALID_BODY', '/filters/k256'],
  [select({ filters: { id: keys(1, '$k') } }), 'INVALID_BODY', '/filters/id/$k256'],
  [select({ filters: { id: keys(1) } }), 'INVALID_VALUE', '/filters/id'],
  [select({ filters: { $is: keys(1) } }), 'INVALID_BODY', '/filters/$is/k256'],
  [select({ filters: { $and: list({ id: 1 }) } }), 'INVALID_BODY', '/filters/$and/256'],
  [select({ filters: { $and: [{ $or: list({ id: 1 }) }] } }), 'INVALID_BODY', '/filters/$and/0/$or/256'],
  [select({ filters: { $some: keys({}) } }), 'INVALID_BODY', '/filters/$some/k256'],
  [select({ filters: { $some: { orders: keys(1) } } }), 'INVALID_BODY', '/filters/$some/orders/k0'],
  [select({ filters: { $some: { orders: { count: keys(1) } } } }), 'INVALID_BODY', '/filters/$some/orders/count'],
  [select({ filters: { $some: { orders: { on: keys('id') } } } }), 'INVALID_BODY', '/filters/$some/orders/on'],
  [select({ filters: { $match: keys(1) } }), 'INVALID_BODY', '/filters/$match/k0'],
  [select({ include: keys({}) }), 'INVALID_BODY', '/include/k10'],
  [select({ include: { orders: { include: keys({}) } } }), 'INVALID_BODY', '/include/orders/include/k9'],
  [select({ include: { orders: keys(1) } }), 'INVALID_BODY', '/include/orders/k0'],
  [select({ aggregates: keys({ $count: '*' }) }), 'INVALID_BODY', '/aggregates'],
  [select({ aggregates: { n: keys('id') } }), 'INVALID_BODY', '/aggregates/n'],
  [select({ aggregates: { n: { $count: '*', filters: keys(1) } } }), 'INVALID_BODY', '/aggregates/n/filters/k256'],
  [select({ groupBy: [keys('id')] }), 'INVALID_BODY', '/groupBy'],
  [select({ groupBy: ['id'], having: keys(1) }), 'INVALID_BODY', '/having/k256'],
  [select({ orderBy: [keys('ASC')] }), 'INVALID_ORDER_BY', '/orderBy'],
  [select({ orderBy: list({ id: 'ASC' }) }), 'INVALID_ORDER_BY', '/orderBy'],
  [select({ after: keys(1) }), 'INVALID_BODY', '/after/k0'],
  [select({ expect: keys(1) }), 'INVALID_BODY', '/expect'],
  [insert({ data: keys(1) }), 'COLUMN_NOT_FOUND', '/data/k0'],
  [insert({ data: [keys(1)] }), 'COLUMN_NOT_FOUND', '/data/0/k0'],
  [insert({ data: { email: keys(1, '$k') } }), 'INVALID_VALUE', '/data/email'],
  [insert({ onConflict: { key: ['email'], set: keys(1) } }), 'COLUMN_NOT_FOUND', '/onConflict/set/k0'],
  [insert({ onConflict: keys(1) }), 'INVALID_BODY', '/onConflict'],
  [{ verb: 'update', filters: { id: 1 }, data: keys(1) }, 'COLUMN_NOT_FOUND', '/data/k0'],
  [{ verb: 'update', filters: {}, key: ['id'], data: [{ id: 1, ...keys(1) }] }, 'COLUMN_NOT_FOUND', '/data/0/k0']
]

/** Calls a function, and counts how often the keys of objects with many of them are listed meanwhile. */
async function countLists<T> (run: () => Promise<T>): Promise<{ readonly result: T, readonly lists: number }> {
  let lists = 0
  const names = ['keys', 'entries', 'values', 'getOwnPropertyNames'] as const
  const originals = names.map((name) => Object[name] as (value: object) => unknown[])
  const replace = (functions: ReadonlyArray<(value: object) => unknown[]>): void => {
    for (const [index, name] of names.entries()) {
      Object.defineProperty(Object, name, { value: functions[index], configurable: true, writable: true })
    }
  }
  replace(originals.map((original) => (value) => {
    const listed = original(value)
    if (listed.length >= COUNT && !Array.isArray(value)) lists++
    return listed
  }))
  try {
    return { result: await run(), lists }
  } finally {
    replace(originals)
  }
}

const test = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'], options: { mcp: { verbs: [...VERBS] } } })

await test('the keys of a body are listed once, and counted before a name is looked for, ' +
  'at every entrance', async (t, service) => {
  const entrancesOf = await openEntrances(t as Test, service)
  for (const [index, [body, code, path]] of bodies.entries()) {
    for (const [entrance, run] of Object.entries(entrancesOf(body))) {
      const { result, lists } = await countLists(run)
      const expected = entrance === 'operations' ? `/operations/0${path}` : path
      t.match(result, { code, details: [{ path: expected }] }, `${index} ${entrance}`)
      t.ok(lists <= 1, `${index} ${entrance}: ${lists} times`)
    }
  }
})

await test('fields, parameters and arguments that are not known are not ' +
  'listed again, or copied', async (t, service) => {
  const call = JSON.parse(callOf('select', { database: 'shop', table: 'customers' }))
  const messages = [
    { ...call, ...keys(1) }, { ...call, params: { ...call.params, ...keys(1) } },
    { ...call, params: { ...call.params, _meta: { a: keys(1) } } },
    { ...call, params: { ...call.params, arguments: keys(1) } }
  ]
  for (const message of messages.map((each) => JSON.stringify(each))) {
    const { result, lists } = await countLists(() => send(service, message))
    t.match(result.json, { error: { code: -32600 } })
    t.ok(lists <= 1, `${lists} times`)
  }
  for (const body of [{ verb: 'select', ...keys(1) }, { ...keys(1), verb: 'insert' }, keys(1)].map(
    (each) => JSON.stringify(each)
  )) {
    const { result, lists } = await countLists(() => service.post('customers', body))
    t.match(result, { status: 400, json: { error: { code: 'INVALID_BODY' } } })
    t.ok(lists <= 1, `${lists} times`)
  }
})

await test('large bodies that arrive together have a turn of the event loop each', async (t, { post }) => {
  const body = JSON.stringify({ verb: 'select', filters: keys(1, 'a_long_name_of_a_column_') })
  let turn = 0
  const { parse } = JSON
  const turns: number[] = []
  let isOver = false
  const next = (): void => {
    turn++
    if (!isOver) setImmediate(next)
  }
  JSON.parse = (text: string, ...rest: []) => {
    if (text.length === body.length) turns.push(turn)
    return parse(text, ...rest)
  }
  t.teardown(() => { JSON.parse = parse })
  setImmediate(next)
  const answers = await Promise.all(Array.from({ length: 5 }, () => post('customers', body)))
  isOver = true
  t.same(answers.map(({ status }) => status), [400, 400, 400, 400, 400])
  t.equal(new Set(turns).size, 5, `in the turns ${turns.join()}`)
})

await test('no answer or line of the log repeats a name of the length of a body', async (t, service) => {
  const name = 'x'.repeat(500_000)
  const named = [
    select({ filters: { [name]: 1 } }), select({ [name]: 1 }), select({ orderBy: name }),
    select({ include: { [name]: {} } }), select({ filters: { id: { [`$${name}`]: 1 } } }),
    insert({ data: { [name]: 1 } }), select({ filters: { $some: { [name]: {} } } })
  ]
  for (const body of named) {
    const { status, text } = await service.post('customers', body)
    t.equal(Math.floor(status / 100), 4)
    t.ok(text.length < 10_000, `${text.length} characters`)
    const { text: inOperation } = await service.operate([{ table: 'customers', ...body }])
    t.ok(inOperation.length < 10_000, `${inOperation.length} characters`)
  }
  t.ok(service.log.every((line) => line.length < 10_000))
})
