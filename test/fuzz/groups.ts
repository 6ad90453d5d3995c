/**
 * Selects of groups: bodies with `groupBy`, `aggregates` and `having`, and what they return for rows that the model
 * knows.
 */
import fc, { type Arbitrary } from 'fast-check'
import type { Column } from '../../src/catalog/catalog.ts'
import type { ColumnType } from '../../src/types/column-type.ts'
import type { JsonTexts } from '../support/values.ts'
import { list, pairs, text, type Json } from './json.ts'
import { predict, valueOf, type Row } from './model.ts'
import type { FuzzTable, Kind } from './tables.ts'

type Conditions = (column: Column, values: JsonTexts, isTimeless: boolean) => Arbitrary<Json>

/** Function -> whether a type has it. */
const functions: ReadonlyArray<readonly [call: string, accepts: (type: ColumnType) => boolean]> = [
  ['$count', () => true],
  ['$countDistinct', ({ sortable }) => sortable],
  ['$sum', ({ totals }) => totals !== undefined],
  ['$avg', ({ totals }) => totals !== undefined],
  ['$min', ({ ranked }) => ranked],
  ['$max', ({ ranked }) => ranked]
]
const WHOLE = fc.integer({ min: -2, max: 8 }).map(String)
const COMPARISONS = fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$is')

/** An aggregate, and conditions on it for `having`. */
interface Aggregate { readonly call: readonly [string, Json], readonly conditions: Arbitrary<Json> }

/**
 * The fields `groupBy`, `aggregates`, `having`, `orderBy` and `offset` of a body. `conditions`: of a column, as in
 * filters. `filters`: of an aggregate.
 */
export function groupsOf (
  { catalog, values, kinds }: FuzzTable, conditions: Conditions, filters: Arbitrary<Json>
): Arbitrary<ReadonlyArray<readonly [string, Json]>> {
  const usable = catalog.columnList.filter(({ name }) => values.has(name))
  const onColumn = (column: Column): Arbitrary<Json> => conditions(column, values.get(column.name) as JsonTexts, true)
  const groupable = usable.filter(({ type }) => type.sortable)
  const known = groupable.filter(({ name }) => kinds.has(name))
  const counted = fc.oneof(
    WHOLE, fc.tuple(COMPARISONS, WHOLE).map(([operator, value]) => pairs([operator, value])),
    fc.constant(pairs(['$null', 'false']))
  )
  const aggregate = fc.constantFrom(...functions).chain(([name, accepts]): Arbitrary<Aggregate> => fc.constantFrom(
    ...usable.filter(({ type }) => accepts(type))
  ).map((column) => ({
    call: [name, text(column.name)] as const,
    conditions: name === '$min' || name === '$max' ? onColumn(column) : counted
  })))
  const rows: Arbitrary<Aggregate> = fc.constant({ call: ['$count', text('*')] as const, conditions: counted })
  const filtered = fc.tuple(fc.oneof({ weight: 1, arbitrary: rows }, { weight: 3, arbitrary: aggregate }), fc.option(
    filters, { freq: 1, nil: undefined }
  ))
    .map(([{ call, conditions }, own]) => ({
      call: pairs(call, ...own === undefined ? [] : [['filters', own] as const]), conditions
    }))
  const named = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'v0', 'total'), filtered), {
    maxLength: 3, selector: ([name]) => name
  })
  const by = fc.uniqueArray(fc.oneof({
    weight: 2, arbitrary: fc.constantFrom(...known)
  }, { weight: 1, arbitrary: fc.constantFrom(...groupable) }), { maxLength: 2 })
  const timed = groupable.flatMap(
    ({ name, type: { parts } }) => Array.from(parts?.keys() ?? [], (part) => pairs(['part', pairs([part, text(name)])]))
  )
  const part = timed.length === 0
    ? fc.constant(undefined)
    : fc.option(fc.constantFrom(...timed), {
      freq: 4, nil: undefined
    })
  return fc.tuple(by, named, part).filter(
    ([columns, aggregates, chosen]) => columns.length + aggregates.length > 0 || chosen !== undefined
  ).chain(([columns, aggregates, chosen]) => {
    const names = [
      ...columns.map(({ name }) => name), ...aggregates.map(([name]) => name), ...chosen === undefined ? [] : ['part']
    ]
    const condition = fc.oneof(
      ...columns.map((column) => onColumn(column).map((json) => pairs([column.name, json]))),
      ...aggregates.map(([name, { conditions }]) => conditions.map((json) => pairs([name, json]))),
      ...chosen === undefined
        ? []
        : [
            fc.constantFrom('true', 'false').map((isNull) => pairs(['part', pairs(['$null', isNull])]))
          ]
    )
    const order = fc.constantFrom(...names).chain((name) => fc.constantFrom(
      text(`${name} DESC`), text(`${name} DESC NULLS FIRST`), list(pairs([name, text('asc')])),
      list(pairs([name, text('asc nulls last')]))
    ))
    return fc.record({
      having: fc.option(condition, { freq: 2, nil: undefined }),
      orderBy: fc.option(order, { freq: 2, nil: undefined }),
      offset: fc.option(fc.integer({ min: 0, max: 3 }).map(String), { freq: 1, nil: undefined })
    })
      .map((rest) => [
        ...columns.length === 0 && chosen === undefined
          ? []
          : [
              [
                'groupBy', list(...columns.map(({ name }) => text(name)), ...chosen === undefined ? [] : [chosen])
              ] as const
            ],
        ...aggregates.length === 0
          ? []
          : [
              ['aggregates', pairs(...aggregates.map(([name, { call }]) => [name, call] as const))] as const
            ],
        ...Object.entries(rest).flatMap(([field, json]) => json === undefined ? [] : [[field, json] as const])
      ])
  })
}

