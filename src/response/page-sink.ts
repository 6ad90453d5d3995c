import type { Column } from '../catalog/catalog.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { copyValues, skipValues } from '../dialects/mysql/connection/packets.ts'
import { resultTooLarge, unsupported } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
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
  const { columns, page, order, limit: rows } = plan
  const members = plan.members === undefined ? undefined : new MemberRows(cellsOf(plan), plan.table.engine === 'sqlite')
  if (page === undefined) return new ResponseSink(columns, maxBytes, budget, members)
  const byPosition = page.by === 'position'
  return new PageSink({
    columns,
    hidden: byPosition ? page.hidden : [],
    position: byPosition ? order.map(({ column }) => column) : [],
    nullableKey: byPosition ? page.nullableKey : [],
    rows,
    maxBytes,
    budget,
    members
  })
}

interface PageOptions {
  /** The columns of the response. */
  readonly columns: readonly Column[]
  /** The columns after those of the response, for the position. */
  readonly hidden: readonly Column[]
  /** The columns of the position; none if the next page is known by its offset. */
  readonly position: readonly Column[]
  /** Columns of the key that can be NULL in several rows. */
  readonly nullableKey?: readonly Column[]
  /** Maximum number of rows in the response. */
  readonly rows: number
  /** Bytes that the response may have. */
  readonly maxBytes: number
  readonly budget?: MemoryBudget | undefined
  readonly members: MemberRows | undefined
}

/** The columns of the response by the columns of the rows. */
const shownColumns = new WeakMap<readonly Column[], readonly Column[]>()

/** Takes the rows of a page, and one more that is not in the response but shows that another page follows. */
export class PageSink extends ResponseSink {
  readonly #shown: number
  readonly #hidden: number
  /** The indexes of the columns of the position in a row. */
  readonly #indexes: readonly number[]
  readonly #nullableKey: ReadonlySet<string>
  readonly #rows: number
  /** The columns as the database has them now. */
  #columns: readonly Column[]
  /** The last row of the page, if the position needs it. */
  #last: ReadonlyArray<DriverValue | null> = []
  #hasMore = false

  constructor ({ columns, hidden, position, nullableKey = [], rows, maxBytes, budget, members }: PageOptions) {
    super(columns, maxBytes, budget, members)
    this.#columns = [...columns, ...hidden]
    this.#shown = columns.length
    this.#hidden = hidden.length
    this.#indexes = position.map((column) => this.#columns.indexOf(column))
    this.#nullableKey = new Set(nullableKey.map(({ name }) => name))
    this.#rows = rows
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
    super.begin(
      this.#hidden === 0 || this.members !== undefined
        ? columns
        : getOrCreate(shownColumns, columns, () => columns.slice(0, this.#shown))
    )
  }

  override textRow (bytes: Buffer, offset: number, end: number): Promise<void> | undefined {
    if (this.#isBehind()) return undefined
    const taken = super.textRow(
      bytes,
      offset,
      this.#hidden === 0 || this.members !== undefined ? end : skipValues(bytes, offset, this.#shown)
    )
    if (this.#isLast()) this.#last = copyValues(bytes, offset, end)
    return taken
  }

  override row (values: ReadonlyArray<DriverValue | null>): Promise<void> | undefined {
    if (this.#isBehind()) return undefined
    const taken = super.row(this.#hidden === 0 || this.members !== undefined ? values : values.slice(0, this.#shown))
    if (this.#isLast()) this.#last = values
    return taken
  }

  /** The position of the last row as JSON. @throws UNREADABLE_VALUE; NOT_SUPPORTED if others may have it as well */
  position (): string {
    const members = this.#indexes.map((index) => {
      const column = this.#columns[index] as Column
      const value = this.#last[index] as DriverValue | null
      if (value === null && this.#nullableKey.has(column.name)) {
        throw unsupported('/after', `the page ends with a row whose key "${column.name}" is NULL: use "offset"`)
      }
      const text = value === null ? 'null' : writeValue(column, value, column.type.positions?.write)
      return `${JSON.stringify(column.name)}:${text}`
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
    return this.count === this.#rows && this.#indexes.length > 0
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

/** Compares rows with the first one. */
export class EqualSink extends JsonSink {
  readonly #columns: readonly Column[]
  #first: string | undefined
  areEqual = true

  constructor (columns: readonly Column[], maxBytes: number) {
    super(maxBytes)
    this.#columns = columns
  }

  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    const text = this.#columns.map((column, index) => toJson(column, values[index])).join()
    this.areEqual &&= text === (this.#first ??= text)
  }
}
