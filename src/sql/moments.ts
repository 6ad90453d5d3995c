import { valueOutOfRange } from '../errors.ts'
import type { Cell } from '../types/column-type.ts'
import { isMoment, valueAt, type Clock } from '../types/moment.ts'

/** Puts values in place of moments; NULL for one in filters that its column cannot hold. `readClock` is called if there are moments. @throws VALUE_OUT_OF_RANGE for one in `data` */
export function settleCells (cells: readonly Cell[], readClock: () => Clock): readonly Cell[] {
  if (!cells.some(isMoment)) return cells
  const clock = readClock()
  return cells.map((cell) => {
    if (!isMoment(cell)) return cell
    const value = valueAt(cell, clock)
    if (value === undefined && cell.use === 'data') throw valueOutOfRange()
    return value ?? null
  })
}
