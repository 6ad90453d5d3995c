/**
 * The command that runs a statement. mysql2 connects, frames packets and queues commands; this file replaces its
 * command for queries, so that the bytes of each row go to the sink as they are. It relies on private parts of mysql2,
 * whose version is pinned.
 */
import mysql, { type Connection, type QueryError } from 'mysql2'
import type { Statement } from '../../sql/statement.ts'
import { type Cell, type Moment, type MomentForm, isMoment } from '../../types/column-type.ts'
import { type RowSink, StaleCatalog } from '../dialect.ts'
import type { Definitions } from './definitions.ts'
import { isEof, isOk, type OkPacket, type PacketBytes, readColumnCount, readEof, readOk, valuesIn } from '../packets.ts'

/** The used part of mysql2's. */
interface Packet extends PacketBytes {
  /** The number of its first piece, and how many pieces it has. */
  readonly sequenceId: number
  readonly numPackets: number
  isError (): boolean
  asError (encoding: 'utf8'): QueryError
}

/** The used part of mysql2's. */
interface CommandConnection {
  readonly serverCapabilityFlags: number
  readonly sequenceId: number
  /** Calls `execute` of the command at once, or after the commands before it. */
  addCommand (command: StatementCommand): void
  _resetSequenceId (): void
  writePacket (packet: QueryPacket): void
}

/** `ok`: for a statement without rows. */
export type CommandDone = (error: QueryError | null, ok?: OkPacket) => void

type CommandSink = Pick<RowSink, 'begin' | 'textRow' | 'full'>

interface CommandOptions {
  readonly packet: QueryPacket
  /** Undefined for statements without rows. */
  readonly sink: CommandSink | undefined
  /** Any are accepted if omitted. */
  readonly definitions?: Definitions | undefined
  /** The number of rows of an insert, which succeeds with all of them. */
  readonly inserts?: number | undefined
  /** Whether the server numbers the rows of the insert, and says so. */
  readonly isNumbered?: boolean | undefined
  readonly listener: {
    /** When the sink is full; later rows are ignored. */
    stop? (): void
    /** Once, if the result cannot be read: StaleCatalog or the error of reading it. */
    fail (reason: unknown): void
    /** The connection must wait while a row is taken between turns of the event loop. */
    wait? (taking: Promise<void>): void
    done: CommandDone
  }
}

export function sendCommand (connection: Connection, options: CommandOptions): void {
  ;(connection as unknown as CommandConnection).addCommand(new StatementCommand(options))
}

const PRIVATE_METHODS = ['addCommand', '_resetSequenceId', 'writePacket']

/** @throws Error if the installed mysql2 lacks a private method */
export function requirePrivateMethods (connection: object = mysql.Connection.prototype): void {
  const missing = PRIVATE_METHODS.find((name) => typeof Reflect.get(connection, name) !== 'function')
  if (missing !== undefined) throw new Error(`the installed version of mysql2 lacks the method ${missing}`)
}

const COM_QUERY = 3
/** The length and the number of a packet, in bytes. */
const HEADER = 4
const TEXT = HEADER + 1

/** The packet of a statement. mysql2 writes it, in pieces if it is larger than 16 MB. */
export class QueryPacket {
  readonly buffer: Buffer
  /** The bytes after the header. */
  readonly size: number

  /** `buffer`: the text of the statement, behind room for what stands before it. */
  constructor (buffer: Buffer) {
    buffer[HEADER] = COM_QUERY
    this.buffer = buffer
    this.size = buffer.length - HEADER
  }

  /** One more than the bytes after the header: mysql2 then sends an empty piece only after a last one of 16 MB. */
  length (): number {
    return this.size + 1
  }

  /** Called by mysql2, with the number of the packet. */
  writeHeader (sequence: number): void {
    this.buffer.writeUIntLE(this.size, 0, 3)
    this.buffer[3] = sequence
  }
}

const UNREADABLE = 'UNREADABLE_PACKET'

