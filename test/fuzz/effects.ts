/** Compares the reported effect of a request with the table, and with the model if it can predict the effect. */
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from '../support/service.ts'
import { findGroupFault, isGrouped, type GroupsBody } from './groups.ts'
import { read } from './json.ts'
import { isKnown, predict, saysNothing, valueOf, type Row } from './model.ts'
import type { FuzzTable } from './tables.ts'

/** Rows by id, as the service returned them. */
export type Rows = ReadonlyMap<string, Row>

/** A request that succeeded. */
export interface Effect {
  readonly table: FuzzTable
  readonly body: GroupsBody & {
    verb: string,
    after?: unknown,
    filters?: unknown,
    data?: Row,
    columns?: string[],
    limit?: unknown,
    orderBy?: unknown,
    expect?: unknown,
    returning?: '*' | string[],
    dryRun?: boolean,
    onConflict?: unknown,
    outcomes?: unknown,
    include?: unknown
  }
  readonly answer: Answer
  /** Rows before and after the request. */
  readonly before: Rows
  readonly after: Rows
  /** Ids of a select with the same filters just before; undefined if there was none. */
  readonly selected: ReadonlySet<string> | undefined
}

export class Mismatch extends Error {}
function must (holds: boolean, fault: () => string): asserts holds {
  if (!holds) throw new Mismatch(fault())
}

export function rowsOf (answer: string): Rows {
  return new Map((read(answer).data.rows as Row[]).map((row) => [textOf(row['id']), row]))
}

const textOf = (value: unknown): string => JSON.stringify(value)
const same = (a: unknown, b: unknown): boolean => textOf(a) === textOf(b)

/** @throws Mismatch */
export function checkEffect (effect: Effect): void {
  const { body: { verb, dryRun }, answer } = effect
  must(read(answer.text).data.dryRun === (dryRun === true ? true : undefined), () =>
    'the answer does not say whether it is a dry run')
  if (verb === 'select') checkSelect(effect)
  else if (dryRun === true) checkDryRun(effect)
  else if (verb === 'insert') checkInsert(effect)
  else checkChange(effect)
}

/** The rows that a filter matches, exactly or at most. */
function matchedBy ({ table, body: { filters = {} }, before, selected }: Effect): {
  ids: Set<string>, certain: boolean
} {
  const matches = predict(filters, table)
  if (matches === undefined) return { ids: new Set(selected ?? before.keys()), certain: selected !== undefined }
  const ids = new Set([...before].filter(([, row]) => matches(row)).map(([id]) => id))
  must(selected === undefined || isDeepStrictEqual(selected, ids), () =>
    `a select by these filters gives the rows ${list(selected as Set<string>)}, the model ${list(ids)}`)
  return { ids, certain: true }
}

const list = (ids: Iterable<string>): string => `[${[...ids].sort((a, b) => Number(a) - Number(b)).join()}]`

function checkSelect (effect: Effect): void {
  if (isGrouped(effect.body)) {
    const { table, body, answer, before } = effect
    const { ids, certain } = matchedBy(effect)
    const fault = findGroupFault(
      table, body, read(answer.text).data, certain ? Array.from(ids, (id) => before.get(id) as Row) : undefined
    )
    return must(fault === undefined, () => fault as string)
  }
  const {
    table, body: {
      columns = table.catalog.columnList.map(({ name }) =>
        name), limit, orderBy, after, offset
    }, answer, before
  } = effect
  const { ids, certain } = matchedBy(effect)
  const { rows, count } = read(answer.text).data as { rows: Row[], count: unknown }
  must(same(count, rows.length), () => `count is ${textOf(count)}, there are ${rows.length} rows`)
  const most = limit === undefined ? 100 : Number(textOf(limit))
  must(rows.length <= most, () => `${rows.length} rows, more than the limit`)
  if (certain && after === undefined && offset === undefined) {
    must(rows.length === Math.min(most, ids.size), () =>
    `${rows.length} rows, the model has ${ids.size} that match: ${list(ids)}`)
  }
  const open = Array.from(ids, (id) => textOf(shownOf(effect, before.get(id) as Row, columns)))
  for (const row of rows) {
    const found = open.indexOf(textOf(row))
    must(found >= 0, () => `${textOf(row)} is none of the rows that match: ${list(ids)}`)
    open.splice(found, 1)
  }
  if (orderBy !== undefined) {
    if (effect.body.include !== undefined) checkOrderByMember(String(orderBy), rows)
    else checkOrder(table, orderBy, columns, rows)
  }
  must(isExpected(effect, rows.length), () => `${rows.length} rows are not expected`)
}

