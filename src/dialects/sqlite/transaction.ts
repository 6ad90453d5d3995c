import { baseTable, type ForeignKey } from '../../catalog/catalog.ts'
import { foreignKeyViolation, outcomeUnknown, ServiceError, withDetails } from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import {
  type Client, isRefusal, type StatementResult, type RowSink, type Transaction, type TransactionOptions, firesTrigger,
  foreignKeysWritten, noReferencedRow, rowIsReferenced
} from '../dialect.ts'
import { CommandQueue, controlStatement, createTransaction, type Savepoints } from '../transaction-commands.ts'
import { type SqliteError, toServiceError } from './errors.ts'
import type { TransactionOrder } from './protocol.ts'
import type { Session } from './session.ts'
import { quoted, runSelect, runWrite } from './statements.ts'

// Finds the foreign key that COMMIT has refused. SQLite only reports that there is one, because it counts the keys that
// are checked at COMMIT (`deferrable initially deferred`) over all statements of the transaction.

/** Statements that are remembered, and values that are looked up. */
const MAX_STATEMENTS = 100
const MAX_LOOKUPS = 1000

/** The writes of a transaction that may be the reason why COMMIT fails. */
export class Writes {
  /** The statements that write foreign keys, with their index among all statements of the transaction. */
  readonly #writing: Array<{ readonly statement: Statement, readonly index: number }> = []
  #only: Statement | undefined
  #count = 0
  /** The last statement that changed or deleted rows of each table. */
  readonly #changed = new Map<string, number>()

  add (statement: Statement, index: number): void {
    if (statement.verb === 'select') return
    this.#only = this.#count++ === 0 ? statement : undefined
    if (statement.verb !== 'insert' || statement.isUpsert === true) this.#changed.set(statement.table.name, index)
    if (this.#writing.length < MAX_STATEMENTS && baseTable(statement.table).foreignKeys.length > 0) {
      this.#writing.push({ statement, index })
    }
  }

