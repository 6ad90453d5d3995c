import mysql, { type Pool, type PoolConnection, type QueryError } from 'mysql2'
import { overloaded } from '../../errors.ts'
import { connectionOptions, SESSION, type MysqlAddress } from './options.ts'
import { toConnectError } from './errors.ts'

export interface PoolLimits {
  /** Connections at most. */
  readonly size: number
  /** Requests that may wait for one. */
  readonly queue: number
  /** How long one may wait, in milliseconds. */
  readonly wait: number
}

/** Connections whose session is set as we need it, lent out one at a time. */
export interface MysqlPool {
  /** @throws OVERLOADED where too many wait or one waits too long, DATABASE_UNAVAILABLE where there is no connecting */
  acquire (): Promise<PoolConnection>
  close (): Promise<void>
}

/** mysql2's pool with bounds on waiting: a database that is slow must not gather requests without end. */
export function createMysqlPool (address: MysqlAddress, limits: PoolLimits): MysqlPool {
  const pool: Pool = mysql.createPool({ ...connectionOptions(address), connectionLimit: limits.size, queueLimit: 0, enableKeepAlive: true })
  const prepared = new WeakSet<object>()
  let waiting = 0

  /** The raw connection stays the same while the pool lends it out again and again. */
  const prepare = async (connection: PoolConnection): Promise<PoolConnection> => {
    if (prepared.has(connection)) return connection
    await new Promise<void>((resolve, reject) => {
      connection.query(SESSION, (error: QueryError | null) => {
        if (error === null) return resolve()
        connection.destroy()
        reject(toConnectError(error))
      })
    })
    prepared.add(connection)
    return connection
  }

  const lend = (): Promise<PoolConnection> => new Promise((resolve, reject) => {
    let gone = false
    const timer = setTimeout(() => {
      gone = true
      reject(overloaded())
    }, limits.wait)
    pool.getConnection((error, connection) => {
      clearTimeout(timer)
      if (error !== null) reject(toConnectError(error))
      else if (gone) connection.release()
      else resolve(connection)
    })
  })

  return {
    async acquire () {
      if (waiting >= limits.queue + limits.size) throw overloaded()
      waiting++
      try {
        return await prepare(await lend())
      } finally {
        waiting--
      }
    },
    close: () => new Promise((resolve) => pool.end(() => resolve()))
  }
}
