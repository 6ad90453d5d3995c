/**
 * The command that reads rows. mysql2 connects, frames and queues; what it would do with each row - an object of strings - is
 * replaced: the cells of the packet go to a RowWriter as the bytes that they are. This leans on mysql2's inside and is used
 * only where a trial has shown that it works (prove-reader.ts); else plain-command.ts does the same by mysql2's public ways.
 */
import mysql, { type Connection, type QueryError, type ResultSetHeader } from 'mysql2'
import type { RowWriter } from '../../../response/sink.ts'
import { SchemaMoved } from '../../dialect.ts'
import type { Definitions } from './definitions.ts'

/** What is used of a packet of mysql2's: a definition, a row or an end, with its bytes from `offset` to `end`. */
interface Packet { readonly buffer: Buffer, readonly offset: number, readonly end: number, isEOF (): boolean }

/** mysql2's own Query, as far as it is used: each method takes a packet and gives the method that takes the next one. */
interface Command {
  _fieldCount: number
  _receivedFieldsCount: number
  readonly _rows: readonly unknown[]
  onResult: CommandDone
  done (): null
  readField (packet: Packet, connection: Connection): unknown
  fieldsEOF (packet: Packet, connection: Connection): unknown
  row (packet: Packet, connection: Connection): unknown
}

export type CommandDone = (error: QueryError | null, header?: ResultSetHeader) => void

export interface CommandOptions {
  readonly sql: string
  /** Takes the rows; none for statements that give none. */
  readonly writer: RowWriter | undefined
  /** What is expected of the columns; anything if left out. */
  readonly definitions?: Definitions | undefined
  readonly listener: CommandListener
}

export interface CommandListener {
  /** Called once, when the answer has become too large; rows are passed over from then on. */
  stop (): void
  /** Called once, when the result cannot be read: with SchemaMoved, or what its reading threw. Rows are passed over from then on. */
  fail (reason: unknown): void
  /** Called at the end. */
  done: CommandDone
}

/** Runs a statement on a connection. */
export type SendCommand = (connection: Connection, options: CommandOptions) => void

type CommandClass = new (options: { sql: string }, done: CommandDone) => Command

/** The way to send commands that read rows as bytes, or undefined where mysql2 has no such methods. */
export function createCommandSender (connection: object): SendCommand | undefined {
  const Query = queryClass()
  const { addCommand } = connection as { addCommand?: unknown }
  if (Query === undefined || typeof addCommand !== 'function') return undefined
  const RowCommand = createRowCommand(Query)
  return (target, options) => { (target as unknown as { addCommand (command: unknown): void }).addCommand(new RowCommand(options)) }
}

/** The class of mysql2's public `createQuery`, if it has the methods that are overridden. */
export function queryClass (): CommandClass | undefined {
  const sample = (mysql.Connection as unknown as { createQuery (sql: string, values: [], done: () => void, config: object): object }).createQuery('', [], () => {}, {})
  const methods = sample as Record<string, unknown>
  return ['readField', 'fieldsEOF', 'row', 'done'].every((name) => typeof methods[name] === 'function') ? sample.constructor as CommandClass : undefined
}

function createRowCommand (Query: CommandClass): new (options: CommandOptions) => Command {
  return class RowCommand extends Query {
    readonly #writer: RowWriter | undefined
    readonly #definitions: Definitions | undefined
    readonly #listener: CommandListener
    /** Rows that are left are passed over. */
    #isOver = false

    constructor ({ sql, writer, definitions, listener }: CommandOptions) {
      super({ sql }, (error, header) => listener.done(error, header))
      this.#writer = writer
      this.#definitions = definitions
      this.#listener = listener
    }

    override readField ({ buffer, offset, end }: Packet): unknown {
      const index = this._receivedFieldsCount++
      if (this.#definitions?.isExpectedIn(index, buffer, offset, end) === false) this.#fail(new SchemaMoved())
      if (this._receivedFieldsCount !== this._fieldCount) return this.readField
      if (this.#definitions !== undefined) this.#writer?.useColumns(this.#definitions.columns)
      return this.fieldsEOF
    }

    /** Calls back at once and not at the next tick: a promise waits for it, which comes later anyway. */
    override done (): null {
      this.onResult(null, this._rows[0] as ResultSetHeader)
      return null
    }

    override row (packet: Packet, connection: Connection): unknown {
      if (packet.isEOF()) return super.row(packet, connection)
      if (!this.#isOver) this.#write(packet)
      return this.row
    }

    /** Nothing may be thrown from here: mysql2 would take it for the end of the connection. */
    #write ({ buffer, offset, end }: Packet): void {
      const writer = this.#writer as RowWriter
      try {
        writer.textRow(buffer, offset, end)
      } catch (reason) {
        return this.#fail(reason)
      }
      if (writer.isTooLarge) {
        this.#isOver = true
        this.#listener.stop()
      }
    }

    #fail (reason: unknown): void {
      if (!this.#isOver) this.#listener.fail(reason)
      this.#isOver = true
    }
  }
}
