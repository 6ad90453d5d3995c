import t from 'tap'
import { planOrder } from '../../src/plan/order-by.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const table = tableOf({
  columns: [
    ...['id', 'name', 'desc', 'asc', 'x desc', 'two words', 'a.b', 'asc desc', "it's"].map((name) => mysqlColumn(name, 'int')),
    mysqlColumn('word', 'varchar(10)'),
    mysqlColumn('kind', "enum('a')"),
    mysqlColumn('tags', 'json'),
    mysqlColumn('flags', "set('a')"),
    mysqlColumn('unknown', 'something'),
    mysqlColumn('place', 'point')
  ]
})
const terms = (orderBy: Parameters<typeof planOrder>[0]): Array<[string, string]> => planOrder(orderBy, table).map(({ column, direction }) => [column.name, direction])

t.test('an order is a list of columns with a direction, ascending unless it says otherwise', async (t) => {
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

t.test('a list of objects says the same, for columns of any name', async (t) => {
  t.same(terms([{ id: 'DESC' }, { name: 'asc' }]), [['id', 'desc'], ['name', 'asc']])
  t.same(terms([{ 'x desc': 'DESC' }, { "it's": 'Asc' }, { flags: 'aSC' }]), [['x desc', 'desc'], ["it's", 'asc'], ['flags', 'asc']])
  t.throws(() => planOrder([{ id: 'ASC' }, { nope: 'ASC' }], table), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/orderBy/1/nope' }] })
  t.throws(() => planOrder([{ 'id DESC': 'ASC' }], table), { code: 'COLUMN_NOT_FOUND' }, 'a name is nothing but a name')
  t.throws(() => planOrder([{ id: 'ASC' }, { id: 'DESC' }], table), { code: 'INVALID_ORDER_BY' })
  t.throws(() => planOrder([{ tags: 'ASC' }], table), { code: 'INVALID_ORDER_BY' })
})

t.test('what cannot be a name is refused as a mistake of form', async (t) => {
  for (const orderBy of ['', ' ', ',', 'id,', ',id', 'id,,name', '(id)', 'id; name', 'id UP', 'id ASC DESC x', '`id`', '"id"', '1+1', 'id--', 'rand()', '*']) {
    t.throws(() => planOrder(orderBy, table), { code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }] }, JSON.stringify(orderBy))
  }
})

t.test('what looks like a name is refused as a column that is not there', async (t) => {
  for (const orderBy of ['nope', 'ID', 'nope DESC', 'näme', '名前', '$x', '1', '__proto__', 'id, constructor']) {
    t.throws(() => planOrder(orderBy, table), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/orderBy' }] }, orderBy)
  }
})

t.test('a column whose type has no order is refused', async (t) => {
  for (const name of ['tags', 'place', 'unknown']) {
    t.throws(() => planOrder(name, table), { code: 'INVALID_ORDER_BY', message: `"orderBy" names "${name}", whose type has no order` })
  }
})

t.test('a column may stand in an order once', async (t) => {
  t.throws(() => planOrder('id, name, id DESC', table), { code: 'INVALID_ORDER_BY', message: '"orderBy" names a column twice' })
})

t.test('an order as long as a body may be takes no longer than its length: once its spaces were counted anew from each one', async (t) => {
  const start = performance.now()
  for (const part of [' ', 'a ', ' desc', ',', '\n', 'é']) t.throws(() => planOrder(`a${part.repeat(1_000_000 / part.length)}b`, table))
  t.ok(performance.now() - start < 2000)
})
