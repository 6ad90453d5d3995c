/**
 * The session variables that the service sets on every connection, so that nothing depends on the configuration of a
 * server, its `init_connect` or triggers. test/dialects/mysql/connection/session-variables.test.ts lists the other
 * session variables, with the reason why each is not set.
 */
import type { ConnectionOptions, SslOptions } from 'mysql2'
import type { Isolation } from '../dialect.ts'
import { MYSQL, type ServerEngine } from './engines.ts'

/** Both if omitted. */
type Server = 'mysql' | 'mariadb'

interface Setting {
  readonly name: string
  /** The value as SQL; never `default` if that means the server's global value. */
  readonly value: string
  readonly only?: Server
}

/** No limit, of sql_select_limit and max_join_size. */
const UNLIMITED = '18446744073709551615'

export const SETTINGS: readonly Setting[] = [
  // Literals are written in UTF-8 and results are read as UTF-8, whatever the server's default and init_connect say.
  { name: 'character_set_client', value: 'utf8mb4' },
  { name: 'character_set_results', value: 'utf8mb4' },
  // Also sets character_set_connection. The collation of a column has precedence over the collation of a literal. An
  // expression, such as a column of a view, may have none: a binary collation compares it exactly, another one may be
  // an illegal mix (1267).
  { name: 'collation_connection', value: 'utf8mb4_bin' },
  // Strict for every engine, so nothing is truncated or clipped. Without NO_ZERO_DATE, so that a zero date that a
  // select returned can be written again. NO_AUTO_VALUE_ON_ZERO, so that 0 in an AUTO_INCREMENT column stays 0. Without
  // ANSI_QUOTES and NO_BACKSLASH_ESCAPES, which would change what quotes mean.
  {
    name: 'sql_mode',
    value: "'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
  },
  // TIMESTAMPs are read and written in UTC.
  { name: 'time_zone', value: "'+00:00'" },
  // Each statement is a transaction, and COMMIT does not start another one. Disabling and enabling autocommit ends a
  // transaction that init_connect left open.
  { name: 'completion_type', value: '0' },
  { name: 'autocommit', value: '0' },
  { name: 'autocommit', value: '1' },
  // Otherwise the server may refuse updates by a column without an index.
  { name: 'sql_safe_updates', value: '0' },
  { name: 'foreign_key_checks', value: '1' },
  { name: 'unique_checks', value: '1' },
  { name: 'check_constraint_checks', value: '1', only: 'mariadb' },
  // Otherwise the server may truncate results without an error, including results of the catalog.
  { name: 'sql_select_limit', value: UNLIMITED },
  // Otherwise the server may refuse statements by their estimated rows. sql_big_selects comes last, because setting
  // max_join_size changes it.
  { name: 'max_join_size', value: UNLIMITED },
  { name: 'sql_big_selects', value: '1' },
  // Otherwise `id is null` may match the last inserted row.
  { name: 'sql_auto_is_null', value: '0' },
  // Texts are sorted by this number of bytes of their sort keys, and sorting fails (1038) if 15 such keys do not fit
  // the buffer: on MariaDB this is enough for 16 columns. Both servers allocate memory for the existing rows only. On
  // MySQL this concerns collations with PAD SPACE, whose keys have this length in TEXT columns whatever the text: to
  // skip 40,000 of 50,000 rows took 0.1 s with 1,024 bytes, 1.1 s with these, 8 s with 65,536.
  { name: 'max_sort_length', value: '65536', only: 'mariadb' },
  { name: 'max_sort_length', value: '16384', only: 'mysql' },
  { name: 'sort_buffer_size', value: '16777216' },
  // MariaDB 10.11 loses rows of a range over an index that begins with a virtual column if it filters them by the index
  // of another column.
  { name: 'optimizer_switch', value: "'rowid_filter=off'", only: 'mariadb' },
  // Additional digits of an average.
  { name: 'div_precision_increment', value: '4' },
  // Otherwise selects may read old rows of tables with system versioning. Here `default` means now, not the global
  // value.
  { name: 'system_versioning_asof', value: 'default', only: 'mariadb' },
  // Affects how MariaDB compares a TIME with a date, among others.
  { name: 'old_mode', value: "'UTF8_IS_UTF8MB3'", only: 'mariadb' },
  // Names of constraints are parsed from error messages.
  { name: 'lc_messages', value: "'en_US'" }
]

