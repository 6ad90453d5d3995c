/** What `data` becomes in the plan of an insert and of an update. */
import t from 'tap'
import type { Triggers } from '../../src/catalog/catalog.ts'
import { planAssignments } from '../../src/plan/assignments.ts'
import { planInsert } from '../../src/plan/inserted-rows.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const table = tableOf({
  columns: [
    mysqlColumn('id', 'int', { nullable: false, autoIncrement: true }),
    mysqlColumn('name', 'varchar(5)'),
    mysqlColumn('needed', 'int', { nullable: false, optional: false }),
    mysqlColumn('tags', 'json', { nullable: false }),
    mysqlColumn('at', 'datetime(3)'),
    mysqlColumn('maybe_tags', 'json'),
    mysqlColumn('made', 'int', { generated: true }),
    mysqlColumn('strange', 'something(5)'),
    mysqlColumn('__proto__', 'int'),
    mysqlColumn('a/b~c', 'int')
  ],
  // it may fill in what is needed
  triggers: { isComplete: true, list: [{ timing: 'before', event: 'insert' }] }
})
/** The row of an insert. */
const planned = (json: string): Array<[string, unknown]> => {
  const [{ columns, parameters } = {
    columns: [], parameters: []
  }] = planInsert({ verb: 'insert', data: JSON.parse(json) }, table).rows
  return columns.map(({ name }, place) => [name, parameters[place]])
}

t.test('data becomes columns and parameters, in its order', async (t) => {
  t.same(planned('{"name":"x","id":"7","__proto__":5}'), [['name', 'x'], ['id', 7n], ['__proto__', 5n]])
  t.same(planned('{}'), [])
})

t.test('rows with the same columns share them, whatever values they have', async (t) => {
  const rows = planInsert({
    verb: 'insert',
    data: JSON.parse(
      '[{"id":1,"name":"x"},{"name":"x","id":1},{},{"id":null,"name":null},{"id":2},{"id":3,"name":"y"}]'
    )
  }, table).rows
  t.same(rows.map(({ columns, parameters }) => [columns.map(({ name }) => name).join(), parameters]), [
    ['id,name', [1n, 'x']], ['name,id', ['x', 1n]], ['', []], ['id,name', [null, null]], ['id', [2n]],
    ['id,name', [3n, 'y']]
  ])
  t.equal(rows[3]?.columns, rows[0]?.columns)
  t.throws(() => planInsert({ verb: 'insert', data: [{ id: 1 }, { id: 'x' }] }, table), {
    code: 'INVALID_VALUE', details: [{ path: '/data/1/id' }]
  })
})

t.test('inherited properties are no values of a row', async (t) => {
  const shared: { name?: string } = Object.prototype
  Object.defineProperty(shared, 'name', { value: 'x', enumerable: true, configurable: true })
  t.teardown(() => { delete shared.name })
  t.same(planned('{"id":1}'), [['id', 1n]])
})

const now = { form: table.columns.get('at')?.type.moment, use: 'data' }
const update = ['data']

t.test('an update accepts forms, which come after the values', async (t) => {
  const forms = (json: string): Array<[string, unknown, string | undefined]> => planAssignments(
    JSON.parse(json), table, update
  ).map(({ column, parameter, operator }) => [column.name, parameter, operator])
  t.same(forms(
    '{"id":{"$inc":-5},"name":"x","at":{"$now":true},"tags":{"$merge":{"$inc":1}},"maybe_tags":{"$eq":{"$inc":1}}}'
  ), [
    ['name', 'x', undefined], ['at', { ...now, months: 0, seconds: 0 }, undefined],
    ['maybe_tags', '{"$inc":1}', undefined], ['id', -5n, '$inc'], ['tags', '{"$inc":1}', '$merge']
  ])
})

t.test('an insert accepts the present time, which is a moment in the plan', async (t) => {
  t.same(planned('{"at":{"$now":true}}'), [['at', { ...now, months: 0, seconds: 0 }]])
  t.same(planned('{"at":{"$now":{"years":1,"months":-2,"days":3,"hours":-4,"minutes":5,"seconds":-6}}}'), [
    ['at', { ...now, months: 10, seconds: 3 * 86400 - 4 * 3600 + 5 * 60 - 6 }]
  ])
})

t.test('a JSON column takes an object whose keys all begin with $ under $eq, and an object as a patch', async (t) => {
  const rejected: Array<[json: string, path: string, message: RegExp]> = [
    ['{"tags":{"$merge":[1]}}', '/data/tags/$merge', /expected an object/],
    [
      '{"tags":{"$inc":1}}', '/data/tags',
      /"\$inc" is not allowed here; send an object whose keys all begin with \$ as \{"\$eq": …\}/
    ],
    ['{"tags":{"$merge":{},"$eq":1}}', '/data/tags', /"\$merge" is not allowed here/]
  ]
  for (const [json, path, message] of rejected) {
    t.throws(() => planAssignments(JSON.parse(json), table, update), {
      code: 'INVALID_VALUE', message, details: [{ path, message }]
    }, json)
  }
  t.throws(() => planned('{"tags":{"$merge":{}}}'), { code: 'INVALID_VALUE', message: /is not allowed here/ })
})

