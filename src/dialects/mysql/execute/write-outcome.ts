/** The server's answer to a statement without rows. Most fields are parsed only if a feature needs them. */
import type { Outcome } from '../../dialect.ts'
import type { OkPacket } from '../connection/packets.ts'

/** The bit of the status that is set while a transaction is open (MySQL manual, "SERVER_STATUS_flags_enum"). */
const IN_TRANSACTION = 1

const NUMBERS = /\d+/g

export class WriteOutcome implements Outcome {
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

  /** The number at an index in the text about the statement; found by position, because the server translates the words. */
  #number (place: number): number | undefined {
    const digits = this.#ok.info.match(NUMBERS)?.[place]
    return digits === undefined ? undefined : Number(digits)
  }
}
