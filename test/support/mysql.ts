/** Parts of the MySQL dialect, for tests that check bytes. */
import mysql, { type Connection, type ConnectionOptions } from 'mysql2'
import { createCatalog, type Table, alone } from '../../src/catalog/catalog.ts'
import { parseDatabaseUrl } from '../../src/config/database-url.ts'
import { createMysqlDialect } from '../../src/dialects/mysql/dialect.ts'
import { type QueryPacket, sendCommand, writeStatement, writeText } from '../../src/dialects/mysql/statement-command.ts'
import { connectionOptions, type MysqlAddress, sessionStatement } from '../../src/dialects/mysql/session-settings.ts'
import { planSelect } from '../../src/verbs/select.ts'
import { compileStatement } from '../../src/sql/statement-cache.ts'
import { ResponseSink } from '../../src/response/response-sink.ts'

const MEGABYTE = 2 ** 20

export function addressOf (url: string): MysqlAddress {
  const address = parseDatabaseUrl(url)
  if (address.engine !== 'mysql') throw new Error('not a MySQL database')
  return address.address
}

export async function connect (url: string, options: ConnectionOptions = {}): Promise<Connection> {
  const connection = mysql.createConnection({ ...connectionOptions(addressOf(url)), ...options })
  await run(connection, sessionStatement(5000))
  return connection
}

export function run (connection: Connection, sql: string, values: unknown[] = []): Promise<unknown> {
  return new Promise((resolve, reject) =>
    connection.query(sql, values, (error, answer) => error === null ? resolve(answer) : reject(error)))
}

/** Returns the tables of a database as the service introspects them. */
export async function readTables (url: string): Promise<ReadonlyMap<string, Table>> {
  const dialect = createMysqlDialect({
    address: addressOf(url), pool: { size: 1, queue: 1, wait: 5000 }, statementTimeout: 5000
  })
  try {
    return createCatalog(await dialect.introspect(), 0).tables
  } finally {
    await dialect.close()
  }
}

/** The text of a statement, behind the header of the packet and the number of the command. */
export const textOf = ({ buffer }: QueryPacket): string => buffer.toString('utf8', 5)

export type SendCommand = typeof sendCommand

/** Reads rows by mysql2's public interface. */
const sendPlain: SendCommand = (connection, { packet, sink, listener }) => {
  connection.query({ sql: textOf(packet), rowsAsArray: true, typeCast: false }, async (error, answer) => {
    for (const row of Array.isArray(answer)
      ? answer as unknown as Buffer[][]
      : []) await (sink as ResponseSink).row(row)
    listener.done(error)
  })
}

/** Two readers of rows, which read the same. */
export const senders: Record<'bytes' | 'plain', SendCommand> = { bytes: sendCommand, plain: sendPlain }

/** Selects all rows of a table with one of the readers. */
export function selectAll (connection: Connection, table: Table, send: SendCommand, limit = 256 * MEGABYTE): Promise<{
  answer: Buffer, tooLarge: number, sink: ResponseSink
}> {
  const plan = planSelect({ verb: 'select', limit: 1000 }, alone(table), {
    depth: 1, conditions: 1, values: 1, pattern: 1000, offset: 100_000
  })
  return sendStatement(
    connection, textOf(writeStatement(compileStatement(plan, 'mysql'))), new ResponseSink(plan.columns, limit), send
  )
}

export function sendStatement (connection: Connection, sql: string, sink: ResponseSink, send: SendCommand): Promise<{
  answer: Buffer, tooLarge: number, sink: ResponseSink
}> {
  let tooLarge = 0
  return new Promise((resolve, reject) => send(connection, {
    packet: writeText(sql),
    sink,
    listener: {
      stop: () => { tooLarge++ },
      wait: (taking) => {
        connection.pause()
        taking.then(() => connection.resume())
      },
      fail: reject,
      done: (error) => error === null ? resolve({ answer: Buffer.from(sink.finish()), tooLarge, sink }) : reject(error)
    }
  }))
}
