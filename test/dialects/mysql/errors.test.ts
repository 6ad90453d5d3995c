import t from 'tap'
import type { Table, TriggerEvent } from '../../../src/catalog/catalog.ts'
import {
  isLost, ofClosed, isNotHere, knownNumbers, toConnectError, toServiceError, toTimeout, type MysqlError
} from '../../../src/dialects/mysql/errors.ts'
import { toFailure } from '../../../src/dialects/mysql/failure.ts'
import { controlStatement } from '../../../src/dialects/transaction-commands.ts'
import type { Statement } from '../../../src/sql/statement.ts'
import { readDocument, tableRows } from '../../support/markdown.ts'
import { mysqlColumn, statementOf, tableOf } from '../../support/tables.ts'

const table = tableOf({
  name: 'my.items',
  columns: [mysqlColumn('id', 'int'), mysqlColumn('a', 'int'), mysqlColumn('b', 'int')],
  uniqueKeys: [
    { name: 'PRIMARY', columns: ['id'] }, { name: 'a.b', columns: ['a', 'b'] }, { name: "it's", columns: ['a'] }
  ],
  foreignKeys: [{ name: 'a`k', columns: ['a', 'b'], referencedTable: 'others', referencedColumns: ['x', 'y'] }]
})
const select = statementOf('select', table)
const insert = statementOf('insert', table)

const fromServer = (errno: number, message = 'secret value 42', sqlState = 'HY000'): MysqlError =>
  Object.assign(new Error(message), { errno, code: `ER_${errno}`, sqlState, sql: 'select secret', sqlMessage: message })

const document = readDocument('docs/internals/server-errors.md')
const numbersIn = (text: string): number[] => Array.from(text.split(';')[0]?.split(',')[0]?.matchAll(/\d+/g) ??
  [], Number)
const codeIn = (text: string): string => text.replaceAll('`', '')
const documented = tableRows(document, 'code', 'numbers').map(
  ([code = '', numbers = '']) => ({ code: codeIn(code), numbers: numbersIn(numbers) })
)
const classes = tableRows(document, 'code', 'classes').map(
  ([code = '', states = '']) => ({ code: codeIn(code), states: states.split(',')[0]?.split(' ') ?? [] })
)

/** What is thrown as StaleCatalog is BROKEN_DEFINITION where the tables turn out to be as they were. */
const codeOf = (error: Error & { code?: string }): string
  | undefined => error.name === 'StaleCatalog' ? 'BROKEN_DEFINITION' : error.code

t.test('docs/internals/server-errors.md lists the code of each error number of a server, and no other', async (t) => {
  const numbers = documented.flatMap(({ numbers }) => numbers)
  t.same(numbers.toSorted(), [...knownNumbers].toSorted())
  for (const { code, numbers } of documented) {
    for (const errno of numbers) {
      const refusal = toServiceError(fromServer(errno), insert)
      t.equal(codeOf(refusal), code, `${errno}`)
      t.match(refusal, { reason: `ER_${errno}` })
      t.notMatch(JSON.stringify({ ...refusal, message: refusal.message }), /secret/)
    }
  }
})

t.test('unknown error numbers are converted by the class of their SQLSTATE', async (t) => {
  t.ok(classes.length > 5)
  const fired: Statement = { ...insert, table: { ...table, triggers: { isComplete: false, list: [] } } }
  for (const { code, states } of classes) {
    for (const state of states) {
      t.equal(codeOf(toServiceError(fromServer(9999, 'secret', `${state}001`), fired)), code, state)
    }
  }
  t.match(toServiceError(fromServer(9999, 'secret', '42000'), { ...select, readsView: true }), { name: 'StaleCatalog' })
  t.match(toServiceError(fromServer(9999, 'secret', '08001'), select), { code: 'DATABASE_UNAVAILABLE' })
  t.match(toServiceError(fromServer(9999), insert), { code: 'NOT_SUPPORTED', reason: 'ER_9999' })
  t.match(toServiceError({ ...fromServer(9999), code: 'UNKNOWN_CODE_PLEASE_REPORT' }, insert), {
    code: 'NOT_SUPPORTED', reason: 'errno 9999'
  })
})

t.test('an invalid statement without triggers or views is a bug, with the error number ' +
  'as its only reason', async (t) => {
  const bug = toServiceError(fromServer(1110, 'secret', '42000'), insert)
  t.match(bug, { name: 'UnknownDatabaseError', message: 'unexpected database error 1110' })
  t.notMatch(JSON.stringify({ ...bug, stack: bug.stack }), /secret/)
})

