/** Does the work of statement-command.ts by mysql2's public interface: whole rows as arrays of bytes. */
import type { FieldPacket, ResultSetHeader } from 'mysql2'
import { SchemaMoved } from '../../dialect.ts'
import type { ColumnDefinition } from '../../../types/value-classes.ts'
import { toOkPacket } from './packets.ts'
import type { SendCommand } from './statement-command.ts'
import { AS_BYTES } from '../options.ts'

export const sendPlainCommand: SendCommand = (connection, { sql, sink, definitions, listener }) => {
  connection.query({ sql, ...AS_BYTES }, (error, answer, fields) => {
    if (error !== null) return listener.done(error)
    if (!Array.isArray(answer)) return listener.done(null, toOkPacket(answer as ResultSetHeader))
    try {
      if (definitions !== undefined) {
        if (fields?.every((field, index) => definitions.isExpected(index, toDefinition(field))) === false) throw new SchemaMoved()
        sink?.begin(definitions.columns)
      }
      for (const row of answer as unknown as Buffer[][]) {
        sink?.row(row)
        if (sink?.full !== true) continue
        listener.stop()
        break
      }
    } catch (reason) {
      listener.fail(reason)
    }
    listener.done(null)
  })
}

/** Converts what mysql2 has parsed. */
function toDefinition (field: FieldPacket): ColumnDefinition {
  const { columnType = 0, characterSet = 0, flags, columnLength = 0, extendedTypeName = '', extendedFormat = '' } = field
  return { type: columnType, charset: characterSet, flags: flags as number, length: columnLength, extendedType: extendedTypeName, format: extendedFormat }
}