/** A row as it is shown, with the related row that was there before: the one whose `id` is `n` (bodies.ts). */
function shownOf ({ body: { include }, before }: Effect, row: Row, columns: readonly string[]): Row {
  const shown = Object.fromEntries(columns.map((name) => [name, row[name]]))
  if (include === undefined) return shown
  const related = before.get(textOf(row['n']))
  return { ...shown, m: related === undefined ? null : { id: related['id'], level: related['level'] } }
}

/** Checks an order by `m.level` and then `id`. */
function checkOrderByMember (orderBy: string, rows: readonly Row[]): void {
  const [first = '', second = ''] = orderBy.split(',')
  const isDescending = /desc/i.test(first)
  const none = isNullLast(isDescending, /nulls (\w+)/i.exec(first)?.[1] ?? '') ? Infinity : -Infinity
  const levelOf = ({ m }: Row): number => m === null ? none : Number(textOf((m as Row)['level']))
  const places = rows.map((row) => [
    levelOf(row) * (isDescending ? -1 : 1), Number(textOf(row['id'])) * (/desc/i.test(second) ? -1 : 1)
  ] as const)
  const wrong = places.findIndex(([level, id], index) => {
    const [before, idBefore] = places[index - 1] ?? [-Infinity, -Infinity]
    return level < before || (level === before && id < idBefore)
  })
  must(wrong < 0, () => `not ordered by ${orderBy}: ${textOf(rows.map(({ id, m }) => [id, m]))}`)
}

/** Checks the order by the first term, if the model knows its column. */
function checkOrder ({ kinds }: FuzzTable, orderBy: unknown, columns: readonly string[], rows: readonly Row[]): void {
  if (typeof orderBy !== 'string') return
  const [, name = '', direction = '', place = ''] = /^\s*(\w+)\s*(\w*)(?:\s+nulls\s+(\w+))?/i.exec(orderBy) ?? []
  const kind = kinds.get(name)
  if (kind === undefined || kind === 'word' || !columns.includes(name)) return
  const cells = rows.map((row) => row[name] === null ? null : valueOf(kind, row[name]))
  const isDescending = /^desc/i.test(direction)
  if (isDescending) cells.reverse()
  const precedes = isNullLast(isDescending, place) ? precedesNull : follows
  const wrong = cells.findIndex(
    (cell, index) => index > 0 && cell !== cells[index - 1] && !precedes(cells[index - 1] ?? null, cell)
  )
  must(wrong < 0, () => `not ordered by ${orderBy}: ${textOf(rows.map((row) => row[name]))}`)
}

type Cell = ReturnType<typeof valueOf> | null
const follows = (a: Cell, b: Cell): boolean => a === null || (b !== null && a < b)
const precedesNull = (a: Cell, b: Cell): boolean => b === null || (a !== null && a < b)
/** Whether NULL counts as the greatest value: it does in `ASC NULLS LAST` and `DESC NULLS FIRST`. */
const isNullLast = (isDescending: boolean, place: string): boolean => place !== '' &&
  /^last$/i.test(place) !== isDescending

