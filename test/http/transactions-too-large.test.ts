/** Transactions that are larger than a server or its cluster takes. The clusters themselves are in test/faults. */
import t from 'tap'
import { errorPacket } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine } from '../support/service.ts'

/** What the servers say. Galera uses numbers that have other meanings. */
const LARGE: ReadonlyArray<readonly [number: number, message: string]> = [
  [1105, 'Maximum writeset size exceeded'], [1180, 'wsrep_max_ws_rows exceeded'],
  [1180, 'Got error 90 "Message too long" during COMMIT'],
  [1197, "Multi-statement transaction required more than 'max_binlog_cache_size' bytes of storage; increase this " +
    'mysqld variable and try again'],
  [1705, "Multi-row statements required more than 'max_binlog_stmt_cache_size' bytes of storage; increase this " +
    'mysqld variable and try again']
]
const OTHERS: ReadonlyArray<readonly [number: number, message: string, status: number, code: string]> = [
  [1105, 'Unknown error', 422, 'NOT_SUPPORTED'],
  [1180, 'Got error 149 "Lock deadlock; Retry transaction" during COMMIT', 503, 'DEADLOCK'],
  [3100, "Error on observer while running replication hook 'before_commit'.", 503, 'DATABASE_UNAVAILABLE']
]

const schema = { sqlite: [], mysql: ['create table notes (id int not null primary key, body text)'] }
const insert = { verb: 'insert', data: { id: 1, body: 'x' } }

/** A result of one row with the text `1` (MySQL manual, "Text Resultset"). */
function oneRow (): Buffer {
  const column = Buffer.from('\x03def\0\0\0\x011\0\x0c\x21\0\x01\0\0\0\xfd\0\0\0\0\0', 'latin1')
  const end = Buffer.from('\xfe\0\0\x02\0', 'latin1')
  return Buffer.concat([Buffer.from('\x01', 'latin1'), column, end, Buffer.from('\x011', 'latin1'), end].map(
    (body, index) => Buffer.concat([Buffer.from([body.length, 0, 0, index + 1]), body])
  ))
}

await onEachEngine(t, 'a transaction that is larger than the database takes is RESULT_TOO_LARGE, at its ' +
  'statement and at COMMIT', { schema, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { post, operate, sql, log } = service
  const proxy = service.proxy as NonNullable<typeof service.proxy>
  const answerTo = (pattern: RegExp, number: number, message: string): void => {
    proxy.onStatement = (sql) => pattern.test(sql) ? errorPacket(number, 'HY000', message) : undefined
  }
  const expect = { status: 422, code: 'RESULT_TOO_LARGE' }
  for (const [number, message] of LARGE) {
    answerTo(/^insert/, number, message)
    const answer = await post('notes', insert)
    isRefusal(t, answer, { ...expect, why: `${number} ${message}` })
    t.match(answer.json.error.message, /transaction is larger/)
    answerTo(/^commit/i, number, message)
    isRefusal(t, await operate([{ ...insert, table: 'notes' }]), { ...expect, why: `${number} ${message} at COMMIT` })
    proxy.onStatement = () => undefined
    t.same(await sql('select * from notes'), [], 'nothing was changed')
  }
  for (const [number, message, status, code] of OTHERS) {
    answerTo(/^commit/i, number, message)
    log.splice(0)
    const answer = await operate([{ ...insert, table: 'notes' }])
    isRefusal(t, answer, { status, code, why: `${number} ${message}` })
    t.notMatch(answer.json.error.message, '""', 'no table is named that is none')
  }
  t.same(await sql('select * from notes'), [])
})

await onEachEngine(t, 'Group Replication does not say why it refuses a COMMIT; the log of its server does, to an ' +
  'account that may read it', { schema, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { post, operate, sql } = service
  const proxy = service.proxy as NonNullable<typeof service.proxy>
  const refused = errorPacket(3100, 'HY000', "Error on observer while running replication hook 'before_commit'.")
  const denied = errorPacket(1142, '42000', "SELECT command denied to user 'app'@'localhost' for table 'error_log'")
  for (const [answer, status, code] of [
    [oneRow(), 422, 'RESULT_TOO_LARGE'], [denied, 503, 'DATABASE_UNAVAILABLE']
  ] as const) {
    proxy.onStatement = (sql) => /error_log/.test(sql) ? answer : /^(?:commit|insert)/i.test(sql) ? refused : undefined
    isRefusal(t, await post('notes', insert), { status, code, why: 'a single statement' })
    proxy.onStatement = (sql) => /error_log/.test(sql) ? answer : /^commit/i.test(sql) ? refused : undefined
    isRefusal(t, await operate([{ ...insert, table: 'notes' }]), { status, code, why: 'at COMMIT' })
    proxy.onStatement = () => undefined
  }
  t.same(await sql('select * from notes'), [])
  t.equal((await post('notes', insert)).status, 200)
})
