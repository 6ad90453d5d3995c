/** SQLite's extended result codes (https://www.sqlite.org/rescode.html). */
import type { Check, Key } from '../../catalog/catalog.ts'
import {
  checkViolation, databaseUnavailable, lockTimeout, notNullViolation, permissionDenied, statementTooLarge,
  textRefused, valueOutOfRange, withReason, ServiceError
} from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import {
  StaleCatalog, UnknownDatabaseError, checkViolationOf, firesTrigger, foreignKeysWritten, noReferencedRow,
  rowIsReferenced, uniqueViolationOf
} from '../dialect.ts'
import { SCHEMA_CHANGED } from './protocol.ts'

/** `isRolledBack`: the transaction that was open has ended with the error. `row`: the row of a list that failed. */
export interface SqliteError extends Error { errcode?: number, errstr?: string, isRolledBack?: boolean, row?: number }
type Refuse = (statement: Statement, message: string) => ServiceError

const unique: Refuse = (statement, message) => uniqueViolationOf(uniqueKeyIn(message, statement))
const check: Refuse = (statement, message) => checkViolationOf(checkIn(message, statement))

/**
 * SQLite reports neither the foreign key, nor its table, nor the side: keys that the statement writes are the likely
 * ones, unless a trigger may have written others.
 */
const foreignKey: Refuse = (statement) => {
  if (firesTrigger(statement)) return noReferencedRow(statement.table, [])
  const written = foreignKeysWritten(statement)
  return written.length > 0
    ? noReferencedRow(statement.table, written.filter((key) => statement.table.foreignKeys.includes(key)))
    : rowIsReferenced(statement, true)
}

/** An exception of a trigger, or an error of ON DELETE RESTRICT or ON UPDATE RESTRICT. */
const raised: Refuse = (statement, message) =>
  message === 'FOREIGN KEY constraint failed' ? rowIsReferenced(statement, !firesTrigger(statement)) : checkViolation()

const byCode = new Map<number, Refuse>([
  [2067, unique],
  [1555, unique],
  [2579, unique],
  [787, foreignKey],
  [1299, notNullViolation],
  [275, check],
  [1811, raised],
  [3091, valueOutOfRange],
  [20, valueOutOfRange],
  [18, statementTooLarge]
])

/** The primary code is the low byte. */
const byPrimaryCode = new Map<number, Refuse>([
  [3, databaseUnavailable],
  [5, lockTimeout],
  [6, lockTimeout],
  [7, databaseUnavailable],
  [8, databaseUnavailable],
  [10, databaseUnavailable],
  [11, databaseUnavailable],
  [13, databaseUnavailable],
  [14, databaseUnavailable],
  [15, lockTimeout],
  [19, checkViolation],
  [22, databaseUnavailable],
  [23, () => permissionDenied('The service may not do this in the database')],
  [26, databaseUnavailable]
])

/** Syntax errors of the service itself; an invalid trigger or view would make the whole file unreadable. */
const OWN_SYNTAX = /^(?:near "|unrecognized token|incomplete input)/
/** The object is reported if it looks like a name. */
const MISSING = new RegExp(
  String.raw`^(no such (?:table|column|view)): ?([\w$.]{1,200})?|has no column|has \d+ columns but|` +
    'ON CONFLICT clause does not match'
)
/** The service never names the object, or a definition is wrong. */
const DEFINED = new RegExp(
  [
    String.raw`^(no such (?:function|module|collation sequence)|unknown function): ?([\w$.]{1,200})?`,
    // a table WITHOUT ROWID whose key needs a collation that another program defines
    '^no query solution',
    '^foreign key mismatch|^wrong number of arguments to function|^unsafe use of|^misuse of|^ambiguous column ' +
    'name|^sub-select returns',
    String.raw`^(?:view|table) [\w$.]{1,200} (?:is circularly defined|may not be modified)`,
    String.raw`^cannot modify|^expected \d+ columns for`
  ].join('|')
)

/** Finds the name in `no such column: t.c` or `table t has no column named c`. */
const NAMED = /(?:^no such (?:table|column|view): |has no column named )(.+)$/

/** Any other error than SQLite's is returned as it is. */
export function toServiceError (error: SqliteError, statement: Statement): Error {
  const { row } = error
  if (row === undefined) return toError(error, statement)
  const cells = statement.assigned.length
  const refusal = toError(error, {
    ...statement,
    parameters: statement.parameters.slice(row * cells, (row + 1) * cells)
  })
  return refusal instanceof ServiceError ? Object.assign(refusal, { row }) : refusal
}

function toError (error: SqliteError, statement: Statement): Error {
  const { errcode, message } = error
  if (errcode === undefined) return error
  if (statement.textPath !== undefined && message.startsWith('fts5: ')) return textRefused(statement.textPath)
  if (isLogicError(error)) return toLogicError(message, statement)
  if (errcode === SCHEMA_CHANGED) return new StaleCatalog(undefined, { isRebuilt: true, isUndone: true })
  const refuse = byCode.get(errcode) ?? byPrimaryCode.get(errcode & 0xff)
  return refuse?.(statement, message) ?? new UnknownDatabaseError(errcode)
}

/** Whether a statement is wrong, with the extended codes of SQLITE_ERROR. */
export const isLogicError = ({ errcode = 0 }: SqliteError): boolean => (errcode & 0xff) === 1

/** Distinguishes errors by their message, because SQLite has one code for all of them. */
function toLogicError (message: string, statement: Statement): Error {
  if (DEFINED.test(message)) return new StaleCatalog(reasonOf(message), { isElsewhere: true })
  const [found, what, name] = MISSING.exec(message) ?? []
  if (found !== undefined) {
    const { table } = statement
    const isOther = name !== table.name && name !== `main.${table.name}`
    // the statement of a plain table may name its own columns, and a foreign key of it another table
    const isOfKey = what === 'no such table' && name !== undefined
    const isElsewhere = isOther && (isOfKey || statement.readsView === true || firesTrigger(statement))
    return new StaleCatalog(reasonOf(message), { isElsewhere, missing: NAMED.exec(message)?.[1] })
  }
  return OWN_SYNTAX.test(message) ? new UnknownDatabaseError(1) : valueOutOfRange()
}

/** What the log may say about a definition: SQLite's text as far as it is fixed, and a name that looks like one. */
export function reasonOf (message: string): string {
  const [found = 'SQLITE_ERROR', what = found, name] = DEFINED.exec(message) ?? MISSING.exec(message) ?? []
  return name === undefined ? what : `${what}: ${name}`
}

/** The file cannot be read. Any other error is a bug. */
export function toReadError (error: SqliteError): Error {
  return error.errcode === undefined ? error : withReason(databaseUnavailable(), error.errstr)
}

/**
 * Reads `UNIQUE constraint failed: customers.email, customers.name`, which names only columns, or `index 'name'` for an
 * index with expressions, whose name is unique in the file.
 */
function uniqueKeyIn (message: string, { table: { name: table, uniqueKeys } }: Statement): Key | undefined {
  return uniqueKeys.find(
    ({ name, columns }) =>
      message.endsWith(`: ${columns.map((column) => `${table}.${column}`).join(', ')}`) ||
      message.endsWith(`: index '${name}'`)
  )
}

/** Reads `CHECK constraint failed: name`, for any table; a check without a name is reported by its expression. */
function checkIn (message: string, statement: Statement): Check | undefined {
  return firesTrigger(statement) ? undefined : statement.table.checks.find(({ name }) => message.endsWith(`: ${name}`))
}
