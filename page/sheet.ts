/** Rows as the cells of a sheet: separated by tabs, as spreadsheets copy and paste them. */
import { isList, isObject, memberOf, writeLine, type Json, type JsonObject } from './json.ts'

const textOf = (value: Json | undefined): string => value === null || value === undefined ? '' : typeof value === 'string' ? value : writeLine(value)
const quote = (text: string): string => /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** `hasHead`: with the names of the columns. */
export function writeSheet (columns: readonly string[], rows: readonly JsonObject[], hasHead = true): string {
  const lines = rows.map((row) => columns.map((name) => {
    const value = memberOf(row, name)
    return isList(value) || isObject(value) ? writeLine(value) : textOf(value)
  }))
  if (lines.length === 1 && columns.length === 1 && !hasHead) return lines[0]?.[0] ?? ''
  return [...hasHead ? [[...columns]] : [], ...lines].map((cells) => cells.map(quote).join('\t')).join('\n')
}

/** The cells of a text that was copied from a sheet. Rows of one empty cell are none. */
export function readSheet (text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^\t\r\n]*))(\t|\r\n|\n|\r|$)/g)) {
    (rows.at(-1) as string[]).push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '') break
    if (end !== '\t') rows.push([])
  }
  return rows.filter((cells) => cells.some((cell) => cell !== ''))
}
