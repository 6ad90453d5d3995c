/** Orders, and the pages and keys that complete them. */
import fc from 'fast-check'
import t from 'tap'
import { type Column, type Table, alone } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { findPageKey, planOrder } from '../../src/plan/order.ts'
import { sortByKey } from '../../src/plan/insert-key.ts'
import type { Conflict, PlannedRow, SelectPlan } from '../../src/plan/plan.ts'
import { findDecisions } from '../../src/plan/writes.ts'
import type { Parameter } from '../../src/types/column-type.ts'
import { conditionText, orderText } from '../support/condition-text.ts'
import '../support/seed.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, sqliteColumn, tableOf } from '../support/tables.ts'

const table = tableOf({
  columns: [
    ...['id', 'name', 'desc', 'asc', 'x desc', 'two words', 'a.b', 'asc desc', "it's"].map(
      (name) => mysqlColumn(name, 'int')
    ),
    mysqlColumn('word', 'varchar(10)'),
    mysqlColumn('kind', "enum('a')"),
    mysqlColumn('tags', 'json'),
    mysqlColumn('flags', "set('a')"),
    mysqlColumn('unknown', 'something'),
    mysqlColumn('place', 'point')
  ]
})
const terms = (orderBy: Parameters<typeof planOrder>[0]): Array<[string, string]> =>
  planOrder(orderBy, { table }).map(({ column, direction }) => [column.name, direction])

t.test('orderBy is a list of columns with directions, ascending by default', async (t) => {
  const orders: Array<[orderBy: string, terms: Array<[string, string]>]> = [
    ['id', [['id', 'asc']]],
    ['id ASC', [['id', 'asc']]],
    ['id DESC', [['id', 'desc']]],
    ['id dEsC', [['id', 'desc']]],
    ['\tid \n desc ', [['id', 'desc']]],
    ['id,name DESC', [['id', 'asc'], ['name', 'desc']]],
    ['word , kind desc,id', [['word', 'asc'], ['kind', 'desc'], ['id', 'asc']]],
    ['desc', [['desc', 'asc']]],
    ['desc DESC', [['desc', 'desc']]],
    ['asc desc', [['asc', 'desc']]],
    ['asc desc asc', [['asc desc', 'asc']]],
    ['x desc ASC', [['x desc', 'asc']]],
    ['two words desc', [['two words', 'desc']]],
    ['a.b', [['a.b', 'asc']]],
    ["it's desc", [["it's", 'desc']]]
  ]
  for (const [orderBy, expected] of orders) t.same(terms(orderBy), expected, JSON.stringify(orderBy))
})

t.test('orderBy also takes a list of objects, for columns of any name', async (t) => {
  t.same(terms([{ id: 'DESC' }, { name: 'asc' }]), [['id', 'desc'], ['name', 'asc']])
  t.same(terms([{ 'x desc': 'DESC' }, { "it's": 'Asc' }, { flags: 'aSC' }]), [
    ['x desc', 'desc'], ["it's", 'asc'], ['flags', 'asc']
  ])
  t.throws(() => planOrder([{ id: 'ASC' }, { nope: 'ASC' }], { table }), {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/orderBy/1/nope' }]
  })
  t.throws(
    () => planOrder([{ 'id DESC': 'ASC' }], { table }), { code: 'COLUMN_NOT_FOUND' },
    'a direction in the key is part of the name'
  )
  t.throws(() => planOrder([{ id: 'ASC' }, { id: 'DESC' }], { table }), { code: 'INVALID_ORDER_BY' })
  t.throws(() => planOrder([{ tags: 'ASC' }], { table }), { code: 'INVALID_ORDER_BY' })
})

