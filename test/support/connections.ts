/** The connections to a MySQL or MariaDB server, and what they run. */
import type { TestDatabase } from '../servers/engines.ts'

type Sql = TestDatabase['query']

export interface Connection {
  id: number
  user: string
  db: string | null
  command: string
  /** The statement that it runs. */
  info: string | null
}

/**
 * Returns all connections to the server. By SHOW, because on MySQL the table `information_schema.processlist` cannot be
 * read (ER_CANNOT_CONVERT_STRING) while any connection, also one of another test, runs a statement with an emoji.
 */
export async function allConnections (sql: Sql): Promise<Connection[]> {
  const rows = await sql('show full processlist')
  return rows.map((row) => ({ id: row.Id, user: row.User, db: row.db, command: row.Command, info: row.Info }))
}

/** Returns the connections to the test's database, except the one that asks. */
export async function connections ({ sql }: { sql: Sql }): Promise<Connection[]> {
  const [{ name, own }] = await sql('select database() as name, connection_id() as own')
  return (await allConnections(sql)).filter(({ id, db }) => db === name && id !== own)
}

/** Returns the connections to the test's database that run a statement with this beginning. */
export async function runners ({ sql }: { sql: Sql }, start = ''): Promise<Array<Connection & { info: string }>> {
  return (await connections({ sql })).flatMap(
    (connection) => connection.info?.startsWith(start) === true ? { ...connection, info: connection.info } : []
  )
}

/**
 * Returns those of them that wait for the lock of a row: they may run for a while before. The table
 * `information_schema.innodb_trx` does not change as long as it is read more often than every 0.1 s.
 */
export async function waiters ({ sql }: { sql: Sql }, start: string): Promise<Array<Connection & { info: string }>> {
  const [{ Status: status }] = await sql('show engine innodb status') as [{ Status: string }]
  const waiting = new Set(status.split('---TRANSACTION').filter((text) => text.includes('LOCK WAIT')).map(
    (text) => Number(/(?:MySQL|MariaDB) thread id (\d+)/.exec(text)?.[1])
  ))
  return (await runners({ sql }, start)).filter(({ id }) => waiting.has(id))
}

/** Returns the texts of the statements that run on the test's database. */
export async function running ({ sql }: { sql: Sql }): Promise<string[]> {
  return (await runners({ sql })).map(({ info }) => info)
}

/** Returns the ids of the connections to the test's database, without those that were killed and are about to end. */
export async function liveIds ({ sql }: { sql: Sql }): Promise<number[]> {
  return (await connections({ sql })).filter(({ command }) => command !== 'Killed').map(({ id }) => id)
}
