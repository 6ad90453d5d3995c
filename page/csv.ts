/** CSV as the service writes and reads it. */
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

/** What separates the names in the first line of a file, as the option of an import says it. */
export function findSeparator (text: string): ',' | ';' | 'tab' {
  const [line = ''] = text.replaceAll(/"(?:[^"]|"")*"/g, '').split(/[\r\n]/)
  const count = (separator: string): number => line.split(separator).length
  const [best] = ([[',', ','], [';', ';'], ['tab', '\t']] as const).toSorted(([, one], [, other]) => count(other) - count(one))
  return best?.[0] ?? ','
}
