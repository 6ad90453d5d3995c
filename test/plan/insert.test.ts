import t from 'tap'
import type { Triggers } from '../../src/catalog/catalog.ts'
import { planInsert } from '../../src/plan/insert.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const table = tableOf({
  columns: [
    mysqlColumn('id', 'int', { nullable: false, autoIncrement: true }),
    mysqlColumn('needed', 'int', { nullable: false, optional: false }),
    mysqlColumn('__proto__', 'int', { nullable: false, optional: false }),
    mysqlColumn('spare', 'int'),
    mysqlColumn('level', 'int', { nullable: false, defaultText: '3' })
  ]
})
const plan = (json: string) => planInsert({ verb: 'insert', data: JSON.parse(json) }, table)

t.test('an insert requires exactly the columns without a default', async (t) => {
  const { rows } = plan('{"needed":1,"__proto__":2}')
  t.same(rows.map(({ columns, parameters }) => [columns.map(({ name }) => name), parameters]), [[['needed', '__proto__'], [1n, 2n]]])
  t.ok(Object.isFrozen(plan('{"needed":1,"__proto__":2}')))
})

t.test('the error names every missing column', async (t) => {
  t.throws(() => plan('{"spare":1}'), {
    code: 'MISSING_COLUMN',
    message: '"data" is missing columns that have no default: "needed", "__proto__"',
    details: [{ path: '/data/needed', message: 'has no default' }, { path: '/data/__proto__', message: 'has no default' }]
  })
})

t.test('an invalid value is reported before a missing column', async (t) => {
  t.throws(() => plan('{"spare":"x"}'), { code: 'INVALID_VALUE' })
})

t.test('a column without a default may be left out where a trigger may fill it in', async (t) => {
  const columns = [mysqlColumn('name', 'int', { nullable: false, optional: false })]
  const insertInto = (triggers: Triggers): unknown => planInsert({ verb: 'insert', data: {} }, tableOf({ columns, triggers })).rows
  t.same(insertInto({ known: true, list: [{ timing: 'before', event: 'insert' }] }), [{ index: 0, columns: [], parameters: [] }])
  t.same(insertInto({ known: false, list: [] }), [{ index: 0, columns: [], parameters: [] }], 'the account cannot see whether the table has triggers')
  t.throws(() => insertInto({ known: true, list: [{ timing: 'after', event: 'insert' }, { timing: 'before', event: 'update' }] }), { code: 'MISSING_COLUMN' })
})

t.test('a plan is plain data: what it names is in the catalog', async (t) => {
  const stamped = tableOf({ columns: [mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('n', 'int'), mysqlColumn('at', 'datetime')], primaryKey: ['id'], uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }] })
  const catalog = new Set<unknown>([stamped, ...stamped.columnList, ...stamped.columnList.map(({ type }) => type.moment)])
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
