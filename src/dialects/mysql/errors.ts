/** The error numbers of MySQL and MariaDB (https://dev.mysql.com/doc/mysql-errors/en/server-error-reference.html). */
import {
  baseTable, mayFillColumns, mayFire, type Check, type Column, type ForeignKey, type Key, type Table
} from '../../catalog/catalog.ts'
import {
  checkViolation, databaseUnavailable, deadlock, isTrouble, lockTimeout, notNullViolation, notSupported, outcomeUnknown,
  permissionDenied, pointer, queryTimeout, resultTooLarge, statementTooLarge, textRefused, transactionTooLarge,
  uniqueViolation, unsupported, valueOutOfRange, ServiceError, withDetails, withReason
} from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import {
  refusesRow, StaleCatalog, UnknownDatabaseError, checkViolationOf, firesTrigger, noReferencedRow, notNullViolationOf,
  rowIsReferenced, uniqueViolationOf
} from '../dialect.ts'

/** Errors of the server have a number, errors of the connection only a code. */
export interface MysqlError extends Error { errno?: number, code?: string, sqlState?: string, fatal?: boolean }

type Refuse = (statement: Statement, error: MysqlError) => Error

/** The account lacks a privilege. The message may name the table, because the client has sent its name. */
const accountDenied: Refuse = ({ table, does = `do this on "${table.name}"` }) =>
  permissionDenied(`The service's database account may not ${does}`)
/** The engine of the table, or the view, does not support it; or the number is unknown. */
const cannot: Refuse = ({ table, does }) =>
  notSupported(
    does !== undefined
      ? `The database does not let the service ${does}`
      : `The database does not support this operation${table.name === '' ? '' : ` on table "${table.name}"`}`
  )
/** The messages of Galera if the transaction is too large, whose numbers have other meanings too. */
const LARGER_THAN_CLUSTER = /writeset size|wsrep_max_ws_|"Message too long"/i
const tooLargeOr = (other: Refuse): Refuse => (statement, error) =>
  LARGER_THAN_CLUSTER.test(error.message) ? transactionTooLarge() : other(statement, error)
/** VTGate has no number for it: it reaches no server that takes the statement, or has lost the one that runs it. */
const NO_TABLET =
  /no healthy tablet available|no (?:available )?connection|primary is not serving|keyspace is being resharded/i
const TABLET_LOST = /rpc error: code = Unavailable/i
const behindVitessOr = (other: Refuse): Refuse => (statement, error) =>
  NO_TABLET.test(error.message)
    ? databaseUnavailable()
    : (TABLET_LOST.test(error.message) ? lostBehind : other)(statement, error)
const check: Refuse = ({ table }, { message }) => checkViolationOf(checkIn(message, table))
/** An exception of a trigger or routine. */
const raised: Refuse = () => checkViolation()
/**
 * The statement, or a trigger, writes a table that the statement reads. Without filters by related rows, a trigger
 * writes its own table.
 */
const usedTwice: Refuse = (statement, error) =>
  statement.isRelated === true
    ? unsupported(
      '/filters',
      '"$some" and "$none" cannot name a table that the write itself changes, as a trigger or a view does: select ' +
      'the rows first, and filter by their keys'
    )
    : numberOf(error) === 1442
      ? raised(statement, error)
      : cannot(statement, error)
/** The guard of an upsert (src/sql/compile-insert.ts): the row collides in another key than the named one. */
const twoRows: Refuse = ({ isUpsert = false }) => isUpsert ? uniqueViolation() : checkViolation()
const unique: Refuse = (statement, { message }) =>
  isLastNumber(statement, message) ? noNumberLeft(statement) : uniqueViolationOf(uniqueKeyIn(message, statement))
/** The table has used the last number of its AUTO_INCREMENT column. */
const noNumberLeft = (statement: Statement): ServiceError =>
  withDetails(valueOutOfRange(), ...firesTrigger(statement) ? [] : [{ path: '', message: NO_NUMBER_LEFT }])