/** Checks the counts of a list or an upsert, and that no other rows have changed. */
function checkRows (effect: Effect, sent: readonly Row[]): void {
  const { body: { onConflict, outcomes: told }, answer, before, after, table } = effect
  const { inserted, updated = '0', unchanged = '0', id, rows, outcomes } = read(answer.text).data
  const [added, changed, kept] = [inserted, updated, unchanged].map(
    (count) => Number(textOf(count).replaceAll('"', ''))
  ) as [number, number, number]
  must(added + changed +
    kept === sent.length, () => `${textOf([inserted, updated, unchanged])} are not ${sent.length} rows`)
  must((outcomes === undefined) === (told === undefined), () => 'outcomes are told if and only if they are asked for')
  if (outcomes !== undefined) {
    must(same(
      ['inserted', 'updated', 'unchanged'].map(
        (outcome) => outcomes.filter((each: unknown) => each === outcome).length
      ),
      [added, changed, kept]
    ) && outcomes.length === sent.length, () => `${textOf(outcomes)} are not ${textOf([added, changed, kept])}`)
  }
  // an upsert may have given a row another id
  must(after.size === before.size + added, () => `${after.size - before.size} rows more, inserted is ${added}`)
  const touched = [...before].filter(([key, old]) => after.has(key) && !same(after.get(key), old)).length
  must(touched <= changed, () => `${touched} rows changed, updated is ${changed}`)
  must(rows === undefined || rows.length === sent.length, () => `${rows.length} rows are returned for ${sent.length}`)
  if (onConflict !== undefined) return
  const first = after.get(textOf(id))
  must(first !== undefined && !before.has(textOf(id)), () => `the id ${textOf(id)} is not that of a new row`)
  checkWritten(table, sent[0] as Row, first)
  if (rows !== undefined && rows.every((row: Row) => row['id'] !== undefined)) {
    rows.forEach(
      (row: Row, index: number) => checkWritten(table, sent[index] as Row, after.get(textOf(row['id'])) as Row)
    )
  }
}

function checkInsert (effect: Effect): void {
  const { body } = effect
  if (Array.isArray(body.data) ||
    body.onConflict !== undefined) return checkRows(effect, [body.data as unknown as Row | Row[]].flat())
  const { body: { data = {} }, answer, before, after, table } = effect
  const { inserted, id } = read(answer.text).data
  must(same(inserted, 1), () => 'inserted is not 1')
  const row = after.get(textOf(id))
  must(row !== undefined && !before.has(textOf(id)), () => `the id ${textOf(id)} is not that of a new row`)
  must(after.size === before.size + 1, () => `${after.size - before.size} rows more`)
  for (const [key, old] of before) {
    must(
      same(after.get(key), old), () => `row ${key} changed from ${textOf(old)} to ${textOf(after.get(key))}`
    )
  }
  checkWritten(table, data, row)
  checkReturned(effect, [row])
}

/** Checks that written values are stored, as far as the model can read them. */
function checkWritten ({ kinds }: FuzzTable, data: Row, row: Row): void {
  for (const [name, value] of Object.entries(data)) {
    const kind = kinds.get(name)
    if (same(value, { $default: true })) {
      must(
        same(row[name], name === 'level' ? 3 : null), () => `${name} was set to its default and is ${textOf(row[name])}`
      )
    } else if (value === null) must(row[name] === null, () => `${name} was set to null and is ${textOf(row[name])}`)
    else if (kind !== undefined && isKnown(kind, value)) {
      must(
        isKnown(kind, row[name]) && valueOf(kind, row[name]) === valueOf(kind, value),
        () => `${name} was set to ${textOf(value)} and is ${textOf(row[name])}`
      )
    }
  }
}

