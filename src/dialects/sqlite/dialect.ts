/** One file, with a session that writes and one that only reads. */
import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type ServiceError, unsupported } from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import {
  type Client, clientGone, type Dialect, type StatementResult, type PausableSink, type Risks, STREAM_TIMEOUT
} from '../dialect.ts'
import { watch } from '../time-limits.ts'
import { Writes, commit, runTransaction, undo, type Limit } from './transaction.ts'
import { toReadError, toServiceError } from './errors.ts'
import { type Describe, introspectSqlite } from './introspect.ts'
import { createMemoryFile, MEMORY, type ReadOrder } from './protocol.ts'
import { createSessions, type Session, type SessionLimits } from './session.ts'
import { runSelect, runWrite } from './statements.ts'

/** Permission bits of POSIX: everybody may write, and only the owner of a file may remove it from a folder. */
const WRITABLE = 0o002
const STICKY = 0o1000

/** Whether other accounts of this machine may change the database. */
function findFileRisks (path: string): Risks {
  const risks: string[] = []
  if ((statSync(path).mode & WRITABLE) !== 0) risks.push('every account of this machine may write the file: chmod o-w')
  if ((statSync(dirname(path)).mode & (WRITABLE | STICKY)) === WRITABLE) {
    risks.push('every account of this machine may replace the file: chmod o-w its folder')
  }
  return { excess: [], risks, enough: [] }
}

export interface SqliteSettings {
  /** The path of a file, or MEMORY. */
  readonly path: string
  /** Creates a database in memory. */
  readonly setup?: readonly string[]
  readonly pool: SessionLimits
  /** In milliseconds. */
  readonly statementTimeout: number
  /** In milliseconds. */
  readonly streamTimeout?: number
}

/** The file must exist. @throws SqliteError, also if `setup` fails */
export async function openSqlite ({
  path,
  setup = [],
  pool,
  statementTimeout,
  streamTimeout = STREAM_TIMEOUT
}: SqliteSettings): Promise<Dialect> {
  const file = path === MEMORY ? createMemoryFile() : undefined
  const sessions = createSessions(resolve(file?.path ?? path), pool)
  const close = async (): Promise<void> => {
    await sessions.close()
    file?.remove()
  }

  /**
   * Kills the process of a statement. @throws QUERY_TIMEOUT after the limit or if the client has disconnected; what
   * `work` throws
   */
  const limit: Limit = async (session, client, work, milliseconds = statementTimeout) => {
    let refusal: ServiceError | undefined
    const end = watch(milliseconds, client, (reason) => {
      refusal ??= reason
      session.kill()
    })
    try {
      return await work()
    } catch (error) {
      throw refusal ?? error
    } finally {
      end()
    }
  }

  /** Runs a select in its own process, which is killed if the stream is stopped. */
  const stream = async (
    session: Session,
    statement: Statement,
    sink: PausableSink,
    client: Client | undefined
  ): Promise<StatementResult> => {
    let refusal: ServiceError | undefined
    let paused: PromiseWithResolvers<void> | undefined
    const resume = (): void => {
      paused?.resolve()
      paused = undefined
    }
    const stop = (reason: ServiceError): void => {
      refusal ??= reason
      session.kill()
      sink.discard()
      resume()
    }
    const started = watch(statementTimeout, undefined, stop)
    const end = watch(streamTimeout, client, stop)
    let isOver = false
    sink.from({
      started,
      // after the end the process may run another stream
      stop: () => { if (!isOver) stop(clientGone()) },
      pause: () => { paused ??= Promise.withResolvers() },
      resume,
      forget () {}
    })
    try {
      const result = await runSelect(session, statement, sink, { limit: Infinity, paused: () => paused?.promise })
      if (refusal !== undefined) throw refusal
      return result
    } catch (error) {
      session.kill() // the process may still be sending rows
      throw refusal ?? error
    } finally {
      isOver = true
      started()
      end()
    }
  }

  /** Runs a write in two steps: one that is stopped before COMMIT is sent has changed nothing. */
  const change = async (
    session: Session,
    statement: Statement,
    client: Client | undefined
  ): Promise<StatementResult> => {
    const result = await limit(session, client, () => runWrite(session, statement, true)).catch(
      async (error: unknown) => {
        await undo(session, limit)
        throw error
      }
    )
    const writes = new Writes()
    writes.add(statement, 0)
    await commit({ session, limit, writes })
    return result
  }

  /** @throws NOT_SUPPORTED if the file may not be written */
  const useToWrite = <T>(
    client: Client | undefined,
    work: (session: Session) => Promise<T>,
    isLong = false
  ): Promise<T> =>
      sessions.use((session) => {
        if (client?.destroyed === true) throw clientGone()
        if (session.isReadOnly) throw unsupported('', 'the file of the database may not be written')
        return work(session)
      }, client, isLong)
  const useToRead = <T>(client: Client | undefined, work: (session: Session) => Promise<T>): Promise<T> =>
    sessions.read((session) => {
      if (client?.destroyed === true) throw clientGone()
      return work(session)
    }, client)
  const refuse =
    (statement: Statement) =>
      (error: Error): never => {
        throw toServiceError(error, statement)
      }

  try {
    await sessions.use(async (session) => {
      for (const sql of setup) await limit(session, undefined, () => session.ask({ kind: 'script', sql }))
    })
  } catch (error) {
    await close()
    throw error
  }
  return {
    engine: 'sqlite',
    introspect: () =>
      sessions
        .read((session) => {
          const read = (order: Omit<ReadOrder, 'kind' | 'limit'>): Promise<object[]> =>
            limit(session, undefined, async () => {
              const rows: object[] = []
              await session.read({ limit: Infinity, ...order }, (row) => rows.push(row) > 0)
              return rows
            })
          return introspectSqlite(
            (sql, ...parameters) => read({ sql, parameters, named: true }),
            (sql) => read({ sql, parameters: [], describes: true }) as ReturnType<Describe>
          )
        })
        .catch((error: Error) => {
          throw toReadError(error)
        }),
    read: (statement, sink, { client } = {}) =>
      useToRead(client, (session) => limit(session, client, () => runSelect(session, statement, sink))).catch(
        refuse(statement)
      ),
    stream: (statement, sink, { client } = {}) =>
      sessions.stream((session) => stream(session, statement, sink, client)).catch(refuse(statement)),
    write: (statement, { client } = {}) =>
      useToWrite(client, (session) => change(session, statement, client)).catch(refuse(statement)),
    transaction: (use, { client, readOnly, dryRun, isShared, timeLimit }) => {
      const work = (session: Session): ReturnType<typeof use> =>
        runTransaction({ session, limit, use, client, readOnly, dryRun, isShared, timeLimit })
      return readOnly ? useToRead(client, work) : useToWrite(client, work, timeLimit !== undefined)
    },
    privileges: () =>
      sessions.read(async ({ isReadOnly }) => [
        isReadOnly ? 'reads the file, which may not be written' : 'reads and writes the file'
      ]),
    findDenied: (uses) =>
      sessions.read(async ({ isReadOnly }) =>
        isReadOnly ? uses.filter(({ verb }) => verb !== 'select').map(({ table, verb }) => ({ table, verb })) : []
      ),
    findRisks: async () => (file === undefined ? findFileRisks(path) : { excess: [], risks: [], enough: [] }),
    close
  }
}