/** Variables outside of SETTINGS that a trigger must not change for later statements. */
const WATCHED = ['timestamp', 'insert_id', 'last_insert_id', 'transaction_read_only', 'transaction_isolation']

/** SQL for one kind of server, in its version comments. Older versions are refused (options.ts). */
const only: Record<Server, (text: string) => string> = {
  mysql: (text) => `/*!80000 ${text} */`,
  mariadb: (text) => `/*M!100700 ${text} */`
}

/**
 * Makes the server report changed variables in its replies. MySQL's `*` would also report the number of each statement;
 * MariaDB refuses unknown names.
 */
const TRACKING: Record<Server, string> = {
  mysql: `session_track_system_variables = '${[...new Set(SETTINGS.map(({ name }) => name)), ...WATCHED].join(',')}'`,
  mariadb: "session_track_system_variables = '*'"
}
const track = (server: Server): string =>
  only[server](`${TRACKING[server]}, session_track_state_change = off, session_track_transaction_info = 'OFF',`)

const assignments = (settings: readonly Setting[], server: Server | undefined): string =>
  settings
    .filter((setting) => setting.only === server)
    .map(({ name, value }) => `, ${name} = ${value}`)
    .join('')

const ofEngine = (settings: readonly Setting[], { settings: own }: ServerEngine): readonly Setting[] =>
  settings.flatMap((setting) => {
    const value = setting.name in own ? own[setting.name] : setting.value
    return value === undefined ? [] : [{ ...setting, value }]
  })

const LEVELS: Readonly<Record<Isolation, string>> = {
  repeatableRead: 'repeatable read',
  serializable: 'serializable',
  readCommitted: 'read committed'
}

/**
 * Sets the isolation level of the following transactions. MariaDB before 11.1 has another name for the variable, and
 * Vitess sets it for the session in any case.
 */
export const isolationStatement = (level: Isolation): string =>
  `set session transaction isolation level ${LEVELS[level]}`

/**
 * The first statement of every connection, in ASCII, with the server's time limit for statements. `engine`: as the
 * greeting says; a proxy may greet as MySQL in front of MariaDB, so the statement is the same for both.
 */
export function sessionStatement (statementTimeout: number, engine: ServerEngine = MYSQL): string {
  return compose(SETTINGS, statementTimeout, engine)
}

/** Without autocommit, which would end the transaction and which no trigger can set. */
const IN_TRANSACTION: readonly Setting[] = [
  ...SETTINGS.filter(({ name }) => name !== 'autocommit'),
  { name: 'timestamp', value: 'default' }
]

/** Sets the variables again that a trigger may have changed while a transaction is open. */
export function transactionStatement (statementTimeout: number, engine: ServerEngine = MYSQL): string {
  return compose(IN_TRANSACTION, statementTimeout, engine)
}

function compose (all: readonly Setting[], statementTimeout: number, engine: ServerEngine): string {
  const limit = statementTimeout + BACKSTOP
  const settings = ofEngine(all, engine)
  return (
    `set session ${engine.tracks ? `${track('mysql')} ${track('mariadb')} ` : ''}` +
    `${assignments(settings, undefined).slice(2)} ` +
    `${only.mariadb(`${assignments(settings, 'mariadb')}, max_statement_time = ${limit / 1000}`)} ` +
    `${only.mysql(`${assignments(settings, 'mysql')}, max_execution_time = ${limit}`)}`
  )
}

/** Raises the server's own time limits for a stream, also that for slow readers. The session is reset afterwards. */
export function streamStatement (streamTimeout: number): string {
  const limit = streamTimeout + BACKSTOP
  return `set session net_write_timeout = ${Math.ceil(limit / 1000)} ` +
    `${only.mariadb(`, max_statement_time = ${limit / 1000}`)} ${only.mysql(`, max_execution_time = ${limit}`)}`
}

// What the session reads back, because an engine may accept an assignment and ignore it.

const valueOf = (name: string, only?: Server): string =>
  (SETTINGS.find((each) => each.name === name && each.only === only) as Setting).value.replaceAll("'", '')
const hasValue = (name: string) => (value: string): boolean => value.toLowerCase() === valueOf(name)
const words = (list: string): string => list.toUpperCase().split(',').toSorted().join()
const onEach = (mysql: string, mariadb: string): string => `${only.mysql(mysql)} ${only.mariadb(mariadb)}`