t.test('inherited properties are not read as data', async (t) => {
  const shared: { needed?: number } = Object.prototype
  Object.defineProperty(shared, 'needed', { value: 1, enumerable: true, configurable: true })
  t.teardown(() => { delete shared.needed })
  t.same(planned('{"name":"x"}'), [['name', 'x']])
})

t.test('null is SQL NULL for a nullable column and JSON null for a NOT NULL JSON column', async (t) => {
  t.same(planned('{"name":null,"maybe_tags":null,"tags":null}'), [
    ['name', null], ['maybe_tags', null], ['tags', 'null']
  ])
})

const refusals: Array<[json: string, code: string, path: string, message: RegExp]> = [
  ['{"constructor":1}', 'COLUMN_NOT_FOUND', '/data/constructor', /constructor/],
  ['{"strange":"x"}', 'COLUMN_NOT_WRITABLE', '/data/strange', /the type something\(5\) is not supported/],
  ['{"name":"123456"}', 'INVALID_VALUE', '/data/name', /"name": is longer than 5 characters/],
  ['{"name":5}', 'INVALID_VALUE', '/data/name', /expected a string/],
  ['{"a/b~c":"x"}', 'INVALID_VALUE', '/data/a~1b~0c', /expected an integer/]
]

t.test('data that cannot be written is rejected with its path', async (t) => {
  for (const [json, code, path, message] of refusals) {
    t.throws(() => planned(json), { code, message, details: [{ path, message }] }, json)
  }
})

const tableOfInsert = tableOf({
  columns: [
    mysqlColumn('id', 'int', { nullable: false, autoIncrement: true }),
    mysqlColumn('needed', 'int', { nullable: false, optional: false }),
    mysqlColumn('__proto__', 'int', { nullable: false, optional: false }),
    mysqlColumn('spare', 'int'),
    mysqlColumn('level', 'int', { nullable: false, defaultText: '3' })
  ]
})
const plan = (json: string) => planInsert({ verb: 'insert', data: JSON.parse(json) }, tableOfInsert)

t.test('an insert requires exactly the columns without a default', async (t) => {
  const { rows } = plan('{"needed":1,"__proto__":2}')
  t.same(rows.map(({ columns, parameters }) => [columns.map(({ name }) => name), parameters]), [
    [['needed', '__proto__'], [1n, 2n]]
  ])
  t.ok(Object.isFrozen(plan('{"needed":1,"__proto__":2}')))
})

t.test('a column without a default may be left out where a trigger may fill it in', async (t) => {
  const columns = [mysqlColumn('name', 'int', { nullable: false, optional: false })]
  const insertInto = (triggers: Triggers): unknown =>
    planInsert({ verb: 'insert', data: {} }, tableOf({ columns, triggers })).rows
  t.same(insertInto({ isComplete: true, list: [{ timing: 'before', event: 'insert' }] }), [
    { index: 0, columns: [], parameters: [] }
  ])
  t.same(
    insertInto({ isComplete: false, list: [] }), [{ index: 0, columns: [], parameters: [] }],
    'the account cannot see whether the table has triggers'
  )
  t.throws(() => insertInto({
    isComplete: true, list: [{ timing: 'after', event: 'insert' }, { timing: 'before', event: 'update' }]
  }), { code: 'MISSING_COLUMN' })
})

t.test('a plan is plain data: what it names is in the catalog', async (t) => {
  const stamped = tableOf({
    columns: [mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('n', 'int'), mysqlColumn('at', 'datetime')],
    primaryKey: ['id'],
    uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }]
  })
  const catalog = new Set<unknown>([
    stamped, ...stamped.columnList, ...stamped.columnList.map(({ type }) => type.moment)
  ])
  const requirePlain = (value: unknown, path: string): void => {
    if (catalog.has(value)) return
    t.not(typeof value, 'function', path)
    if (typeof value !== 'object' || value === null) return
    for (const [key, { get, value: own }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
      t.equal(get, undefined, `${path}.${key}`)
      t.notOk(key === 'sql', `${path}.${key}`)
      requirePlain(own, `${path}.${key}`)
    }
  }
  const onConflict = { key: ['id'], set: { n: { $inc: 1 }, at: { $now: true } } }
  for (const data of [{ id: 1 }, [{ id: 1, n: 2 }, { id: 2, at: { $now: true } }]]) {
    requirePlain(planInsert({ verb: 'insert', data }, stamped), 'insert')
    requirePlain(planInsert({ verb: 'insert', data, onConflict }, stamped), 'upsert')
  }
})