t.test('a direction may say where NULL stands, and is needed for that', async (t) => {
  const columns = [
    mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('due', 'date'), mysqlColumn('desc', 'int')
  ]
  const own = tableOf({ columns, primaryKey: ['id'] })
  const orders: Array<[orderBy: Parameters<typeof planOrder>[0], order: string]> = [
    ['due ASC NULLS LAST', 'due asc null greatest'], ['due ASC NULLS FIRST', 'due asc'],
    ['due DESC NULLS FIRST', 'due desc null greatest'], ['due DESC NULLS LAST', 'due desc'],
    ['due\tdesc  nulls\n first , id', 'due desc null greatest, id asc'], [
      'due asc nulls LAST,desc desc Nulls first', 'due asc null greatest, desc desc null greatest'
    ], ['id ASC NULLS LAST', 'id asc'], ['id DESC NULLS FIRST', 'id desc'],
    [[{ due: 'ASC NULLS LAST' }, { id: 'desc nulls first' }], 'due asc null greatest, id desc']
  ]
  for (const [orderBy, order] of orders) {
    t.equal(orderText(planOrder(orderBy, { table: own })), order, JSON.stringify(orderBy))
  }
  for (const orderBy of [
    'due NULLS LAST', 'due ASC NULLS', 'due NULLS LAST ASC', 'due ASC NULLS UP', 'due ASC NULLS LAST NULLS LAST'
  ]) {
    t.throws(() => planOrder(orderBy, { table: own }), {
      code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }]
    }, orderBy)
  }
  for (const orderBy of ['due ASC NULLS LAST', 'due DESC NULLS FIRST', 'id, due DESC NULLS FIRST']) {
    t.throws(
      () => plan({ after: null, orderBy }, own), { code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }] }, orderBy
    )
  }
  t.equal(
    orderText(plan({ after: null, orderBy: 'due DESC NULLS LAST, id ASC NULLS LAST' }, own).order), 'due desc, id asc'
  )
  t.equal(orderText(plan({ offset: 1, orderBy: 'due DESC NULLS FIRST' }, own).order), 'due desc null greatest, id desc')
})

t.test('a term that cannot be a name is INVALID_ORDER_BY', async (t) => {
  for (const orderBy of [
    '', ' ', ',', 'id,', ',id', 'id,,name', '(id)', 'id; name', 'id UP', 'id ASC DESC x', '`id`', '"id"', '1+1', 'id--',
    'rand()', '*'
  ]) {
    t.throws(
      () => planOrder(orderBy, { table }), { code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }] },
      JSON.stringify(orderBy)
    )
  }
})

t.test('an unknown term that looks like a name is COLUMN_NOT_FOUND', async (t) => {
  for (const orderBy of ['nope', 'ID', 'nope DESC', 'näme', '名前', '$x', '1', '__proto__', 'id, constructor']) {
    t.throws(() => planOrder(orderBy, { table }), {
      code: 'COLUMN_NOT_FOUND', details: [{ path: '/orderBy' }]
    }, orderBy)
  }
})

t.test('a column of a type that cannot be sorted is rejected', async (t) => {
  for (const [name, type] of [['tags', 'json'], ['place', 'point'], ['unknown', 'something']] as const) {
    t.throws(() => planOrder(name, { table }), {
      code: 'INVALID_ORDER_BY', message: `"orderBy" contains "${name}"; rows cannot be sorted by the type ${type}`
    })
  }
})

t.test('a column may appear in orderBy only once', async (t) => {
  t.throws(() => planOrder('id, name, id DESC', { table }), {
    code: 'INVALID_ORDER_BY', message: '"orderBy" contains a column or a path twice'
  })
})

const index = (name: string, columns: string[], unique = true) => ({
  name, unique, ordered: true, parts: columns.map((column) => ({ column, descending: false, prefix: false }))
})

const columnsOf = (column: typeof mysqlColumn): Column[] => [
  column('id', 'int', { nullable: false }),
  column('name', 'varchar(20)'),
  column('code', 'varchar(20)', { nullable: false }),
  column('place', 'int', { nullable: false }),
  column('tags', 'json')
]

const keyed = tableOf({ columns: columnsOf(mysqlColumn), primaryKey: ['id'] })
const inSqlite = { ...tableOf({ columns: columnsOf(sqliteColumn), primaryKey: ['id'] }), engine: 'sqlite' }

const plan = (body: object, table = keyed): SelectPlan =>
  createPlan({ verb: 'select', ...body } as never, alone(table), LIMITS) as SelectPlan
const positionOf = ({ page }: SelectPlan): string => page?.by === 'position' ? conditionText(page.after) : ''

t.test('a page has the order that was asked for, completed by the key in the direction of its last term', async (t) => {
  for (const [orderBy, order] of [
    [undefined, 'id asc'],
    ['name', 'name asc, id asc'],
    ['name DESC', 'name desc, id desc'],
    ['name DESC, place', 'name desc, place asc, id asc'],
    ['id DESC, name', 'id desc, name asc']
  ] as const) {
    t.equal(orderText(plan({ after: null, ...orderBy !== undefined && { orderBy } }).order), order)
    t.equal(orderText(plan({ offset: 1, ...orderBy !== undefined && { orderBy } }).order), order)
  }
})

