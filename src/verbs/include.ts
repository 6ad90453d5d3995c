/** Reads the lists of `include`, whose rows need statements of their own, in the transaction of their rows. */
import type { Column } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { afterLength, readLength, valuesIn } from '../dialects/packets.ts'
import { databaseUnavailable, withReason } from '../errors.ts'
import type { Runner } from '../execute/runner.ts'
import { cellsOf } from '../plan/members.ts'
import type { ListMember, ManyMember, RowLock } from '../plan/plan.ts'
import { isLongRow, JsonRows, toDriverValue, type Values, writeRow } from '../response/json-rows.ts'
import { type Fragment, type Gap, MemberRows, type RelatedList, type RelatedLists } from '../response/member-rows.ts'
import { Output } from '../response/output.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import type { Result } from '../response/result.ts'
import { compileAtOnce, isReadAtOnce, compileFirst, compileRelated, type OnValues } from '../sql/related-rows.ts'
import type { Statement } from '../sql/statement.ts'
import { type DriverValue, RELATED_TEXT } from '../types/column-type.ts'

/**
 * Different values of `on` in one step: MariaDB reads an IN of a thousand values as a join, and MySQL does not use the
 * index.
 */
const STEP = 250

const COMMA = 0x2c

/** The rows of a list follow each other. */
class ListSink implements RowSink {
  readonly #response: ResponseSink
  readonly #lists: RelatedLists
  readonly #rows: JsonRows
  /** The same, if they have members. */
  readonly members: MemberRows | undefined
  readonly #gaps: Gap[]
  readonly #output = new Output()
  /** Rows that a list takes. */
  readonly #most: number
  /** The first cell of a row is the value by which it is related, or else the id of the values. */
  #isValue = false
  #columns: readonly Column[] = []
  /** The lists with rows of the running statement. */
  readonly #filled: RelatedList[] = []
  /** The first cell of the last row: the text of a value, or the number of its bytes. */
  #last: string | number | undefined
  /** A copy, because the driver reuses its own. */
  #bytesOfLast = Buffer.alloc(32)
  /** Counted by the response. */
  #bytes = 0
  #memory = 0
  /** The number of rows of the running statement. */
  count = 0

  constructor (member: ListMember, lists: RelatedLists, response: ResponseSink) {
    this.#response = response
    this.#lists = lists
    const cells = cellsOf(member)
    this.members = cells.row.members.length === 0 ? undefined : new MemberRows(cells)
    this.#rows = this.members ?? new JsonRows(cells.row)
    this.#gaps = this.members?.gaps ?? []
    this.#output.maxBytes = response.maxBytes
    this.#most = member.kind === 'many' ? member.limit : 1
  }

