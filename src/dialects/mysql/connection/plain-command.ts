/** What row-command.ts does, by mysql2's public ways: whole rows of bytes, then the column types' own writers. */
import type { FieldPacket, ResultSetHeader } from 'mysql2'
import { SchemaMoved } from '../../dialect.ts'
import type { ColumnDefinition } from '../../../types/value-classes.ts'
import type { SendCommand } from './row-command.ts'
import { AS_BYTES } from '../options.ts'

export const sendPlainCommand: SendCommand = (connection, { sql, writer, definitions, listener }) => {
  connection.query({ sql, ...AS_BYTES }, (error, answer, fields) => {
    if (error !== null) return listener.done(error)
    const rows = Array.isArray(answer) ? answer as unknown as Buffer[][] : []
    try {
      if (definitions !== undefined) {
        if (fields?.every((field, index) => definitions.isExpected(index, toDefinition(field))) === false) throw new SchemaMoved()
        writer?.useColumns(definitions.columns)
      }
      for (const row of rows) {
        writer?.row(row)
        if (writer?.isTooLarge !== true) continue
        listener.stop()
        break
      }
    } catch (reason) {
      listener.fail(reason)
    }
    listener.done(null, answer as ResultSetHeader)
  })
}

/** What mysql2 has parsed. */
function toDefinition (field: FieldPacket): ColumnDefinition {
  const { columnType = 0, characterSet = 0, flags, columnLength = 0, extendedTypeName = '', extendedFormat = '' } = field
  return { type: columnType, charset: characterSet, flags: flags as number, length: columnLength, extendedType: extendedTypeName, format: extendedFormat }
}
