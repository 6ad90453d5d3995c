import t from 'tap'
import { connectionOptions } from '../../../src/dialects/mysql/options.ts'
import { sessionStatement } from '../../../src/dialects/mysql/connection/session-settings.ts'

const address = { hosts: [{ host: 'a', port: 1 }, { host: 'b', port: 2 }], user: 'u', password: 'p', database: 'd', ssl: undefined }

t.test('a connection reads no local file, sends one statement at a time and counts changed rows', async (t) => {
  const options = connectionOptions(address)
  t.match(options, { host: 'a', port: 1, user: 'u', database: 'd', charset: 'utf8mb4', multipleStatements: false, flags: ['-LOCAL_FILES', '-FOUND_ROWS'] })
  t.notOk('ssl' in options)
  t.match(connectionOptions(address, { host: 'b', port: 2 }), { host: 'b', port: 2 })
})

t.test('a connection is encrypted if the URL requires it', async (t) => {
  const ssl = { rejectUnauthorized: true }
  t.match(connectionOptions({ ...address, ssl }), { ssl })
})

t.test('the session is strict, in UTC, and has a statement time limit on the server', async (t) => {
  const statement = sessionStatement(1000)
  t.match(statement, /STRICT_ALL_TABLES/)
  t.match(statement, /time_zone = '\+00:00'/)
  t.match(statement, /max_statement_time = \d/)
  t.match(statement, /max_execution_time = \d/)
})
