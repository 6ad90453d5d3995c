/** Inserts the rows of members into the gaps of the rows that they are related to. */
import type { LinkCells } from '../plan/cells.ts'
import type { Fragment, MemberRows } from './member-rows.ts'
import type { Output } from './output.ts'

export type RowsByMember = ReadonlyMap<LinkCells, MemberRows>

/** Writes a fragment with its gaps filled. Stops and returns false if the output takes no more. */
export function writeFragment (output: Output, { bytes, start, end, gaps, gap, gapsEnd }: Fragment, rows: RowsByMember, isFull: () => boolean): boolean {
  let from = start
  for (let next = gap; next < gapsEnd; next++) {
    const { at, link, place } = gaps[next] as Fragment['gaps'][number]
    copy(output, bytes, from, at)
    from = at
    const related = rows.get(link)?.find(place)
    if (related !== undefined && (isFull() || !writeFragment(output, related, rows, isFull))) return false
  }
  copy(output, bytes, from, end)
  return !isFull()
}

/** The number of bytes up to which a loop is faster. */
const SHORT = 64

function copy (output: Output, bytes: Buffer, from: number, to: number): void {
  const length = to - from
  // the same rows may be related to many others
  if (output.length + length > output.maxBytes) return output.overflow()
  output.reserve(length)
  const { bytes: target, length: at } = output
  if (length > SHORT) bytes.copy(target, at, from, to)
  else for (let each = 0; each < length; each++) target[at + each] = bytes[from + each] as number
  output.length = at + length
}