const READ_BACK: ReadonlyArray<{
  readonly name: string
  /** Its value as SQL. */
  readonly sql: string
  readonly isSet: (
    value: string,
    session: { readonly isMariadb: boolean, readonly statementTimeout: number, readonly isolation: Isolation }
  ) => boolean
  /** What it means if it does not; undefined if such a server is not used. */
  readonly meaning?: (value: string) => string
}> = [
  { name: 'sql_mode', sql: '@@sql_mode', isSet: (value) => words(value) === words(valueOf('sql_mode')) },
  { name: 'time_zone', sql: '@@time_zone', isSet: hasValue('time_zone') },
  {
    name: 'collation_connection',
    sql: '@@collation_connection',
    isSet: hasValue('collation_connection'),
    meaning: (value) => `computed texts, such as those of views, are compared by ${value}, or not at all (1267)`
  },
  {
    name: 'max_sort_length',
    sql: '@@max_sort_length',
    isSet: (value, { isMariadb }) =>
      Number(value) >= Number(valueOf('max_sort_length', isMariadb ? 'mariadb' : 'mysql')),
    meaning: (value) => `texts that begin with the same ${value} bytes are sorted in any order, so a walk over pages ` +
      'that orders by them may leave out rows'
  },
  {
    name: 'max_execution_time',
    sql: onEach('@@max_execution_time', '@@max_statement_time'),
    isSet: (value, { isMariadb, statementTimeout }) =>
      Number(value) * (isMariadb ? 1000 : 1) === statementTimeout + BACKSTOP,
    meaning: () => 'a statement that cannot be killed runs until it ends by itself'
  },
  {
    name: 'transaction_isolation',
    sql: onEach('@@transaction_isolation', '@@tx_isolation'),
    isSet: (value, { isolation }) => value.toLowerCase().replace('-', ' ') === LEVELS[isolation],
    meaning: (value) => `transactions run at ${value}`
  }
]

export const READ_BACK_LIST = READ_BACK.map(({ sql }) => sql).join(', ')

/** What a server ignores, by the name of the variable, and what that means. */
export type Ignored = Readonly<Record<string, string>>

/**
 * Compares the values of READ_BACK_LIST with those that were set. Returns `problem` if the server cannot be used, and
 * otherwise what it ignores.
 */
export function compareSettings (
  values: ReadonlyArray<string | null>,
  engine: ServerEngine,
  { statementTimeout, isolation }: { readonly statementTimeout: number, readonly isolation: Isolation }
): { readonly problem?: string, readonly ignored: Ignored } {
  const session = { isMariadb: engine.name === 'MariaDB', statementTimeout, isolation }
  const ignored: Record<string, string> = {}
  for (const [index, { name, isSet, meaning }] of READ_BACK.entries()) {
    const value = values[index] ?? ''
    if (isSet(value, session)) continue
    if (meaning === undefined) {
      return { problem: `SETTING_IGNORED: the session has ${name} = '${value}' and not what was set`, ignored }
    }
    ignored[name] = meaning(value)
  }
  return { ignored: { ...ignored, ...engine.ignores } }
}

export interface Host { readonly host: string, readonly port: number }

export interface MysqlAddress {
  /** Servers of the same database, in the order in which they are tried. */
  readonly hosts: readonly Host[]
  readonly user: string
  readonly password: string
  readonly database: string
  /**
   * The requirements on the server's certificate; undefined for no TLS. mysql2 caches its TLS context by the object.
   */
  readonly ssl: SslOptions | undefined
}

/** The delay of TCP keep-alive probes on an idle connection, in milliseconds. */
export const KEEP_ALIVE = 10_000

/** How long after the service's own time limit the server ends a statement itself, in milliseconds. */
export const BACKSTOP = 30_000

/**
 * No LOCAL INFILE, one statement at a time, utf8mb4. `-FOUND_ROWS` makes the server count changed rows instead of
 * matched ones; statement-command.ts sends no attributes.
 */
export function connectionOptions (
  { hosts, ssl, ...account }: MysqlAddress,
  host: Host = hosts[0] as Host
): ConnectionOptions {
  return {
    ...account,
    ...host,
    ...(ssl !== undefined && { ssl }),
    charset: 'utf8mb4',
    flags: ['-LOCAL_FILES', '-FOUND_ROWS', '-CLIENT_QUERY_ATTRIBUTES'],
    multipleStatements: false,
    connectTimeout: 0,
    enableKeepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE,
    supportBigNumbers: true,
    bigNumberStrings: true
  }
}
