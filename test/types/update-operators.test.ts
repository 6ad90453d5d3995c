/** The SQL of the forms of an update on SQLite itself. On the servers test/http/update-and-delete.test.ts runs it. */
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { COLUMN, GIVEN, type Moment } from '../../src/types/column-type.ts'
import { systemClock, valueAt } from '../../src/types/moment.ts'
import { mysqlColumn, sqliteColumn } from '../support/tables.ts'

const database = new DatabaseSync(':memory:')

/** The value that a form makes of a stored one. */
function apply (declaration: string, stored: string, name: string, operand: unknown): unknown {
  const form = sqliteColumn('c', declaration).type.updates?.find((each) => each.name === name)
  if (form?.sql === undefined) throw new Error(`${declaration} has no ${name}`)
  const parameter = form.read(operand)
  const parameters = form.sql.flatMap((part) => part === GIVEN ? [parameter] : [])
  const sql = form.sql.map((part) => part === COLUMN ? 'c' : part === GIVEN ? '?' : part).join('')
  database.exec(`drop table if exists f; create table f (c ${declaration}); insert into f values (${stored})`)
  const update = database.prepare(`update f set c = ${sql}`)
  update.run(...parameters as [])
  const select = database.prepare('select c, typeof(c) as type from f')
  select.setReadBigInts(true)
  const { c, type } = select.get() as { c: unknown, type: string }
  return type === 'null' ? null : c
}

const sums: Array<[declaration: string, stored: string, operand: unknown, sum: unknown]> = [
  ['int', '5', 3, 8n],
  ['int', '5', -8, -3n],
  ['bigint', '9223372036854775806', 1, 9223372036854775807n],
  ['bigint', '-9223372036854775808', '9223372036854775807', -1n],
  ['int', 'null', 1, null],
  ['tinyint(1)', '126', 1, 127n],
  ['decimal(10,2)', '0.1', '0.20', 0.3],
  ['decimal(10,2)', '1.25', -0.25, 1n],
  ['decimal(15,2)', '9999999999999.98', '0.01', 9999999999999.99],
  ['decimal(4,0)', '9998', 1, 9999n],
  ['decimal', '0.000001', '0.000002', 0.000003],
  ['decimal(10,2)', 'null', 1, null],
  ['real', '0.5', 0.25, 0.75],
  ['double', 'null', 1, null]
]

t.test('$inc adds exactly, and NULL stays NULL', async (t) => {
  for (const [declaration, stored, operand, sum] of sums) {
    t.equal(apply(declaration, stored, '$inc', operand), sum, `${stored} + ${String(operand)} as ${declaration}`)
  }
})

const overflows: Array<[declaration: string, stored: string, operand: unknown]> = [
  ['bigint', '9223372036854775807', 1],
  ['int', '-9223372036854775808', -1],
  ['tinyint(1)', '127', 1],
  ['tinyint(1)', '-128', -1],
  ['decimal(4,2)', '99.99', '0.01'],
  ['decimal(4,2)', '-99.99', '-0.01'],
  ['decimal(15,2)', '9999999999999.99', '0.01'],
  ['real', '1.7e308', 1e308],
  ['double', '-1.7e308', -1e308],
  ['int', "'abc'", 1],
  ['int', '1.5', 1],
  ['int', "x'00'", 1],
  ['decimal(4,2)', "'abc'", 1],
  ['real', "'abc'", 1]
]

t.test('a sum that does not fit, or of what is no number, is an error', async (t) => {
  for (const [declaration, stored, operand] of overflows) {
    t.throws(
      () => apply(declaration, stored, '$inc', operand), { errcode: 1, message: 'integer overflow' },
      `${stored} + ${String(operand)} as ${declaration}`
    )
  }
})

t.test('$now has the digits of the declaration, in the form in which values are stored', async (t) => {
  const clock = systemClock()
  const now = (declaration: string) => valueAt(
    sqliteColumn('c', declaration).type.updates?.find(({ name }) => name === '$now')?.read(true) as Moment, clock
  ) as string
  const forms: Array<[declaration: string, form: RegExp]> = [
    ['datetime', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/], ['timestamp', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/],
    ['time', /^\d\d:\d\d:\d\d$/], ['date', /^\d{4}-\d\d-\d\d$/],
    ['datetime(1)', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.[1-9])?$/], [
      'timestamp(6)', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{0,2}[1-9])?$/
    ], ['time(3)', /^\d\d:\d\d:\d\d(\.\d{0,2}[1-9])?$/]
  ]
  for (const [declaration, form] of forms) {
    const stored = now(declaration)
    t.match(stored, form, declaration)
    const { type } = sqliteColumn('c', declaration)
    t.equal(type.read(JSON.parse(type.write(stored))), stored, `${declaration}: a filter finds it`)
  }
  t.ok(Math.abs(Date.parse(`${now('datetime(3)').replace(' ', 'T')}Z`) - Date.now()) < 5000, 'in UTC')
})

t.test('$merge is a JSON Merge Patch', async (t) => {
  const merge = (stored: string, patch: object) =>
    JSON.parse(apply('json', stored, '$merge', patch) as string) as unknown
  t.same(merge("'{\"a\":1,\"b\":{\"c\":2}}'", { a: null, b: { d: 3 } }), { b: { c: 2, d: 3 } })
  t.same(merge('null', { a: { b: null } }), { a: {} })
  t.same(merge('5', { a: 1 }), { a: 1 })
  t.equal(
    apply('json', "'{\"a\":12345678901234567890,\"b\":52.0}'", '$merge', {}), '{"a":12345678901234567890,"b":52.0}'
  )
})

t.test('a form is offered by the types that can have it, on both engines', async (t) => {
  const expected: Array<[declaration: string, forms: string[]]> = [
    ['tinyint(1)', ['$inc']], ['int', ['$inc']], ['bigint', ['$inc']], ['year', ['$inc', '$now']],
    ['decimal(10,2)', ['$inc']], ['float', ['$inc']], ['double', ['$inc']],
    ['date', ['$now']], ['time', ['$now']], ['datetime', ['$now']], ['timestamp', ['$now']], ['json', ['$merge']],
    ['varchar(10)', []], ['text', []], ['blob', []], ['something', []]
  ]
  for (const column of [mysqlColumn, sqliteColumn]) {
    for (const [declaration, forms] of expected) {
      t.same((column('c', declaration).type.updates ?? []).map(({ name }) => name), forms, declaration)
    }
  }
})

t.test('operands that are not of the form are refused', async (t) => {
  const refused: Array<[declaration: string, name: string, operand: unknown]> = [
    ['int', '$inc', 1.5], ['int', '$inc', 'x'], ['int', '$inc', null], ['int', '$inc', [1]],
    ['int', '$inc', '9223372036854775808'], ['decimal(10,2)', '$inc', '0.001'],
    ['double', '$inc', '1'], ['double', '$inc', null], ['datetime', '$now', false], ['datetime', '$now', null],
    ['datetime', '$now', 1], ['json', '$merge', null],
    ['json', '$merge', [1]], ['json', '$merge', 5], ['json', '$merge', JSON.rawJSON('1e2')],
    ['json', '$merge', { a: '\ud800' }]
  ]
  for (const column of [mysqlColumn, sqliteColumn]) {
    for (const [declaration, name, operand] of refused) {
      const form = column('c', declaration).type.updates?.find((each) => each.name === name)
      t.throws(() => form?.read(operand), { name: 'ValueRefused' }, `${declaration} ${JSON.stringify(operand)}`)
    }
  }
})
