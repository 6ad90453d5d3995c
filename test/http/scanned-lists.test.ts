/** A list that is scanned has the answer and the effect of the same list in a form that is parsed. */
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { onEachEngine, type Answer, type Service } from '../support/service.ts'

const row = (index: number): Record<string, unknown> => ({
  n: index,
  code: 100 + index,
  name: `it's "${index}"`.replaceAll('"', ''),
  big: 123456789012345,
  price: `${index}.50`,
  day: '2026-02-03',
  at: `2026-01-02T03:04:05${index % 2 === 0 ? '' : '.5'}`,
  seen: '2026-01-02T03:04:05Z',
  doc: { a: [index, 'Zoë 😀', null, 1.5] },
  status: 'in use'
})
const list = (change: (index: number) => object = () => ({}), length = 20): object[] => Array.from({ length }, (_, index) => ({ ...row(index), ...change(index) }))
const at = (place: number, values: object) => (index: number): object => index === place ? values : {}

interface Case {
  readonly body: string
  /** Whether it can be scanned. */
  readonly isPlain: boolean
  readonly headers?: Record<string, string>
  /** Before the first character. */
  readonly start?: string
}

const insert = (data: object[], rest: object = {}): string => JSON.stringify({ verb: 'insert', data, ...rest })
const numbered = (index: number): object => ({ ...index % 2 === 0 && { id: (index * 7) % 20 + 1 }, ...row(index) })

