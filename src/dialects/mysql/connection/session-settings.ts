/**
 * The session variables that the service sets on every connection: nothing may depend on how a server is configured, nor on
 * what its `init_connect` or a trigger does. test/dialects/mysql/connection/session-variables.test.ts lists every other session
 * variable of the servers, with the reason why it is left alone.
 */
import { BACKSTOP } from '../options.ts'

/** The servers that have a variable; both if left out. */
type Server = 'mysql' | 'mariadb'

interface Setting {
  readonly name: string
  /** SQL. Never `default` where that means the server's global value. */
  readonly value: string
  readonly only?: Server
}

/** The largest value of sql_select_limit and max_join_size: no limit. */
const UNLIMITED = '18446744073709551615'

export const SETTINGS: readonly Setting[] = [
  // Literals are written in UTF-8 and results are read as UTF-8, whatever the server's default and init_connect say.
  { name: 'character_set_client', value: 'utf8mb4' },
  { name: 'character_set_results', value: 'utf8mb4' },
  // Also sets character_set_connection. A column's own collation wins over that of a literal. Where there is none, as in a
  // view's column that is an expression, a binary collation compares exactly, and another one may be an illegal mix (1267).
  { name: 'collation_connection', value: 'utf8mb4_bin' },
  // Strict for every engine, so nothing is truncated or clipped. Without NO_ZERO_DATE, so that a zero date that a select
  // returned can be written again. NO_AUTO_VALUE_ON_ZERO, so that 0 in an AUTO_INCREMENT column stays 0. Without ANSI_QUOTES
  // and NO_BACKSLASH_ESCAPES, which would change what quotes mean.
  { name: 'sql_mode', value: "'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'" },
  // TIMESTAMPs are read and written in UTC.
  { name: 'time_zone', value: "'+00:00'" },
  // Each statement is a transaction, and a COMMIT begins no other one. Turning autocommit off and on ends a transaction that
  // init_connect left open.
  { name: 'completion_type', value: '0' },
  { name: 'autocommit', value: '0' },
  { name: 'autocommit', value: '1' },
  // Would refuse updates by a column without an index.
  { name: 'sql_safe_updates', value: '0' },
  { name: 'foreign_key_checks', value: '1' },
  { name: 'unique_checks', value: '1' },
  { name: 'check_constraint_checks', value: '1', only: 'mariadb' },
  // Would cut results short without an error, those of the catalog too.
  { name: 'sql_select_limit', value: UNLIMITED },
  // Would refuse statements by an estimate of their rows. sql_big_selects comes last: setting max_join_size changes it.
  { name: 'max_join_size', value: UNLIMITED },
  { name: 'sql_big_selects', value: '1' },
  // Would make `id is null` find the row that was inserted last.
  { name: 'sql_auto_is_null', value: '0' },
  // MariaDB sorts texts by so many bytes, and fails (1038) where 15 such keys do not fit the buffer: this leaves room for 16 columns. Memory is
  // taken for the rows that there are. MySQL sorts whole values.
  { name: 'max_sort_length', value: '65536', only: 'mariadb' },
  { name: 'sort_buffer_size', value: '16777216', only: 'mariadb' },
  // Digits of an average beyond those of its column.
  { name: 'div_precision_increment', value: '4' },
  // Would make every select read old rows of tables with system versioning. Here `default` means now, not the global value.
  { name: 'system_versioning_asof', value: 'default', only: 'mariadb' },
  // How MariaDB compares a TIME with a date, among others.
  { name: 'old_mode', value: "'UTF8_IS_UTF8MB3'", only: 'mariadb' },
  // The names of constraints are found in the texts of errors.
  { name: 'lc_messages', value: "'en_US'" }
]

/** Variables that are not in SETTINGS, and that a trigger must not change for the statements after its own. */
const WATCHED = ['timestamp', 'insert_id', 'last_insert_id', 'transaction_read_only', 'transaction_isolation']

/** Text for one server: each reads its own comments. MySQL before 8.0 and MariaDB before 10.7 are refused once connected (server-version.ts). */
const only: Record<Server, (text: string) => string> = {
  mysql: (text) => `/*!80000 ${text} */`,
  mariadb: (text) => `/*M!100700 ${text} */`
}

/**
 * What makes the server report in its answers that a variable was changed. MySQL's `*` would also report the number of each
 * statement; it ignores names that it does not know. MariaDB refuses those.
 */
const TRACKING: Record<Server, string> = {
  mysql: `session_track_system_variables = '${[...new Set(SETTINGS.map(({ name }) => name)), ...WATCHED].join(',')}'`,
  mariadb: "session_track_system_variables = '*'"
}
const track = (server: Server): string => only[server](`${TRACKING[server]}, session_track_state_change = off, session_track_transaction_info = 'OFF',`)

const assignments = (settings: readonly Setting[], server: Server | undefined): string => settings.filter((setting) => setting.only === server).map(({ name, value }) => `, ${name} = ${value}`).join('')

/**
 * The second statement of every connection. It is not an assignment of the one before, because the variable has no name that every supported
 * server knows: MariaDB before 11.1 has `tx_isolation` alone, which newer versions deprecate.
 */
export const ISOLATION = 'set session transaction isolation level repeatable read'

/** The first statement of every connection, in ASCII alone. It also sets the server's own limit on statements: MySQL's holds only for selects. */
export function sessionStatement (statementTimeout: number): string {
  return compose(SETTINGS, statementTimeout)
}

/** Setting autocommit would end the transaction; no trigger can set it. A number in insert_id cannot be taken back on MySQL. */
const IN_TRANSACTION: readonly Setting[] = [...SETTINGS.filter(({ name }) => name !== 'autocommit'), { name: 'timestamp', value: 'default' }]

/** Sets the variables again that a trigger may have changed, while a transaction is open. At its end the session is reset. */
export function transactionStatement (statementTimeout: number): string {
  return compose(IN_TRANSACTION, statementTimeout)
}

function compose (settings: readonly Setting[], statementTimeout: number): string {
  const limit = statementTimeout + BACKSTOP
  return `set session ${track('mysql')} ${track('mariadb')} ${assignments(settings, undefined).slice(2)} ` +
    `${only.mariadb(`${assignments(settings, 'mariadb')}, max_statement_time = ${limit / 1000}`)} ${only.mysql(`${assignments(settings, 'mysql')}, max_execution_time = ${limit}`)}`
}