  /**
   * Asks the session, whose transaction is still open with the written rows. @returns FOREIGN_KEY_VIOLATION with the
   * index of its statement and, for a list, the row if it is known; without details if no key is certain. @throws as
   * Session.ask
   */
  async findBroken (session: Session): Promise<ServiceError> {
    const lookups = { remaining: MAX_LOOKUPS }
    for (const { statement, index } of this.#writing) {
      for (const [row, parameters] of rowsOf(statement).entries()) {
        for (const key of foreignKeysWritten({ ...statement, parameters })) {
          if (!await isBroken(session, { key, statement, parameters }, lookups)) continue
          // the referenced row may have existed when the key was written
          if ((this.#changed.get(key.referencedTable) ?? index) > index) return foreignKeyViolation()
          const refusal = noReferencedRow(statement.table, statement.table.foreignKeys.includes(key) ? [key] : [])
          return Object.assign(refusal, { statement: index }, statement.rows !== undefined && { row })
        }
      }
    }
    const only = this.#only
    if (only === undefined || only.verb === 'insert' || firesTrigger(only) || foreignKeysWritten(only).length > 0) {
      return foreignKeyViolation()
    }
    return rowIsReferenced(only, true)
  }
}

function rowsOf ({ rows, assigned: { length }, parameters }: Statement): ReadonlyArray<Statement['parameters']> {
  return rows === undefined
    ? [parameters]
    : Array.from({ length: rows }, (_, row) => parameters.slice(row * length, (row + 1) * length))
}

/** The row has the values that a statement wrote to the key, and no row exists that it could refer to. */
async function isBroken (
  session: Session,
  {
    key: { columns, referencedTable, referencedColumns },
    statement: { table, assigned },
    parameters
  }: { readonly key: ForeignKey; readonly statement: Statement; readonly parameters: Statement['parameters'] },
  lookups: { remaining: number }
): Promise<boolean> {
  const values = columns.map((name) => parameters[assigned.findIndex((column) => column.name === name)])
  if (
    values.some((value) => value === undefined || value === null) ||
    referencedColumns.length !== columns.length ||
    lookups.remaining-- <= 0
  ) { return false }
  const exists = (name: string, named: readonly string[]): string =>
    `exists (select 1 from ${quoted(name)} where ${named.map((column) => `${quoted(column)} = ?`).join(' and ')})`
  const sql = `select case when ${exists(referencedTable, referencedColumns)} then 0 else ` +
    `${exists(table.name, columns)} end`
  let broken = false
  await session.read({ sql, parameters: [...values, ...values], limit: Infinity }, ([is]) => {
    broken = is === 1n
    return true
  })
  return broken
}

/** SQLITE_CONSTRAINT_FOREIGNKEY */
const BROKEN_KEY = 787

const ROLLBACK = { kind: 'transaction', sql: 'rollback' } as const

/**
 * Applies a time limit to `work`: ends the process of the session, and with it the transaction. @throws QUERY_TIMEOUT;
 * what `work` throws
 */
export type Limit = <T>(
  session: Session,
  client: Client | undefined,
  work: () => Promise<T>,
  /** That of a statement if omitted. */
  milliseconds?: number
) => Promise<T>

interface Commit {
  readonly session: Session
  readonly limit: Limit
  /** The writes of the transaction; undefined if an error must not describe them. */
  readonly writes: Writes | undefined
  readonly dryRun?: boolean
}

/**
 * COMMIT has its own time limit and does not end if the client disconnects. After an error, it rolls back.
 * @throws FOREIGN_KEY_VIOLATION for a key that is checked at COMMIT; SqliteError; OUTCOME_UNKNOWN if the process has
 * ended
 */
export async function commit ({ session, limit, writes, dryRun = false }: Commit): Promise<void> {
  try {
    await limit(session, undefined, () =>
      session.ask(dryRun ? { kind: 'checkKeys' } : { kind: 'transaction', sql: 'commit' })
    )
  } catch (error) {
    const { errcode } = error as SqliteError
    if (errcode === undefined) throw dryRun ? error : outcomeUnknown()
    const refusal = errcode === BROKEN_KEY ? await findBroken({ session, limit, writes }) : error
    await undo(session, limit)
    throw refusal
  }
  if (dryRun) await limit(session, undefined, () => session.ask(ROLLBACK))
}

/** SQLite may already have done so, or the process may have ended. */
export async function undo (session: Session, limit: Limit): Promise<void> {
  if (!session.isLost) await limit(session, undefined, () => session.ask(ROLLBACK)).catch(() => {})
}

/** Finds the broken key; it is not named if it cannot be found in time. */
async function findBroken ({ session, limit, writes }: Omit<Commit, 'dryRun'>): Promise<ServiceError> {
  if (writes === undefined) return foreignKeyViolation()
  return await limit(session, undefined, () => writes.findBroken(session)).catch(() => foreignKeyViolation())
}

/** The statement by which errors of BEGIN, COMMIT and savepoints are described. */
const BEGIN = controlStatement('update', 'begin')

/**
 * Ignores the isolation, because SQLite's transactions are serializable: there is one writer, and a reader sees one
 * state of the file. @throws StaleCatalog; what `use` throws
 */
export async function runTransaction<T> ({
  session,
  limit,
  use,
  readOnly,
  dryRun = false,
  isShared = false,
  client,
  timeLimit
}: Omit<TransactionOptions, 'isolation' | 'consistency'> & {
  readonly session: Session
  readonly limit: Limit
  readonly use: (transaction: Transaction) => Promise<T>
}): Promise<T> {
  const queue = new CommandQueue()
  let failure: Error | undefined
  let ran = 0
  const writes = new Writes()

  const send = (sql: TransactionOrder['sql']): Promise<unknown> =>
    session.ask({ kind: 'transaction', sql }).catch((error: Error) => {
      throw toServiceError(error, BEGIN)
    })

  /** Runs a statement, or a step of the transaction itself, whose error ends it. */
  const inTurn = <R>(statement: Statement, work: () => Promise<R>): Promise<R> =>
    queue.run(async () => {
      if (failure !== undefined) throw failure
      try {
        return await work()
      } catch (error) {
        const refusal = toServiceError(error as Error, statement)
        if (statement === BEGIN || (error as SqliteError).isRolledBack === true || !isRefusal(refusal)) {
          failure ??= refusal
        }
        throw refusal
      }
    })

  const execute = async (statement: Statement, sink: RowSink | undefined): Promise<StatementResult> => {
    const index = ran++
    if (sink !== undefined) return await runSelect(session, statement, sink)
    const write = (): Promise<StatementResult> => runWrite(session, statement, false)
    const result = await (timeLimit === undefined ? write() : limit(session, undefined, write))
    writes.add(statement, index)
    return result
  }

  const script = (sql: string): Promise<unknown> => inTurn(BEGIN, () => session.ask({ kind: 'script', sql }))

  const savepoints: Savepoints = {
    isOver: () => queue.hasEnded || failure !== undefined,
    set: (name) => script(`savepoint ${name}`),
    undo: (name) => script(`rollback to ${name}; release ${name}`),
    release: (name) => script(`release ${name}`)
  }

  const transaction = createTransaction({
    attempt: 1,
    ran: () => ran,
    run: (statement, sink) => inTurn(statement, () => execute(statement, sink))
  }, savepoints)

  const useAll = async (): Promise<T> => {
    const result = await use(transaction)
    await queue.drain()
    queue.hasEnded = true
    if (failure !== undefined) throw failure
    return result
  }

  try {
    const result = await limit(session, client, async () => {
      await send(readOnly ? 'begin' : 'begin immediate')
      return await session.unlessLost(useAll())
    }, timeLimit)
    if (readOnly) await limit(session, undefined, () => send('rollback'))
    else {
      await commit({ session, limit, writes: isShared ? undefined : writes, dryRun }).catch((error: Error) => {
        throw withoutRow(toServiceError(error, BEGIN))
      })
    }
    return result
  } catch (error) {
    queue.hasEnded = true
    if (!session.isLost) {
      await queue.drain()
      await undo(session, limit)
    }
    throw error
  }
}

/** Several statements may write a list, whose rows have other indexes in `data`. */
function withoutRow (error: Error): Error {
  return error instanceof ServiceError && error.row !== undefined
    ? withDetails(error, ...error.details.map(({ message }) => ({ path: '', message })))
    : error
}