const NO_NUMBER_LEFT = 'the table has no number left for its AUTO_INCREMENT column'
/** A value does not fit its column; other values are judged by an expression, or the message names no column. */
const outOfRange: Refuse = (statement, { message }) => {
  const column = columnIn(message, statement)
  if (column === undefined) return valueOutOfRange()
  const { name } = column
  return withDetails(valueOutOfRange(), { path: pointer('data', name), message: `column "${name}"` })
}
const referenced: Refuse = (statement, { message }) =>
  rowIsReferenced(
    statement,
    !firesTrigger(statement) || message.includes(` REFERENCES \`${statement.table.name}\` `),
    referringKeyIn(message)
  )

/** The table or a column is missing, or an object that a trigger, view or routine names. */
const staleCatalog: Refuse = (statement, error) => {
  const missing = missingIn(error)
  const isOther = missing?.endsWith(`.${statement.table.name}`) !== true
  // a default of MariaDB can name a sequence
  const isElsewhere = isOther && (firesTrigger(statement) || (missing !== undefined && NO_TABLE.has(numberOf(error))))
  return new StaleCatalog(reasonOf(error, missing), { isElsewhere, missing, isUndone: statement.verb === 'select' })
}

/** The referenced row, or its table, does not exist. */
const noParent: Refuse = ({ table }, error) => {
  const rootless = foreignKeysIn(error.message, baseTable(table)).find(({ broken }) => broken)
  if (rootless === undefined) return noReferencedRow(table, foreignKeysIn(error.message, table))
  const { referencedTable } = rootless
  return new StaleCatalog(reasonOf(error, referencedTable), { isElsewhere: true, missing: referencedTable })
}

/** The name of the error, with the name of the missing object if it looks like a name. */
const reasonOf = (error: MysqlError, missing: string | undefined): string =>
  missing !== undefined && PLAIN_NAME.test(missing) ? `${nameOf(error)} (${missing})` : nameOf(error)

/** The definer of a view does not exist; accounts that can see other accounts get 1449. */
const denied: Refuse = (plan, error) =>
  plan.readsView === true || firesTrigger(plan) ? staleCatalog(plan, error) : databaseUnavailable()

/** The connection to a server behind this one (FEDERATED, Spider) is lost, so the outcome of a write is unknown. */
const lostBehind: Refuse = ({ verb }) => verb === 'select' ? databaseUnavailable() : outcomeUnknown()

/** The server is read-only or not in its cluster: another one may run the statement. */
const NOT_HERE = new Set([1047, 1290, 1792, 1836])

/** ER_TABLE_DEF_CHANGED: the table was rebuilt after the snapshot of the transaction, also by OPTIMIZE TABLE. */
const REBUILT = 1412
/** No such table, or sequence. */
const NO_TABLE = new Set([1146, 4091])
const MISSING = [1051, 1054, 1109, 1136, ...NO_TABLE, 1176, 1222, 1305, 1318, 1356, 1431, 1432, 1433, 1449, 1477, 12702]
const DENIED = [1142, 1143, 1227, 1370]
/** Not in the grammar of the server. */
const GRAMMAR = [1064, 1149]
const ENGINE_CANNOT = [
  ...GRAMMAR, 1031, 1036, 1038, 1112, 1148, 1164, 1168, 1178, 1235, 1286, 1288, 1289, 1295, 1347, 1393, 1394, 1395,
  1471, 1661, 1662, 1663, 1664, 1665, 1785, 3098
]
const LOCKED = [1205, 3572]
const ENDED = [1028, 1317, 1969, 3024]
/** The statement is too large. */
const PACKET = 1153
/** The table is full. */
const FULL = 1114

