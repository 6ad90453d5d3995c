/** Runs a transaction in the session of a file. */
import { ServiceError, withDetails } from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import { createCommandQueue } from '../command-queue.ts'
import { controlStatement } from '../control-statement.ts'
import { isRefusal, type Outcome, type RowSink, type Transaction, type TransactionOptions } from '../dialect.ts'
import { runNested, type Savepoints } from '../nested.ts'
import { Writes } from './broken-keys.ts'
import { commit, undo, type Limit } from './commit.ts'
import { toServiceError, type SqliteError } from './errors.ts'
import type { TransactionOrder } from './protocol.ts'
import type { Session } from './session.ts'
import { runSelect, runWrite } from './statements.ts'

export interface SqliteTransaction<T> extends Pick<TransactionOptions, 'readOnly' | 'dryRun' | 'isShared' | 'client'> {
  readonly session: Session
  readonly limit: Limit
  readonly use: (transaction: Transaction) => Promise<T>
}

/** The statement by which errors of BEGIN, COMMIT and savepoints are described. */
const BEGIN = controlStatement('update', 'begin')

/** Ignores the isolation, because SQLite's transactions are serializable: there is one writer, and a reader sees one state of the file. @throws ServiceError; SchemaMoved; what `use` throws */
export async function runTransaction<T> ({ session, limit, use, readOnly, dryRun = false, isShared = false, client }: SqliteTransaction<T>): Promise<T> {
  const queue = createCommandQueue()
  let failure: Error | undefined
  let isClosed = false
  let ran = 0
  const writes = new Writes()

  /** @throws ServiceError */
  const send = (sql: TransactionOrder['sql']): Promise<unknown> => session.ask({ kind: 'transaction', sql }).catch((error: Error) => { throw toRefusal(error, BEGIN) })

  const execute = async (statement: Statement, sink: RowSink | undefined): Promise<Outcome> => {
    if (isClosed) throw new Error('The transaction has ended')
    if (failure !== undefined) throw failure
    const place = ran++
    try {
      if (sink !== undefined) return await runSelect(session, statement, sink)
      const outcome = await runWrite(session, statement, false)
      writes.add(statement, place)
      return outcome
    } catch (error) {
      const refusal = toRefusal(error as Error, statement)
      if ((error as SqliteError).isRolledBack === true || !isRefusal(refusal)) failure ??= refusal
      throw refusal
    }
  }

  const script = (sql: string): Promise<void> => queue.run(async () => {
    if (isClosed) throw new Error('The transaction has ended')
    if (failure !== undefined) throw failure
    try {
      await session.ask({ kind: 'script', sql })
    } catch (error) {
      throw failure = toRefusal(error as Error, BEGIN)
    }
  })

  const savepoints: Savepoints = {
    isOver: () => isClosed || failure !== undefined,
    set: (name) => script(`savepoint ${name}`),
    undo: (name) => script(`rollback to ${name}; release ${name}`),
    release: (name) => script(`release ${name}`)
  }

  const transactionOf = (level: number): Transaction => ({
    attempt: 1,
    get ran () { return ran },
    run: (statement, sink) => queue.run(() => execute(statement, sink)),
    nested: (use) => runNested({ use, transaction: transactionOf(level + 1), level: level + 1, savepoints })
  })

  const useAll = async (): Promise<T> => {
    const result = await use(transactionOf(0))
    await queue.drain()
    isClosed = true
    if (failure !== undefined) throw failure
    return result
  }

  try {
    const result = await limit(session, client, async () => {
      await send(readOnly ? 'begin' : 'begin immediate')
      return await session.unlessLost(useAll())
    })
    if (readOnly) await limit(session, undefined, () => send('rollback'))
    else await commit({ session, limit, writes: isShared ? undefined : writes, dryRun }).catch((error: Error) => { throw withoutRow(toRefusal(error, BEGIN)) })
    return result
  } catch (error) {
    isClosed = true
    if (!session.isLost) {
      await queue.drain()
      await undo(session, limit)
    }
    throw error
  }
}

const toRefusal = (error: Error, statement: Statement): Error => error instanceof ServiceError ? error : toServiceError(error, statement)

/** Removes the row, because several statements may write a list, and the row of a statement may have another index in `data`. */
function withoutRow (error: Error): Error {
  return error instanceof ServiceError && error.row !== undefined ? withDetails(error, ...error.details.map(({ message }) => ({ path: '', message }))) : error
}
