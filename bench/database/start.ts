import { createConnection, type Connection } from 'mysql2/promise'
import { obtain, WAYS } from '../../test/servers/obtain.ts'
import { TABLE_SIZE } from '../workloads.ts'
import { createArticles } from './articles.ts'
import { createOrders, fillOrders } from './orders.ts'
import { createProducts } from './products.ts'
import { createSales } from './sales.ts'

export interface BenchDatabase {
  /** `mysql://root@127.0.0.1:12345`, without a database's name. */
  readonly url: string
  readonly name: string
  readonly version: string
  readonly connection: Connection
  readonly stop: () => Promise<void>
}

/**
 * Settings of a server for measurements: enough memory for the tables, UTC, enough connections, and a redo log
 * that is large enough (MariaDB 10.9 and later can change it): with the 32 MB of the tests, all inserts stalled for up to 15 s.
 */
const SETTINGS = ['innodb_buffer_pool_size = 805306368', 'innodb_log_file_size = 268435456', "time_zone = '+00:00'", 'max_connections = 1000']

/** Starts a dedicated MariaDB, because the measurement changes its settings and data. */
export async function startDatabase (): Promise<BenchDatabase> {
  const { engine, stop } = await obtain([{ kind: 'mariadb' }], WAYS.filter(({ name }) => name !== 'TEST_MYSQL_URL'))
  const setUp = await createConnection({ uri: engine.url })
  for (const setting of SETTINGS) await setUp.query(`set global ${setting}`)
  await setUp.end()
  const connection = await createConnection({ uri: engine.url, dateStrings: true, charset: 'utf8mb4' })
  return {
    url: engine.url,
    name: 'MariaDB',
    version: engine.version,
    connection,
    stop: async () => {
      await connection.end()
      stop()
    }
  }
}

/** Creates the database of all contenders: rows to read and change, an empty table for inserts, and one for upserts. Returns its URL. */
export async function createShop (database: BenchDatabase, name: string): Promise<string> {
  const url = await createDatabase(database, name)
  await database.connection.query(`use ${name}`)
  for (const table of ['orders', 'new_orders', 'saved_orders']) await database.connection.query(createOrders(table))
  for (const table of ['orders', 'saved_orders']) await database.connection.query(fillOrders(table, 1, TABLE_SIZE))
  await database.connection.query('create index by_time on orders (ordered_at)')
  await database.connection.query('analyze table orders')
  for (const statement of [...createSales, ...createProducts, ...createArticles]) await database.connection.query(statement)
  return url
}

/** Creates an empty database. Returns its URL. */
export async function createDatabase ({ connection, url }: BenchDatabase, name: string): Promise<string> {
  await connection.query(`create database ${name} character set utf8mb4`)
  return `${url}/${name}`
}