const refusals: ReadonlyArray<readonly [Refuse, readonly number[]]> = [
  [unique, [1022, 1062, 1169, 1586, 1859]],
  [noParent, [1216, 1452]],
  [referenced, [1217, 1451, 1761, 1762]],
  [() => notNullViolation(), [1048, 1263]],
  [
    (statement, { message }) => notNullViolationOf(statement, (column) => message.startsWith(`Field '${column}' `)),
    [1364]
  ],
  [check, [3819, 4025]],
  [twoRows, [1242]],
  [raised, [1172, 1369, 1526, 1568, 1643, 1644, 1748, 1863]],
  [usedTwice, [1093, 1442, 1443]],
  [noNumberLeft, [167, 1467]],
  [outOfRange, [1264, 1265, 1292, 1366, 1406]],
  [
    () => valueOutOfRange(),
    [182, 1118, 1267, 1270, 1271, 1300, 1367, 1411, 1416, 1436, 1441, 1690, 3140, 3548, 3643, 3854, 4084]
  ],
  [() => statementTooLarge(), [PACKET]],
  [cannot, ENGINE_CANNOT],
  [() => resultTooLarge('the search has more matches than the server keeps in memory'), [188]],
  [() => resultTooLarge('the statement needs more memory than the server allows it'), [8175]],
  [tooLargeOr(behindVitessOr(cannot)), [1105]],
  [() => transactionTooLarge(), [1197, 1705, 8004, 8025]],
  [tooLargeOr(() => deadlock()), [1180]],
  [() => deadlock(), [1020, 1213, 1297, 1613, 1614, 3058, 3101, 8002, 8022, 8028, 9007]],
  [() => lockTimeout(), LOCKED],
  [() => queryTimeout(), ENDED],
  [staleCatalog, MISSING],
  [(_statement, error) => new StaleCatalog(nameOf(error), { isRebuilt: true }), [REBUILT]],
  [accountDenied, DENIED],
  [denied, [1045]],
  [lostBehind, [1158, 1159, 1160, 1161, 1430, 2006, 2013, 12701]],
  [
    () => databaseUnavailable(),
    [
      1015, 1016, 1017, 1021, 1023, 1024, 1026, 1030, 1034, 1035, 1037, 1040, 1041, 1044, 1047, 1049, FULL, 1129,
      1130, 1135, 1194, 1195, 1203, 1206, 1223, 1226, 1290, 1298, 1429, 1615, 1637, 1698, 1792, 1812, 1814, 1815,
      1820, 1836, 1862, 1877, 1932, 2002, 2003, 2005, 3032, 3100, 3159, 3989, 6400, 8027, 8229, 9001, 9002, 9003, 9004,
      9005, 9006, 9008, 9010, 9011, 12501, 12511
    ]
  ]
]

const byNumber = new Map(
  refusals.flatMap(([refuse, numbers]) => numbers.map((number): [number, Refuse] => [number, refuse]))
)

/**
 * Errors for other numbers, by the class of the SQLSTATE (its first two characters). Triggers and routines cause 02,
 * 20, 21, 24, 2F, 0K and 45; XA is a transaction that was rolled back.
 */
const byClass = new Map<string, Refuse>([
  ...['02', '0K', '20', '21', '23', '24', '2F', '44', '45'].map((each): [string, Refuse] => [each, raised]),
  ['08', lostBehind],
  ['0A', cannot],
  ['22', () => valueOutOfRange()],
  ...['25', '28', '53', '57'].map((each): [string, Refuse] => [each, () => databaseUnavailable()]),
  ['40', () => deadlock()],
  [
    '42',
    (statement, error) =>
      statement.readsView === true || firesTrigger(statement)
        ? staleCatalog(statement, error)
        : new UnknownDatabaseError(numberOf(error))
  ],
  ['54', cannot],
  ['70', () => queryTimeout()],
  ['XA', () => deadlock()]
])

/** SIGNAL may set any number, but its class for user exceptions shows that the number is not one of the server. */
const SIGNAL = 1644
const isSignal = ({ sqlState = '' }: MysqlError): boolean => sqlState.startsWith('45')
const numberOf = (error: MysqlError): number => isSignal(error) ? SIGNAL : error.errno ?? 0

/** The server ends the connection of a running statement. */
const CONNECTION_ENDED = new Set([1053, 1077, 1927, 4031])

/**
 * A server has no parser for the text of a search, or too little memory: a mistake in the operators of InnoDB, too many
 * parentheses (MariaDB, MySQL), too many words.
 */
