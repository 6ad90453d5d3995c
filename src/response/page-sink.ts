import type { Column } from '../catalog/catalog.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { copyValues } from '../dialects/mysql/packets.ts'
import { resultTooLarge, unsupported } from '../errors.ts'
import { cellsOf } from '../plan/cells.ts'
import type { SelectPlan } from '../plan/plan.ts'
import type { DriverValue } from '../types/column-type.ts'
import { ResponseSink } from './response-sink.ts'
import type { MemoryBudget } from './budget.ts'
import { writeValue } from './json-rows.ts'
import type { CountResult } from './result.ts'
import { MemberRows } from './member-rows.ts'

/**
 * The position of the next page and the total number of rows, as members of the answer; empty if the request asked for
 * neither.
 */
export function pageMembers ({ page, limit }: SelectPlan, { total }: CountResult, sink: ResponseSink): string {
  const members = total === undefined ? '' : `,"total":${total}`
  if (!(sink instanceof PageSink)) return members
  const next = !sink.hasMore ? 'null' : page?.by === 'offset' ? String(page.offset + limit) : sink.position()
  return `,"next":${next}${members}`
}

/** The sink for the rows of a select. `maxBytes`: bytes that the response may have. */
export function createSelectSink (plan: SelectPlan, maxBytes: number, budget?: MemoryBudget): ResponseSink {
  const members = plan.members === undefined ? undefined : new MemberRows(cellsOf(plan))
  return plan.page === undefined
    ? new ResponseSink(plan.columns, maxBytes, budget, members)
    : new PageSink(plan, maxBytes, budget, members)
}

/** Takes the rows of a page, and one more that is not in the response but shows that another page follows. */
export class PageSink extends ResponseSink {
  readonly #plan: SelectPlan
  /** The columns as the database has them now. */
  #columns: readonly Column[] = []
  /** The last row of the page, if the position needs it. */
  #last: ReadonlyArray<DriverValue | null> = []
  #hasMore = false

  constructor (plan: SelectPlan, maxBytes: number, budget?: MemoryBudget, members?: MemberRows) {
    super(plan.columns, maxBytes, budget, members)
    this.#plan = plan
  }

  /** Twice the size of the response, because the row that is not in it may be as large. */
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
    super.begin(columns)
  }

  override textRow (bytes: Buffer, offset: number, end: number): Promise<void> | undefined {
    if (this.#isBehind()) return undefined
    const taken = super.textRow(bytes, offset, end)
    if (this.#isLast()) this.#last = copyValues(bytes, offset, end)
    return taken
  }

  override row (values: ReadonlyArray<DriverValue | null>): Promise<void> | undefined {
    if (this.#isBehind()) return undefined
    const taken = super.row(values)
    if (this.#isLast()) this.#last = values
    return taken
  }

  /** The position of the last row as JSON. @throws UNREADABLE_VALUE; NOT_SUPPORTED if others may have it as well */
  position (): string {
    const { columns, order, page } = this.#plan
    const { hidden, nullableKey = [] } = page as Extract<SelectPlan['page'], { by: 'position' }>
    const planned = [...columns, ...hidden]
    const members = order.map((term) => {
      const index = planned.indexOf(term.column)
      const column = this.#columns[index] as Column
      const value = this.#last[index] as DriverValue | null
      if (value === null && nullableKey.includes(term.column)) {
        throw unsupported('/after', `the page ends with a row whose key "${column.name}" is NULL: use "offset"`)
      }
      const text = value === null ? 'null' : writeValue(column, value, column.type.positions?.write)
      return `${JSON.stringify(column.name)}:${text}`
    })
    return `{${members.join()}}`
  }

  /** Whether the page is already complete before this row. */
  #isBehind (): boolean {
    if (this.count < this.#plan.limit) return false
    this.#hasMore = true
    return true
  }

  /** Whether the row that was just taken is the last one of a complete page. */
  #isLast (): boolean {
    return this.count === this.#plan.limit && this.#plan.page?.by === 'position'
  }
}

// Sinks that read rows for the service itself, not for a response.

/** Counts rows. */
export class RowCounter implements RowSink {
  readonly maxBytes: number = Infinity
  readonly full = false
  count = 0

  begin (): void { this.count = 0 }

  textRow (bytes: Buffer, from: number, to: number): undefined { this.row(copyValues(bytes, from, to)) }

  row (_values: ReadonlyArray<DriverValue | null>): undefined { this.count++ }

  overflow (): void {}
}

/** Takes the one row of a count. */
export class CountSink extends RowCounter {
  override readonly maxBytes = 1024
  /** The number as digits. */
  digits = '0'

  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    this.digits = String(values[0])
  }
}

/** Reads values as JSON. `maxBytes`: bytes that the rows may have. */
abstract class JsonSink extends RowCounter {
  override readonly maxBytes: number

  constructor (maxBytes: number) {
    super()
    this.maxBytes = maxBytes
  }

  override overflow (): void {
    throw resultTooLarge(`the rows are larger than ${this.maxBytes} bytes`)
  }
}

const toJson = (column: Column, value: DriverValue | null | undefined): string =>
  value === null || value === undefined ? 'null' : writeValue(column, value)

/** Keeps the value of the first column of the last row as JSON. */
export class ValueSink extends JsonSink {
  readonly #column: Column
  json: string | undefined

  constructor (column: Column, maxBytes: number) {
    super(maxBytes)
    this.#column = column
  }

  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    this.json = toJson(this.#column, values[0])
  }
}
