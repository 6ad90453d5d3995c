/** Reads the packets of a server's reply (MySQL source code documentation, "Client/Server Protocol"). */
import type { StatementResult } from '../dialect.ts'
import { afterLength, readDigits, readLength } from '../row-bytes.ts'

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

const lacksLength = (): Error => new Error('the packet lacks a length')

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

  /** An integer of up to 64 bits, as digits. */
  digits (): string {
    const { at } = this
    const integer = this.length()
    return integer <= Number.MAX_SAFE_INTEGER ? String(integer) : readDigits(this.#bytes, at)
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