const REFUSED_TEXTS = new Set([1064, 128, 209, 191])

/** Every number with an entry of its own, as listed in docs/internals/server-errors.md. */
export const knownNumbers: ReadonlySet<number> = new Set([...byNumber.keys(), ...CONNECTION_ENDED])

/** Whether the connection ended while the statement ran, so that the outcome of a write is unknown. */
export function isLost (error: MysqlError): boolean {
  // mysql2 has no name, and so no code, for some numbers of MariaDB
  return error.sqlState === undefined ? error.code !== undefined : CONNECTION_ENDED.has(numberOf(error))
}

/** mysql2 found the connection closed before it sent anything. */
export const wasNotSent = ({ sqlState, code, fatal }: MysqlError): boolean =>
  sqlState === undefined && code === undefined && fatal === true

/** Converts an error without a code: only a closed connection is expected. */
export const ofClosed = (error: MysqlError): Error => wasNotSent(error) ? databaseUnavailable() : error

/** A plugin, such as Group Replication, has refused the COMMIT (ER_RUN_HOOK_ERROR). */
export const isRefusedByPlugin = ({ errno }: MysqlError): boolean => errno === 3100

/** A function that a view calls writes or locks rows. */
export const isReadOnlyTransaction = ({ errno }: MysqlError): boolean => errno === 1792

export const isNotHere = (error: MysqlError): boolean => NOT_HERE.has(numberOf(error))

/** The binary log has statements, which InnoDB does not write at READ COMMITTED; the statement was not run. */
export const isLogOfStatements = (error: MysqlError): boolean => numberOf(error) === 1665

/** The server, or the account, has its maximum number of connections. */
const CROWDED = new Set([1040, 1203, 1226])
export const isCrowded = ({ errno = 0 }: MysqlError): boolean => CROWDED.has(errno)

/** Returns a ServiceError or StaleCatalog; any other error is a bug. */
export function toServiceError (error: MysqlError, statement: Statement): Error {
  if (isLost(error)) {
    return withReason(statement.verb === 'select' ? databaseUnavailable() : outcomeUnknown(), nameOf(error))
  }
  if (error.sqlState === undefined) return ofClosed(error)
  if (statement.textPath !== undefined && REFUSED_TEXTS.has(numberOf(error))) return textRefused(statement.textPath)
  const refuse = byNumber.get(numberOf(error)) ?? byClass.get(error.sqlState.slice(0, 2)) ?? cannot
  const refusal = aboutItself(refuse(statement, error), statement, error)
  if (mayHaveChanged(statement, numberOf(error), refusal)) {
    return withReason(changedInPart(statement.table), nameOf(error))
  }
  return refusal instanceof ServiceError ? withReason(refusal, nameOf(error)) : refusal
}

/** A statement about no table violates nothing and lacks nothing: the server does not take it. */
function aboutItself (refusal: Error, statement: Statement, error: MysqlError): Error {
  const isKept = isTrouble(refusal as ServiceError) || (refusal as ServiceError).code === 'PERMISSION_DENIED'
  return statement.does === undefined || isKept ? refusal : cannot(statement, error)
}

/** The error for a statement that has exceeded its time limit. Without transactions, its rows remain. */
export function toTimeout ({ verb, table }: Statement): ServiceError {
  return verb === 'select' || table.transactional ? queryTimeout() : changedInPart(table)
}

function changedInPart ({ name }: Table): ServiceError {
  return withDetails(outcomeUnknown(), {
    path: '',
    message: `the engine of table "${name}" has no transactions: what was written before the failure stays`
  })
}

/**
 * Whether the error would mean that rows may have been changed, if the engine of the table has lost its transactions
 * since the catalog was read.
 */
export function changesIfRebuilt (error: MysqlError, statement: Statement): boolean {
  const { verb, table } = statement
  return verb !== 'select' && table.kind === 'table' && table.transactional && error.sqlState !== undefined &&
    (toServiceError(error, rebuilt(statement)) as Partial<ServiceError>).code === 'OUTCOME_UNKNOWN'
}

