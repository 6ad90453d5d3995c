/** SQLite's extended result codes (https://www.sqlite.org/rescode.html) as refusals. */
import type { Table } from '../../catalog/catalog.ts'
import { checkViolation, databaseUnavailable, lockTimeout, notNullViolation, valueOutOfRange, type ServiceError } from '../../errors.ts'
import { SchemaMoved, UnknownDatabaseError } from '../dialect.ts'
import { foreignKeyViolationOf, uniqueViolationOf } from '../violations.ts'

interface SqliteError extends Error { errcode?: number }
type Refuse = (table: Table, message: string) => ServiceError

const unique: Refuse = (table, message) => uniqueViolationOf(table, { columns: columnsOf(message) })

const byCode = new Map<number, Refuse>([
  [2067, unique],
  [1555, unique],
  [2579, unique],
  [787, (table) => foreignKeyViolationOf(table, undefined)],
  [1299, notNullViolation],
  [275, checkViolation],
  [1811, checkViolation],
  [3091, valueOutOfRange],
  [20, valueOutOfRange],
  [18, valueOutOfRange]
])

/** The same by the primary code, which is the low byte. */
const byPrimaryCode = new Map<number, Refuse>([
  [5, lockTimeout],
  [6, lockTimeout],
  [7, databaseUnavailable],
  [8, databaseUnavailable],
  [10, databaseUnavailable],
  [11, databaseUnavailable],
  [13, databaseUnavailable],
  [14, databaseUnavailable],
  [26, databaseUnavailable]
])

/** What an error of SQLite's means for the client. */
export function toServiceError (error: SqliteError, table: Table): Error {
  const { errcode, message } = error
  if (errcode === undefined) return error
  if (errcode === 1 && /^no such (table|column)|has no column/.test(message)) return new SchemaMoved()
  const refuse = byCode.get(errcode) ?? byPrimaryCode.get(errcode & 0xff)
  return refuse?.(table, message) ?? new UnknownDatabaseError(errcode)
}

/** `UNIQUE constraint failed: customers.email, customers.name` names columns only. */
function columnsOf (message: string): string[] | undefined {
  return message.split(': ')[1]?.split(', ').map((name) => name.slice(name.indexOf('.') + 1))
}
