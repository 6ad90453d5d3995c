/** Reads the packets of a reply of MySQL (source code documentation, "Client/Server Protocol"). */
import type { StatementResult } from './dialect.ts'

// Integers, and the values of a row, each of which follows its length ("Protocol::LengthEncodedInteger"). `readLength`
// and `afterLength` run for every value of every reply. They return numbers, and V8 inlines them: keeping the positions
// of values in an array or object for each row made responses of integers 10 to 20 % slower.

/** First bytes that are not the integer itself: NULL for a value of a row, or the number of bytes that follow. */
const [NULL, TWO_BYTES, THREE_BYTES, EIGHT_BYTES] = [0xfb, 0xfc, 0xfd, 0xfe] as const

/**
 * The integer at `at`, which for a value is its length in bytes; -1 for NULL. @throws RangeError beyond the end of
 * `bytes`, Error if no integer can begin with the byte
 */
export function readLength (bytes: Buffer, at: number): number {
  const first = bytes[at] as number
  return first < NULL ? first : first === NULL ? -1 : readLong(bytes, at)
}

/** The position after the integer at `at`. */
export function afterLength (bytes: Buffer, at: number): number {
  const first = bytes[at] as number
  return first <= NULL ? at + 1 : at + (first === TWO_BYTES ? 3 : first === THREE_BYTES ? 4 : 9)
}

/** Reads an integer of eight bytes, rounded above 2^53. */
function readLong (bytes: Buffer, at: number): number {
  switch (bytes.readUInt8(at)) {
    case TWO_BYTES: return bytes.readUInt16LE(at + 1)
    case THREE_BYTES: return bytes.readUIntLE(at + 1, 3)
    case EIGHT_BYTES: return Number(bytes.readBigUInt64LE(at + 1))
    default: throw lacksLength()
  }
}

const lacksLength = (): Error => new Error('the packet lacks a length')

/** The position after the first `count` values of a row that begins at `from`. */
export function skipValues (bytes: Buffer, from: number, count: number): number {
  let at = from
  for (let value = 0; value < count; value++) at = afterLength(bytes, at) + Math.max(0, readLength(bytes, at))
  return at
}

/** A proxy has repeated or lost a part of the row: its values do not end where the row does. */
export const notWhole = (): Error => new Error('the values of a row do not end with it')

/**
 * Copies each value of the row in `bytes` from `from` to `end`, because the driver reuses the bytes. @throws Error if
 * these are not exactly so many values
 */
export function copyValues (bytes: Buffer, from: number, end: number, count: number): Array<Buffer | null> {
  const values = valuesIn(bytes, from, end, count)
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (value instanceof Buffer) values[index] = Buffer.from(value)
  }
  return values
}

/**
 * The values of a row in `bytes` from `from` to `end`, without a copy, for a long row, whose bytes are its own. @throws
 * Error if these are not exactly so many values
 */
export function valuesIn (bytes: Buffer, from: number, end: number, count: number): Array<Buffer | null> {
  const values: Array<Buffer | null> = []
  let at = from
  while (at < end) {
    const length = readLength(bytes, at)
    const start = afterLength(bytes, at)
    at = start + Math.max(0, length)
    values.push(length < 0 ? null : bytes.subarray(start, at))
  }
  if (at !== end || values.length !== count) throw notWhole()
  return values
}

/**
 * Writes the position of each value of a row into `starts`, and then the end of the row. @throws Error if these are not
 * exactly so many values
 */
export function findStarts (bytes: Buffer, from: number, end: number, starts: Uint32Array, count: number): void {
  let value = 0
  let at = from
  for (; at < end; at = afterLength(bytes, at) + Math.max(0, readLength(bytes, at))) starts[value++] = at
  if (at !== end || value !== count) throw notWhole()
  starts[value] = end
}

// Packets.

/** A packet: its bytes from `offset` to `end`, without its header. */
export interface PacketBytes { readonly buffer: Buffer, readonly offset: number, readonly end: number }

/** The reply to a statement without rows ("OK_Packet"). */
export interface OkPacket {
  readonly affectedRows: number
  /** The AUTO_INCREMENT number as digits; 0 for none. */
  readonly insertId: string
  /** The bits of SERVER_STATUS_flags_enum. */
  readonly status: number
  readonly warnings: number
  /** A text about the statement, such as `Records: 3  Duplicates: 1  Warnings: 0`; often empty. */
  readonly info: string
  /** Whether variables of the session were changed. */
  readonly changesSession: boolean
}

const MORE_RESULTS_EXIST = 0x8
const SESSION_STATE_CHANGED = 0x4000
/** A capability of the server. mysql2 always asks for it. */
const SESSION_TRACK = 0x800000
/** A kind of session state: the name and the new value of a variable. */
const SYSTEM_VARIABLE = 0
/** MariaDB reports it for each transaction in its binary log. */
const OF_EACH_WRITE = 'last_gtid'