t.test('a statement that the grammar of the server refuses is not supported, except ' +
  'the text of a search', async (t) => {
  for (const plan of [
    select, insert, statementOf('delete', table), { ...select, table: { ...table, kind: 'view' as const } }
  ]) {
    t.match(toServiceError(fromServer(1064, 'secret', '42000'), plan), { code: 'NOT_SUPPORTED', reason: 'ER_1064' })
  }
  t.match(toServiceError(fromServer(1064, 'secret', '42000'), { ...select, textPath: ['filters', 'a'] }), {
    code: 'INVALID_VALUE'
  })
})

t.test('a server that has left its group is an unavailable database', async (t) => {
  for (const [number, text] of [[3032, 'The server is currently in offline mode'], [
    6400,
    'The server is currently in offline mode since 2026-11-26 18:37:44.911002, reason: (GR) leave group on failure'
  ],
  [1047, 'WSREP has not yet prepared node for application use'], [
    1290, 'The MySQL server is running with the --super-read-only option'
  ], [3100, "Error on observer while running replication hook 'before_commit'."]] as const) {
    t.match(toServiceError(fromServer(number, text), insert), { code: 'DATABASE_UNAVAILABLE' }, text)
  }
})

t.test('a proxy that reaches no server, or another one than that of the session, is an ' +
  'unavailable database', async (t) => {
  const proxysql = 'ProxySQL Error: connection is locked to hostgroup 1 but trying to reach hostgroup 2'
  t.match(toServiceError(fromServer(9006, proxysql, 'Y0000'), insert), {
    code: 'DATABASE_UNAVAILABLE', reason: /^PROXYSQL_HOSTGROUP: /
  })
  const vtgate = (text: string): MysqlError => fromServer(1105, `target: commerce.0.primary: ${text}`)
  for (const text of [
    "no healthy tablet available for 'keyspace:\"commerce\"'",
    'primary is not serving, there is a reparent operation in progress'
  ]) {
    t.match(toServiceError(vtgate(text), insert), { code: 'DATABASE_UNAVAILABLE' }, text)
  }
  const lost = vtgate('vttablet: rpc error: code = Unavailable desc = error reading from server: EOF')
  t.match([toServiceError(lost, insert), toServiceError(lost, select)], [
    { code: 'OUTCOME_UNKNOWN' }, { code: 'DATABASE_UNAVAILABLE' }
  ])
  t.match(toServiceError(vtgate('anything else'), insert), { code: 'NOT_SUPPORTED' })
})

t.test('an exception of SIGNAL is a failed check, whatever its number', async (t) => {
  for (const errno of [...knownNumbers, 1, 9999]) {
    const error = fromServer(errno, "Duplicate entry 'secret' for key 'PRIMARY'", '45000')
    t.notOk(isLost(error) || isNotHere(error), `${errno}`)
    const refusal = toServiceError(error, insert) as { code?: string, details?: unknown }
    t.same([refusal.code, refusal.details], ['CHECK_VIOLATION', []], `${errno}`)
  }
})

t.test('the log names the missing object, unless it is an account or does not look like a name', async (t) => {
  const reasons: Array<[errno: number, message: string, reason: string]> = [
    [1146, "Table 'shop.audit' doesn't exist", 'ER_1146 (shop.audit)'],
    [1054, "Unknown column 'NEW.x' in 'field list'", 'ER_1054 (NEW.x)'],
    [1356, "View 'shop.v' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack " +
      'rights to use them', 'ER_1356 (shop.v)'],
    [1305, 'FUNCTION shop.twice does not exist', 'ER_1305 (shop.twice)'],
    [1146, "Table 'a secret value' doesn't exist", 'ER_1146'],
    [1449, "The user specified as a definer ('secret'@'host') does not exist", 'ER_1449']
  ]
  for (const [errno, message, reason] of reasons) {
    t.match(toServiceError(fromServer(errno, message), select), { name: 'StaleCatalog', reason })
  }
})

t.test('a missing table may be another one, such as a sequence of a default; a missing column belongs to another ' +
  'table only if a trigger may run', async (t) => {
  const fired: Statement = {
    ...insert, table: { ...table, triggers: { isComplete: true, list: [{ timing: 'after', event: 'insert' }] } }
  }
  const elsewhere = (message: string, plan: Statement, errno = 1146) =>
    (toServiceError(fromServer(errno, message), plan) as { isElsewhere?: boolean }).isElsewhere
  t.equal(elsewhere("Table 'shop.audit' doesn't exist", fired), true)
  t.equal(elsewhere("Table 'shop.my.items' doesn't exist", fired), false)
  t.equal(elsewhere("Table 'shop.audit' doesn't exist", insert), true)
  t.equal(elsewhere("Table 'shop.my.items' doesn't exist", insert), false)
  t.equal(elsewhere("Unknown column 'a' in 'field list'", insert, 1054), false)
  t.equal(elsewhere("Unknown column 'a' in 'field list'", fired, 1054), true)
})

