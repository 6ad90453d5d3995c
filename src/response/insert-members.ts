/** Puts the rows of members into the gaps of the rows that they are related to. */
import type { LinkCells } from '../plan/cells.ts'
import { emptyComputed, type Fragment, type MemberRows } from './member-rows.ts'
import type { Output } from './output.ts'
import type { Gap } from './row-writer.ts'

export type RowsByMember = ReadonlyMap<LinkCells, MemberRows>

/** Writes a fragment with its gaps filled. Stops, and returns false, where the output takes no more. */
export function writeFragment (output: Output, { bytes, start, end, gaps }: Fragment, rows: RowsByMember, isFull: () => boolean): boolean {
  let from = start
  for (const gap of gaps) {
    copy(output, bytes, from, gap.at)
    from = gap.at
    if (isFull() || !writeMember(output, gap, rows, isFull)) return false
  }
  copy(output, bytes, from, end)
  return !isFull()
}

function writeMember (output: Output, { link, place }: Gap, rows: RowsByMember, isFull: () => boolean): boolean {
  const { member } = link
  const related = rows.get(link) as MemberRows
  output.text(`,"${member.name}":${member.kind === 'many' ? '[' : ''}`)
  let count = 0
  const isWhole = related.each(place, (row) => {
    if (count++ > 0) output.text(',')
    return writeFragment(output, row, rows, isFull)
  })
  if (!isWhole) return false
  if (member.kind === 'many') output.text(']')
  else if (count === 0) output.text(emptyComputed(member.columns))
  return true
}

function copy (output: Output, bytes: Buffer, from: number, to: number): void {
  output.reserve(to - from)
  bytes.copy(output.bytes, output.length, from, to)
  output.length += to - from
}
