/**
 * Finds the foreign key that COMMIT has refused. SQLite only reports that there is one, because it counts the keys that are checked at COMMIT
 * (`deferrable initially deferred`) over all statements of the transaction.
 */
import { baseTable, type ForeignKey } from '../../catalog/catalog.ts'
import { foreignKeyViolation, type ServiceError } from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import { firesTrigger, foreignKeysWritten, noReferencedRow, rowIsReferenced } from '../violations.ts'
import type { Session } from './session.ts'
import { quoted } from './statements.ts'

/** Maximum number of statements that are kept, and of values that are looked up. */
export const MAX_STATEMENTS = 100
export const MAX_LOOKUPS = 1000

/** The writes of a transaction that may be the reason why COMMIT fails. */
export class Writes {
  /** The statements that write foreign keys, with their index among all statements of the transaction. */
  readonly #writing: Array<{ readonly statement: Statement, readonly place: number }> = []
  /** The only write, if there is only one. */
  #only: Statement | undefined
  #count = 0
  /** The tables with changed or deleted rows, and the index of the last statement that changed them. */
  readonly #changed = new Map<string, number>()

  add (statement: Statement, place: number): void {
    if (statement.verb === 'select') return
    this.#only = this.#count++ === 0 ? statement : undefined
    if (statement.verb !== 'insert' || statement.isUpsert === true) this.#changed.set(statement.table.name, place)
    if (this.#writing.length < MAX_STATEMENTS && baseTable(statement.table).foreignKeys.length > 0) this.#writing.push({ statement, place })
  }

  /**
   * Asks the session, whose transaction is still open with the written rows. @returns FOREIGN_KEY_VIOLATION with the index of its statement and, for a
   * list, the row if it is known; without details if no key is certain. @throws as Session.ask
   */
  async findBroken (session: Session): Promise<ServiceError> {
    const lookups = { left: MAX_LOOKUPS }
    for (const { statement, place } of this.#writing) {
      for (const [row, parameters] of rowsOf(statement).entries()) {
        for (const key of foreignKeysWritten({ ...statement, parameters })) {
          if (!await isBroken(session, { key, statement, parameters }, lookups)) continue
          // the referenced row may have existed when the key was written
          if ((this.#changed.get(key.referencedTable) ?? place) > place) return foreignKeyViolation()
          const refusal = noReferencedRow(statement.table.foreignKeys.includes(key) ? [key] : [])
          return Object.assign(refusal, { statement: place }, statement.rows !== undefined && { row })
        }
      }
    }
    const only = this.#only
    if (only === undefined || only.verb === 'insert' || firesTrigger(only) || foreignKeysWritten(only).length > 0) return foreignKeyViolation()
    return rowIsReferenced(true)
  }
}

/** The parameters of each row that a statement writes. */
function rowsOf ({ rows, assigned: { length }, parameters }: Statement): ReadonlyArray<Statement['parameters']> {
  return rows === undefined ? [parameters] : Array.from({ length: rows }, (_, row) => parameters.slice(row * length, (row + 1) * length))
}

interface Written { readonly key: ForeignKey, readonly statement: Statement, readonly parameters: Statement['parameters'] }

/** Whether a row has the values that a statement wrote to the columns of the key, and no row exists that the key could refer to. */
async function isBroken (session: Session, { key: { columns, referencedTable, referencedColumns }, statement: { table, assigned }, parameters }: Written, lookups: { left: number }): Promise<boolean> {
  const values = columns.map((name) => parameters[assigned.findIndex((column) => column.name === name)])
  if (values.some((value) => value === undefined || value === null) || referencedColumns.length !== columns.length || lookups.left-- <= 0) return false
  const exists = (name: string, named: readonly string[]): string => `exists (select 1 from ${quoted(name)} where ${named.map((column) => `${quoted(column)} = ?`).join(' and ')})`
  const sql = `select case when ${exists(referencedTable, referencedColumns)} then 0 else ${exists(table.name, columns)} end`
  let broken = false
  await session.read({ sql, parameters: [...values, ...values], limit: Infinity }, ([is]) => {
    broken = is === 1n
    return true
  })
  return broken
}
