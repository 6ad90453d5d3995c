/**
 * Bodies that are refused because of the table: unknown columns, values that do not fit, malformed orders and filters.
 */
import type { EngineName } from './service.ts'
import { deep, each, refusedWith, type BadBody } from './bad-bodies.ts'
import { shop } from './shop.ts'

/** Selects every row of every table. mysql2 cannot read a column called __proto__ into an object. */
export const EVERYTHING: readonly string[] = [
  ...['customers', 'products', 'orders', 'order_items', 'settings'].map(
    (table) => `select * from ${table} order by 1, 2`
  ),
  'select id, `__proto__` as proto, `constructor`, `a.b`, amount, doc from odd order by 1'
]

/** Columns with names of Object.prototype, and of types that the shop does not have. */
const odd = [
  'create table odd (id int not null primary key, "__proto__" varchar(10) null, "constructor" varchar(10) null, ' +
    '"a.b" int null, amount double null, doc json null)',
  'insert into odd ("id", "__proto__", "constructor", "a.b", "amount") values (1, \'a\', \'b\', 2, 1.5)'
]

export const shopAndOdd = (engine: EngineName): string[] => {
  const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
  return engine === 'sqlite'
    ? [...sqlite, ...odd]
    : [...mysql, ...odd.map((statement) => statement.replaceAll('"', '`'))]
}

type In = readonly [table: string, rows: BadBody[]]

const select = (rest: object) => ({ verb: 'select', ...rest })
const insert = (data: object) => ({ verb: 'insert', data: { email: 'new@example.com', name: 'New', ...data } })
const update = (data: object) => ({ verb: 'update', data, filters: { id: 1 } })
const json = (text: string): unknown => JSON.parse(text)

