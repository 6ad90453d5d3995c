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
const terms = (orderBy: Parameters<typeof planOrder>[0]): Array<[string, string]> => planOrder(orderBy, { table }).map(({ column, direction }) => [column.name, direction])

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
  t.same(terms([{ 'x desc': 'DESC' }, { "it's": 'Asc' }, { flags: 'aSC' }]), [['x desc', 'desc'], ["it's", 'asc'], ['flags', 'asc']])
  t.throws(() => planOrder([{ id: 'ASC' }, { nope: 'ASC' }], { table }), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/orderBy/1/nope' }] })
  t.throws(() => planOrder([{ 'id DESC': 'ASC' }], { table }), { code: 'COLUMN_NOT_FOUND' }, 'a direction in the key is part of the name')
  t.throws(() => planOrder([{ id: 'ASC' }, { id: 'DESC' }], { table }), { code: 'INVALID_ORDER_BY' })
  t.throws(() => planOrder([{ tags: 'ASC' }], { table }), { code: 'INVALID_ORDER_BY' })
})

t.test('a term that cannot be a name is INVALID_ORDER_BY', async (t) => {
  for (const orderBy of ['', ' ', ',', 'id,', ',id', 'id,,name', '(id)', 'id; name', 'id UP', 'id ASC DESC x', '`id`', '"id"', '1+1', 'id--', 'rand()', '*']) {
    t.throws(() => planOrder(orderBy, { table }), { code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }] }, JSON.stringify(orderBy))
  }
})

t.test('an unknown term that looks like a name is COLUMN_NOT_FOUND', async (t) => {
  for (const orderBy of ['nope', 'ID', 'nope DESC', 'näme', '名前', '$x', '1', '__proto__', 'id, constructor']) {
    t.throws(() => planOrder(orderBy, { table }), { code: 'COLUMN_NOT_FOUND', details: [{ path: '/orderBy' }] }, orderBy)
  }
})

t.test('a column of a type that cannot be sorted is rejected', async (t) => {
  for (const [name, type] of [['tags', 'json'], ['place', 'point'], ['unknown', 'something']] as const) {
    t.throws(() => planOrder(name, { table }), { code: 'INVALID_ORDER_BY', message: `"orderBy" contains "${name}"; rows cannot be sorted by the type ${type}` })
  }
})

t.test('a column may appear in orderBy only once', async (t) => {
  t.throws(() => planOrder('id, name, id DESC', { table }), { code: 'INVALID_ORDER_BY', message: '"orderBy" contains a column twice' })
})

t.test('the time to parse orderBy is linear in its length; runs of spaces once made it quadratic', async (t) => {
  // of this process, whatever else the machine does
  const start = process.cpuUsage()
  for (const part of [' ', 'a ', ' desc', ',', '\n', 'é']) t.throws(() => planOrder(`a${part.repeat(1_000_000 / part.length)}b`, { table }))
  t.ok(process.cpuUsage(start).user < 2_000_000)
})