/** A statement whose table has no transactions. */
export const rebuilt = (statement: Statement): Statement =>
  ({ ...statement, table: { ...statement.table, transactional: false } })

/** Errors that occur before the first row is changed, unless a trigger raises them. */
const BEFORE_ROWS = new Set([...MISSING, REBUILT, ...DENIED, ...ENGINE_CANNOT, ...LOCKED, PACKET])

/**
 * The engine cannot roll back: a row is stored before AFTER triggers run, and others may be changed before the one that
 * fails.
 */
function mayHaveChanged (
  { verb, table, isUpsert = false, isSingle = false, rows = 1 }: Statement,
  number: number,
  refusal: Error
): boolean {
  if (verb === 'select' || table.transactional || NOT_HERE.has(number)) return false
  if (mayFire(table, verb, verb === 'insert' ? 'after' : undefined) || (isUpsert && mayFire(table, 'update'))) {
    return true
  }
  if (BEFORE_ROWS.has(number)) return false
  if (verb === 'insert' ? rows > 1 : !isSingle) return true
  return !((verb === 'insert' && number === FULL) || refusesRow(refusal))
}

/** From here MariaDB and MySQL number their errors differently. mysql2 has the names of MySQL. */
const OWN_NUMBERS = 1900
const MARIADB_NAMES: ReadonlyMap<number, string> = new Map([
  [1927, 'ER_CONNECTION_KILLED'],
  [1932, 'ER_NO_SUCH_TABLE_IN_ENGINE'],
  [1969, 'ER_STATEMENT_TIMEOUT'],
  [4025, 'ER_CONSTRAINT_FAILED'],
  [4084, 'ER_SEQUENCE_RUN_OUT'],
  [4091, 'ER_UNKNOWN_SEQUENCES']
])

/** An error that has no name there gets none. */
export function namedByMariadb (error: MysqlError): MysqlError {
  const { errno = 0, sqlState } = error
  if (sqlState === undefined || errno < OWN_NUMBERS) return error
  const name = MARIADB_NAMES.get(errno)
  if (name === undefined) delete error.code
  else error.code = name
  return error
}

const OTHER_HOSTGROUP = 'PROXYSQL_HOSTGROUP: a rule of ProxySQL sends this statement to another hostgroup than that ' +
  'to which the settings bind the session'

/** MariaDB has errors that mysql2 has no names for. */
function nameOf ({ code, errno, message }: MysqlError): string {
  if (errno === 9006 && message.startsWith('ProxySQL')) return OTHER_HOSTGROUP
  return code === undefined || code === 'UNKNOWN_CODE_PLEASE_REPORT' ? `errno ${errno}` : code
}

/** Their message begins with the name of the missing object; without 1449, which names an account. */
const NAMES_MISSING = new Set([1054, ...NO_TABLE, 1305, 1356])

/** A trigger that raises such an error itself may write any text. */
const PLAIN_NAME = /^[\w$.-]{1,200}$/