t.test('the key of a page is the primary key, else the shortest unique key without NULLs that ' +
  'was defined first', async (t) => {
  const keyOf = (indexes: ReturnType<typeof index>[]): string =>
    orderText(plan({ offset: 0 }, tableOf({ columns: columnsOf(mysqlColumn), indexes })).order)
  t.equal(keyOf([index('a', ['name'])]), '', 'name may be NULL')
  t.equal(keyOf([index('a', ['code', 'place']), index('b', ['place', 'id'])]), 'code asc, place asc')
  t.equal(keyOf([index('a', ['code', 'place']), index('b', ['place'])]), 'place asc')
  t.equal(keyOf([index('a', ['place'], false)]), '', 'it is not unique')
  t.throws(() => plan({ after: null }, tableOf({ columns: columnsOf(mysqlColumn) })), {
    code: 'NOT_SUPPORTED', details: [{ path: '/after' }]
  })
})

t.test('the rows behind a position are found column by column, and NULL is the lowest value', async (t) => {
  for (const [orderBy, after, condition] of [
    ['id', { id: 7 }, 'id > 7'],
    ['id DESC', { id: 7 }, 'id < 7'],
    ['place, id DESC', { place: 3, id: 7 }, '(place > 3 or (place = 3 and id < 7))'],
    ['name', { name: 'b', id: 7 }, "(name > 'b' or (name = 'b' and id > 7))"],
    ['name', { name: null, id: 7 }, '(name is not null or (name is null and id > 7))'],
    ['name DESC', { name: 'b', id: 7 }, "((name < 'b' or name is null) or (name = 'b' and id < 7))"],
    ['name DESC', { name: null, id: 7 }, '(name is null and id < 7)']
  ] as const) t.equal(positionOf(plan({ orderBy, after })), condition, `${orderBy} behind ${JSON.stringify(after)}`)
})

t.test('SQLite gets the bound of the first column beside the position', async (t) => {
  t.equal(
    positionOf(plan({ orderBy: 'place', after: { place: 3, id: 7 } }, inSqlite)),
    '(place >= 3 and (place > 3 or (place = 3 and id > 7)))'
  )
  t.equal(
    positionOf(plan({ orderBy: 'place DESC', after: { place: 3, id: 7 } }, inSqlite)),
    '(place <= 3 and (place < 3 or (place = 3 and id < 7)))'
  )
})

t.test('a text of a collation whose order the server does not keep has no position, an ' +
  'ENUM of it has one', async (t) => {
  const latin7 = { charset: 'latin7', collation: 'latin7_general_ci', nullable: false }
  const table = (key: string) => tableOf({
    columns: [
      mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('name', 'varchar(20)', latin7),
      mysqlColumn('kind', "enum('a','b')", latin7),
      mysqlColumn('other', 'varchar(20)', { ...latin7, collation: 'latin7_bin' })
    ],
    primaryKey: [key],
    uniqueKeys: [{ name: 'PRIMARY', columns: [key] }]
  })
  const refused = { code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }], message: /latin7_general_ci/ }
  t.throws(() => plan({ after: null, orderBy: 'name' }, table('id')), refused)
  t.throws(() => plan({ after: null, orderBy: 'id' }, table('name')), refused, 'a column of the key')
  for (const orderBy of ['kind', 'other']) t.equal(plan({ after: null, orderBy }, table('id')).page?.by, 'position')
  t.equal(plan({ offset: 0, orderBy: 'name' }, table('id')).page?.by, 'offset')
  t.same([table('id'), table('name')].map((each) => findPageKey(each) !== undefined), [true, false], 'as documents say')
})

const key = mysqlColumn('k', 'varchar(20)')
const other = mysqlColumn('o', 'int')
const rowsOf = (values: readonly Parameter[]): PlannedRow[] =>
  values.map((value, index) => ({ index, columns: [key], parameters: [value] }))
const sorted = (...values: Parameter[]): unknown[] =>
  sortByKey(rowsOf(values), [key]).map(({ parameters }) => parameters[0])

t.test('rows are sorted by their key, numbers before texts', async (t) => {
  t.same(sorted('b', 'a', 'c'), ['a', 'b', 'c'])
  t.same(sorted(3n, 1n, -2n, 10n), [-2n, 1n, 3n, 10n])
  t.same(sorted('10.00', '9.00', 'x', '-1.00'), ['-1.00', '9.00', '10.00', 'x'])
  t.same(sorted(Buffer.from('b'), Buffer.from('a')), [Buffer.from('a'), Buffer.from('b')])
  t.same(sorted(0.5, 0.25), [0.25, 0.5])
  t.same(sortByKey(
    [{ index: 0, columns: [key], parameters: ['b'] }, { index: 1, columns: [other, key], parameters: [1n, 'a'] }], [key]
  ).map(({ index }) => index), [1, 0])
})

