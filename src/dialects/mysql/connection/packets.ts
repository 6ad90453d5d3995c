/** Reads the packets of a server's answer (MySQL source code documentation, "Client/Server Protocol"). */
import type { ResultSetHeader } from 'mysql2'
import { afterLength, readDigits, readLength } from '../length-encoded.ts'

/** A packet: its bytes from `offset` to `end`, without its header. */
export interface PacketBytes { readonly buffer: Buffer, readonly offset: number, readonly end: number }

/** The answer to a statement without rows ("OK_Packet"). */
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

/** First bytes of packets, and the size of the largest EOF packet. A row may begin with the same byte, but is longer. */
const [OK, EOF, EOF_SIZE] = [0x00, 0xfe, 5]

export const isOk = ({ buffer, offset }: PacketBytes): boolean => buffer[offset] === OK
export const isEof = ({ buffer, offset, end }: PacketBytes): boolean => buffer[offset] === EOF && end - offset <= EOF_SIZE

/** Ends the reading of rows. @throws Error if another result follows, because statements of the service have one */
export function readEof ({ buffer, offset }: PacketBytes): void {
  requireLast(buffer.readUInt16LE(offset + 3))
}

/** The number of columns of a result. @throws Error if the server asks for a local file */
export function readColumnCount ({ buffer, offset }: PacketBytes): number {
  return new PacketReader(buffer, offset).length()
}

/** `capabilities`: the bits of the server's Capabilities Flags. @throws RangeError if the packet is too short, Error if another result follows */
export function readOk ({ buffer, offset, end }: PacketBytes, capabilities: number): OkPacket {
  const reader = new PacketReader(buffer, offset + 1)
  const affectedRows = reader.length()
  const insertId = reader.digits()
  const status = reader.uint16()
  const warnings = reader.uint16()
  requireLast(status)
  if ((capabilities & SESSION_TRACK) === 0) return { affectedRows, insertId, status, warnings, info: buffer.toString('utf8', reader.at, end), changesSession: false }
  const info = reader.at < end ? reader.text() : ''
  const changesSession = (status & SESSION_STATE_CHANGED) !== 0 && (reader.at >= end || reader.hasChangedVariable())
  return { affectedRows, insertId, status, warnings, info, changesSession }
}

/** mysql2's types lack the list of changes. */
export interface Header extends ResultSetHeader { readonly stateChanges?: { readonly systemVariables: Readonly<Record<string, string>> } }

/** Converts what mysql2 has parsed. */
export function toOkPacket ({ affectedRows, insertId, serverStatus: status, warningStatus: warnings, info, stateChanges }: Header): OkPacket {
  // mysql2 reads the id as a signed number, but AUTO_INCREMENT numbers are unsigned
  const digits = insertId >= 0 ? String(insertId) : String(BigInt.asUintN(64, BigInt(insertId)))
  const changesSession = (status & SESSION_STATE_CHANGED) !== 0 && (stateChanges === undefined || Object.keys(stateChanges.systemVariables).length > 0)
  return { affectedRows, insertId: digits, status, warnings, info, changesSession }
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
    if (length < 0) throw new Error('the packet has no length where one must be')
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

  /** Whether the list of changes names a variable. It is empty if only the list of reported variables was changed. */
  hasChangedVariable (): boolean {
    const size = this.length()
    if (size === 0) return true
    for (const end = this.at + size; this.at < end;) {
      if (this.#bytes[this.at++] === SYSTEM_VARIABLE) return true
      this.skip()
    }
    return false
  }
}