function checkChange (effect: Effect): void {
  const { body: { verb, filters, data = {} }, answer, before, after, table } = effect
  must(!saysNothing(filters, table), () => 'filters that say nothing of any row were taken')
  const { ids, certain } = matchedBy(effect)
  const { updated, deleted } = read(answer.text).data
  must(!certain || isExpected(effect, ids.size), () => `the filters match ${list(ids)}, which is not expected`)
  for (const [id, old] of before) {
    if (!ids.has(id)) {
      must(same(after.get(id), old), () =>
      `row ${id} is outside of the filters and changed from ${textOf(old)} to ${textOf(after.get(id))}`)
    }
  }
  if (verb === 'delete') {
    const gone = [...before.keys()].filter((id) => !after.has(id))
    must(same(deleted, gone.length), () => `deleted is ${textOf(deleted)}, ${gone.length} rows are gone`)
    must(!certain || gone.length === ids.size, () => `${list(gone)} are gone, the filters match ${list(ids)}`)
    must(after.size === before.size - gone.length, () => 'there are rows that were not there')
    checkReturned(effect, gone.map((id) => before.get(id) as Row))
    return
  }
  must(after.size === before.size, () => `${before.size} rows became ${after.size}`)
  must([...ids].every((id) => after.has(id)) ||
    Object.hasOwn(data, 'id'), () => 'rows have other ids without being asked to')
  // at most one row can have got another id
  const moved = [...after].find(([id]) => !before.has(id))?.[1] as Row
  const pairs = [...ids].map((id) => ({ id, old: before.get(id) as Row, row: after.get(id) ?? moved }))
  const changed = pairs.filter(({ old, row }) => !same(old, row))
  // null in JSON and the like look the same before and after
  must(changed.length <= Number(textOf(updated)) && Number(textOf(updated)) <= ids.size, () =>
    `updated is ${textOf(updated)}, ${changed.length} rows of ${ids.size} changed`)
  for (const { id, old, row } of changed) {
    const touched = Object.keys(old).filter(
      (name) => !same(old[name], row[name]) && !Object.hasOwn(data, name) && name !== 'twice'
    )
    must(touched.length === 0, () => `row ${id}: ${touched.join()} changed without being asked to`)
  }
  if (!certain) return
  for (const { row } of pairs) checkWritten(table, data, row)
  checkReturned(effect, pairs.map(({ row }) => row))
}

/** Nothing is changed, and the counts are those of the rows that match. */
function checkDryRun (effect: Effect): void {
  const { body: { verb }, answer, before, after } = effect
  must(same([...before], [...after]), () => 'a dry run has changed rows')
  if (verb === 'insert') return
  const { ids, certain } = matchedBy(effect)
  const { updated, deleted, rows } = read(answer.text).data
  if (!certain) return
  must(isExpected(effect, ids.size), () => `the filters match ${list(ids)}, which is not expected`)
  must(verb === 'delete'
    ? same(deleted, ids.size)
    : Number(textOf(updated)) <= ids.size, () => `the counts are not those of ${list(ids)}`)
  must(rows === undefined ||
    rows.length === ids.size, () => `${rows.length} rows are returned, the filters match ${list(ids)}`)
}

/** Rows that a write returns are these, in any order. */
function checkReturned (effect: Effect, written: readonly Row[]): void {
  const { table, body: { returning }, answer } = effect
  const { rows } = read(answer.text).data as { rows?: Row[] }
  must((rows === undefined) === (returning === undefined), () => 'rows are returned if and only if they are asked for')
  if (rows === undefined) return
  const columns = returning === '*' ? table.catalog.columnList.map(({ name }) => name) : returning as string[]
  const expected = written.map((row) => textOf(shownOf(effect, row, columns)))
  must(same(rows.map(textOf).toSorted(), expected.toSorted()), () =>
    `the rows ${textOf(rows)} are returned, and ${expected.join()} are written`)
}

const comparisons: Readonly<Record<string, (count: number, bound: number) => boolean>> = {
  $eq: (count, bound) => count === bound,
  $gt: (count, bound) => count > bound,
  $gte: (count, bound) => count >= bound,
  $lt: (count, bound) => count < bound,
  $lte: (count, bound) => count <= bound
}

function isExpected ({ body: { expect } }: Effect, count: number): boolean {
  if (expect === undefined) return true
  const bounds = typeof expect === 'object' && expect !== null &&
    !JSON.isRawJSON(expect)
    ? Object.entries(expect)
    : [['$eq', expect] as const]
  return bounds.every(([name, bound]) => comparisons[name]?.(count, Number(textOf(bound))))
}

/** A request was refused with EXPECTATION_FAILED. @throws Mismatch if the rows are as expected */
export function checkUnexpected (effect: Effect): void {
  if (effect.body.verb === 'select') return
  const { ids, certain } = matchedBy(effect)
  must(!certain || !isExpected(effect, ids.size), () => `EXPECTATION_FAILED, and the filters match ${list(ids)}`)
}
