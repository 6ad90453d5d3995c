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
  ...each(strangers, (name, shown) => [
    `the column ${shown} to filter by`, select({ filters: keyed(name, 1) }), `/filters/${pointer(name)}`
  ]),
  ...each(strangers, (name, shown) => [
    `the column ${shown} to write`, { verb: 'update', data: keyed(name, 1), filters: { id: 1 } },
    `/data/${pointer(name)}`
  ]),
  ...each([
    'nope', 'ID', '__proto__', 'constructor DESC', 'toString asc', '1', '1 DESC', 'desc', 'asc asc', '名前', 'nope, id',
    'id, nope'
  ], (orderBy, shown) => [`the order ${shown}`, select({ orderBy }), '/orderBy']),
  ['a column that is not there in $or', select({ filters: { $or: [{ id: 1 }, { nope: 1 }] } }), '/filters/$or/1/nope'],
  ['a column that is not there in $not', select({ filters: { $not: { nope: 1 } } }), '/filters/$not/nope'],
  ['a column that is not there to insert', insert({ nope: 1 }), '/data/nope']
])

const badOrders = refusedWith(400, 'INVALID_ORDER_BY', each([
  '', ' ', ',', 'id,', ',id', 'id,,email', 'id ASC DESC', 'id UP', 'id DESC NULLS', 'id NULLS FIRST DESC',
  'id DESC LIMIT 1', 'id; drop table customers', 'id DESC; delete from customers', 'id --', 'id -- DESC',
  'id /* */ DESC',
  'id/**/DESC', '(select 1)', '(select name from customers limit 1)', 'sleep(5)', 'if(1=1,id,email)',
  'case when 1 then id end', 'rand()', "id' or '1'='1", 'id or 1=1', '-id', '+id', '`id`', '"id" DESC',
  'customers.id', 'id collate binary', '@@version', '*', 'id\0', 'id\0 DESC', 'id, id', 'id ASC, email, id DESC',
  'id=1', '?', '\ud800', ('id,').repeat(10_000) + 'email'
], (orderBy, shown) => [`the order ${shown}`, select({ orderBy }), '/orderBy']))

