import t from 'tap'
import { isLost, toConnectError, toServiceError, type MysqlError } from '../../../src/dialects/mysql/errors.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { mysqlColumn, tableOf } from '../../support/tables.ts'

const table = tableOf({
  name: 'my.items',
  columns: [mysqlColumn('id', 'int'), mysqlColumn('a', 'int'), mysqlColumn('b', 'int')],
  uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }, { name: 'a.b', columns: ['a', 'b'] }, { name: "it's", columns: ['a'] }],
  foreignKeys: [{ name: 'a`k', table: 'items', columns: ['a', 'b'], referencedTable: 'others', referencedColumns: ['x', 'y'] }]
})
const condition = { kind: 'constant', value: true } as const
const select: Plan = { verb: 'select', table, columns: [], condition, order: [], limit: 1 }
const insert: Plan = { verb: 'insert', table, assignments: [] }

const fromServer = (errno: number, message = 'secret value 42', sqlState = 'HY000'): MysqlError =>
  Object.assign(new Error(message), { errno, code: `ER_${errno}`, sqlState, sql: 'select secret', sqlMessage: message })

const codes: Array<[code: string, numbers: number[]]> = [
  ['NOT_NULL_VIOLATION', [1048, 1263, 1364]],
  ['CHECK_VIOLATION', [1369, 1442, 1526, 1644, 3819, 4025]],
  ['VALUE_OUT_OF_RANGE', [1264, 1265, 1292, 1366, 1406, 1411, 1436, 1690, 3140, 3854]],
  ['DEADLOCK', [1180, 1213, 1614, 3101]],
  ['LOCK_TIMEOUT', [1205, 3572]],
  ['QUERY_TIMEOUT', [1028, 1317, 1969, 3024]],
  ['PERMISSION_DENIED', [1142, 1143, 1227, 1370]],
  ['DATABASE_UNAVAILABLE', [1040, 1044, 1045, 1049, 1114, 1129, 1203, 1226, 1290, 1792, 1836, 3100]]
]

t.test('errors of the server are refusals by their numbers, with the name for the log and without the text', async (t) => {
  for (const [code, numbers] of codes) {
    for (const errno of numbers) {
      const refusal = toServiceError(fromServer(errno), insert)
      t.match(refusal, { code, reason: `ER_${errno}` }, `${errno}`)
      t.notMatch(JSON.stringify({ ...refusal, message: refusal.message }), /secret/)
    }
  }
})

t.test('a table, column, routine or definer that is not there means that the schema has moved', async (t) => {
  for (const errno of [1051, 1054, 1109, 1146, 1305, 1356, 1412, 1449]) t.match(toServiceError(fromServer(errno), select), { name: 'SchemaMoved' }, `${errno}`)
})

t.test('numbers that are not known are told by the class of their SQLSTATE', async (t) => {
  t.match(toServiceError(fromServer(9999, 'secret', '22007'), insert), { code: 'VALUE_OUT_OF_RANGE' })
  t.match(toServiceError(fromServer(9999, 'secret', '23000'), insert), { code: 'CHECK_VIOLATION' })
  t.match(toServiceError(fromServer(9999, 'secret', '45001'), insert), { code: 'CHECK_VIOLATION' })
})

t.test('an error that is not known at all is a bug, and carries its number alone', async (t) => {
  const bug = toServiceError(fromServer(9999), insert)
  t.match(bug, { name: 'UnknownDatabaseError', message: 'unexpected database error 9999' })
  t.notMatch(JSON.stringify({ ...bug, stack: bug.stack }), /secret/)
})

t.test('a violated key is named with its columns, whatever stands in the entry and in the names', async (t) => {
  const messages: Array<[message: string, columns: string[]]> = [
    ["Duplicate entry '7' for key 'my.items.PRIMARY'", ['id']],
    ["Duplicate entry '7' for key 'PRIMARY'", ['id']],
    ["Duplicate entry '1-2' for key 'my.items.a.b'", ['a', 'b']],
    ["Duplicate entry '1-2' for key 'a.b'", ['a', 'b']],
    ["Duplicate entry 'x' for key 'PRIMARY'' for key 'my.items.it's'", ['a']],
    ["Duplicate entry '7' for key 'audit.by_name'", []]
  ]
  for (const [message, columns] of messages) {
    const { code, details } = toServiceError(fromServer(1062, message), insert) as { code?: string, details?: Array<{ path: string }> }
    t.equal(code, 'UNIQUE_VIOLATION', message)
    t.same(details?.map(({ path }) => path), columns.map((column) => `/data/${column}`), message)
  }
})

t.test('a violated foreign key is named with its columns; of rows that refer to this one nothing is said', async (t) => {
  const child = 'Cannot add or update a child row: a foreign key constraint fails (`db`.`items`, CONSTRAINT `a`k` FOREIGN KEY (`a`, `b`) REFERENCES `others` (`x`, `y`))'
  t.match(toServiceError(fromServer(1452, child), insert), { code: 'FOREIGN_KEY_VIOLATION', details: [{ path: '/data/a', message: 'foreign key "a`k" on "a", "b"' }, { path: '/data/b' }] })
  const parent = child.replace('add or update a child', 'delete or update a parent')
  t.same((toServiceError(fromServer(1451, parent), insert) as { details?: unknown }).details, [{ path: '', message: 'other rows refer to this one' }])
})

t.test('where the connection is lost, a select may be sent again and a write may have happened', async (t) => {
  const lost: MysqlError[] = [
    Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', errno: -104, fatal: true }),
    Object.assign(new Error('Connection lost'), { code: 'PROTOCOL_CONNECTION_LOST', fatal: true }),
    ...[1053, 1077, 1927, 4031].map((errno) => fromServer(errno))
  ]
  for (const error of lost) {
    t.ok(isLost(error))
    t.match(toServiceError(error, select), { code: 'DATABASE_UNAVAILABLE', reason: error.code as string })
    t.match(toServiceError(error, insert), { code: 'OUTCOME_UNKNOWN', reason: error.code as string })
  }
})

t.test('a connection that was closed before anything was sent changed nothing; any other error of the driver is a bug', async (t) => {
  const closed: MysqlError = Object.assign(new Error("Can't add new command when connection is in closed state"), { fatal: true })
  t.notOk(isLost(closed))
  t.match(toServiceError(closed, insert), { code: 'DATABASE_UNAVAILABLE' })
  const bug = new TypeError('x is not a function')
  t.equal(toServiceError(bug, insert), bug)
})

t.test('where there is no connecting, nothing was sent', async (t) => {
  t.match(toConnectError({ code: 'ECONNREFUSED' }), { code: 'DATABASE_UNAVAILABLE', reason: 'ECONNREFUSED' })
  t.notOk(Object.hasOwn(toConnectError({}), 'reason'))
})