/** A table that cannot roll back, with triggers after some events. */
const loose = (...events: TriggerEvent[]): Table => ({
  ...table,
  transactional: false,
  triggers: { isComplete: true, list: events.map((event) => ({ timing: 'after', event })) }
})
const update = (table: Table): Statement => statementOf('update', table)

t.test('a failed write of a table without transactions may have changed rows, unless the ' +
  'error rules it out', async (t) => {
  const cases: Array<[errno: number, plan: Statement, code: string]> = [
    [1062, { ...insert, table: loose() }, 'UNIQUE_VIOLATION'],
    [4025, { ...insert, table: loose('update') }, 'CHECK_VIOLATION'],
    [1264, { ...insert, table: loose() }, 'VALUE_OUT_OF_RANGE'],
    [1114, { ...insert, table: loose() }, 'DATABASE_UNAVAILABLE'],
    [1142, { ...insert, table: loose() }, 'PERMISSION_DENIED'],
    [1317, { ...insert, table: loose() }, 'OUTCOME_UNKNOWN'],
    [1030, { ...insert, table: loose() }, 'OUTCOME_UNKNOWN'],
    [9999, { ...insert, table: loose() }, 'OUTCOME_UNKNOWN'],
    [1062, { ...insert, table: loose('insert') }, 'OUTCOME_UNKNOWN'],
    [1146, { ...insert, table: loose('insert') }, 'OUTCOME_UNKNOWN'],
    [1062, { ...insert, table: { ...loose(), triggers: { isComplete: false, list: [] } } }, 'OUTCOME_UNKNOWN'],
    [1062, update(loose()), 'OUTCOME_UNKNOWN'],
    [1114, update(loose()), 'OUTCOME_UNKNOWN'],
    [1205, update(loose()), 'LOCK_TIMEOUT'],
    [1031, update(loose('insert')), 'NOT_SUPPORTED'],
    [1054, update(loose()), 'BROKEN_DEFINITION'],
    [1205, update(loose('update')), 'OUTCOME_UNKNOWN'],
    [1290, update(loose('update')), 'DATABASE_UNAVAILABLE'],
    [1317, statementOf('delete', loose()), 'OUTCOME_UNKNOWN'],
    [1317, { ...select, table: loose() }, 'QUERY_TIMEOUT']
  ]
  for (const [errno, plan, code] of cases) {
    t.equal(codeOf(toServiceError(fromServer(errno), plan)), code, `${errno} of ${plan.verb}`)
  }
  t.match(toServiceError(fromServer(1062), update(loose())), {
    reason: 'ER_1062',
    details: [{
      path: '', message: 'the engine of table "my.items" has no transactions: what was written before the failure stays'
    }]
  })
})

t.test('a statement that was killed changed nothing if it could be rolled back', async (t) => {
  t.match([select, insert, update(loose()), { ...select, table: loose() }].map((plan) => toTimeout(plan).code), [
    'QUERY_TIMEOUT', 'QUERY_TIMEOUT', 'OUTCOME_UNKNOWN', 'QUERY_TIMEOUT'
  ])
})

t.test('a search that the service stopped took too long, although MariaDB gives it the number of one ' +
  'with too many matches', async (t) => {
  const failure = (isStopped: boolean) => toFailure(fromServer(188), {
    pool: { discard () {}, moveOn: () => false },
    session: { engine: { name: 'MariaDB' } } as never,
    statement: select,
    request: { client: undefined },
    isStopped
  })
  t.match([failure(true), failure(false)], [{ code: 'QUERY_TIMEOUT' }, { code: 'RESULT_TOO_LARGE' }])
})

t.test('a violated key is named with its columns, whatever the duplicate value and the names contain', async (t) => {
  const messages: Array<[message: string, columns: string[]]> = [
    ["Duplicate entry '7' for key 'my.items.PRIMARY'", ['id']],
    ["Duplicate entry '7' for key 'PRIMARY'", ['id']],
    ["Duplicate entry '1-2' for key 'my.items.a.b'", ['a', 'b']],
    ["Duplicate entry '1-2' for key 'a.b'", ['a', 'b']],
    ["Duplicate entry 'x' for key 'PRIMARY'' for key 'my.items.it's'", ['a']],
    ["Duplicate entry '7' for key 'audit.by_name'", []]
  ]
  for (const [message, columns] of messages) {
    const { code, details } = toServiceError(
      fromServer(1062, message), insert
    ) as { code?: string, details?: Array<{ path: string }> }
    t.equal(code, 'UNIQUE_VIOLATION', message)
    t.same(details?.map(({ path }) => path), columns.map((column) => `/data/${column}`), message)
  }
})