const cases: Readonly<Record<string, Case>> = {
  'a plain list': { body: insert(list()), isPlain: true },
  'a list with NULL': { body: insert(list((index) => index % 3 === 0 ? { name: null, doc: null, price: null, at: null } : {})), isPlain: true },
  'a thousand rows': { body: insert(list(undefined, 1000)), isPlain: true },
  'white space': { body: insert(list()).replaceAll(/([{:[,])(["{[])/g, '$1 $2').replaceAll(/} *]/g, '}]'), isPlain: true },
  'a charset': { body: insert(list()), isPlain: true, headers: { 'content-type': 'application/json; charset=utf-8' } },
  'a key': { body: insert(list()), isPlain: true, headers: { 'idempotency-key': 'a' } },
  'a dry run': { body: insert(list(), { dryRun: true }), isPlain: true },
  'ids, some of them left out': { body: insert(Array.from({ length: 20 }, (_, index) => numbered(index))), isPlain: true },
  'an upsert': { body: insert(Array.from({ length: 20 }, (_, index) => ({ ...numbered(index), code: null })), { onConflict: { key: ['id'], set: ['n', 'name'] } }), isPlain: true },
  'an upsert that collides in another key': { body: insert(Array.from({ length: 20 }, (_, index) => numbered(index)), { onConflict: { key: ['id'], set: ['n', 'name'] } }), isPlain: true },
  'an upsert by another key': { body: insert(list((index) => ({ code: 119 - index })), { onConflict: { key: ['code'] } }), isPlain: true },
  'a row that the server refuses': { body: insert(list(at(12, { code: 105 }))), isPlain: true },
  'a row that collides with one that exists': { body: insert(list(at(7, { code: 1 }))), isPlain: true },
  'a row that breaks a check': { body: insert(list(at(17, { n: -1 }))), isPlain: true },
  'a refused row of an upsert': { body: insert(Array.from({ length: 20 }, (_, index) => ({ ...numbered(index), ...at(9, { n: -1 })(index) })), { onConflict: { key: ['id'], set: ['n', 'name'] } }), isPlain: true },
  'numbers of 64 bits': { body: insert(list()).replaceAll('123456789012345', '18446744073709551615'), isPlain: false },
  'a number that is too large': { body: insert(list(at(4, { n: 2_147_483_648 }))), isPlain: false },
  'a text that is too long': { body: insert(list(at(4, { name: 'x'.repeat(31) }))), isPlain: false },
  'a column that does not exist': { body: insert(list(at(4, { nothing: 1 }))), isPlain: false },
  'a row that is no object': { body: insert([...list(), 1 as never]), isPlain: false },
  'null in a NOT NULL column': { body: insert(list(at(4, { n: null }))), isPlain: false },
  'a key that repeats': { body: insert(list()).replace('"code":105', '"code":105,"n":5'), isPlain: false },
  'a second list': { body: insert(list()).slice(0, -1) + ',"data":[{"n":1}]}', isPlain: false },
  'an object whose keys begin with $': { body: insert(list(at(4, { doc: { $eq: 1 } }))), isPlain: false },
  'a thousand and one rows': { body: insert(list(undefined, 1001)), isPlain: false },
  'a byte order mark': { body: insert(list()), isPlain: false, start: '\ufeff' },
  'no end': { body: insert(list()).slice(0, -1), isPlain: false },
  'another field': { body: insert(list(), { limit: 1 }), isPlain: false },
  'rows to return': { body: insert(list(), { returning: ['id', 'name'] }), isPlain: false },
  'an encoding': { body: insert(list()), isPlain: false, headers: { 'content-encoding': 'gzip' } }
}

const names = Object.keys(cases)
const create = (table: string): string[] => [
  `create table ${table} (id bigint not null auto_increment primary key, n int not null, code int unique, name varchar(30), big bigint unsigned, price decimal(10,2), day date, at datetime(3),
    seen timestamp null, doc json, status enum('new','in use') not null, check (n >= 0)) default charset=utf8mb4`,
  `insert into ${table} (id, n, code, name, status) values (1, 1, 1, 'one', 'new'), (8, 8, 8, 'eight', 'new')`
]
const schema = [...names.flatMap((_, place) => [...create(`s${place}`), ...create(`p${place}`)]), CREATE.mysql]

/** The length of the longest text that was parsed meanwhile. */
async function longestParsed (run: () => Promise<unknown>): Promise<number> {
  const { parse } = JSON
  let longest = 0
  JSON.parse = ((text: string, reviver: never) => {
    longest = Math.max(longest, text.length)
    return parse(text, reviver)
  }) as typeof JSON.parse
  try {
    await run()
  } finally {
    JSON.parse = parse
  }
  return longest
}

/** What a request leaves behind. */
async function effectOf ({ post, sql }: Service, table: string, { body, start = '', headers = {} }: Case) {
  const answers: Answer[] = []
  const parsed = await longestParsed(async () => { answers.push(await post(table, start + body, { headers })) })
  if (headers['idempotency-key'] !== undefined) answers.push(await post(table, start + body, { headers }))
  const shown = answers.map(({ status, text, headers }) => [status, text.replaceAll(table, 't'), headers['idempotency-replayed']])
  return { shown, isParsed: parsed >= body.length, rows: (await sql(`select * from ${table} order by id`)) }
}

await onEachEngine(t, 'a scanned list has the answer and the effect of a parsed one', { schema: { mysql: schema, sqlite: [] }, only: ['mariadb', 'mysql'] }, async (t, service) => {
  for (const [place, name] of names.entries()) {
    const given = cases[name] as Case
    const scanned = await effectOf(service, `s${place}`, given)
    // another key for another table
    const headers = given.headers?.['idempotency-key'] === undefined ? given.headers : { 'idempotency-key': 'b' }
    const parsed = await effectOf(service, `p${place}`, { ...given, body: given.body.replace('"n":', '"\\u006e":'), ...headers && { headers } })
    t.same(scanned.shown, parsed.shown, name)
    t.same(scanned.rows, parsed.rows, name)
    const hasError = scanned.shown.some(([status]) => status !== 200)
    if (!hasError) t.equal(scanned.isParsed, !given.isPlain, `${name} is ${given.isPlain ? 'scanned' : 'parsed'}`)
    if (!given.headers?.['content-encoding']) t.ok(parsed.isParsed, `${name} is parsed in the other form`)
  }
})
