import type { PoolConnection, ResultSetHeader } from 'mysql2'
import { queryTimeout, resultTooLarge } from '../../errors.ts'
import type { Plan } from '../../plan/plan.ts'
import type { Query } from '../../query/builder.ts'
import { RowWriter } from '../../response/row-writer.ts'
import type { Result } from '../dialect.ts'
import { isLost, toServiceError, type MysqlError } from './errors.ts'
import { writeStatement } from './literal.ts'
import type { SendCommand } from './row-command.ts'
import { createStop, type Kill } from './stop.ts'

export interface ExecutionOptions {
  /** Milliseconds that the statement may run. */
  readonly timeout: number
  /** Bytes that the answer may have. */
  readonly resultLimit: number
  readonly kill: Kill
  readonly send: SendCommand
}

/** Runs one statement and gives the connection back. @throws ServiceError, or SchemaMoved */
export async function executeOn (connection: PoolConnection, query: Query, plan: Plan, options: ExecutionOptions): Promise<Result> {
  const { timeout, resultLimit, kill, send } = options
  const writer = plan.verb === 'select' ? new RowWriter(plan.columns, resultLimit) : undefined
  const { promise, resolve, reject } = Promise.withResolvers<ResultSetHeader | undefined>()
  const stop = createStop(connection, kill, reject)
  const timer = setTimeout(stop.now, timeout)
  send(connection, { sql: writeStatement(query), writer, onTooLarge: stop.now, done: (error, header) => error === null ? resolve(header) : reject(error) })
  try {
    const header = await promise
    if (writer?.isTooLarge === true) throw resultTooLarge(resultLimit)
    return writer === undefined ? toChange(header as ResultSetHeader) : { answer: writer.finish(), changed: 0, insertId: undefined }
  } catch (error) {
    if (writer?.isTooLarge === true) throw resultTooLarge(resultLimit)
    throw stop.called && !isLost(error as MysqlError) ? queryTimeout() : toServiceError(error as MysqlError, plan)
  } finally {
    clearTimeout(timer)
    if (stop.called) await stop.done()
    connection.release()
  }
}

/** mysql2 reads the new number as signed; what AUTO_INCREMENT gives never is. */
function toChange ({ affectedRows, insertId }: ResultSetHeader): Result {
  const id = BigInt(insertId)
  return { answer: undefined, changed: affectedRows, insertId: String(id < 0n ? BigInt.asUintN(64, id) : id) }
}