const badFilters = refusedWith(400, 'INVALID_BODY', [
  ...each(['$regex', '$where', '$EQ', '$', '$$eq', '$__proto__', '$and', '$not', '$eq '], (name, shown) => [
    `the operator ${shown}`, select({ filters: { id: { [name]: 1 } } }), `/filters/id/${name}`
  ]),
  ...each(['$eq', '$where', '$nor', '$expr'], (name, shown) => [
    `${shown} without a column`, select({ filters: { [name]: 1 } }), `/filters/${name}`
  ]),
  ['operators among other keys', select({ filters: { id: { $gt: 1, lt: 2 } } }), '/filters/id/lt'],
  ...each([{}, 1, 'id', null, true], (value, shown) => [
    `$and of ${shown}`, select({ filters: { $and: value } }), '/filters/$and'
  ]),
  ...each([1, null, [], 'id'], (value, shown) => [
    `$or of a list with ${shown}`, select({ filters: { $or: [value] } }), '/filters/$or/0'
  ]),
  ...each([[], 1, null, [{ id: 1 }]], (value, shown) => [
    `$not of ${shown}`, select({ filters: { $not: value } }), '/filters/$not'
  ]),
  ['$or of a number that no double holds', '{"verb":"select","filters":{"$or":1e400}}', '/filters/$or'],
  [
    'filters that nest 33 levels deep', `{"verb":"select","filters":${'{"$not":'.repeat(33)}{"id":1}${'}'.repeat(34)}`,
    '/filters' + '/$not'.repeat(33)
  ],
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

const everyRow = refusedWith(400, 'FILTERS_REQUIRED',
  each([
    { $and: [] }, { $not: { $or: [] } }, { $and: [{}, { $and: [] }] }, { $or: [{ id: 1 }, {}] }, { id: { $nin: [] } },
    { $not: { id: { $in: [] } } }, { id: { $null: false } }
  ],
  (filters, shown) => [`a delete with the filters ${shown}`, { verb: 'delete', filters }, '/filters']))

const badValues = refusedWith(400, 'INVALID_VALUE', [
  ...each([0, 1.5, true, false, {}, { a: 1 }, [], ['a'], '\ud800', 'a\udfff'], (name, shown) => [
    `the name ${shown} to write`, update({ name }), '/data/name'
  ]),
  ...each([0, true, {}, { a: 1 }, { toString: 1 }], (name, shown) => [
    `the name ${shown} to filter by`, select({ filters: { name } }), '/filters/name'
  ]),
  ['a name that no double holds', '{"verb":"update","data":{"name":1e400},"filters":{"id":1}}', '/data/name'],
  ...each([
    'abc', '', ' ', ' 1', '1 ', '1x', '0x10', '1e2', '1.0', '١', '1 or 1=1', '--1', '\0', true, false, 1.5, 1e-7, {},
    { a: 1 }
  ], (id, shown) => [`the id ${shown} to filter by`, select({ filters: { id } }), '/filters/id']),
  ...each(['18446744073709551616', '1e400', '-1e400', '1e-400', '1e99999999', '-9223372036854775809', '0.5'], (id) => [
    `the id ${id} to filter by`, `{"verb":"select","filters":{"id":${id}}}`, '/filters/id'
  ]),
  ...each(['1', true, [1], {}], (id, shown): [string, unknown, string] => [
    `$in of the list ${shown} that is none`, select({ filters: { id: { $in: Array.isArray(id) ? { 0: 1 } : id } } }),
    '/filters/id/$in'
  ]),
  ...each(['x', true, [2], {}], (id, shown) => [
    `a list of ids with ${shown}`, select({ filters: { id: [1, id] } }), '/filters/id/1'
  ]),
  ...each([[], [1], [1, 2, 3], 1, [null, 1], [1, null], { 0: 1, 1: 2 }], (value, shown) => [
    `$between ${shown}`, select({ filters: { id: { $between: value } } }), '/filters/id/$between'
  ]),
  ...each(['$gt', '$gte', '$lt', '$lte'], (name) => [
    `${name} null`, select({ filters: { id: { [name]: null } } }), `/filters/id/${name}`
  ]),
  ...each(['$like', '$nlike', '$startsWith', '$contains'], (name) => [
    `${name} of a number`, select({ filters: { name: { [name]: 1 } } }), `/filters/name/${name}`
  ]),
  ...each(['$like', '$nlike', '$startsWith', '$contains'], (name) => [
    `${name} on a column that is no text`, select({ filters: { id: { [name]: '1' } } }), `/filters/id/${name}`
  ]),
  ...each([1, 0, 'true', null, []], (value, shown) => [
    `$null ${shown}`, select({ filters: { note: { $null: value } } }), '/filters/note/$null'
  ]),
  ...each(
    ['abc', '', '1,5', '1e3', ' 1', '1_000', 'NaN', 'Infinity', '0x1', '--1', '12.345', '123456789.00', true, {}, []],
    (credit, shown) => [`the credit ${shown}`, update({ credit }), '/data/credit']
  ),
  ...each(['1e400', '1e-400', '0.001', '12345678901234567890'], (credit) => [
    `the credit ${credit}`, `{"verb":"update","data":{"credit":${credit}},"filters":{"id":1}}`, '/data/credit'
  ]),
  ...each([
    'yesterday', 'now()', '', '2026-13-01T00:00:00', '2026-02-30T00:00:00', '2026-01-01', '2026-01-01T24:00:00',
    '2026-01-01T00:00:00Z', '0', 0, 1e12, true, {}, []
  ],
  (value, shown) => [`the time ${shown}`, update({ created_at: value }), '/data/created_at'])
])

const notWritten = [
  ...refusedWith(400, 'COLUMN_NOT_WRITABLE', [
    ['a computed column to insert', insert({ login: 'X' }), '/data/login'],
    ['a computed column to update', update({ login: 'X' }), '/data/login'],
    ['null for a computed column', update({ login: null }), '/data/login']
  ]),
  ...refusedWith(400, 'MISSING_COLUMN', [
    ['an insert of nothing where columns have no default', { verb: 'insert', data: {} }, '/data/email'],
    [
      'an insert without a column that has no default', { verb: 'insert', data: { email: 'x@example.com' } },
      '/data/name'
    ]
  ]),
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
