/** A connection to one server with the session variables that the service needs. */
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import mysql, { type Connection } from 'mysql2'
import { getOrCreate } from '../../bounded-map.ts'
import type { Isolation } from '../dialect.ts'
import { engineOf, type ServerEngine, versionProblem } from './engines.ts'
import {
  compareSettings, connectionOptions, type Host, type Ignored, isolationStatement, KEEP_ALIVE,
  type MysqlAddress, READ_BACK_LIST, sessionStatement, transactionStatement
} from './session-settings.ts'
import { copyValues, type OkPacket } from '../packets.ts'
import { sendCommand, writeStatement, writeText } from './statement-command.ts'

export interface Session {
  readonly connection: Connection
  /** The read memory of its connection, which must be freed after each reply. */
  readonly memory: ReadMemory
  readonly address: MysqlAddress
  readonly host: Host
  /** The epoch in which the session was opened (pool.ts). */
  readonly epoch: number
  /** The identity that the server states, because one address may lead to several servers. */
  readonly server: string
  readonly engine: ServerEngine
  readonly version: string
  readonly ignored: Ignored
  /** The maximum size of a statement, in bytes. The server ends the connection of a larger one. */
  readonly maxPacket: number
  /** The statements that set the session's variables outside of a transaction, and the one inside. */
  readonly settings: readonly string[]
  readonly settingsInTransaction: string
  /** The level of the server for each that is asked for; it is opened at that of single writes, `readCommitted`. */
  readonly levels: Readonly<Record<Isolation, Isolation>>
  /** The isolation level of its transactions; undefined while it is being set. */
  isolation: Isolation | undefined
  /** Whether the server reports changes of its variables. Some proxies do not. */
  readonly reportsChanges: boolean
  /** False once it is lost or closed. */
  open: boolean
  /** When it was last returned to its pool, by `performance.now()`. */
  idleSince: number
  /** When a request used it last, by `performance.now()`; not for the service's own statements. */
  usedAt: number
}

interface SessionTarget {
  readonly address: MysqlAddress
  readonly host: Host
  readonly epoch: number
  readonly statementTimeout: number
}

/** The time limit for opening, in milliseconds; less if another host can be tried. */
const PATIENCE = 5000
const PATIENCE_AMONG_SEVERAL = 2000
/** The time limit for a ping and for closing, in milliseconds. */
const MOMENT = 1000

/** Has a limit because it overrides `sql_select_limit`, which may be 0 before the session is set. */
const IDENTITY = 'select concat_ws(\' \', @@hostname, @@port, @@server_id) limit 1'

/**
 * A text that only UTF-8 writes as these bytes, and that differs if a backslash does not escape. MySQL cannot show its
 * process list while a statement with an emoji runs.
 */
const SAMPLE = 'ħ中\\'
/**
 * Selects what must be true before the session can be used: literals are UTF-8 in both directions, the database is the
 * one of the URL (`init_connect` may have a USE), the clock runs (it may have a SET TIMESTAMP), and the settings are
 * those that were sent (an engine may ignore them).
 */
const CONFIRMATION = `select concat_ws(' ', @@hostname, @@port, @@server_id), version(), database(),
  concat_ws(' ', @@character_set_client, @@character_set_connection, @@character_set_results),
  hex('${SAMPLE}\\'), '${SAMPLE}\\',
  abs(timestampdiff(second, now(), sysdate())) < 60, @@max_allowed_packet, ${READ_BACK_LIST} limit 1`

/** In READ COMMITTED, InnoDB writes to no binary log of statements (1665). Not every version has both variables. */
const BINARY_LOG = "show session variables where variable_name in ('log_bin', 'binlog_format')"

async function hasLogOfStatements (connection: Connection): Promise<boolean> {
  const rows = await ask(connection, BINARY_LOG)
  const variables = new Map(rows.map(([name, value]) => [name?.toLowerCase(), value?.toUpperCase()]))
  return variables.get('log_bin') !== 'OFF' && variables.get('binlog_format') === 'STATEMENT'
}

/** @throws the driver's error, or an error with a code that says why the session cannot be used */
export async function openSession (
  { address, host, epoch, statementTimeout }: SessionTarget,
  onLost: (session: Session) => void
): Promise<Session> {
  return await connectTo(address, host, async (connection, memory) => {
    const greeted = engineOf(await greetingOf(connection))
    const settings = sessionStatement(statementTimeout, greeted)
    const { changesSession } = await send(connection, settings)
    const isolation = await hasLogOfStatements(connection) ? 'repeatableRead' : greeted.writesAt
    const level = isolationStatement(isolation)
    await send(connection, level)
    const stated = await confirm(connection, { address, statementTimeout, isolation })
    const session: Session = {
      connection,
      memory,
      address,
      host,
      epoch,
      ...stated,
      settings: [settings, level],
      settingsInTransaction: transactionStatement(statementTimeout, greeted),
      levels: { readCommitted: isolation, repeatableRead: 'repeatableRead', serializable: 'serializable' },
      isolation,
      reportsChanges: greeted.tracks && changesSession,
      open: true,
      idleSince: 0,
      usedAt: -Infinity
    }
    connection.on('error', () => onLost(session))
    // mysql2 notifies the running statement when the stream has closed, but not once the connection is destroyed
    connection.on('end', () => streamOf(connection).once('close', () => onLost(session)))
    return session
  })
}

