import type { Conflict, PlannedRow, RowsPlan, ScannedList } from './plan.ts'

/**
 * The rows of a list that was scanned and not parsed. A class, so that a copy such as `{ ...plan, rows: half }` has no text of all rows:
 * getters of a prototype are not copied.
 */
export class ScannedRowsPlan implements RowsPlan {
  readonly isList = true
  readonly conflict: Conflict | undefined
  readonly #scanned: ScannedList
  readonly #plan: () => readonly PlannedRow[]
  #rows: readonly PlannedRow[] | undefined

  /** `plan`: plans the rows of the parsed list. */
  constructor (scanned: ScannedList, plan: () => readonly PlannedRow[], conflict: Conflict | undefined) {
    this.conflict = conflict
    this.#scanned = scanned
    this.#plan = plan
  }

  get scanned (): ScannedList {
    return this.#scanned
  }

  /** For whoever divides the rows after an error. */
  get rows (): readonly PlannedRow[] {
    this.#rows ??= this.#plan()
    return this.#rows
  }
}