t.test('if a trigger may have written another table, a key is named only with its table', async (t) => {
  const fired: Statement = { ...insert, table: { ...table, triggers: { isComplete: false, list: [] } } }
  const pathsOf = (message: string) => (toServiceError(
    fromServer(1062, message), fired
  ) as { details?: Array<{ path: string }> }).details?.map(({ path }) => path)
  t.same(pathsOf("Duplicate entry '7' for key 'my.items.PRIMARY'"), ['/data/id'])
  t.same(pathsOf("Duplicate entry '7' for key 'PRIMARY'"), [])
})

t.test('a failed check is named with its columns if it belongs to the table', async (t) => {
  const checked: Statement = {
    ...insert, table: { ...table, checks: [{ name: 'a`b', columns: ['a', 'b'] }, { name: 'a', columns: [] }] }
  }
  const messages: Array<[errno: number, message: string, details: unknown]> = [
    [3819, "Check constraint 'a`b' is violated.", [{ path: '/data/a', message: 'check constraint "a`b" on "a", "b"' }, {
      path: '/data/b', message: 'check constraint "a`b" on "a", "b"'
    }]],
    [4025, 'CONSTRAINT `a``b` failed for `shop`.`my.items`', [{ path: '/data/a' }, { path: '/data/b' }]],
    [4025, 'CONSTRAINT `my.items.a` failed for `shop`.`my.items`', [{ path: '', message: 'check constraint "a"' }]],
    [4025, 'CONSTRAINT `a` failed for `shop`.`audit`', undefined],
    [3819, "Check constraint 'audit_chk_1' is violated.", undefined],
    [1644, "Check constraint 'a' is violated.", undefined]
  ]
  for (const [errno, message, details] of messages) {
    const refusal = toServiceError(fromServer(errno, message), checked) as { code?: string, details?: unknown }
    t.match({ code: refusal.code, details: refusal.details }, {
      code: 'CHECK_VIOLATION', details: details ?? []
    }, message)
  }
})

t.test('a value that does not fit is named with its column, if that was sent, is seen, and no trigger ' +
  'may have written it', async (t) => {
  const messages: Array<[errno: number, message: string, column: string | undefined]> = [
    [1264, "Out of range value for column 'b' at row 3", 'b'],
    [1265, "Data truncated for column 'b' at row 1", 'b'],
    [1406, "Data too long for column 'b' at row 1", 'b'],
    [1292, "Incorrect datetime value: 'x' for column 'a' at row 1' for column 'b' at row 1", 'b'],
    [1366, "Incorrect string value: '\\xF0' for column `shop`.`my.items`.`b` at row 1", 'b'],
    [1366, "Incorrect string value: '\\xF0' for column `shop`.`audit`.`b` at row 1", undefined],
    [1264, "Out of range value for column 'total' at row 1", undefined],
    [1292, "Truncated incorrect DOUBLE value: 'for column 'b''", undefined],
    [1690, "BIGINT value is out of range in 'for column 'b''", undefined]
  ]
  const columns = [...table.columnList]
  const detailsOf = (errno: number, message: string, plan: Statement) =>
    (toServiceError(fromServer(errno, message), plan) as { details?: unknown }).details
  const written = { ...update(table), assigned: columns.filter(({ name }) => name === 'a' || name === 'b') }
  t.equal(written.assigned.length, 2)
  for (const [errno, message, column] of messages) {
    t.same(detailsOf(errno, message, written), column === undefined
      ? []
      : [{ path: `/data/${column}`, message: `column "${column}"` }], message)
  }
  const [errno, message] = messages[0] as [number, string, string]
  t.same(detailsOf(errno, message, { ...written, assigned: [] }), [])
  t.same(detailsOf(errno, message, { ...written, table: { ...table, columns: new Map() } }), [])
  t.same(detailsOf(errno, message, {
    ...written, table: { ...table, triggers: { isComplete: true, list: [{ timing: 'before', event: 'update' }] } }
  }), [])
})

