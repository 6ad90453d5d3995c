/** Selects of pages: bodies with `after`, `offset` and `total`, and the rows that they return. */
import fc, { type Arbitrary } from 'fast-check'
import type { Answer } from '../support/service.ts'
import { Mismatch, type Rows } from './effects.ts'
import { isGrouped, type GroupsBody } from './groups.ts'
import { pairs, text, read, type Json } from './json.ts'
import { isKnown, predict, valueOf, type Row } from './model.ts'
import type { FuzzTable } from './tables.ts'

/** Pages that are read behind an answer, at most. */
const FOLLOWED = 8

export interface PageBody extends GroupsBody {
  readonly verb: string
  readonly filters?: unknown
  readonly columns?: readonly string[]
  readonly orderBy?: unknown
  readonly after?: Row | null
  readonly total?: unknown
}

type Ask = (body: object) => Promise<Answer>
type Term = readonly [name: string, direction: 1 | -1]

/** Adds `after`, `offset` or `total` to a select whose order is `order`: the names of columns, with directions. */
export function pagesOf (
  { catalog, values }: FuzzTable, order: readonly string[]
): Arbitrary<ReadonlyArray<readonly [string, Json]>> {
  const names = [...new Set([...order.map((term) => term.split(' ')[0] as string), 'id'])]
  const place = (name: string): Arbitrary<string> => {
    const value = values.get(name) ?? fc.integer({ min: -4, max: 8 }).map(String)
    return catalog.columns.get(name)?.nullable === false ? value : fc.option(value, { freq: 8, nil: 'null' })
  }
  const position = fc.tuple(...names.map(place)).map(
    (chosen) => pairs(...names.map((name, index) => [name, chosen[index] as string] as const))
  )
  const page = fc.oneof(
    { weight: 2, arbitrary: fc.constant([['after', 'null']] as const) },
    { weight: 2, arbitrary: position.map((after) => [['after', after]] as const) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 25 }).map((offset) => [['offset', String(offset)]] as const) },
    { weight: 1, arbitrary: fc.constant([]) }
  )
  const total = fc.oneof(fc.constant('true'), fc.integer({ min: 1, max: 30 }).map(String))
  return fc.tuple(page, fc.option(total, { freq: 2, nil: undefined })).map(
    ([fields, count]) => [...fields, ...count === undefined ? [] : [['total', count] as const]]
  )
}

/** Selects with a mistake in the fields of pages or groups, and the code of their refusal. */
export function brokenPagesOf ({ catalog }: FuzzTable): Arbitrary<readonly [Json, code: string]> {
  const position = { after: { id: 1 } }
  const groups = { groupBy: ['n'], aggregates: { a: { $sum: 'price' } } }
  const forms: Array<[body: object, code: string]> = [
    [{ ...position, offset: 1 }, 'INVALID_BODY'], [{ after: {} }, 'INVALID_BODY'],
    [{ after: { id: 1, n: 2 } }, 'INVALID_BODY'], [{ ...position, orderBy: 'n' }, 'INVALID_BODY'],
    [{ after: { nope: 1 } }, 'INVALID_BODY'], [{ after: 1 }, 'INVALID_BODY'], [{ after: [] }, 'INVALID_BODY'],
    [{ after: { id: null } }, 'INVALID_VALUE'], [{ after: { id: 'x' } }, 'INVALID_VALUE'],
    [{ after: { id: { $gt: 1 } } }, 'INVALID_VALUE'], [{ after: { id: [1] } }, 'INVALID_VALUE'],
    [{ after: { n: 'x', id: 1 }, orderBy: 'n' }, 'INVALID_VALUE'],
    [{ after: { day: '2026-13-01', id: 1 }, orderBy: 'day' }, 'INVALID_VALUE'],
    [{ offset: -1 }, 'INVALID_BODY'], [{ offset: 1.5 }, 'INVALID_BODY'], [{ offset: 100_001 }, 'INVALID_BODY'],
    [{ offset: '1' }, 'INVALID_BODY'], [{ offset: null }, 'INVALID_BODY'],
    [{ total: 0 }, 'INVALID_BODY'], [{ total: false }, 'INVALID_BODY'], [{ total: '1' }, 'INVALID_BODY'],
    [{ total: null }, 'INVALID_BODY'],
    [{ ...groups, after: null }, 'INVALID_BODY'], [{ ...groups, total: true }, 'INVALID_BODY'],
    [{ ...groups, expect: 1 }, 'INVALID_BODY'], [{ ...groups, columns: ['n'] }, 'INVALID_BODY'],
    [{ ...groups, offset: 100_001 }, 'INVALID_BODY'], [{ having: { n: 1 } }, 'INVALID_BODY'],
    [{ groupBy: [] }, 'INVALID_BODY'], [{ groupBy: ['n', 'n'] }, 'INVALID_BODY'], [{ aggregates: {} }, 'INVALID_BODY'],
    [{ groupBy: ['n'], aggregates: { n: { $count: '*' } } }, 'INVALID_BODY'], [
      { aggregates: { 'a b': { $count: '*' } } }, 'INVALID_BODY'
    ], [{ aggregates: { a: { $median: 'n' } } }, 'INVALID_BODY'],
    [{ aggregates: { a: { $sum: 'n', $min: 'n' } } }, 'INVALID_BODY'], [{ groupBy: ['nope'] }, 'COLUMN_NOT_FOUND'],
    [{ aggregates: { a: { $max: 'nope' } } }, 'COLUMN_NOT_FOUND'],
    [{ ...groups, having: { price: 1 } }, 'COLUMN_NOT_FOUND'], [{ ...groups, orderBy: 'price' }, 'COLUMN_NOT_FOUND'],
    [{ ...groups, having: { a: 'x' } }, 'INVALID_VALUE'],
    [{ aggregates: { a: { $sum: 'word' } } }, 'INVALID_VALUE'],
    [{ aggregates: { a: { $avg: 'day' } } }, 'INVALID_VALUE'],
    // without order, or not in the order of positions
    ...catalog.columnList.flatMap(({ name, type }): typeof forms => [
      ...type.sortable
        ? []
        : [[{ groupBy: [name] }, 'INVALID_VALUE'] as [object, string], [
            { orderBy: name, after: null }, 'INVALID_ORDER_BY'
          ] as [object, string], [
            { aggregates: { a: { $countDistinct: name } } }, 'INVALID_VALUE'
          ] as [object, string]],
      ...type.sortable &&
        type.structured
        ? [[{ orderBy: `${name} DESC`, after: null }, 'INVALID_ORDER_BY'] as [object, string]]
        : []
    ])
  ]
  return fc.constantFrom(...forms).map(([body, code]) => [text({ verb: 'select', ...body }), code])
}

