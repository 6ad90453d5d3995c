import t from 'tap'
import { toReadError, toServiceError, type SqliteError } from '../../../src/dialects/sqlite/errors.ts'
import type { Statement } from '../../../src/sql/statement.ts'
import { sqliteColumn, statementOf, tableOf } from '../../support/tables.ts'

const a = sqliteColumn('a', 'int')
const table = tableOf({
  name: 'my.items',
  columns: [a, sqliteColumn('b.c', 'int'), sqliteColumn('id', 'int')],
  uniqueKeys: [
    { name: 'PRIMARY', columns: ['id'] }, { name: 'both', columns: ['a', 'b.c'] }, { name: "lower's", columns: [] }
  ],
  foreignKeys: [{ name: 'items_0', columns: ['a'], referencedTable: 'others', referencedColumns: ['x'] }]
})
const insert = statementOf('insert', table)
const remove = statementOf('delete', table)
const error = (errcode: number, message = 'secret value'): SqliteError => Object.assign(new Error(message), {
  errcode, errstr: 'what SQLite calls it'
})

const codes: Array<[code: string, numbers: number[]]> = [
  ['NOT_NULL_VIOLATION', [1299]],
  ['CHECK_VIOLATION', [275, 1811, 19, 531]],
  ['VALUE_OUT_OF_RANGE', [3091, 20, 18]],
  ['LOCK_TIMEOUT', [5, 6, 15, 261, 517, 262]],
  ['DATABASE_UNAVAILABLE', [3, 7, 8, 10, 22, 266, 778, 11, 267, 13, 14, 26]],
  ['PERMISSION_DENIED', [23]]
]

t.test('errors of SQLite are converted by their codes, extended codes before primary codes', async (t) => {
  for (const [code, numbers] of codes) {
    for (const number of numbers) {
      const refusal = toServiceError(error(number), insert)
      t.match(refusal, { code }, `${number}`)
      t.notMatch(refusal.message, /secret/)
    }
  }
})

t.test('a missing table or column means that the tables have changed', async (t) => {
  for (const message of ['no such table: main.items', 'no such column: a', 'table items has ' +
    'no column named a']) t.match(toServiceError(error(1, message), insert), { name: 'StaleCatalog' }, message)
})

t.test('objects missing from the table itself are distinguished from those that a trigger ' +
  'or view refers to', async (t) => {
  const fired = statementOf('insert', {
    ...table, triggers: { isComplete: true, list: [{ timing: 'after', event: 'insert' }] }
  })
  const view: Statement = { ...statementOf('select', { ...table, kind: 'view' }), readsView: true }
  const stale: Array<[plan: Statement, message: string, reason: string, isElsewhere: boolean]> = [
    [fired, 'no such table: main.audit', 'no such table: main.audit', true],
    [view, 'no such function: twice', 'no such function: twice', true],
    [view, 'no such column: a secret value', 'no such column: a', true],
    [fired, 'no such table: main.my.items', 'no such table: main.my.items', false],
    [fired, 'table audit has 2 columns but 1 values were supplied', 'has 2 columns but', true],
    [insert, 'no such table: main.audit', 'no such table: main.audit', true],
    [insert, 'no such table: main.my.items', 'no such table: main.my.items', false],
    [insert, 'no such column: a', 'no such column: a', false],
    [insert, 'foreign key mismatch - "items" referencing "a secret value"', 'foreign key mismatch', true],
    [insert, 'unknown function: twice()', 'unknown function: twice', true],
    [insert, 'wrong number of arguments to function a_secret()', 'wrong number of arguments to function', true],
    [view, 'view a_secret is circularly defined', 'view a_secret is circularly defined', true]
  ]
  for (const [plan, message, reason, isElsewhere] of stale) {
    t.match(toServiceError(error(1, message), plan), { name: 'StaleCatalog', reason, isElsewhere }, message)
  }
})

t.test('any other error of an expression is an invalid value', async (t) => {
  t.match(toServiceError(error(1, 'malformed JSON'), insert), { code: 'VALUE_OUT_OF_RANGE' })
  t.match(toServiceError(error(17), insert), { name: 'StaleCatalog', reason: undefined })
})

t.test('a check is named if no trigger may have written another table', async (t) => {
  const checked = { ...table, checks: [{ name: 'positive', columns: [] }] }
  t.match(toServiceError(error(275, 'CHECK constraint failed: positive'), { ...insert, table: checked }), {
    code: 'CHECK_VIOLATION', details: [{ path: '', message: 'check constraint "positive"' }]
  })
  for (const plan of [{ ...insert, table: { ...checked, triggers: { isComplete: false, list: [] } } }, insert]) {
    const refusal = toServiceError(error(275, 'CHECK constraint failed: positive'), plan as Statement)
    t.match(refusal, { code: 'CHECK_VIOLATION' })
    t.same((refusal as { details?: unknown }).details, [])
  }
})

t.test('if a trigger may have written other tables, foreign keys are not described', async (t) => {
  const fired = { ...table, triggers: { isComplete: false, list: [] } }
  for (const number of [787, 1811]) {
    t.same((toServiceError(
      error(number, 'FOREIGN KEY constraint failed'), { ...remove, table: fired } as Statement
    ) as { details?: unknown }).details, [], `${number}`)
  }
})

t.test('an unknown error is a bug, with its number as the only reason', async (t) => {
  for (const message of ['near "form": syntax error', 'unrecognized token: "#"', 'incomplete input']) {
    t.match(
      toServiceError(error(1, message), insert),
      { name: 'UnknownDatabaseError', message: 'unexpected database error 1' }
    )
  }
  t.match(toServiceError(error(21), insert), { name: 'UnknownDatabaseError', message: 'unexpected database error 21' })
  const bug = new TypeError('x is not a function')
  t.equal(toServiceError(bug, insert), bug)
  t.equal(toReadError(bug), bug)
})

t.test('a file that cannot be read is reported with the name of the SQLite error', async (t) => {
  t.match(toReadError(error(26)), { code: 'DATABASE_UNAVAILABLE', reason: 'what SQLite calls it' })
})

t.test('a violated key is named with its columns', async (t) => {
  const messages: Array<[message: string, columns: string[]]> = [
    ['UNIQUE constraint failed: my.items.id', ['id']],
    ['UNIQUE constraint failed: my.items.a, my.items.b.c', ['a', 'b.c']],
    ["UNIQUE constraint failed: index 'lower's'", []],
    ['UNIQUE constraint failed: audit.id', []]
  ]
  for (const [message, columns] of messages) {
    const { code, details } = toServiceError(
      error(2067, message), insert
    ) as { code?: string, details?: Array<{ path: string }> }
    t.equal(code, 'UNIQUE_VIOLATION')
    t.same(details?.map(({ path }) => path), columns.map((column) => `/data/${column}`), message)
  }
})

t.test('a foreign key is named if the statement sets it; otherwise other rows reference this one', async (t) => {
  const written: Statement = statementOf('insert', table, { assigned: [a], parameters: [5n] })
  t.match(toServiceError(error(787), written), {
    code: 'FOREIGN_KEY_VIOLATION', details: [{ path: '/data/a', message: 'foreign key "items_0" on "a"' }]
  })
  for (const plan of [remove, insert]) {
    t.match(toServiceError(error(787), plan), {
      code: 'FOREIGN_KEY_VIOLATION', details: [{ path: '', message: 'other rows refer to this one' }]
    })
  }
  t.match(
    toServiceError(error(1811, 'FOREIGN KEY constraint failed'), remove), { code: 'FOREIGN_KEY_VIOLATION' },
    'ON DELETE RESTRICT'
  )
})
