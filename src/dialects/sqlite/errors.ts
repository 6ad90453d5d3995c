/** SQLite's extended result codes (https://www.sqlite.org/rescode.html) as refusals. */
import type { Key, Table } from '../../catalog/catalog.ts'
import { checkViolation, databaseUnavailable, lockTimeout, notNullViolation, valueOutOfRange, withReason, type ServiceError } from '../../errors.ts'
import type { Plan } from '../../plan/plan.ts'
import { SchemaMoved, UnknownDatabaseError } from '../dialect.ts'
import { foreignKeysWritten, noReferencedRow, rowIsReferenced, uniqueViolationOf } from '../violations.ts'

export interface SqliteError extends Error { errcode?: number, errstr?: string }
type Refuse = (plan: Plan, message: string) => ServiceError

const unique: Refuse = ({ table }, message) => uniqueViolationOf(uniqueKeyIn(message, table))

/** SQLite says neither which foreign key it was nor on which side: keys that the statement writes are the likely ones. */
const foreignKey: Refuse = (plan) => {
  const written = foreignKeysWritten(plan)
  return written.length > 0 ? noReferencedRow(written) : rowIsReferenced()
}

/** A trigger's own exception, or what SQLite makes of ON DELETE RESTRICT and ON UPDATE RESTRICT. */
const raised: Refuse = (_plan, message) => message === 'FOREIGN KEY constraint failed' ? rowIsReferenced() : checkViolation()

const byCode = new Map<number, Refuse>([
  [2067, unique],
  [1555, unique],
  [2579, unique],
  [787, foreignKey],
  [1299, notNullViolation],
  [275, checkViolation],
  [1811, raised],
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

/** A pattern of more than 50,000 bytes (https://www.sqlite.org/limits.html, "Maximum Length Of A LIKE Or GLOB Pattern"). */
const TOO_COMPLEX = 'LIKE or GLOB pattern too complex'

/** What an error of SQLite's means for the client. */
export function toServiceError (error: SqliteError, plan: Plan): Error {
  const { errcode, message } = error
  if (errcode === undefined) return error
  if (errcode === 1 && message === TOO_COMPLEX) return valueOutOfRange()
  if (errcode === 1 && /^no such (table|column)|has no column/.test(message)) return new SchemaMoved()
  const refuse = byCode.get(errcode) ?? byPrimaryCode.get(errcode & 0xff)
  return refuse?.(plan, message) ?? new UnknownDatabaseError(errcode)
}

/** The file cannot be read; SQLite's name for it is the same for every file. What is no error of SQLite's is a bug. */
export function toReadError (error: SqliteError): Error {
  return error.errcode === undefined ? error : withReason(databaseUnavailable(), error.errstr)
}

/** `UNIQUE constraint failed: customers.email, customers.name` names columns only, or `index 'name'` where there are expressions. */
function uniqueKeyIn (message: string, { name: table, uniqueKeys }: Table): Key | undefined {
  return uniqueKeys.find(({ name, columns }) => message.endsWith(`: ${columns.map((column) => `${table}.${column}`).join(', ')}`) || message.endsWith(`: index '${name}'`))
}