/** `shop.audit`. */
function missingIn (error: MysqlError): string | undefined {
  return NAMES_MISSING.has(numberOf(error))
    ? /^[^']*'([^']+)'|^\w+ ([\w$.-]+) /
      .exec(error.message)
      ?.slice(1)
      .find((name) => name !== undefined)
    : undefined
}

/** MySQL has other errors with these numbers, none of them of a login. */
const MARIADB_LOGINS: ReadonlyMap<number, string> = new Map([
  [4150, 'ER_USER_IS_BLOCKED'],
  [4151, 'ER_ACCOUNT_HAS_BEEN_LOCKED']
])

/** There is no connection, or none with the required session; nothing was sent. */
export function toConnectError ({ code, errno = 0 }: Pick<MysqlError, 'code' | 'errno'>): ServiceError {
  return withReason(databaseUnavailable(), MARIADB_LOGINS.get(errno) ?? code)
}

/**
 * Reads `Duplicate entry '…' for key 'customers.email'`. MariaDB does not name the table, so no key is named if a
 * trigger may have written another table. Entry and key may contain quotes.
 */
function uniqueKeyIn (message: string, statement: Statement): Key | undefined {
  const { name: table, uniqueKeys } = statement.table
  const isOnlyTable = !firesTrigger(statement)
  return uniqueKeys.find(
    ({ name }) => message.endsWith(` '${table}.${name}'`) || (isOnlyTable && message.endsWith(` '${name}'`))
  )
}

/** A row without a number got the last one, which MySQL gives again. */
function isLastNumber (statement: Statement, message: string): boolean {
  const { verb, assigned } = statement
  const table = baseTable(statement.table)
  const { identity } = table
  if (verb !== 'insert' || identity?.autoIncrement !== true || mayFillColumns(table) || assigned.includes(identity)) {
    return false
  }
  if (uniqueKeyIn(message, { ...statement, table })?.columns.includes(identity.name) !== true) return false
  const [, entry = ''] = /'([^']*)'/.exec(message) ?? []
  return Array.from(entry.matchAll(/\d+/g)).some(([digits]) => !isNumberOf(identity, String(BigInt(digits) + 1n)))
}

function isNumberOf ({ type }: Column, digits: string): boolean {
  try {
    type.read(digits)
    return true
  } catch {
    return false
  }
}

/**
 * Reads `… for column 'price' at row 1`, or MariaDB's `… for column `shop`.`orders`.`price` at row 1`, where a value
 * may stand before that. No column that the client has not sent or does not see, or that a trigger may have written.
 */
function columnIn (message: string, statement: Statement): Column | undefined {
  if (firesTrigger(statement)) return undefined
  const { table, assigned } = statement
  const text = message.replace(/ at row \d+$/, '')
  const isNamed = ({ name }: Column): boolean =>
    text.endsWith(` for column '${name}'`) ||
    [[table.name, name], [table.name, name].map(doubled)].some(([of, column]) =>
      text.endsWith(`.\`${of}\`.\`${column}\``)
    )
  // a name may end like the text before another name
  const [found] = assigned.filter(isNamed).sort((one, other) => other.name.length - one.name.length)
  return found !== undefined && table.columns.has(found.name) ? found : undefined
}

/**
 * Reads `… (`shop`.`orders`, CONSTRAINT `orders_customer` FOREIGN KEY (…`, which contains no values of rows. A backtick
 * in a name is as it is, or doubled since MariaDB 10.11.19.
 */
function foreignKeysIn (message: string, { name: table, foreignKeys, outerKeys = [] }: Table): ForeignKey[] {
  return [...foreignKeys, ...outerKeys].filter(({ name }) =>
    [[table, name], [table, name].map(doubled)].some(([of, key]) =>
      message.includes(`.\`${of}\`, CONSTRAINT \`${key}\` FOREIGN KEY `)
    )
  )
}

/**
 * Reads the key of a row that refers to another one from such a message. A key of another database has the name of this
 * one before the name of the table.
 */
function referringKeyIn (message: string): { readonly table: string, readonly name: string } | undefined {
  const [, table, name] = REFERRING.exec(message) ?? []
  return table === undefined || name === undefined ? undefined : { table, name }
}

const REFERRING = /\(`[^`]+`\.`([^`]+)`, CONSTRAINT `([^`]+)` FOREIGN KEY \([^()]+\) REFERENCES `[^`]+` \(/

const doubled = (name: string): string => name.replaceAll('`', '``')

/**
 * Reads MySQL's `Check constraint 'positive' is violated.` or MariaDB's `CONSTRAINT `orders.total` failed for
 * `shop`.`orders``, with the table before the point only for a check of a column.
 */
function checkIn (message: string, { name: table, checks }: Table): Check | undefined {
  return checks.find(({ name }) => {
    if (message.includes(` '${name}' `)) return true
    return (
      message.endsWith(`.\`${doubled(table)}\``) &&
      [name, `${table}.${name}`].some((text) => message.includes(` \`${doubled(text)}\` `))
    )
  })
}