t.test('a violated foreign key is named with its columns; rows that reference this one ' +
  'are not described', async (t) => {
  const child = 'Cannot add or update a child row: a foreign key constraint fails (`db`.`my.items`, CONSTRAINT `a`k` ' +
    'FOREIGN KEY (`a`, `b`) REFERENCES `others` (`x`, `y`))'
  t.match(toServiceError(fromServer(1452, child), insert), {
    code: 'FOREIGN_KEY_VIOLATION',
    details: [{ path: '/data/a', message: 'foreign key "a`k" on "a", "b"' }, { path: '/data/b' }]
  })
  const doubled = child.replace('`a`k`', '`a``k`')
  t.match(toServiceError(fromServer(1452, doubled), insert), { details: [{ path: '/data/a' }, { path: '/data/b' }] })
  t.same(
    (toServiceError(fromServer(1452, child.replace('my.items', 'audit')), insert) as { details?: unknown }).details, [],
    'a key of another table'
  )
  const fired = statementOf('delete', { ...table, triggers: { isComplete: false, list: [] } })
  t.same(
    (toServiceError(fromServer(1451, child), fired) as { details?: unknown }).details, [],
    'rows may refer to one that a trigger deletes'
  )
  t.same((toServiceError(
    fromServer(1451, child.replace('`others`', '`my.items`')), fired
  ) as { details?: unknown[] }).details?.length, 1)
  const parent = child.replace('add or update a child', 'delete or update a parent')
  t.same((toServiceError(fromServer(1451, parent), insert) as { details?: unknown }).details, [
    { path: '', message: 'other rows refer to this one' }
  ])
})

t.test('if the connection is lost, a select may be retried and the outcome of a write is unknown', async (t) => {
  const lost: MysqlError[] = [
    Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', errno: -104, fatal: true }),
    Object.assign(new Error('Connection lost'), { code: 'PROTOCOL_CONNECTION_LOST', fatal: true }),
    ...[1053, 1077, 1927, 4031].map((errno) => fromServer(errno)),
    // mysql2 has no code for it
    Object.assign(fromServer(1927, 'Connection was killed', '70100'), { code: undefined })
  ]
  for (const error of lost) {
    t.ok(isLost(error))
    const reason = error.code ?? /1927/
    t.match(toServiceError(error, select), { code: 'DATABASE_UNAVAILABLE', reason })
    t.match(toServiceError(error, insert), { code: 'OUTCOME_UNKNOWN', reason })
  }
})

t.test('if the connection was closed before the statement was sent, nothing was changed; other ' +
  'driver errors are bugs', async (t) => {
  const closed: MysqlError = Object.assign(new Error("Can't add new command when connection is in closed state"), {
    fatal: true
  })
  t.notOk(isLost(closed))
  t.match(toServiceError(closed, insert), { code: 'DATABASE_UNAVAILABLE' })
  t.match(ofClosed(closed), { code: 'DATABASE_UNAVAILABLE' }, 'nor read of the catalog')
  const bug = new TypeError('x is not a function')
  t.equal(ofClosed(bug), bug)
  t.equal(toServiceError(bug, insert), bug)
})

t.test('if connecting fails, nothing was sent', async (t) => {
  t.match(toConnectError({ code: 'ECONNREFUSED' }), { code: 'DATABASE_UNAVAILABLE', reason: 'ECONNREFUSED' })
  t.notOk(Object.hasOwn(toConnectError({}), 'reason'))
  t.match(
    toConnectError({ code: 'ER_BULK_PARSER_INCOMPLETE_ESCAPE_SEQUENCE', errno: 4151 }),
    { reason: 'ER_ACCOUNT_HAS_BEEN_LOCKED' }, 'MySQL has another error with this number of MariaDB'
  )
})

t.test('the error of a statement about no table says what it does', async (t) => {
  const set = controlStatement(
    'select', 'set session transaction isolation level serializable', 'set the isolation level'
  )
  t.match(toServiceError(fromServer(1227), set), {
    code: 'PERMISSION_DENIED', message: "The service's database account may not set the isolation level"
  })
  for (const [number, state] of [
    [1064, '42000'], [1231, '42000'], [1568, '25001'], [1193, 'HY000'], [1305, '42000'], [1644, '45000'],
    [9999, '23000']
  ] as const) {
    t.match(
      toServiceError(fromServer(number, 'refused', state), set),
      { code: 'NOT_SUPPORTED', message: 'The database does not let the service set the isolation level' }, `${number}`
    )
  }
  for (const [number, code] of [
    [1205, 'LOCK_TIMEOUT'], [1213, 'DEADLOCK'], [1047, 'DATABASE_UNAVAILABLE']
  ] as const) t.match(toServiceError(fromServer(number), set), { code })
})