export interface GroupsBody {
  readonly groupBy?: Array<string | object>
  readonly aggregates?: Record<string, Record<string, unknown>>
  readonly having?: unknown
  readonly orderBy?: unknown
  readonly limit?: unknown
  readonly offset?: unknown
}

export const isGrouped = ({ groupBy, aggregates }: GroupsBody): boolean => groupBy !== undefined ||
  aggregates !== undefined

/**
 * What is wrong with the rows of an answer; undefined if the model finds nothing. `selected`: the rows that were
 * grouped, if they are known.
 */
export function findGroupFault (table: FuzzTable, body: GroupsBody, { rows, next }: {
  rows: readonly Row[], next?: unknown
}, selected: readonly Row[] | undefined): string | undefined {
  const { aggregates = {}, offset, limit } = body
  const groupBy = (body.groupBy ?? []).map(
    (entry) => typeof entry === 'string' ? entry : Object.keys(entry)[0] as string
  )
  const names = [...groupBy, ...Object.keys(aggregates)]
  const odd = rows.find((row) => Object.keys(row).join() !== names.join())
  if (odd !== undefined) return `a row has the columns ${Object.keys(odd).join()} and not ${names.join()}`
  const kinds = kindsOf(table, body, groupBy)
  const order = findOrderFault(kinds, body.orderBy, rows)
  if (order !== undefined) return order
  if (selected === undefined || !groupBy.every((name) => table.kinds.has(name))) return undefined
  const groups = groupsIn(table, body, groupBy, selected)
  for (const row of rows) {
    const group = groups.get(keyOf(table, groupBy, row))
    if (group === undefined) return `the model has no group ${JSON.stringify(row)}`
    for (const name of Object.keys(aggregates)) {
      const [kind, expected, shown] = [kinds.get(name), group[name], row[name]]
      if (kind !== undefined && !(expected === null || shown === null
        ? expected === shown
        : valueOf(
          kind, shown
        ) === valueOf(kind, expected))) return `${name} is ${JSON.stringify(shown)}, the model has ${String(expected)}`
    }
  }
  // collations of MySQL make a group of several texts, of which it shows any
  const readable = new Map([...kinds].filter(([, kind]) => kind !== 'word' || table.engine === 'sqlite'))
  const matches = predict(body.having ?? {}, { ...table, kinds: readable })
  if (matches === undefined) return undefined
  const skipped = offset === undefined ? 0 : Number(JSON.stringify(offset))
  const most = limit === undefined ? 100 : Number(JSON.stringify(limit))
  const found = [...groups.values()].filter(matches).length
  if (rows.length !== Math.max(
    0, Math.min(most, found - skipped)
  )) return `${rows.length} groups, the model has ${found}`
  const expected = offset === undefined ? undefined : skipped + most < found ? skipped + most : null
  if (JSON.stringify(next) !== JSON.stringify(expected)) return `next is ${JSON.stringify(next)} of ${found} groups`
  return undefined
}

