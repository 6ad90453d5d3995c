/** MySQL, MariaDB and what speaks their protocol, by mysql2. */
import type { PoolConnection } from 'mysql2'
import type { Dialect } from '../dialect.ts'
import { toConnectError } from './errors.ts'
import { executeOn } from './execute.ts'
import { introspectMysql } from './introspect.ts'
import { AS_BYTES, connectionOptions, type MysqlAddress } from './options.ts'
import { sendPlainCommand } from './plain-command.ts'
import { createMysqlPool, type MysqlPool, type PoolLimits } from './pool.ts'
import { createCommandSender, type SendCommand } from './row-command.ts'
import { createKill } from './stop.ts'

export interface MysqlSettings {
  readonly address: MysqlAddress
  readonly pool: PoolLimits
  /** Milliseconds that one statement may run. */
  readonly statementTimeout: number
  /** Bytes that one answer may have. */
  readonly resultLimit: number
}

/** Connects when first needed: the database may start after the service. */
export function createMysqlDialect ({ address, pool: limits, statementTimeout, resultLimit }: MysqlSettings): Dialect {
  const pool = createMysqlPool(address, limits)
  const kill = createKill(connectionOptions(address))
  let send: SendCommand | undefined
  return {
    engine: 'mysql',
    introspect: () => withConnection(pool, (connection) => introspectMysql((sql) => ask(connection, sql))),
    privileges: () => withConnection(pool, async (connection) => (await ask(connection, 'show grants')).map(([grant]) => withoutSecrets(grant as string))),
    async execute (query, plan) {
      const connection = await pool.acquire()
      send ??= createCommandSender(connection) ?? sendPlainCommand
      return executeOn(connection, query, plan, { timeout: statementTimeout, resultLimit, kill, send })
    },
    close: () => pool.close()
  }
}

async function withConnection<T> (pool: MysqlPool, use: (connection: PoolConnection) => Promise<T>): Promise<T> {
  const connection = await pool.acquire()
  try {
    return await use(connection)
  } finally {
    connection.release()
  }
}

/** MariaDB shows the hash of the account's password in its grants. */
function withoutSecrets (grant: string): string {
  return grant.replace(/ IDENTIFIED (BY|VIA) .*?(?= REQUIRE| WITH|$)/, '')
}

function ask (connection: PoolConnection, sql: string): Promise<Array<Array<string | null>>> {
  return new Promise((resolve, reject) => {
    connection.query({ sql, ...AS_BYTES }, (error, rows) => {
      if (error !== null) return reject(toConnectError(error))
      resolve((rows as unknown as Array<Array<Buffer | null>>).map((row) => row.map((value) => value === null ? null : value.toString())))
    })
  })
}