t.test('keys that a collation may consider equal keep their order', async (t) => {
  for (const same of [
    ['a', 'A'], ['a ', 'a'], ['Wv', 'vW'], ['jy', 'ii'], ['ccs', 'cscs'], ['07', '7'],
    [Buffer.from('a\0'), Buffer.from('a')], [null, null], [0.1, Math.fround(0.1)]
  ]) {
    t.same(sorted(...same), same)
    t.same(sorted(...same.toReversed()), same.toReversed())
  }
  t.same(sorted('b', 'é', 'a'), ['b', 'é', 'a'], 'nothing is known of texts beyond ASCII')
})

t.test('two requests with the same keys write them in the same order', async () => {
  fc.assert(fc.property(fc.uniqueArray(fc.stringMatching(/^[a-h0-9_ -]{1,6}$/), {
    selector: (text) => text.trimEnd()
  }), fc.integer(), (keys, seed) => {
    const [first, second] = [
      keys, keys.toSorted((a, b) => (a.length * 31 + seed) % 7 - (b.length * 31 + seed) % 7)
    ].map((each) => JSON.stringify(sorted(...each.filter((text) => /[a-h]/.test(text)))))
    return first === second
  }))
})

t.test('rows are only sorted if their order makes no difference', async (t) => {
  const unique = (column: string | null) => ({
    name: column ?? 'e', unique: true, ordered: true, parts: [{ column, descending: false, prefix: false }]
  })
  const parts = { columns: [key, other, mysqlColumn('v', 'int')], indexes: ['k', 'o'].map(unique) }
  const table = tableOf(parts)
  const [, , v] = table.columnList as [unknown, unknown, typeof other]
  const rows: PlannedRow[] = [
    { index: 0, columns: [key, v], parameters: ['a', 1n] }, { index: 1, columns: [key, other], parameters: ['b', 1n] }
  ]
  const conflict = (set: Conflict['set']): Conflict => ({ key: [key], set })
  const isAnyOrder = (rows: readonly PlannedRow[], conflict: Conflict, table: Table): boolean => [
    ...findDecisions({ table, conflict, rows }).values()
  ].every(({ whyInOrder }) => whyInOrder === undefined)
  t.notOk(isAnyOrder(rows, conflict({ kind: 'given' }), table), 'a row writes a column of another key')
  t.ok(isAnyOrder(rows.slice(0, 1), conflict({ kind: 'given' }), table))
  t.ok(isAnyOrder(rows, conflict({ kind: 'columns', columns: [v] }), table))
  t.notOk(isAnyOrder(rows, conflict({ kind: 'columns', columns: [key] }), table))
  t.notOk(isAnyOrder(rows, conflict({ kind: 'assignments', assignments: [{ column: other, parameter: 1n }] }), table))
  const foreignKeys = [{ name: 'f', columns: ['v'], referencedTable: 'items', referencedColumns: ['o'] }]
  const own = tableOf({ ...parts, foreignKeys })
  t.notOk(isAnyOrder(rows, conflict({ kind: 'columns', columns: [] }), own), 'rows may refer to each other')
  const unrelated: PlannedRow[] = [
    { index: 0, columns: [key], parameters: ['a'] }, { index: 1, columns: [key], parameters: ['b'] }
  ]
  t.ok(
    isAnyOrder(unrelated, conflict({ kind: 'given' }), own),
    'rows that write no reference keep the one that they have, or have none'
  )
  t.notOk(isAnyOrder(unrelated, conflict({ kind: 'columns', columns: [v] }), own), 'a default may be a reference')
  for (const column of [
    { defaultText: '1' }, { defaultComputed: true }, { generated: true }, { onUpdate: true }
  ] as const) {
    const computing = tableOf({ ...parts, columns: [key, other, { ...v, ...column }], foreignKeys })
    t.notOk(
      isAnyOrder(unrelated, conflict({ kind: 'given' }), computing),
      `the database may write a reference: ${JSON.stringify(column)}`
    )
  }
  for (const [event, timing] of [['insert', 'after'], ['update', 'before']] as const) {
    t.notOk(isAnyOrder(rows, conflict({ kind: 'columns', columns: [v] }), tableOf({
      ...parts, triggers: { isComplete: true, list: [{ event, timing }] }
    })), `a trigger of an ${event} may show the order`)
  }
  t.notOk(isAnyOrder(
    rows, conflict({ kind: 'columns', columns: [v] }), tableOf({ ...parts, indexes: [...parts.indexes, unique(null)] })
  ), 'an expression may be of any column')
})