/** The version in the greeting of the server, which a proxy may make up. @throws the driver's error */
function greetingOf (connection: Connection): Promise<string> {
  return new Promise((resolve, reject) => {
    connection.once('connect', ({ serverVersion }: { readonly serverVersion: string }) => resolve(serverVersion))
    connection.once('error', reject)
  })
}

/** Confirms the session, and returns what the server states about itself. */
async function confirm (
  connection: Connection,
  { address, ...set }: Pick<SessionTarget, 'address' | 'statementTimeout'> & { readonly isolation: Isolation }
): Promise<Pick<Session, 'server' | 'engine' | 'version' | 'ignored' | 'maxPacket'>> {
  const [[server, version, used, characterSets, hex, text, clockRuns, packet, ...settings]] = (await ask(
    connection,
    CONFIRMATION
  )) as [[string, string, string, string, string, string, string, string, ...string[]]]
  const old = versionProblem(version)
  if (old !== undefined) throw unusable(old)
  const isUtf8 =
    characterSets === 'utf8mb4 utf8mb4 utf8mb4' &&
    hex === Buffer.from(SAMPLE).toString('hex').toUpperCase() &&
    text === SAMPLE
  if (!isUtf8) throw unusable(`CHARACTER_SET: the session does not run in utf8mb4 but in ${characterSets}`)
  // the server may be configured to write names in lower case
  if (used.toLowerCase() !== address.database.toLowerCase()) {
    throw unusable('OTHER_DATABASE: the session does not use the database of the URL')
  }
  if (clockRuns !== '1') throw unusable('FROZEN_CLOCK: the session has a timestamp of its own')
  const engine = engineOf(version)
  const { problem, ignored } = compareSettings(settings, engine, set)
  if (problem !== undefined) throw unusable(problem)
  return { server, engine, version, ignored, maxPacket: Number(packet) }
}

const unusable = (code: string): Error => Object.assign(new Error('the session cannot be used'), { code })

/**
 * Restores a session by a statement or, if it is omitted, one that a trigger or a routine may have changed, also its
 * clock, user variables and temporary tables. @throws the driver's error, or ETIMEDOUT: the session must no longer be
 * used
 */
export function restoreSession (session: Session, sql?: string): Promise<unknown> {
  const { connection, settings } = session
  if (sql !== undefined) return within(MOMENT, send(connection, sql))
  session.isolation = session.levels.readCommitted
  const reset = new Promise<unknown>((resolve, reject) => {
    connection.reset((error) => (error === null ? resolve(undefined) : reject(error)))
  })
  return within(MOMENT, settings.reduce((before, setting) => before.then(() => send(connection, setting)), reset))
}

/** The maximum size of one read, in bytes. */
const BLOCK = 65_536
/** The minimum free space for a read, in bytes: smaller reads would take more system calls. */
const MIN_READ = 16_384
/** The number of cached blocks. If more are needed at a time, the others are left to the garbage collector. */
const MAX_CACHED = 4

/**
 * The memory into which the replies on a connection are read, reused for each reply. Node would allocate 64 KB for
 * each read and leave it to the garbage collector, so that the memory would seldom be in the processor's cache.
 *
 * While a reply arrives, only data before the last read is overwritten, and only if the reader allows it (`advance`),
 * because mysql2 keeps the beginning of a packet until its end has arrived.
 */
export class ReadMemory {
  readonly #cached: Buffer[] = []
  #block: Buffer = Buffer.alloc(0)
  /** The indexes in the reply of the current block, of that of the last read, and of the first one still needed. */
  #number = -1
  #lastRead = 0
  #oldest = 0
  #used = 0
  #isFree = true

  /** Allows overwriting everything that was read. */
  free (): void {
    this.#isFree = true
  }

  /**
   * Allows overwriting everything before the last read, which contains the beginning of an unfinished packet. Its block
   * is not the current one if rows have waited, because Node asks for the memory of the next read at once.
   */
  advance (): void {
    this.#oldest = this.#lastRead
  }

