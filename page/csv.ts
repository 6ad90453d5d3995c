/** Rows as CSV, as the service writes it. */
import { memberOf, writeLine, type Json, type JsonObject } from './json.ts'

/** RFC 4180: NULL is nothing, an empty text is `""`. */
export function writeCsv (columns: readonly string[], rows: readonly JsonObject[]): string {
  const line = (values: ReadonlyArray<Json | undefined>): string => `${values.map(writeField).join(',')}\r\n`
  return line(columns) + rows.map((row) => line(columns.map((column) => memberOf(row, column)))).join('')
}

function writeField (value: Json | undefined): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : writeLine(value)
  return text === '' || /[",\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