const isPaged = (body: PageBody | undefined): boolean => body?.verb === 'select' && !isGrouped(body) &&
  (body.after !== undefined || body.offset !== undefined || body.total !== undefined)

/** The terms of a page's order, completed with the primary key `id`; undefined for an order of another form. */
function orderOf ({ orderBy = '' }: PageBody): Term[] | undefined {
  if (typeof orderBy !== 'string') return undefined
  const terms = orderBy.split(',').filter(() => orderBy !== '').map((term): Term | undefined => {
    const [, name, direction = ''] =
      /^\s*(\w+)(?:\s+(asc(?=\s+nulls\s+first|\s*$)|desc(?=\s+nulls\s+last|\s*$))(?:\s+nulls\s+\w+)?)?\s*$/i.exec(
        term
      ) ?? []
    return name === undefined ? undefined : [name, /^desc/i.test(direction) ? -1 : 1]
  })
  if (!terms.every((term) => term !== undefined)) return undefined
  return terms.some(([name]) => name === 'id') ? terms : [...terms, ['id', terms.at(-1)?.[1] ?? 1]]
}

/** Compares two rows, or a row and a position; undefined if the model does not know how the columns are ordered. */
function findComparison (order: readonly Term[], { kinds }: FuzzTable): ((a: Row, b: Row) => number) | undefined {
  if (!order.every(([name]) => kinds.has(name) && kinds.get(name) !== 'word')) return undefined
  const compare = (a: unknown, b: unknown): number =>
    a === b ? 0 : a === null || (b !== null && (a as bigint) < (b as bigint)) ? -1 : 1
  const cell = (row: Row, name: string): unknown =>
    row[name] === null ? null : valueOf(kinds.get(name) as 'integer', row[name])
  return (a, b) => {
    for (const [name, direction] of order) {
      const result = compare(cell(a, name), cell(b, name)) * direction
      if (result !== 0) return result
    }
    return 0
  }
}

/**
 * All rows that the filters of a page select, in its order: from the model, or from a select without a page. Undefined
 * if neither knows.
 */
export async function findWhole (ask: Ask, table: FuzzTable, body: PageBody
  | undefined, rows: Rows): Promise<readonly Row[] | undefined> {
  const order = body === undefined || !isPaged(body) ? undefined : orderOf(body)
  if (body === undefined || order === undefined) return undefined
  const [matches, comparison] = [predict(body.filters ?? {}, table), findComparison(order, table)]
  if (matches !== undefined && comparison !== undefined) return [...rows.values()].filter(matches).sort(comparison)
  const { status, text } = await ask({
    verb: 'select',
    filters: body.filters,
    orderBy: order.map(
      ([name, direction]) => `${name} ${direction === 1 ? 'ASC' : 'DESC'}`
    ).join(),
    limit: 1000
  })
  return status === 200 ? read(text).data.rows : undefined
}

