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
      for (const row of answer as unknown as Buffer[][]) if (!reader.take(row)) break
      listener.done(null)
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
    .on('result', (row: unknown) => { reader.take(row as Buffer[]) })
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

  /** Takes a row. Returns whether more rows are taken. */
  take (row: Buffer[]): boolean {
    const { sink, listener } = this.#options
    if (!this.#isOver) this.#try(() => sink?.row(row))
    if (!this.#isOver && sink?.full === true) {
      this.#isOver = true
      listener.stop()
    }
    return !this.#isOver
  }

  #try (work: () => void): void {
    try {
      work()
    } catch (reason) {
      this.#isOver = true
      this.#options.listener.fail(reason)
    }
  }
}

/** Converts what mysql2 has parsed. */
function toDefinition (field: FieldPacket): ColumnDefinition {
  const { columnType = 0, characterSet = 0, flags, columnLength = 0, extendedTypeName = '', extendedFormat = '' } = field
  return { type: columnType, charset: characterSet, flags: flags as number, length: columnLength, extendedType: extendedTypeName, format: extendedFormat }
}
