/** Selects of groups: bodies with `groupBy`, `aggregates` and `having`, and what they return for rows that the model knows. */
import fc, { type Arbitrary } from 'fast-check'
import type { Column } from '../../src/catalog/catalog.ts'
import type { ColumnType } from '../../src/types/column-type.ts'
import type { JsonTexts } from '../support/values.ts'
import { list, pairs, text, type Json } from './json.ts'
import { valueOf, type Row } from './model.ts'
import type { FuzzTable } from './tables.ts'

type Conditions = (column: Column, values: JsonTexts) => Arbitrary<Json>

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
interface Aggregate { readonly call: Json, readonly conditions: Arbitrary<Json> }

/** The fields `groupBy`, `aggregates`, `having`, `orderBy` and `offset` of a body. `conditions`: of a column, as in filters. */
export function groupsOf ({ catalog, values, kinds }: FuzzTable, conditions: Conditions): Arbitrary<ReadonlyArray<readonly [string, Json]>> {
  const usable = catalog.columnList.filter(({ name }) => values.has(name))
  const onColumn = (column: Column): Arbitrary<Json> => conditions(column, values.get(column.name) as JsonTexts)
  const groupable = usable.filter(({ type }) => type.sortable)
  const known = groupable.filter(({ name }) => kinds.has(name))
  const counted = fc.oneof(WHOLE, fc.tuple(COMPARISONS, WHOLE).map(([operator, value]) => pairs([operator, value])), fc.constant(pairs(['$null', 'false'])))
  const aggregate = fc.constantFrom(...functions).chain(([name, accepts]): Arbitrary<Aggregate> => fc.constantFrom(...usable.filter(({ type }) => accepts(type))).map((column) => ({
    call: pairs([name, text(column.name)]),
    conditions: name === '$min' || name === '$max' ? onColumn(column) : counted
  })))
  const rows: Arbitrary<Aggregate> = fc.constant({ call: pairs(['$count', text('*')]), conditions: counted })
  const named = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'v0', 'total'), fc.oneof({ weight: 1, arbitrary: rows }, { weight: 3, arbitrary: aggregate })), { maxLength: 3, selector: ([name]) => name })
  const by = fc.uniqueArray(fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: fc.constantFrom(...groupable) }), { maxLength: 2 })
  return fc.tuple(by, named).filter(([columns, aggregates]) => columns.length + aggregates.length > 0).chain(([columns, aggregates]) => {
    const names = [...columns.map(({ name }) => name), ...aggregates.map(([name]) => name)]
    const condition = fc.oneof(...columns.map((column) => onColumn(column).map((json) => pairs([column.name, json]))), ...aggregates.map(([name, { conditions }]) => conditions.map((json) => pairs([name, json]))))
    const order = fc.constantFrom(...names).chain((name) => fc.constantFrom(text(`${name} DESC`), list(pairs([name, text('asc')]))))
    return fc.record({ having: fc.option(condition, { freq: 2, nil: undefined }), orderBy: fc.option(order, { freq: 2, nil: undefined }), offset: fc.option(fc.integer({ min: 0, max: 3 }).map(String), { freq: 1, nil: undefined }) })
      .map((rest) => [
        ...columns.length === 0 ? [] : [['groupBy', list(...columns.map(({ name }) => text(name)))] as const],
        ...aggregates.length === 0 ? [] : [['aggregates', pairs(...aggregates.map(([name, { call }]) => [name, call] as const))] as const],
        ...Object.entries(rest).flatMap(([field, json]) => json === undefined ? [] : [[field, json] as const])
      ])
  })
}

export interface GroupsBody { readonly groupBy?: string[], readonly aggregates?: Record<string, Record<string, string>>, readonly having?: unknown, readonly limit?: unknown, readonly offset?: unknown }

export const isGrouped = ({ groupBy, aggregates }: GroupsBody): boolean => groupBy !== undefined || aggregates !== undefined

/** What is wrong with the rows of an answer; undefined if the model finds nothing. `selected`: the rows that were grouped, if they are known. */
export function findGroupFault ({ kinds, engine }: FuzzTable, { groupBy = [], aggregates = {}, having, offset, limit }: GroupsBody, rows: readonly Row[], selected: readonly Row[] | undefined): string | undefined {
  const names = [...groupBy, ...Object.keys(aggregates)]
  const odd = rows.find((row) => Object.keys(row).join() !== names.join())
  if (odd !== undefined) return `a row has the columns ${Object.keys(odd).join()} and not ${names.join()}`
  if (selected === undefined || having !== undefined || offset !== undefined || !groupBy.every((name) => kinds.has(name))) return undefined
  // collations of MySQL such as utf8mb4_bin ignore trailing spaces
  const keyOf = (row: Row): string => groupBy.map((name) => {
    const cell = JSON.stringify(row[name])
    return kinds.get(name) === 'word' && engine !== 'sqlite' ? cell.replace(/ *"$/, '"') : cell
  }).join()
  const groups = Map.groupBy(selected, keyOf)
  if (groupBy.length === 0 && groups.size === 0) groups.set('', [])
  const most = limit === undefined ? 100 : Number(JSON.stringify(limit))
  if (rows.length !== Math.min(most, groups.size)) return `${rows.length} groups, the model has ${groups.size}`
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) return `the model has no group ${JSON.stringify(row)}`
    for (const [name, call] of Object.entries(aggregates)) {
      const [[key, column]] = Object.entries(call) as [[string, string]]
      const expected = compute(kinds, key, column, group)
      if (expected !== undefined && !same(expected, row[name])) return `${key} of ${column} is ${JSON.stringify(row[name])}, the model has ${String(expected)}`
    }
  }
  return undefined
}

/** A count, or a value that a cell is read as; undefined if the model cannot compute it. */
function compute (kinds: FuzzTable['kinds'], call: string, column: string, group: readonly Row[]): bigint | string | null | undefined {
  if (column === '*') return BigInt(group.length)
  const kind = kinds.get(column)
  if (call === '$count') return BigInt(group.filter((row) => row[column] !== null).length)
  if (kind === undefined || kind === 'word') return undefined
  const cells = group.flatMap((row) => row[column] === null ? [] : [valueOf(kind, row[column])])
  switch (call) {
    case '$countDistinct': return BigInt(new Set(cells).size)
    case '$min':
    case '$max': return cells.length === 0 ? null : cells.reduce((best, cell) => (cell < best) === (call === '$min') ? cell : best)
    case '$sum': {
      if (kind !== 'integer' && kind !== 'decimal') return undefined
      return cells.length === 0 ? null : (cells as bigint[]).reduce((sum, cell) => sum + cell, 0n)
    }
    default: return undefined
  }
}

/** Compares a value of the model with one of the answer: a number, a decimal, a date or base64. */
function same (expected: bigint | string | null, shown: unknown): boolean {
  if (expected === null || shown === null) return expected === shown
  if (typeof expected === 'bigint') return String(expected) === (JSON.isRawJSON(shown) ? shown.rawJSON : String(shown).replace('.', '').replace(/^(-?)0+(?=\d)/, '$1'))
  return expected === shown || expected === Buffer.from(String(shown), 'base64').toString('hex')
}