// A proxy may send a packet or a part of one twice, lose one, or change their order. The reply is then not known, and
// the connection ends, unless numbers follow each other, the values of a row end with its packet, nothing follows the
// last one, and what that says fits the statement.

const FOREIGN_PACKET = Object.assign(new Error('the server sends the reply to another statement'), {
  code: UNREADABLE
}) as QueryError

/** Numbers of packets are of one byte. */
const NUMBERS = 256

/** @throws Error if other bytes have come with the last packet */
function requireLast ({ buffer, end }: Packet): void {
  if (end < buffer.length) throw FOREIGN_PACKET
}

/** @throws Error if an insert has another number of rows, or none of their own numbers */
function requireRows ({ affectedRows, insertId }: OkPacket, { inserts, isNumbered }: CommandOptions): void {
  if (inserts !== undefined && affectedRows !== inserts) throw FOREIGN_PACKET
  if (isNumbered === true && insertId === '0') throw FOREIGN_PACKET
}

/** @throws Error if the packet has other bytes than those of so many values */
function requireWhole ({ buffer, offset, end }: Packet, count: number): void {
  try {
    valuesIn(buffer, offset, end, count)
  } catch {
    throw FOREIGN_PACKET
  }
}

class StatementCommand {
  readonly #options: CommandOptions
  /** Takes the next packet, and returns whether it was the last one. */
  #next: (packet: Packet, connection: CommandConnection) => boolean = this.#takeFirst
  #columns = 0
  #received = 0
  /** The rest is ignored. */
  #isOver = false

  constructor (options: CommandOptions) {
    this.#options = options
  }

