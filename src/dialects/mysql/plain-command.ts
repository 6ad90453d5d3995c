/** What row-command.ts does, by mysql2's public ways: whole rows of bytes, then the column types' own writers. */
import type { ResultSetHeader } from 'mysql2'
import type { SendCommand } from './row-command.ts'
import { AS_BYTES } from './options.ts'

export const sendPlainCommand: SendCommand = (connection, { sql, writer, listener }) => {
  connection.query({ sql, ...AS_BYTES }, (error, answer) => {
    if (error !== null) return listener.done(error)
    for (const row of Array.isArray(answer) ? answer as unknown as Buffer[][] : []) {
      writer?.row(row)
      if (writer?.isTooLarge === true) {
        listener.stop()
        break
      }
    }
    listener.done(null, answer as ResultSetHeader)
  })
}
