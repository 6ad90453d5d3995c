import type { Column } from '../catalog/catalog.ts'
import { copyValues, skipValues } from '../dialects/mysql/connection/packets.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { SelectPlan } from '../plan/plan.ts'
import type { DriverValue } from '../types/column-type.ts'
import { writeValue } from './encode-row.ts'
import type { CountResult } from './result.ts'
import { cellsOf } from '../plan/cells.ts'
import { RowWriter } from './row-writer.ts'
import { AnswerSink } from './answer-sink.ts'
import type { AnswerMemoryBudget } from './budget.ts'

/** The position of the next page and the total number of rows, as members of the answer; empty if the request asked for neither. */
export function pageMembers ({ page, limit }: SelectPlan, { total }: CountResult, sink: AnswerSink): string {
  const members = total === undefined ? '' : `,"total":${total}`
  if (!(sink instanceof PageSink)) return members
  const next = !sink.hasMore ? 'null' : page?.by === 'offset' ? String(page.offset + limit) : sink.position()
  return `,"next":${next}${members}`
}

/** The sink for the rows of a select. `maxBytes`: bytes that the answer may have. */
export function createSelectSink (plan: SelectPlan, maxBytes: number, budget?: AnswerMemoryBudget): AnswerSink {
  const { columns, page, order, limit: rows } = plan
  const writer = plan.members === undefined ? undefined : new RowWriter(cellsOf(plan), columns, plan.table.engine === 'sqlite')
  if (page === undefined) return new AnswerSink(columns, maxBytes, budget, writer)
  const byPosition = page.by === 'position'
  return new PageSink({ columns, hidden: byPosition ? page.hidden : [], position: byPosition ? order.map(({ column }) => column) : [], rows, maxBytes, budget, writer })
}

interface PageOptions {
  /** The columns of the answer. */
  readonly columns: readonly Column[]
  /** The columns after those of the answer, for the position. */
  readonly hidden: readonly Column[]
  /** The columns of the position; none if the next page is known by its offset. */
  readonly position: readonly Column[]
  /** Maximum number of rows in the answer. */
  readonly rows: number
  /** Bytes that the answer may have. */
  readonly maxBytes: number
  readonly budget?: AnswerMemoryBudget | undefined
  readonly writer: RowWriter | undefined
}

/** The columns of the answer by the columns of the rows. */
const shownColumns = new WeakMap<readonly Column[], readonly Column[]>()

/** Takes the rows of a page, and one more that is not in the answer but shows that another page follows. */
export class PageSink extends AnswerSink {
  readonly #shown: number
  readonly #hidden: number
  /** The indexes of the columns of the position in a row. */
  readonly #places: readonly number[]
  readonly #rows: number
  /** The columns as the database has them now. */
  #columns: readonly Column[]
  /** The last row of the page, if the position needs it. */
  #last: ReadonlyArray<DriverValue | null> = []
  #hasMore = false

  constructor ({ columns, hidden, position, rows, maxBytes, budget, writer }: PageOptions) {
    super(columns, maxBytes, budget, writer)
    this.#columns = [...columns, ...hidden]
    this.#shown = columns.length
    this.#hidden = hidden.length
    this.#places = position.map((column) => this.#columns.indexOf(column))
    this.#rows = rows
  }

  /** Twice the size of the answer, because the row that is not in it may be as large. */
  override get maxBytes (): number {
    return super.maxBytes * 2
  }

  /** Whether there are rows after the page. */
  get hasMore (): boolean {
    return this.#hasMore
  }

  override begin (columns: readonly Column[]): void {
    this.#hasMore = false
    this.#columns = columns
    super.begin(this.#hidden === 0 || this.writer !== undefined ? columns : getOrCreate(shownColumns, columns, () => columns.slice(0, this.#shown)))
  }

  override textRow (bytes: Buffer, offset: number, end: number): Promise<void> | undefined {
    if (this.#isBehind()) return undefined
    const taken = super.textRow(bytes, offset, this.#hidden === 0 || this.writer !== undefined ? end : skipValues(bytes, offset, this.#shown))
    if (this.#isLast()) this.#last = copyValues(bytes, offset, end)
    return taken
  }

  override row (values: ReadonlyArray<DriverValue | null>): Promise<void> | undefined {
    if (this.#isBehind()) return undefined
    const taken = super.row(this.#hidden === 0 || this.writer !== undefined ? values : values.slice(0, this.#shown))
    if (this.#isLast()) this.#last = values
    return taken
  }

  /** The position of the last row as JSON. @throws UNREADABLE_VALUE */
  position (): string {
    const members = this.#places.map((place) => {
      const column = this.#columns[place] as Column
      const value = this.#last[place] as DriverValue | null
      return `${JSON.stringify(column.name)}:${value === null ? 'null' : writeValue(column, value, column.type.positions?.write)}`
    })
    return `{${members.join()}}`
  }

  /** Whether the page is already complete before this row. */
  #isBehind (): boolean {
    if (this.count < this.#rows) return false
    this.#hasMore = true
    return true
  }

  /** Whether the row that was just taken is the last one of a complete page. */
  #isLast (): boolean {
    return this.count === this.#rows && this.#places.length > 0
  }
}
