import t from 'tap'
import type { Column } from '../../src/catalog/catalog.ts'
import { alone } from '../../src/catalog/table-source.ts'
import { createPlan } from '../../src/plan/create-plan.ts'
import { findPageKey } from '../../src/plan/page.ts'
import type { SelectPlan } from '../../src/plan/plan.ts'
import { conditionText, orderText } from '../support/condition-text.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, sqliteColumn, tableOf } from '../support/tables.ts'

const index = (name: string, columns: string[], unique = true) => ({ name, unique, ordered: true, parts: columns.map((column) => ({ column, descending: false, prefix: false })) })

const columnsOf = (column: typeof mysqlColumn): Column[] => [
  column('id', 'int', { nullable: false }),
  column('name', 'varchar(20)'),
  column('code', 'varchar(20)', { nullable: false }),
  column('place', 'int', { nullable: false }),
  column('tags', 'json')
]

const keyed = tableOf({ columns: columnsOf(mysqlColumn), primaryKey: ['id'] })
const inSqlite = { ...tableOf({ columns: columnsOf(sqliteColumn), primaryKey: ['id'] }), engine: 'sqlite' }

const plan = (body: object, table = keyed): SelectPlan => createPlan({ verb: 'select', ...body } as never, alone(table), LIMITS) as SelectPlan
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

t.test('the key of a page is the primary key, else the shortest unique key without NULLs that was defined first', async (t) => {
  const keyOf = (indexes: ReturnType<typeof index>[]): string => orderText(plan({ offset: 0 }, tableOf({ columns: columnsOf(mysqlColumn), indexes })).order)
  t.equal(keyOf([index('a', ['name'])]), '', 'name may be NULL')
  t.equal(keyOf([index('a', ['code', 'place']), index('b', ['place', 'id'])]), 'code asc, place asc')
  t.equal(keyOf([index('a', ['code', 'place']), index('b', ['place'])]), 'place asc')
  t.equal(keyOf([index('a', ['place'], false)]), '', 'it is not unique')
  t.throws(() => plan({ after: null }, tableOf({ columns: columnsOf(mysqlColumn) })), { code: 'NOT_SUPPORTED', details: [{ path: '/after' }] })
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
  t.equal(positionOf(plan({ orderBy: 'place', after: { place: 3, id: 7 } }, inSqlite)), '(place >= 3 and (place > 3 or (place = 3 and id > 7)))')
  t.equal(positionOf(plan({ orderBy: 'place DESC', after: { place: 3, id: 7 } }, inSqlite)), '(place <= 3 and (place < 3 or (place = 3 and id < 7)))')
})

t.test('a position has the columns of the order and no others', async (t) => {
  for (const [after, path] of [[{}, '/after/id'], [{ id: 1, name: 'a' }, '/after/name'], [{ nope: 1 }, '/after/nope']] as const) {
    t.throws(() => plan({ after }), { code: 'INVALID_BODY', details: [{ path }] })
  }
  t.throws(() => plan({ after: { id: null } }), { code: 'INVALID_VALUE', details: [{ path: '/after/id' }] }, 'no row has this position')
  t.throws(() => plan({ after: { id: 'x' } }), { code: 'INVALID_VALUE', details: [{ path: '/after/id' }] })
  t.throws(() => plan({ after: null, orderBy: 'tags' }), { code: 'INVALID_ORDER_BY' })
})

t.test('columns of the order that the answer does not have are read for its position', async (t) => {
  const { page } = plan({ after: null, orderBy: 'place, name', columns: ['name'] })
  t.same(page?.by === 'position' && page.hidden.map(({ name }) => name), ['place', 'id'])
})

t.test('rows beyond a limit cannot be skipped, and a total is of the same snapshot as its page', async (t) => {
  t.match(plan({ offset: LIMITS.offset }).page, { by: 'offset', offset: LIMITS.offset })
  t.throws(() => plan({ offset: LIMITS.offset + 1 }), { code: 'INVALID_BODY', details: [{ path: '/offset' }] })
  t.match(plan({ total: true }), { total: { limit: undefined }, inTransaction: true })
  t.match(plan({ total: 50 }), { total: { limit: 50 }, inTransaction: true })
  t.notOk('inTransaction' in plan({ after: null }))
})

t.test('a text of a collation whose order the server does not keep has no position, an ENUM of it has one', async (t) => {
  const latin7 = { charset: 'latin7', collation: 'latin7_general_ci', nullable: false }
  const table = (key: string) => tableOf({
    columns: [mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('name', 'varchar(20)', latin7), mysqlColumn('kind', "enum('a','b')", latin7), mysqlColumn('other', 'varchar(20)', { ...latin7, collation: 'latin7_bin' })],
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