  /** Called by mysql2, first without a packet. Returns whether the command has ended; an error ends the connection. */
  execute (packet: Packet | undefined, connection: CommandConnection): boolean {
    if (packet === undefined) {
      connection._resetSequenceId()
      connection.writePacket(this.#options.packet)
      return false
    }
    try {
      const { sequenceId, numPackets } = packet
      const isNext = (sequenceId + numPackets) % NUMBERS === connection.sequenceId
      const isError = packet.isError()
      // a server that ends the connection by itself says so in number 0
      if (!isNext && !(sequenceId === 0 && isError)) throw FOREIGN_PACKET
      if (isError) {
        requireLast(packet)
        this.onResult(packet.asError('utf8'))
        return true
      }
      return this.#next(packet, connection)
    } catch (error) {
      // without a code it would look as if the statement had not been sent
      throw Object.assign(error as Error, { code: (error as Partial<QueryError>).code ?? UNREADABLE })
    }
  }

  /** Called by mysql2 if the connection is lost. */
  onResult (error: QueryError): void {
    this.#options.listener.done(error)
  }

  #takeFirst (packet: Packet, connection: CommandConnection): boolean {
    const { sink, definitions, listener } = this.#options
    // a statement of the service itself may have any kind of reply
    if (isOk(packet)) {
      if (sink !== undefined && definitions !== undefined) throw FOREIGN_PACKET
      const ok = readOk(packet, connection.serverCapabilityFlags)
      requireLast(packet)
      requireRows(ok, this.#options)
      listener.done(null, ok)
      return true
    }
    if (sink === undefined && definitions === undefined) throw FOREIGN_PACKET
    this.#columns = readColumnCount(packet)
    this.#next = this.#takeDefinition
    return false
  }

  #takeDefinition ({ buffer, offset, end }: Packet): boolean {
    const { definitions, sink } = this.#options
    if (definitions?.isExpectedIn(this.#received, buffer, offset, end) === false) this.#fail(new StaleCatalog())
    if (++this.#received < this.#columns) return false
    if (definitions !== undefined) sink?.begin(definitions.columns)
    this.#next = this.#takeEndOfDefinitions
    return false
  }

  #takeEndOfDefinitions (packet: Packet): boolean {
    if (!isEof(packet)) throw new Error('the server sends more columns than it has announced')
    this.#next = this.#takeRow
    return false
  }

  #takeRow (packet: Packet): boolean {
    if (isEof(packet)) {
      requireLast(packet)
      readEof(packet)
      this.#options.listener.done(null)
      return true
    }
    if (!this.#isOver) this.#write(packet)
    return false
  }

  /**
   * Runs for each row: no closures. @throws Error for a row that is not whole; an unreadable value is no reason to end
   * the connection
   */
  #write (packet: Packet): void {
    const { buffer, offset, end } = packet
    const sink = this.#options.sink as CommandSink
    try {
      const taking = sink.textRow(buffer, offset, end, this.#columns)
      if (taking !== undefined) return this.#waitFor(taking, sink)
    } catch (reason) {
      requireWhole(packet, this.#columns)
      return this.#fail(reason)
    }
    if (!sink.full) return
    // a value may only seem to be longer than the response may become
    requireWhole(packet, this.#columns)
    this.#stop()
  }

  #waitFor (taking: Promise<void>, sink: CommandSink): void {
    this.#options.listener.wait?.(
      taking.then(
        () => { if (sink.full) this.#stop() },
        (reason) => this.#fail(reason)
      )
    )
  }

  /** The sink is full. */
  #stop (): void {
    this.#isOver = true
    this.#options.listener.stop?.()
  }

  #fail (reason: unknown): void {
    if (!this.#isOver) this.#options.listener.fail(reason)
    this.#isOver = true
  }
}

// Writes parameters as literals into the text of a statement, because rows of MySQL's binary protocol cost 1.4 to 2.4
// times as much to read. Only this file writes literals, by their JavaScript type alone, which is safe in the
// sessions of session-settings.ts: utf8mb4, neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES.

// Writes a moment as an expression of constants of this file and whole numbers. `current_timestamp` is the same in the
// whole statement.

/** `to_seconds('1970-01-01')` */
const EPOCH = 62_167_219_200
/** Months of the years 1 and 9999, counted from year 0; sums with `year()` must not be negative on MySQL. */
const [FIRST_MONTH, LAST_MONTH] = [13, 120_000]

/**
 * Tests before the sum is computed whether the column can hold it: an overflow in a write is an error on MySQL even in
 * a filter (1441), and no error on MariaDB.
 */
export function writeMoment ({ form, months, seconds, use }: Moment): string {
  const now = `current_timestamp(${form.digits})`
  if (months === 0 && seconds === 0) return inForm(form, now)
  const shifted = months === 0 ? now : `(${now} + interval ${months} month)`
  const moment = seconds === 0 ? shifted : `(${shifted} + interval ${seconds} second)`
  const isInCalendar =
    months === 0
      ? ''
      : `12 * year(${now}) + month(${now}) between ${FIRST_MONTH - months} and ${LAST_MONTH - months} and `
  return `if(${isInCalendar}to_seconds(${shifted}) between ${form.first + EPOCH - seconds} and ` +
    `${form.last + EPOCH - seconds}, ${inForm(form, moment)}, ${use === 'filters' ? 'null' : REFUSED[form.kind]})`
}

function inForm ({ kind }: MomentForm, moment: string): string {
  switch (kind) {
    case 'moment': return moment
    case 'date': return `date(${moment})`
    case 'time': return `time(${moment})`
    case 'year': return `year(${moment})`
  }
}

/** A value that every column of this kind refuses in strict mode (1292, 1264). */
const REFUSED: Readonly<Record<MomentForm['kind'], string>> = {
  moment: "'out of range'",
  date: "'out of range'",
  time: "'out of range'",
  year: '9999'
}

// The text is written as bytes: as strings, thousands of values would leave a string for each concatenation.

/** A usual statement fits; a larger one takes it along. */
const ROOM = 65_536
let bytes = Buffer.allocUnsafeSlow(ROOM)
let length = 0

/** Writes the packet of a statement. Its pieces contain no placeholders: the text was cut at each of them. */
export function writeStatement ({
  pieces,
  parameters,
  rows,
  assigned,
  separator: between = '), ('
}: Pick<Statement, 'pieces' | 'parameters' | 'rows'> & Partial<Statement>): QueryPacket {
  length = TEXT
  put(pieces[0] as string)
  const width = assigned?.length ?? 0
  // the text has one row; the rows before the last one end differently
  const repeated = rows === undefined ? 0 : (rows - 1) * width
  if (rows !== undefined && width === 0) put(', ()'.repeat(rows - 1))
  for (let index = 0; index < parameters.length; index++) {
    const cell = parameters[index] as Cell
    if (typeof cell === 'string') put(cell, true)
    else put(typeof cell === 'number' || typeof cell === 'bigint' ? String(cell) : literalOf(cell))
    const piece = index < repeated ? index % width + 1 : index - repeated + 1
    put(index < repeated && piece === width ? between : pieces[piece] as string)
  }
  if (bytes.length > ROOM) {
    const taken = bytes.subarray(0, length)
    bytes = Buffer.allocUnsafeSlow(ROOM)
    return new QueryPacket(taken)
  }
  const copy = Buffer.allocUnsafe(length)
  bytes.copy(copy, 0, 0, length)
  return new QueryPacket(copy)
}

/** The packet of a statement without parameters. */
export const writeText = (sql: string): QueryPacket => writeStatement({ pieces: [sql], parameters: [] })

function reserve (count: number): void {
  if (length + count <= bytes.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, length + count))
  bytes.copy(larger, 0, 0, length)
  bytes = larger
}

/** The first byte of UTF-8 that is part of a character of several. */
const FIRST_OF_SEVERAL = 0x80
const [QUOTE, BACKSLASH] = [0x27, 0x5c]
/** What stands behind the backslash of each escaped byte, as by the function `escape` of mysql2; else 0. */
const ESCAPES = new Uint8Array(256)
const [ESCAPED, LETTERS] = ['\0\b\t\n\r\x1a"\'\\', '0btnrZ"\'\\']
for (let index = 0; index < ESCAPED.length; index++) ESCAPES[ESCAPED.charCodeAt(index)] = LETTERS.charCodeAt(index)

/** What must be escaped in single quotes; other characters mean themselves (MySQL manual, "String Literals"). */
const SPECIAL = /['\\\0]/
/** Up to this length a loop writes ASCII faster than a native function. */
const SHORT = 64

/** Writes a text, as it is or as a literal in single quotes. It runs for each value: a loop, and no further calls. */
function put (text: string, isLiteral = false): void {
  // V8 looks the property up each time: strings have many hidden classes
  const size = text.length
  // a unit of it has three bytes at most
  if (length + 3 * size + 2 > bytes.length) reserve(Buffer.byteLength(text) + 2)
  // in the scope of the module, each use of them would read it anew
  const memory = bytes
  const start = isLiteral ? length + 1 : length
  let end = start
  let at = 0
  let isSpecial = false
  if (size <= SHORT) {
    for (let code; at < size && (code = text.charCodeAt(at)) < FIRST_OF_SEVERAL; at++) {
      if (code === QUOTE || code === BACKSLASH || code === 0) isSpecial = true
      memory[end++] = code
    }
  }
  if (at < size) {
    isSpecial = isLiteral && SPECIAL.test(text)
    end += memory.write(at === 0 ? text : text.slice(at), end)
  }
  length = end
  if (!isLiteral) return
  memory[start - 1] = QUOTE
  if (isSpecial) escape(start)
  bytes[length++] = QUOTE
}

/** Puts backslashes into what is written from `start` on, from the last one on. */
function escape (start: number): void {
  let escapes = 0
  for (let index = start; index < length; index++) if (ESCAPES[bytes[index] as number] !== 0) escapes++
  reserve(escapes + 1)
  let from = length
  let to = length += escapes
  while (from > start) {
    const byte = bytes[--from] as number
    const letter = ESCAPES[byte] as number
    bytes[--to] = letter === 0 ? byte : letter
    if (letter !== 0) bytes[--to] = BACKSLASH
  }
}

function literalOf (cell: Exclude<Cell, string | number | bigint>): string {
  if (typeof cell === 'symbol') return 'default'
  if (cell === null) return 'null'
  return isMoment(cell) ? writeMoment(cell) : `x'${cell.toString('hex')}'`
}