/** Names that are not columns of customers, but have a meaning elsewhere. */
const strangers = [
  'nope', 'ID', 'Id', ' id', 'id ', '', ' ', '*', 'count(*)', 'id as x', 'id, email', '`id`', '"id"', "'id'", 'id`',
  'id"', "id'", 'customers.id', 'shop.customers.id', 'rowid', 'id\0', '\0',
  'іd', '名前', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'then', 'id = 1 or 1',
  'id`) values (1) -- ', '1', '?', ':id', '@@version', 'x'.repeat(1000), '\ud800'
]
const pointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
/** An object with this own key, even if the key is __proto__. */
const keyed = (name: string, value: unknown): object =>
  json(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as object

const unknownColumns = refusedWith(400, 'COLUMN_NOT_FOUND', [
  ...each(
    strangers, (name, shown) => [`the column ${shown} to select`, select({ columns: ['id', name] }), '/columns/1']
  ),
  ...each(strangers.slice(0, 12), (name, shown) => [
    `the column ${shown} to filter by`, select({ filters: keyed(name, 1) }), `/filters/${pointer(name)}`
  ]),
  ...each(strangers, (name, shown) => [
    `the column ${shown} to write`, { verb: 'update', data: keyed(name, 1), filters: { id: 1 } },
    `/data/${pointer(name)}`
  ]),
  ...each([
    'nope', 'ID', '__proto__', 'constructor DESC', 'toString asc', '1', '1 DESC', 'desc', 'asc asc', '名前', 'nope, id',
    'id, nope'
  ], (orderBy, shown) => [`the order ${shown}`, select({ orderBy }), '/orderBy'])
])

const badOrders = refusedWith(400, 'INVALID_ORDER_BY', each([
  '', ',', 'id,', 'id ASC DESC', 'id UP', 'id NULLS FIRST DESC', 'id DESC LIMIT 1', 'id; drop table customers', 'id --',
  'id/**/DESC', '(select name from customers limit 1)', 'sleep(5)', 'case when 1 then id end', "id' or '1'='1",
  '-id', '`id`', '"id" DESC', '@@version', '*', 'id\0', 'id, id', '?', '\ud800', ('id,').repeat(10_000) + 'email'
], (orderBy, shown) => [`the order ${shown}`, select({ orderBy }), '/orderBy']))

const badFilters = refusedWith(400, 'INVALID_BODY', [
  ...each(['$regex', '$EQ', '$', '$__proto__', '$and'], (name, shown) => [
    `the operator ${shown}`, select({ filters: { id: { [name]: 1 } } }), `/filters/id/${name}`
  ]),
  ['an operator without a column', select({ filters: { $where: 1 } }), '/filters/$where'],
  ['operators among other keys', select({ filters: { id: { $gt: 1, lt: 2 } } }), '/filters/id/lt'],
  ['$or of a number that no double holds', '{"verb":"select","filters":{"$or":1e400}}', '/filters/$or'],
  [
    'filters that nest 20,000 levels deep',
    `{"verb":"select","filters":${'{"$not":'.repeat(20_000)}{"id":1}${'}'.repeat(20_001)}`,
    '/filters' + '/$not'.repeat(33)
  ],
  [
    '257 conditions', select({ filters: { $or: Array.from({ length: 257 }, (_, id) => ({ id })) } }), '/filters/$or/256'
  ],
  ['10,001 values', select({ filters: { id: Array.from({ length: 10_001 }, (_, id) => id) } }), '/filters/id']
])

const everyRow = refusedWith(400, 'FILTERS_REQUIRED', each([
  { $not: { $or: [] } }, { $and: [{}, { $and: [] }] }, { $or: [{ id: 1 }, {}] }, { id: { $nin: [] } },
  { $not: { id: { $in: [] } } }, { id: { $null: false } }
], (filters, shown) => [`a delete with the filters ${shown}`, { verb: 'delete', filters }, '/filters']))

const badValues = refusedWith(400, 'INVALID_VALUE', [
  ...each([0, true, {}, ['a'], '\ud800', 'a\udfff'], (name, shown) => [
    `the name ${shown} to write`, update({ name }), '/data/name'
  ]),
  ...each([0, {}, { toString: 1 }], (name, shown) => [
    `the name ${shown} to filter by`, select({ filters: { name } }), '/filters/name'
  ]),
  ['a name that no double holds', '{"verb":"update","data":{"name":1e400},"filters":{"id":1}}', '/data/name'],
  ...each(['abc', '', ' 1', '1x', '0x10', '1e2', '١', '1 or 1=1', '\0', true, 1.5, {}], (id, shown) => [
    `the id ${shown} to filter by`, select({ filters: { id } }), '/filters/id'
  ]),
  ...each(['18446744073709551616', '1e400', '1e-400', '1e99999999', '-9223372036854775809'], (id) => [
    `the id ${id} to filter by`, `{"verb":"select","filters":{"id":${id}}}`, '/filters/id'
  ]),
  ['a list of ids with a text', select({ filters: { id: [1, 'x'] } }), '/filters/id/1'],
  ['$between with null', select({ filters: { id: { $between: [1, null] } } }), '/filters/id/$between'],
  ['$gt null', select({ filters: { id: { $gt: null } } }), '/filters/id/$gt'],
  ['$like on a column that is no text', select({ filters: { id: { $like: '1' } } }), '/filters/id/$like'],
  ...each(['abc', '1e3', ' 1', 'NaN', 'Infinity', '12.345', '123456789.00', true, []], (credit, shown) => [
    `the credit ${shown}`, update({ credit }), '/data/credit'
  ]),
  ...each(['1e400', '1e-400', '12345678901234567890'], (credit) => [
    `the credit ${credit}`, `{"verb":"update","data":{"credit":${credit}},"filters":{"id":1}}`, '/data/credit'
  ]),
  ...each(['now()', '', '2026-02-30T00:00:00', '2026-01-01', '2026-01-01T00:00:00Z', 0, {}], (value, shown) => [
    `the time ${shown}`, update({ created_at: value }), '/data/created_at'
  ])
])

const notWritten = [
  ...refusedWith(400, 'COLUMN_NOT_WRITABLE', [['a computed column', update({ login: null }), '/data/login']]),
  ...refusedWith(400, 'MISSING_COLUMN', [['an insert of nothing', { verb: 'insert', data: {} }, '/data/email']]),
  ...refusedWith(422, 'NOT_NULL_VIOLATION', [
    ['null for a column that must have a value', update({ name: null }), '/data/name'],
    ['null for a numbered column', insert({ id: null }), '/data/id']
  ])
]

const oddColumns = refusedWith(400, 'INVALID_VALUE', [
  ...each(['__proto__', 'constructor'], (name) => [
    `a number for the column "${name}"`, { verb: 'update', data: keyed(name, 1), filters: { id: 1 } }, `/data/${name}`
  ]),
  ...each(['__proto__', 'constructor'], (name) => [
    `an object to filter the column "${name}" by`, select({ filters: keyed(name, { polluted: true }) }),
    `/filters/${name}`
  ]),
  ['a text for the column "a.b"', update({ 'a.b': 'x' }), '/data/a.b'],
  ...each(['1', true, {}, []], (amount, shown) => [`the amount ${shown}`, update({ amount }), '/data/amount']),
  ...each(['1e400', '-1e400'], (amount) => [
    `the amount ${amount}`, `{"verb":"update","data":{"amount":${amount}},"filters":{"id":1}}`, '/data/amount'
  ]),
  ['JSON that nests 101 levels deep', `{"verb":"update","data":{"doc":${deep(101)}},"filters":{"id":1}}`, '/data/doc'],
  [
    'JSON that nests 50,000 levels deep', `{"verb":"update","data":{"doc":${deep(50_000)}},"filters":{"id":1}}`,
    '/data/doc'
  ],
  [
    'JSON with half of a surrogate pair', '{"verb":"update","data":{"doc":{"a":["\\ud800"]}},"filters":{"id":1}}',
    '/data/doc'
  ],
  [
    'JSON with half of a surrogate pair in a key', '{"verb":"update","data":{"doc":{"\\udfff":1}},"filters":{"id":1}}',
    '/data/doc'
  ]
])

const views = refusedWith(403, 'PERMISSION_DENIED', [
  ['an insert into a view', { verb: 'insert', data: { order_id: 1 } }],
  ['an update of a view', { verb: 'update', data: { line: 9 }, filters: { order_id: 1 } }],
  ['a delete from a view', { verb: 'delete', filters: { order_id: 1 } }]
])

export const badValuesByTable: readonly In[] = [
  ['customers', [...unknownColumns, ...badOrders, ...badFilters, ...everyRow, ...badValues, ...notWritten]],
  ['odd', oddColumns],
  ['products', refusedWith(400, 'INVALID_ORDER_BY', [['an order by JSON', select({ orderBy: 'tags' }), '/orderBy']])],
  ['order_lines', views]
]