  /** Creates a socket for mysql2 that reads into this memory, and emits `data` like any other. */
  connect (host: Host): Socket {
    const callback = (length: number, bytes: Uint8Array): boolean => {
      // before `data` is emitted, because its listener frees the memory at the end of the reply
      this.#isFree = false
      this.#lastRead = this.#number
      this.#used += length
      socket.emit('data', bytes.subarray(0, length))
      return true
    }
    const socket = connect({
      ...host,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE,
      onread: { buffer: () => this.#next(), callback }
    })
    return socket
  }

  #next (): Buffer {
    if (this.#isFree) {
      this.#oldest = 0
      this.#begin(0)
    } else if (BLOCK - this.#used < MIN_READ) this.#begin(this.#number + 1)
    return this.#used === 0 ? this.#block : this.#block.subarray(this.#used)
  }

  #begin (number: number): void {
    const index = number % MAX_CACHED
    const isCached = number - this.#oldest < MAX_CACHED
    this.#block = isCached ? this.#cached[index] ??= Buffer.allocUnsafeSlow(BLOCK) : Buffer.allocUnsafeSlow(BLOCK)
    this.#number = number
    this.#used = 0
    this.#isFree = false
  }
}

/** Connects within the time limit, and closes the connection if `use` fails. */
export async function connectTo<T> (
  address: MysqlAddress,
  host: Host,
  use: (connection: Connection, memory: ReadMemory) => Promise<T>
): Promise<T> {
  const memory = new ReadMemory()
  // TLS reads into its own memory
  const stream = address.ssl === undefined ? { stream: () => memory.connect(host) } : {}
  const connection = mysql.createConnection({ ...connectionOptions(address, host), ...stream })
  try {
    const failed = new Promise<never>((_resolve, reject) => {
      connection.on('error', reject)
    })
    return await within(
      address.hosts.length > 1 ? PATIENCE_AMONG_SEVERAL : PATIENCE,
      Promise.race([use(connection, memory), failed])
    )
  } catch (error) {
    destroy(connection)
    throw error
  }
}

export async function identify (connection: Connection): Promise<string> {
  const [[server]] = await ask(connection, IDENTITY) as [[string]]
  return server
}

/** Settles as the promise does; rejects with ETIMEDOUT if it takes longer. */
export function within<T> (milliseconds: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(Object.assign(new Error('no reply'), { code: 'ETIMEDOUT' })), milliseconds)
    promise.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
}

/** Runs a statement without rows. @throws the driver's error */
export function send (connection: Connection, sql: string): Promise<OkPacket> {
  return new Promise((resolve, reject) =>
    sendCommand(connection, {
      packet: writeText(sql),
      sink: undefined,
      listener: { fail: reject, done: (error, ok) => error === null ? resolve(ok as OkPacket) : reject(error) }
    })
  )
}

export type Row = ReadonlyArray<string | null>
/** Runs a query on a session, and returns its rows as text. */
export type Ask = (sql: string) => Promise<Row[]>

/** The number of rows that are read between two turns of the event loop. */
const ROWS = 500

/**
 * Runs a query, and returns its rows as text. Equal texts are one, because a catalog has many. `parameters`: for the
 * placeholders. @throws the driver's error
 */
export function ask (
  connection: Connection,
  sql: string,
  parameters: readonly string[] = []
): Promise<Array<Array<string | null>>> {
  const rows: Array<Array<string | null>> = []
  const texts = new Map<string, string>()
  const toText = (value: Buffer | null): string | null => {
    if (value === null) return null
    const text = value.toString()
    return getOrCreate(texts, text, () => text)
  }
  return new Promise((resolve, reject) =>
    sendCommand(connection, {
      packet: writeStatement({ pieces: parameters.length === 0 ? [sql] : sql.split('?'), parameters }),
      sink: {
        full: false,
        begin () {},
        textRow (bytes, from, end, count) {
          return rows.push(copyValues(bytes, from, end, count).map(toText)) % ROWS === 0 ? nextTurn() : undefined
        }
      },
      listener: {
        wait (taking) {
          connection.pause()
          taking.then(() => connection.resume())
        },
        fail: reject,
        done: (error) => error === null ? resolve(rows) : reject(error)
      }
    })
  )
}

export function replies (connection: Connection): Promise<boolean> {
  return within(
    MOMENT,
    new Promise<boolean>((resolve) => {
      connection.ping((error) => resolve(!(error instanceof Error)))
    })
  ).catch(() => false)
}

const streamOf = (connection: Connection): Socket => (connection as unknown as { stream: Socket }).stream

/** Closes a connection at once. The `destroy` of mysql2 alone waits for the other end, which may be gone. */
export function destroy (connection: Connection): void {
  connection.destroy()
  streamOf(connection).destroy()
}

/** Sends COM_QUIT and closes. Keeps the process alive for the time limit at most. */
export function quit (connection: Connection): Promise<void> {
  const stream = streamOf(connection)
  return new Promise((resolve) => {
    if (stream.closed) return resolve()
    const timer = setTimeout(() => stream.destroy(), MOMENT)
    stream.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    connection.end()
    stream.unref()
  })
}
