/** Errors of MySQL and MariaDB as refusals, by number (https://dev.mysql.com/doc/mysql-errors/en/server-error-reference.html). */
import type { ForeignKey, Key, Table } from '../../catalog/catalog.ts'
import {
  checkViolation, databaseUnavailable, deadlock, lockTimeout, notNullViolation, outcomeUnknown, permissionDenied, queryTimeout,
  valueOutOfRange, ServiceError, withReason
} from '../../errors.ts'
import type { Plan } from '../../plan/plan.ts'
import { SchemaMoved, UnknownDatabaseError } from '../dialect.ts'
import { noReferencedRow, notNullViolationOf, rowIsReferenced, uniqueViolationOf } from '../violations.ts'

/** What mysql2 gives: a server's error has a number, one of the connection a code alone. */
export interface MysqlError extends Error { errno?: number, code?: string, sqlState?: string, fatal?: boolean }

type Refuse = (table: Table, message: string, plan: Plan) => Error

/** The account may not do it; the table's name is the client's own. */
const accountDenied: Refuse = (table) => permissionDenied(`The service's database account may not do this on "${table.name}"`)
const moved: Refuse = () => new SchemaMoved()

const refusals: ReadonlyArray<readonly [Refuse, readonly number[]]> = [
  [(table, message) => uniqueViolationOf(uniqueKeyIn(message, table)), [1022, 1062, 1169, 1586, 1859]],
  [(table, message) => noReferencedRow(foreignKeysIn(message, table)), [1216, 1452]],
  [rowIsReferenced, [1217, 1451, 1761, 1762]],
  [() => notNullViolation(), [1048, 1263]],
  [(_table, message, plan) => notNullViolationOf(plan, (column) => message.startsWith(`Field '${column}' `)), [1364]],
  [() => checkViolation(), [1369, 1442, 1526, 1644, 3819, 4025]],
  [() => valueOutOfRange(), [1153, 1264, 1265, 1267, 1270, 1271, 1292, 1300, 1366, 1367, 1406, 1411, 1416, 1436, 1441, 1690, 3140, 3854]],
  [() => deadlock(), [1180, 1213, 1614, 3101]],
  [() => lockTimeout(), [1205, 3572]],
  [() => queryTimeout(), [1028, 1317, 1969, 3024]],
  [moved, [1051, 1054, 1109, 1146, 1305, 1356, 1412, 1449]],
  [accountDenied, [1142, 1143, 1227, 1370]],
  [() => databaseUnavailable(), [
    1021, 1023, 1024, 1026, 1030, 1037, 1038, 1040, 1041, 1044, 1045, 1047, 1049, 1053, 1077, 1114, 1129, 1130, 1135, 1158, 1159, 1160, 1161,
    1194, 1195, 1203, 1206, 1223, 1226, 1290, 1298, 1792, 1820, 1836, 1862, 1927, 3032, 3100, 3159, 4031
  ]]
]

const byNumber = new Map(refusals.flatMap(([refuse, numbers]) => numbers.map((number): [number, Refuse] => [number, refuse])))

/** What a server says when it ends the connection under the statement. */
const CONNECTION_ENDED = new Set([1053, 1077, 1927, 4031])

/** The connection ended under the statement: killed, shut down, or cut. Whether a write ran is then unknown. */
export function isLost ({ sqlState, errno = 0, code }: MysqlError): boolean {
  const answered = sqlState !== undefined && !CONNECTION_ENDED.has(errno)
  return !answered && code !== undefined
}

/** mysql2 found the connection closed before it sent anything. */
export const wasNotSent = ({ sqlState, code, fatal }: MysqlError): boolean => sqlState === undefined && code === undefined && fatal === true

/** Read-only, or not in its cluster: nothing ran, and another server may take it. */
const NOT_HERE = new Set([1047, 1290, 1792, 1836])
export const isNotHere = ({ errno = 0 }: MysqlError): boolean => NOT_HERE.has(errno)

/** The server, or our account, has as many connections as it may have. */
const CROWDED = new Set([1040, 1203, 1226])
export const isCrowded = ({ errno = 0 }: MysqlError): boolean => CROWDED.has(errno)

/** What an error of a statement means for the client. */
export function toServiceError (error: MysqlError, plan: Plan): Error {
  const { table, verb } = plan
  if (isLost(error)) return withReason(verb === 'select' ? databaseUnavailable() : outcomeUnknown(), error.code)
  if (error.sqlState === undefined) return wasNotSent(error) ? databaseUnavailable() : error
  const refuse = byNumber.get(error.errno as number) ?? bySqlState(error.sqlState)
  if (refuse === undefined) return new UnknownDatabaseError(error.errno as number)
  const refusal = refuse(table, error.message, plan)
  return refusal instanceof ServiceError ? withReason(refusal, error.code) : refusal
}

/** Class 22 is a value's fault, 23 a constraint's, 45 an exception that a trigger raises (SQL standard, SQLSTATE classes). */
function bySqlState (state = ''): Refuse | undefined {
  if (state.startsWith('22')) return () => valueOutOfRange()
  if (state.startsWith('23') || state.startsWith('45')) return () => checkViolation()
  return undefined
}

/** No connection, or none with the session as we need it: nothing was sent, whatever the reason. */
export function toConnectError (error: { code?: string | undefined }): ServiceError {
  return withReason(databaseUnavailable(), error.code)
}

/** `Duplicate entry '…' for key 'customers.email'`: MySQL puts the table before the key, MariaDB does not. Entry and key may hold quotes. */
function uniqueKeyIn (message: string, { name: table, uniqueKeys }: Table): Key | undefined {
  return uniqueKeys.find(({ name }) => message.endsWith(` '${name}'`) || message.endsWith(` '${table}.${name}'`))
}

/**
 * `… CONSTRAINT `orders_customer` FOREIGN KEY (…`, a backtick in the name as it is, or doubled since MariaDB 10.11.19; no value
 * of a row stands in this message.
 */
function foreignKeysIn (message: string, { foreignKeys }: Table): ForeignKey[] {
  return foreignKeys.filter(({ name }) => [name, name.replaceAll('`', '``')].some((text) => message.includes(` CONSTRAINT \`${text}\` FOREIGN KEY `)))
}
