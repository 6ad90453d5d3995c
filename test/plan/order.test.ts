/** Orders and the keys of pages, apart from what bodies show of them (test/plan/bodies/select.txt, pages.txt). */
import fc from 'fast-check'
import t from 'tap'
import { alone, type Table } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { findPageKey, planOrder } from '../../src/plan/order.ts'
import { sortByKey } from '../../src/plan/insert-key.ts'
import type { Conflict, PlannedRow, SelectPlan } from '../../src/plan/plan.ts'
import { findDecisions } from '../../src/plan/writes.ts'
import type { Parameter } from '../../src/types/column-type.ts'
import { orderText } from '../support/condition-text.ts'
import '../support/seed.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const table = tableOf({
  columns: [
    ...['id', 'name'].map((name) => mysqlColumn(name, 'int')),
    mysqlColumn('tags', 'json'),
    mysqlColumn('unknown', 'something'),
    mysqlColumn('place', 'point')
  ]
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

const index = (name: string, columns: string[], unique = true) => ({
  name, unique, ordered: true, parts: columns.map((column) => ({ column, descending: false, prefix: false }))
})

const columns = [
  mysqlColumn('id', 'int', { nullable: false }),
  mysqlColumn('name', 'varchar(20)'),
  mysqlColumn('code', 'varchar(20)', { nullable: false }),
  mysqlColumn('place', 'int', { nullable: false })
]

const plan = (body: object, table: Table): SelectPlan =>
  createPlan({ verb: 'select', ...body } as never, alone(table), LIMITS) as SelectPlan
t.test('the key of a page is the primary key, else the shortest unique key without NULLs that ' +
  'was defined first', async (t) => {
  const keyOf = (indexes: ReturnType<typeof index>[]): string =>
    orderText(plan({ offset: 0 }, tableOf({ columns, indexes })).order)
  t.equal(keyOf([index('a', ['name'])]), '', 'name may be NULL')
  t.equal(keyOf([index('a', ['code', 'place']), index('b', ['place', 'id'])]), 'code asc, place asc')
  t.equal(keyOf([index('a', ['code', 'place']), index('b', ['place'])]), 'place asc')
  t.equal(keyOf([index('a', ['place'], false)]), '', 'it is not unique')
  t.throws(() => plan({ after: null }, tableOf({ columns })), {
    code: 'NOT_SUPPORTED', details: [{ path: '/after' }]
  })
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
