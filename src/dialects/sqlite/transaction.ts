/** Runs a transaction in the session of a file. */
import { outcomeUnknown, ServiceError } from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import { createCommandQueue } from '../command-queue.ts'
import { controlStatement } from '../control-statement.ts'
import { keepsTransaction, type Client, type Outcome, type RowSink, type Transaction, type TransactionOptions } from '../dialect.ts'
import { toServiceError, type SqliteError } from './errors.ts'
import type { TransactionOrder } from './protocol.ts'
import type { Session } from './session.ts'
import { runSelect, runWrite } from './statements.ts'

/** Applies a time limit to `work`: ends the process of the session, and with it the transaction. @throws QUERY_TIMEOUT; what `work` throws */
export type Limit = <T>(session: Session, client: Client | undefined, work: () => Promise<T>) => Promise<T>

export interface SqliteTransaction<T> extends Pick<TransactionOptions, 'readOnly' | 'dryRun' | 'client'> {
  readonly session: Session
  readonly limit: Limit
  readonly use: (transaction: Transaction) => Promise<T>
}

/** What an error is described by before the first statement. */
const BEGIN = controlStatement('update', 'begin')

/** SQLite's transactions are serializable: there is one writer, and a reader sees one state of the file. @throws ServiceError; SchemaMoved; what `use` throws */
export async function runTransaction<T> ({ session, limit, use, readOnly, dryRun = false, client }: SqliteTransaction<T>): Promise<T> {
  const queue = createCommandQueue()
  let failure: Error | undefined
  let isClosed = false
  let last = BEGIN

  const send = (sql: TransactionOrder['sql']): Promise<unknown> => session.ask({ kind: 'transaction', sql })

  const execute = async (statement: Statement, sink: RowSink | undefined): Promise<Outcome> => {
    if (isClosed) throw new Error('The transaction has ended')
    if (failure !== undefined) throw failure
    last = statement
    try {
      return await (sink === undefined ? runWrite(session, statement, false) : runSelect(session, statement, sink))
    } catch (error) {
      const refusal = toRefusal(error as Error, statement)
      if ((error as SqliteError).isRolledBack === true || !keepsTransaction(refusal)) failure ??= refusal
      throw refusal
    }
  }

  const useAll = async (): Promise<T> => {
    const result = await use({ attempt: 1, run: (statement, sink) => queue.run(() => execute(statement, sink)) })
    await queue.drain()
    isClosed = true
    if (failure !== undefined) throw failure
    return result
  }

  try {
    const result = await limit(session, client, async () => {
      await send(readOnly ? 'begin' : 'begin immediate')
      return await Promise.race([useAll(), session.lost()])
    })
    // COMMIT has a time limit of its own
    await limit(session, undefined, () => send(readOnly || dryRun ? 'rollback' : 'commit')).catch((error: SqliteError) => {
      throw error.errcode !== undefined || readOnly || dryRun ? error : outcomeUnknown()
    })
    return result
  } catch (error) {
    isClosed = true
    if (!session.isLost) {
      await queue.drain()
      await limit(session, undefined, () => send('rollback')).catch(() => {})
    }
    throw toRefusal(error as Error, last)
  }
}

const toRefusal = (error: Error, statement: Statement): Error => error instanceof ServiceError ? error : toServiceError(error, statement)
