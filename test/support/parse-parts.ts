import type { RowParser } from '../../src/imports/row-parser.ts'

/**
 * Passes a text to the parser of an import in parts of `size` characters, and calls `take` whenever it may have a row.
 */
export function parseParts (parser: RowParser, text: string, size: number, take: () => void): void {
  for (let from = 0; from < text.length; from += size) {
    const part = text.slice(from, from + size)
    for (let at = 0; at < part.length;) {
      at = parser.read(part, at)
      take()
    }
  }
  parser.end()
  take()
}