/** First bytes of packets. A row may begin with the byte of an EOF packet, but is longer than EOF_SIZE. */
const [OK, EOF, EOF_SIZE] = [0x00, 0xfe, 5]

export const isOk = ({ buffer, offset }: PacketBytes): boolean => buffer[offset] === OK
export const isEof = ({ buffer, offset, end }: PacketBytes): boolean =>
  buffer[offset] === EOF && end - offset <= EOF_SIZE

/** Ends the reading of rows. @throws Error if another result follows, because statements of the service have one */
export function readEof ({ buffer, offset }: PacketBytes): void {
  requireLast(buffer.readUInt16LE(offset + 3))
}

/** The number of columns of a result. @throws Error if the server asks for a local file */
export function readColumnCount ({ buffer, offset }: PacketBytes): number {
  const count = readLength(buffer, offset)
  if (count < 0) throw lacksLength()
  return count
}

/**
 * `capabilities`: the bits of the server's Capabilities Flags. @throws RangeError if the packet is too short, Error if
 * another result follows
 */
export function readOk ({ buffer, offset, end }: PacketBytes, capabilities: number): OkPacket {
  const reader = new PacketReader(buffer, offset + 1)
  const affectedRows = reader.length()
  const insertId = reader.digits()
  const status = reader.uint16()
  const warnings = reader.uint16()
  requireLast(status)
  const tracks = (capabilities & SESSION_TRACK) !== 0
  const info = !tracks ? buffer.toString('utf8', reader.at, end) : reader.at < end ? reader.text() : ''
  const changesSession =
    tracks && (status & SESSION_STATE_CHANGED) !== 0 && (reader.at >= end || reader.hasChangedVariable())
  return { affectedRows, insertId, status, warnings, info, changesSession }
}

function requireLast (status: number): void {
  if ((status & MORE_RESULTS_EXIST) !== 0) throw new Error('the server sends more than one result')
}

/** Reads values one after the other, from `at`. */
export class PacketReader {
  readonly #bytes: Buffer
  at: number

  constructor (bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.at = at
  }

  uint16 (): number {
    const value = this.#bytes.readUInt16LE(this.at)
    this.at += 2
    return value
  }

  /** @throws Error for the byte that means NULL, with which a request for a local file begins */
  length (): number {
    const length = readLength(this.#bytes, this.at)
    if (length < 0) throw lacksLength()
    this.at = afterLength(this.#bytes, this.at)
    return length
  }

  /** An integer of up to 64 bits, as digits, because `length` rounds it. */
  digits (): string {
    const { at } = this
    const integer = this.length()
    return integer <= Number.MAX_SAFE_INTEGER ? String(integer) : String(this.#bytes.readBigUInt64LE(at + 1))
  }

  text (): string {
    const length = this.length()
    const start = this.at
    this.at += length
    return length === 0 ? '' : this.#bytes.toString('utf8', start, this.at)
  }

  /** Skips a text. */
  skip (): void {
    const length = this.length()
    this.at += length
  }

  /**
   * Whether the list of changes names a variable other than those of each write. It is empty if only the list of
   * reported variables was changed.
   */
  hasChangedVariable (): boolean {
    const size = this.length()
    if (size === 0) return true
    for (const end = this.at + size; this.at < end;) {
      const kind = this.#bytes[this.at++]
      const length = this.length()
      const endOfChange = this.at + length
      if (kind === SYSTEM_VARIABLE && this.text() !== OF_EACH_WRITE) return true
      this.at = endOfChange
    }
    return false
  }
}

// The server's reply to a statement without rows. Most fields are parsed only if a feature needs them.

/** The bit of the status that is set while a transaction is open (MySQL manual, "SERVER_STATUS_flags_enum"). */
export const IN_TRANSACTION = 1

const NUMBERS = /\d+/g

export class WriteResult implements StatementResult {
  readonly rows = 0
  readonly changed: number
  readonly insertId: string
  readonly #ok: OkPacket

  constructor (ok: OkPacket) {
    this.#ok = ok
    this.changed = ok.affectedRows
    this.insertId = ok.insertId
  }

  /** `Rows matched: 2  Changed: 1  Warnings: 0` */
  get matched (): number {
    return this.#number(0) ?? this.changed
  }

  /** `Records: 3  Duplicates: 1  Warnings: 0` */
  get duplicates (): number | undefined {
    return this.#number(1)
  }

  get warnings (): number {
    return this.#ok.warnings
  }

  get isInTransaction (): boolean {
    return (this.#ok.status & IN_TRANSACTION) !== 0
  }

  /** The number at an index in the text about the statement, whose words the server translates. */
  #number (index: number): number | undefined {
    const digits = this.#ok.info.match(NUMBERS)?.[index]
    return digits === undefined ? undefined : Number(digits)
  }
}
