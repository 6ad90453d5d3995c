/**
 * The command that reads rows. mysql2 connects, frames and queues; its parsing of each row into an object of strings is
 * replaced: the bytes of the packet go to the sink as they are. This relies on private parts of mysql2, so it is used
 * only where a trial has shown that it works (try-reader.ts); otherwise plain-command.ts does the same by mysql2's public interface.
 */
import mysql, { type Connection, type QueryError, type ResultSetHeader } from 'mysql2'
import { SchemaMoved, type RowSink } from '../../dialect.ts'
import type { Definitions } from './definitions.ts'

/** The parts of mysql2's packet that are used: a definition, a row or an end, with its bytes from `offset` to `end`. */
interface Packet { readonly buffer: Buffer, readonly offset: number, readonly end: number, isEOF (): boolean }

/** The parts of mysql2's Query that are used: each method takes a packet and returns the method that takes the next one. */
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

/** What commands need of a sink. */
export type CommandSink = Pick<RowSink, 'begin' | 'textRow' | 'row' | 'full'>

export interface CommandOptions {
  readonly sql: string
  /** Undefined for statements without rows. */
  readonly sink: CommandSink | undefined
  /** The expected column definitions; any definitions are accepted if left out. */
  readonly definitions?: Definitions | undefined
  readonly listener: CommandListener
}

export interface CommandListener {
  /** Called once, when the sink is full; later rows are ignored. */
  stop (): void
  /** Called once, when the result cannot be read: with SchemaMoved, or the error that reading it threw. Later rows are ignored. */
  fail (reason: unknown): void
  /** Called at the end. */
  done: CommandDone
}

/** Runs a statement on a connection. */
export type SendCommand = (connection: Connection, options: CommandOptions) => void

type CommandClass = new (options: { sql: string }, done: CommandDone) => Command

/** Creates the sender of commands that read rows as bytes; undefined where mysql2 lacks the methods for it. */
export function createCommandSender (connection: object): SendCommand | undefined {
  const Query = queryClass()
  const { addCommand } = connection as { addCommand?: unknown }
  if (Query === undefined || typeof addCommand !== 'function') return undefined
  const RowCommand = createRowCommand(Query)
  return (target, options) => { (target as unknown as { addCommand (command: unknown): void }).addCommand(new RowCommand(options)) }
}

/** Finds the class that mysql2's public `createQuery` returns, if it has the methods that are overridden. */
export function queryClass (): CommandClass | undefined {
  const sample = (mysql.Connection as unknown as { createQuery (sql: string, values: [], done: () => void, config: object): object }).createQuery('', [], () => {}, {})
  const methods = sample as Record<string, unknown>
  return ['readField', 'fieldsEOF', 'row', 'done'].every((name) => typeof methods[name] === 'function') ? sample.constructor as CommandClass : undefined
}

function createRowCommand (Query: CommandClass): new (options: CommandOptions) => Command {
  return class RowCommand extends Query {
    readonly #sink: CommandSink | undefined
    readonly #definitions: Definitions | undefined
    readonly #listener: CommandListener
    /** Whether the remaining rows are ignored. */
    #isOver = false

    constructor ({ sql, sink, definitions, listener }: CommandOptions) {
      super({ sql }, (error, header) => listener.done(error, header))
      this.#sink = sink
      this.#definitions = definitions
      this.#listener = listener
    }

    override readField ({ buffer, offset, end }: Packet): unknown {
      const index = this._receivedFieldsCount++
      if (this.#definitions?.isExpectedIn(index, buffer, offset, end) === false) this.#fail(new SchemaMoved())
      if (this._receivedFieldsCount !== this._fieldCount) return this.readField
      if (this.#definitions !== undefined) this.#sink?.begin(this.#definitions.columns)
      return this.fieldsEOF
    }

    /** Calls back at once, not at the next tick: a promise delays what follows anyway. */
    override done (): null {
      this.onResult(null, this._rows[0] as ResultSetHeader)
      return null
    }

    override row (packet: Packet, connection: Connection): unknown {
      if (packet.isEOF()) return super.row(packet, connection)
      if (!this.#isOver) this.#write(packet)
      return this.row
    }

    /** Must not throw: mysql2 would treat the error as the end of the connection. */
    #write ({ buffer, offset, end }: Packet): void {
      const sink = this.#sink as CommandSink
      try {
        sink.textRow(buffer, offset, end)
      } catch (reason) {
        return this.#fail(reason)
      }
      if (sink.full) {
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