  get maxBytes (): number { return this.#response.maxBytes }

  get full (): boolean {
    const { length } = this.#output
    const size = this.members?.size ?? 0
    this.#response.hold(length - this.#bytes, size - this.#memory)
    this.#bytes = length
    this.#memory = size
    return this.#response.full
  }

  overflow (): void { this.#response.overflow() }

  expect (isValue: boolean): void {
    this.#isValue = isValue
    this.#filled.length = 0
  }

  begin (columns: readonly Column[]): void {
    for (let list = this.#filled.pop(); list !== undefined; list = this.#filled.pop()) this.#empty(list)
    this.#last = undefined
    this.count = 0
    this.#columns = columns
    this.#rows.begin(columns)
  }

  textRow (bytes: Buffer, from: number, to: number, count: number): Promise<void> | undefined {
    if (isLongRow(to - from)) return this.row(valuesIn(bytes, from, to, count))
    const start = afterLength(bytes, from)
    const end = start + readLength(bytes, from)
    this.count++
    if (!this.#isLast(bytes, start, end)) {
      this.#open(toDriverValue(this.#columns[0] as Column, bytes, start, end))
      this.#keepLast(bytes, start, end)
    } else if (!this.#goesOn()) return undefined
    this.#rows.textRow(this.#output, bytes, from, to)
    this.#close()
    return undefined
  }

  row (values: Values): Promise<void> | undefined {
    const first = values[0] as DriverValue
    this.count++
    const isBytes = typeof first === 'object'
    if (isBytes ? !this.#isLast(first, 0, first.length) : String(first) !== this.#last) {
      this.#open(first)
      if (isBytes) this.#keepLast(first, 0, first.length)
      else this.#last = String(first)
    } else if (!this.#goesOn()) return undefined
    const taking = writeRow(this.#rows.values(this.#output, values), values, () => this.full)
    if (taking === undefined) this.#close()
    return taking?.then(() => this.#close())
  }

  #isLast (bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#last !== end - start) return false
    for (let index = start; index < end; index++) if (this.#bytesOfLast[index - start] !== bytes[index]) return false
    return true
  }

  #keepLast (bytes: Uint8Array, start: number, end: number): void {
    const size = end - start
    if (size > this.#bytesOfLast.length) this.#bytesOfLast = Buffer.alloc(size)
    for (let index = 0; index < size; index++) this.#bytesOfLast[index] = bytes[start + index] as number
    this.#last = size
  }

  /** `first`: the first cell of a row. */
  #open (first: DriverValue): void {
    const list = this.#isValue ? this.#lists.find(first) : this.#lists.lists[Number(String(first))]
    // a proxy has changed the row: the statement asked for rows of the lists only
    if (list === undefined) throw withReason(databaseUnavailable(), 'UNREADABLE_PACKET')
    const gaps = this.#gaps
    const start = this.#output.length
    list.rows = { output: this.#output, gaps, start, end: start, gap: gaps.length, gapEnd: gaps.length }
    list.count = 1
    this.#filled.push(list)
  }

  /** False if the list takes no more. */
  #goesOn (): boolean {
    const list = this.#filled.at(-1) as RelatedList
    if (list.count === this.#most) return false
    list.count++
    this.#output.byte(COMMA)
    return true
  }

  #close (): void {
    const { rows } = this.#filled.at(-1) as RelatedList & { rows: Fragment }
    rows.end = this.#output.length
    rows.gapEnd = this.#gaps.length
  }

  /**
   * Whether a list has all of its rows, although the statement was cut off after its last row. Empties the list that is
   * not complete.
   */
  hasAll (list: RelatedList): boolean {
    if (list === this.#filled.at(-1) && list.count < this.#most) this.#empty(list)
    return list.count > 0
  }

  /** Removes the rows of a list, behind which there are no others. */
  #empty (list: RelatedList): void {
    this.#output.length = list.rows?.start ?? 0
    this.#gaps.length = list.rows?.gap ?? 0
    list.rows = undefined
    list.count = 0
  }

  free (): void {
    this.#output.recycle()
  }
}

/** Locks the rows of the lists. @throws as `running` and readMembers */
export function withReturnedMembers (
  runner: Runner,
  sink: ResponseSink | undefined,
  running: Promise<Result>
): Promise<Result> {
  if (sink?.rowsWithLists === undefined) return running
  return running.then(async (result) => {
    await readMembers(runner, sink, 'share')
    return result
  })
}

/**
 * Writes the rows of the response too. Returns the number of rows that were read. @throws the errors of the session and
 * of the response
 */
export async function readMembers (runner: Runner, response: ResponseSink, lock?: RowLock): Promise<number> {
  const { rowsWithLists } = response
  if (rowsWithLists === undefined) return 0
  const sinks: ListSink[] = []
  try {
    const rows = await readLists({ runner, response, lock, sinks }, rowsWithLists)
    response.insertLists()
    if (response.refusal !== undefined) throw response.refusal
    return rows
  } finally {
    for (const sink of sinks) sink.free()
  }
}

interface Reading {
  readonly runner: Runner
  readonly response: ResponseSink
  readonly lock: RowLock
  /** Takes the sinks, whose memory must be freed. */
  readonly sinks: ListSink[]
}

async function readLists (reading: Reading, members: MemberRows | undefined): Promise<number> {
  if (members === undefined) return 0
  const { response, sinks } = reading
  let rows = 0
  for (const [{ member }, related] of members.lists) {
    const sink = new ListSink(member, related, response)
    sinks.push(sink)
    const { lists } = related
    for (let from = 0; from < lists.length; from += STEP) {
      await readStep({ ...reading, member, sink, lists }, lists.slice(from, from + STEP))
    }
    rows += lists.reduce((sum, { count }) => sum + count, 0) + await readLists(reading, sink.members)
  }
  return rows
}

interface ReadingList extends Reading {
  readonly member: ListMember
  readonly sink: ListSink
  readonly lists: readonly RelatedList[]
}

async function readStep (reading: ReadingList, values: readonly OnValues[]): Promise<void> {
  const { runner: { engine, database: { statementCounts: counts } }, member, sink, lock } = reading
  if (isReadAtOnce(member)) {
    for (const statement of compileAtOnce(member, values, engine, counts)) {
      sink.expect(false)
      await read(reading, statement)
    }
    return
  }
  // MariaDB takes an IN of one value for an equality, but sorts its rows by the value
  const left =
    TRAITS[engine].readsListsAtOnce && member.kind === 'many' && values.length > 1 && isListed(member)
      ? await readFirst(reading, member, values)
      : values
  if (left.length === 0) return
  for (const statement of compileRelated(member, left, { engine, counts, lock })) {
    sink.expect(false)
    await read(reading, statement)
  }
}

/**
 * The service can compare the values itself, and the servers read a list of them by the index. Of a first row, the part
 * of a value reads no other; an order by a member reads every row, and so would read them twice.
 */
const isListed = ({ on, isObject, order }: ManyMember): boolean =>
  isObject !== true && !order.some(({ of }) => of !== undefined) &&
  on.length === 1 && on[0]?.other.type.relatedAs !== RELATED_TEXT

/**
 * All values at once, because most have few related rows. Stops after four rows for each value plus the limit of one,
 * and returns the values that need a part of their own, so that a value with a million related rows costs no more.
 */
async function readFirst (
  reading: ReadingList,
  member: ManyMember,
  values: readonly OnValues[]
): Promise<readonly OnValues[]> {
  const { runner: { database: { statementCounts: counts } }, sink, lists, lock } = reading
  const most = 4 * values.length + member.limit + 1
  sink.expect(true)
  await read(reading, compileFirst(member, values, most, { counts, lock }))
  return sink.count < most ? [] : values.filter(({ id }) => !sink.hasAll(lists[id] as RelatedList))
}

async function read ({ runner, response, sink }: ReadingList, statement: Statement): Promise<void> {
  await runner.runStatement(statement, sink)
  if (response.refusal !== undefined) throw response.refusal
}
