/** The cells of a row of MySQL's text protocol, for parts of it that are not written as a whole. */
import { NULL_CELL, THREE_BYTES, TWO_BYTES } from './encode-row.ts'

/** Returns where the cell that begins at `at` ends, and where its value begins; for NULL the value begins at the end. */
function boundsOf (bytes: Buffer, at: number): { readonly start: number, readonly end: number } {
  const first = bytes[at] as number
  if (first === NULL_CELL) return { start: at + 1, end: at + 1 }
  if (first < NULL_CELL) return { start: at + 1, end: at + 1 + first }
  const size = first === TWO_BYTES ? 2 : first === THREE_BYTES ? 3 : 6
  const start = at + 1 + (size === 6 ? 8 : size)
  return { start, end: start + bytes.readUIntLE(at + 1, size) }
}

/** Returns where the cell after the first `count` cells begins. */
export function skipCells (bytes: Buffer, from: number, count: number): number {
  let at = from
  for (let cell = 0; cell < count; cell++) at = boundsOf(bytes, at).end
  return at
}

/** Returns a copy of each value of a row that stands in `bytes` from `from` to `end`. The driver uses the bytes again. */
export function copyCells (bytes: Buffer, from: number, end: number): Array<Buffer | null> {
  const cells: Array<Buffer | null> = []
  for (let at = from; at < end;) {
    const bounds = boundsOf(bytes, at)
    cells.push(bytes[at] === NULL_CELL ? null : Buffer.from(bytes.subarray(bounds.start, bounds.end)))
    at = bounds.end
  }
  return cells
}
