/** A connection to one server, its session set as we need it. Opening, asking and closing each take a bounded time. */
import type { Socket } from 'node:net'
import mysql, { type Connection } from 'mysql2'
import { AS_BYTES, connectionOptions, sessionStatement, type Host, type MysqlAddress } from './options.ts'
import { ReadMemory } from './read-memory.ts'

export interface Session {
  readonly connection: Connection
  /** Of its connection; to be freed after each answer. */
  readonly memory: ReadMemory
  readonly address: MysqlAddress
  readonly host: Host
  /** Which change of hosts it was opened after (hosts.ts). */
  readonly turn: number
  /** Which server it leads to, in the server's own words: an address may lead to several. */
  readonly server: string
  /** False once it is lost or closed. */
  open: boolean
  idleSince: number
  /** When a request used it last (0 for never), in milliseconds of the clock: what the service asks for itself does not count. */
  usedAt: number
}

export interface SessionTarget {
  readonly address: MysqlAddress
  readonly host: Host
  readonly turn: number
  readonly statementTimeout: number
}

/** How long opening may take, in milliseconds; less where another host may be tried. */
const PATIENCE = 5000
const PATIENCE_AMONG_SEVERAL = 2000
/** How long an idle connection may take to answer, and a closed one to close, in milliseconds. */
const MOMENT = 1000

const IDENTITY = 'select concat_ws(\' \', @@hostname, @@port, @@server_id)'

/** @throws the driver's error */
export async function openSession ({ address, host, turn, statementTimeout }: SessionTarget, onLost: (session: Session) => void): Promise<Session> {
  return await connectTo(address, host, async (connection, memory) => {
    await ask(connection, sessionStatement(statementTimeout))
    const session: Session = { connection, memory, address, host, turn, server: await identify(connection), open: true, idleSince: 0, usedAt: 0 }
    connection.on('error', () => onLost(session))
    // mysql2 tells the statement that runs when the stream has closed, and not at all once the connection is destroyed
    connection.on('end', () => streamOf(connection).once('close', () => onLost(session)))
    return session
  })
}

/** Connects for a purpose, in a bounded time; what fails is closed. */
export async function connectTo<T> (address: MysqlAddress, host: Host, use: (connection: Connection, memory: ReadMemory) => Promise<T>): Promise<T> {
  const memory = new ReadMemory()
  // TLS reads into memory of its own
  const stream = address.ssl === undefined ? { stream: () => memory.connect(host) } : {}
  const connection = mysql.createConnection({ ...connectionOptions(address, host), ...stream })
  try {
    const failed = new Promise<never>((_resolve, reject) => { connection.on('error', reject) })
    return await within(address.hosts.length > 1 ? PATIENCE_AMONG_SEVERAL : PATIENCE, Promise.race([use(connection, memory), failed]))
  } catch (error) {
    abandon(connection)
    throw error
  }
}

export async function identify (connection: Connection): Promise<string> {
  const [[server]] = await ask(connection, IDENTITY) as [[string]]
  return server
}

/** A promise's outcome, or ETIMEDOUT. */
export function within<T> (milliseconds: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })), milliseconds)
    promise.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
}

/** Rows as text. @throws the driver's error */
export function ask (connection: Connection, sql: string): Promise<Array<Array<string | null>>> {
  return new Promise((resolve, reject) => {
    connection.query({ sql, ...AS_BYTES }, (error, rows) => {
      if (error !== null) return reject(error)
      resolve(Array.isArray(rows) ? (rows as unknown as Array<Array<Buffer | null>>).map((row) => row.map((value) => value === null ? null : value.toString())) : [])
    })
  })
}

/** Whether the other end is still there. */
export function answers (connection: Connection): Promise<boolean> {
  return within(MOMENT, new Promise<boolean>((resolve) => { connection.ping((error) => resolve(!(error instanceof Error))) })).catch(() => false)
}

const streamOf = (connection: Connection): Socket => (connection as unknown as { stream: Socket }).stream

/** Gives a connection up without a word: `destroy` alone would wait for the other end, which may not be there. */
export function abandon (connection: Connection): void {
  connection.destroy()
  streamOf(connection).destroy()
}

/** Takes leave and closes. Keeps a process alive for a moment at most. */
export function takeLeave (connection: Connection): Promise<void> {
  const stream = streamOf(connection)
  return new Promise((resolve) => {
    const timer = setTimeout(() => stream.destroy(), MOMENT)
    stream.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    connection.end()
    stream.unref()
  })
}