/** The columns of the result that the model can compute. */
function kindsOf (table: FuzzTable, { aggregates = {} }: GroupsBody, groupBy: readonly string[]): Map<string, Kind> {
  const { kinds } = table
  const computed = Object.entries(aggregates).map(([name, call]) => [name, kindOf(table, call)] as const)
  return new Map([...groupBy.map((name) => [name, kinds.get(name)] as const), ...computed].filter(
    (entry): entry is [string, Kind] => entry[1] !== undefined
  ))
}

function kindOf (table: FuzzTable, aggregate: Readonly<Record<string, unknown>>): Kind | undefined {
  const { kinds } = table
  if (predict(aggregate['filters'] ?? {}, table) === undefined) return undefined
  const [[call, column]] = Object.entries(aggregate) as [[string, string]]
  const kind = kinds.get(column)
  if (call === '$count') return 'integer'
  if (kind === undefined || kind === 'word') return undefined
  if (call === '$countDistinct') return 'integer'
  return call === '$min' || call === '$max' ||
    (call === '$sum' && (kind === 'integer' || kind === 'decimal'))
    ? kind
    : undefined
}

/** Collations of MySQL such as utf8mb4_bin ignore trailing spaces. */
function keyOf ({ kinds, engine }: FuzzTable, groupBy: readonly string[], row: Row): string {
  return groupBy.map((name) => {
    const cell = JSON.stringify(row[name])
    return kinds.get(name) === 'word' && engine !== 'sqlite' ? cell.replace(/ *"$/, '"') : cell
  }).join()
}

/** The rows of the result, without `having`. */
function groupsIn (
  table: FuzzTable, { aggregates = {} }: GroupsBody, groupBy: readonly string[], selected: readonly Row[]
): Map<string, Row> {
  const groups = Map.groupBy(selected, (row) => keyOf(table, groupBy, row))
  if (groupBy.length === 0 && groups.size === 0) groups.set('', [])
  return new Map(Array.from(groups, ([key, rows]) => {
    const computed = Object.entries(aggregates).map(
      ([name, call]) => [name, kindOf(table, call) === undefined ? undefined : compute(table, call, rows)]
    )
    return [
      key, { ...Object.fromEntries(groupBy.map((name) => [name, rows[0]?.[name]])), ...Object.fromEntries(computed) }
    ]
  }))
}

/** The value of an aggregate, in the form of an answer. */
function compute (table: FuzzTable, aggregate: Readonly<Record<string, unknown>>, all: readonly Row[]): unknown {
  const { kinds } = table
  const group = all.filter(predict(aggregate['filters'] ?? {}, table) as (row: Row) => boolean)
  const [[call, column]] = Object.entries(aggregate) as [[string, string]]
  if (column === '*') return String(group.length)
  const cells = group.map((row) => row[column]).filter((cell) => cell !== null)
  if (call === '$count') return String(cells.length)
  const kind = kinds.get(column) as Kind
  const values = cells.map((cell) => valueOf(kind, cell))
  if (call === '$countDistinct') return String(new Set(values).size)
  if (cells.length === 0) return null
  if (call !== '$sum') {
    return cells.reduce(
      (best, cell) => (valueOf(kind, cell) < valueOf(kind, best)) === (call === '$min') ? cell : best
    )
  }
  const sum = (values as bigint[]).reduce((total, value) => total + value, 0n)
  if (kind === 'integer') return String(sum)
  const digits = String(sum < 0n ? -sum : sum).padStart(3, '0')
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** The order has one term. */
function findOrderFault (kinds: ReadonlyMap<string, Kind>, orderBy: unknown, rows: readonly Row[]): string | undefined {
  const [, name = '', direction = '', place] = /^\[?\{?"(\w+)(?: |":")(asc|desc)(?: nulls (first|last))?"\}?\]?$/i.exec(
    JSON.stringify(orderBy) ?? ''
  ) ?? []
  const kind = kinds.get(name)
  if (kind === undefined || kind === 'word') return undefined
  const cells = rows.map((row) => row[name] === null ? null : valueOf(kind, row[name]))
  if (/^desc/i.test(direction)) cells.reverse()
  const isLowest = place === undefined || /^first$/i.test(place) !== /^desc/i.test(direction)
  const isSorted = cells.every((cell, index) => {
    const before = cells[index - 1]
    if (index === 0 || before === cell) return true
    return before === null || cell === null ? (before === null) === isLowest : (before as bigint) <= (cell as bigint)
  })
  return isSorted ? undefined : `not ordered by ${JSON.stringify(orderBy)}`
}
