import mysql, { type PoolConnection, type ResultSetHeader } from 'mysql2'
import { queryTimeout } from '../../errors.ts'
import type { Plan } from '../../plan/plan.ts'
import type { Query } from '../../query/builder.ts'
import type { Result } from '../dialect.ts'
import { isLost, toServiceError, type MysqlError } from './errors.ts'
import { AS_BYTES } from './options.ts'

/** Ends the statement that runs on a connection, by another one; false where that could not be done. */
export type Kill = (threadId: number) => Promise<boolean>

interface Execution { query: Query, plan: Plan, timeout: number, kill: Kill }

/**
 * Runs one statement and gives the connection back. Placeholders are filled in by mysql2 with the values escaped: the
 * session's sql_mode and character set, on which that rests, are ours (options.ts).
 */
export async function executeOn (connection: PoolConnection, execution: Execution): Promise<Result> {
  const { query, plan } = execution
  const watch = watchTime(connection, execution)
  try {
    return toResult(await Promise.race([send(connection, query), watch.lost]))
  } catch (error) {
    throw watch.elapsed() && !isLost(error as MysqlError) ? queryTimeout() : toServiceError(error as MysqlError, plan)
  } finally {
    await watch.end()
    connection.release()
  }
}

function send (connection: PoolConnection, { sql, parameters }: Query): Promise<unknown> {
  return new Promise((resolve, reject) => {
    connection.query({ sql, values: parameters as unknown[], ...AS_BYTES }, (error, answer) => error === null ? resolve(answer) : reject(error))
  })
}

function toResult (answer: unknown): Result {
  if (Array.isArray(answer)) return { rows: answer, changed: 0, insertId: undefined }
  const { affectedRows, insertId } = answer as ResultSetHeader
  // mysql2 reads the number as signed; what AUTO_INCREMENT gives never is.
  return { rows: [], changed: affectedRows, insertId: String(BigInt.asUintN(64, BigInt(insertId))) }
}

/**
 * Ends the statement when its time is up. The connection is not given back before the KILL has been answered: it would
 * hit the next statement. Where it cannot be killed the connection is given up: the server notices at its next step. mysql2
 * then never calls back, so `lost` rejects in its place.
 */
function watchTime (connection: PoolConnection, { timeout, kill }: Execution) {
  const { promise: lost, reject } = Promise.withResolvers<never>()
  let killing: Promise<void> | undefined
  const timer = setTimeout(() => {
    killing = kill(connection.threadId as number).then((killed) => {
      if (killed) return
      connection.destroy()
      reject(Object.assign(new Error('the statement could not be ended'), { code: 'KILL_FAILED' }))
    })
  }, timeout)
  return {
    lost,
    elapsed: () => killing !== undefined,
    end: async () => {
      clearTimeout(timer)
      await killing
    }
  }
}

/** A `kill` that connects anew each time: it is rare, and the pool may be what is stuck. */
export function createKill (options: mysql.ConnectionOptions): Kill {
  return (threadId) => new Promise((resolve) => {
    const connection = mysql.createConnection(options)
    connection.on('error', () => resolve(false))
    connection.query(`kill query ${Number(threadId)}`, (error) => {
      connection.destroy()
      resolve(error === null)
    })
  })
}