function must (holds: boolean, fault: () => string): asserts holds {
  if (!holds) throw new Mismatch(fault())
}

/** Compares a page, and the pages behind it, with all rows. @throws Mismatch */
export async function checkPages (ask: Ask, table: FuzzTable, body: PageBody, { answer, whole }: {
  answer: Answer, whole: readonly Row[] | undefined
}): Promise<void> {
  if (!isPaged(body)) return
  const { columns = table.catalog.columnList.map(({ name }) => name), limit, after, offset, total } = body
  const { rows, next, total: counted } = read(answer.text).data as { rows: Row[], next?: unknown, total?: unknown }
  must((next !== undefined) === (after !== undefined ||
    offset !== undefined), () => 'there is no "next", or one that nobody has asked for')
  must((counted !== undefined) === (total !== undefined), () => 'there is no "total", or one that nobody has asked for')
  if (whole === undefined) return
  if (total !== undefined) {
    must(
      Number(text(counted)) === Math.min(whole.length, total === true ? Infinity : Number(text(total))),
      () => `total is ${text(counted)} of ${whole.length} rows`
    )
  }
  if (next === undefined) return
  const most = limit === undefined ? 100 : Number(text(limit))
  const order = orderOf(body) as Term[]
  const all = whole.map((row) => text(pick(row, columns)))
  const start = findStart(table, { order, after, offset }, whole) ??
    startOf(rows.map(text), all, next, (index) => text(pick(whole[index] as Row, order.map(([name]) => name))))
  must(start >= 0, () => `${text(rows)} are not neighbours in ${all.join()}`)
  must(rows.map(text).join() === all.slice(start, start + most).join(), () =>
    `the page has ${text(rows)} and not ${all.slice(start, start + most).join()}`)
  const isLast = start + most >= whole.length
  const expected = isLast
    ? null
    : offset !== undefined
      ? start +
    most
      : pick(whole[start + most - 1] as Row, order.map(([name]) => name))
  must(text(next) === text(expected), () => `next is ${text(next)} and not ${text(expected)}`)
  if (after === undefined || isLast) return
  const { rest, isEnd } = await readRest(ask, body, next)
  const behind = all.slice(start + most)
  must(rest.join() === behind.slice(0, rest.length).join() &&
    (!isEnd || rest.length === behind.length), () => `the pages behind have ${rest.join()} and not ${behind.join()}`)
}

const pick = (row: Row, names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, row[name]]))

/** How many rows are before the page; undefined if the model cannot compare the position. */
function findStart (table: FuzzTable, { order, after, offset }: {
  order: readonly Term[],
  after: Row
  | null
  | undefined,
  offset: unknown
}, whole: readonly Row[]): number | undefined {
  if (offset !== undefined) return Math.min(Number(text(offset)), whole.length)
  if (after === null || after === undefined) return 0
  const comparison = findComparison(order, table)
  if (comparison === undefined || !order.every(([name]) => after[name] === null ||
    isKnown(table.kinds.get(name) as 'integer', after[name]))) return undefined
  const first = whole.findIndex((row) => comparison(row, after) > 0)
  return first < 0 ? whole.length : first
}

/** Where the rows are, before the position that follows them; -1 if they are not neighbours there. */
function startOf (
  rows: readonly string[], all: readonly string[], next: unknown, positionAt: (index: number) => string
): number {
  if (next === null) return all.slice(all.length - rows.length).join() === rows.join() ? all.length - rows.length : -1
  const isThere = (index: number): boolean => typeof next !== 'object' || rows.length === 0 ||
    positionAt(index + rows.length - 1) === text(next)
  return all.findIndex((_row, index) => all.slice(index, index + rows.length).join() === rows.join() && isThere(index))
}

async function readRest (
  ask: Ask, { expect: _expect, total: _total, ...body }: PageBody & { expect?: unknown }, next: unknown
): Promise<{ rest: string[], isEnd: boolean }> {
  const rest: string[] = []
  for (let pages = 0; pages < FOLLOWED && next !== null; pages++) {
    const { status, text: answered } = await ask({ ...body, after: next })
    must(status === 200, () => `the page after ${text(next)} is refused: ${answered}`)
    const { data } = read(answered)
    rest.push(...data.rows.map(text))
    next = data.next
  }
  return { rest, isEnd: next === null }
}
