/** Does the work of statement-command.ts by mysql2's public interface, with rows as arrays of bytes. */
import type { FieldPacket, QueryError, ResultSetHeader } from 'mysql2'
import { SchemaMoved } from '../../dialect.ts'
import type { ColumnDefinition } from '../../../types/value-classes.ts'
import { toOkPacket } from './packets.ts'
import type { CommandOptions, SendCommand } from './statement-command.ts'
import { AS_BYTES } from '../options.ts'

export const sendPlainCommand: SendCommand = (connection, options) => {
  const { sql, listener, isPaced = false } = options
  const reader = new PlainReader(options)
  if (!isPaced) {
    connection.query({ sql, ...AS_BYTES }, (error, answer, fields) => {
      if (error !== null) return listener.done(error)
      if (!Array.isArray(answer)) return listener.done(null, toOkPacket(answer as ResultSetHeader))
      reader.begin(fields)
      reader.takeAll(answer as unknown as Buffer[][]).then(() => listener.done(null))
    })
    return
  }
  // reads row by row, so that the connection can be paused between rows; mysql2 then reports a lost connection only to the connection
  let hasEnded = false
  const end = (error: QueryError | null): void => {
    connection.off('error', end)
    if (!hasEnded) listener.done(error)
    hasEnded = true
  }
  connection.on('error', end)
  connection.query({ sql, ...AS_BYTES })
    .on('fields', (fields: FieldPacket[]) => reader.begin(fields))
    .on('result', (row: unknown) => {
      const taking = reader.take(row as Buffer[])
      if (taking !== undefined) listener.wait(taking)
    })
    .on('error', end)
    .on('end', () => end(null))
}

/** Passes rows on until the sink is full or has failed. */
class PlainReader {
  readonly #options: CommandOptions
  #isOver = false

  constructor (options: CommandOptions) {
    this.#options = options
  }

  begin (fields: readonly FieldPacket[] | undefined): void {
    const { definitions, sink } = this.#options
    if (definitions === undefined) return
    this.#try(() => {
      if (fields?.every((field, index) => definitions.isExpected(index, toDefinition(field))) === false) throw new SchemaMoved()
      sink?.begin(definitions.columns)
    })
  }

  /** Takes rows until no more are taken. */
  async takeAll (rows: readonly Buffer[][]): Promise<void> {
    for (const row of rows) {
      await this.take(row)
      if (this.#isOver) return
    }
  }

  /** Takes a row. Returns a promise, which does not reject, if that is done between turns of the event loop. */
  take (row: Buffer[]): Promise<void> | undefined {
    if (this.#isOver) return undefined
    const taking = this.#try(() => this.#options.sink?.row(row))
    if (taking !== undefined) return taking.then(() => this.#stopIfFull(), (reason) => this.#fail(reason))
    this.#stopIfFull()
    return undefined
  }

  #stopIfFull (): void {
    const { sink, listener } = this.#options
    if (this.#isOver || sink?.full !== true) return
    this.#isOver = true
    listener.stop()
  }

  #try<T> (work: () => T): T | undefined {
    try {
      return work()
    } catch (reason) {
      this.#fail(reason)
      return undefined
    }
  }

  #fail (reason: unknown): void {
    this.#isOver = true
    this.#options.listener.fail(reason)
  }
}

/** Converts what mysql2 has parsed. */
function toDefinition (field: FieldPacket): ColumnDefinition {
  const { columnType = 0, characterSet = 0, flags, columnLength = 0, extendedTypeName = '', extendedFormat = '' } = field
  return { type: columnType, charset: characterSet, flags: flags as number, length: columnLength, extendedType: extendedTypeName, format: extendedFormat }
}
