/**
 * References of operations: `{"$ref": "/1/id"}` in place of a value. All operations are planned without the values
 * before anything runs; an operation with references is planned again when the values are known. So a value passes
 * every check that a value in the body passes, and is never an operator or a form.
 */
import type { Member, Related } from '../../schemas/body.ts'
import type { Include } from '../../schemas/fields.ts'
import {
  type CombinatorForm, COMBINATORS, type FilterOperator, type OperandForm, OPERATORS
} from '../../schemas/filters.ts'
import type { Column, Table, TableSource } from '../catalog/catalog.ts'
import { at, invalidBody, type Path } from '../errors.ts'
import { stepsOf } from '../json/pointer.ts'
import { isObject } from '../json/exact-json.ts'
import { type Value, ValueRefused } from '../types/column-type.ts'

/** The parameter of a reference in a plan before its value is known. */
export const PENDING: Value = Buffer.alloc(0)

/** Stands in a body for a value that an earlier operation returns. */
export class ResultReference {
  /** The index of that operation, and the steps into its result. */
  readonly operation: number
  readonly steps: readonly string[]
  readonly path: ReadonlyArray<string | number>
  /** Undefined until it is known. */
  value: unknown

  constructor (operation: number, steps: readonly string[], path: ReadonlyArray<string | number>) {
    this.operation = operation
    this.steps = steps
    this.path = path
  }
}

/** Converts the value of a reference. @throws ValueRefused; what `read` throws */
export function readResultReference ({ value }: ResultReference, read: (value: unknown) => Value): Value {
  if (value === undefined) return PENDING
  if (value === null) throw new ValueRefused('the reference leads to null')
  return read(value)
}

// Finds the references in the body of an operation (result-reference.ts).

const KEY = '$ref'

type Fields = Readonly<Record<string, unknown>>

interface Search {
  /** Undefined in filters that cannot have `$some` and `$none`. */
  readonly source: TableSource | undefined
  readonly table: Table
  /** The index of the operation. */
  readonly index: number
  readonly depth: number
  readonly found: ResultReference[]
}

interface SearchOptions extends Omit<Search, 'found' | 'table'> {
  readonly source: TableSource
}

/**
 * Returns the body with its references as ResultReference. In `data` a reference is the whole value of a column, in
 * `filters` an operand, a value in a list or a value of `$is`. Anywhere else, as within a JSON value, `{"$ref": …}` is
 * an ordinary object. `depth`: maximum level of filters; the planner refuses deeper ones. @throws INVALID_BODY for one
 * that is not a JSON Pointer or does not lead to an earlier operation
 */
export function findResultReferences<B extends object> (
  body: B,
  { source, index, depth }: SearchOptions
): { body: B; references: readonly ResultReference[] } {
  const search: Search = { source, table: source.table, index, depth, found: [] }
  const { data, filters, aggregates, include } = body as {
    data?: unknown
    filters?: unknown
    aggregates?: Fields
    include?: Include
  }
  const rows = Array.isArray(data)
    ? data.map((row, index) => inRow(row, search, ['data', index]))
    : inRow(data, search, ['data'])
  const conditions = inFilters(filters, search, ['filters'], 0)
  const functions = aggregates === undefined ? undefined : inAggregates(aggregates, search, ['aggregates'])
  const members = include === undefined ? undefined : inMembers(include, search, ['include'])
  if (search.found.length === 0) return { body, references: search.found }
  return {
    body: {
      ...body,
      ...(data !== undefined && { data: rows }),
      ...(filters !== undefined && { filters: conditions }),
      ...(functions !== undefined && { aggregates: functions }),
      ...(members !== undefined && { include: members })
    },
    references: search.found
  }
}

/** Replaces the references in the filters of members, on all levels. */
function inMembers (include: Include, outer: Search, path: Path): Include {
  return map(include as Readonly<Record<string, unknown>>, (member, name) => {
    const { table = name, filters, aggregates, include: inner } = member as Member
    const place = [...path, name]
    const search = { ...outer, table: (outer.source as TableSource).see(table) }
    return map(member as Fields, (value, field) => {
      switch (field) {
        case 'filters': return inFilters(filters, search, [...place, field], 0)
        case 'aggregates': return inAggregates(aggregates as Fields, search, [...place, field])
        case 'include': return inMembers(inner as Include, outer, [...place, field])
        default: return value
      }
    })
  }) as Include
}

/** Copies the fields only if one of them is changed, which is rare. */
function map (fields: Fields, change: (value: unknown, key: string) => unknown): Fields {
  let changed: Record<string, unknown> | undefined
  for (const key of Object.keys(fields)) {
    const value = change(fields[key], key)
    if (value !== fields[key]) (changed ??= { ...fields })[key] = value
  }
  return changed ?? fields
}

function inRow (row: unknown, search: Search, path: Path): unknown {
  return isObject(row)
    ? map(row, (value, name) => (isResultReference(value) ? toResultReference(value, search, [...path, name]) : value))
    : row
}

const inAggregates = (aggregates: Fields, search: Search, path: Path): Fields =>
  map(aggregates, (call, name) => inAggregate(call, search, [...path, name]))

const inAggregate = (call: unknown, search: Search, path: Path): unknown =>
  isObject(call)
    ? map(call, (value, key) =>
      key === 'filters' ? inFilters(value, { ...search, source: undefined }, [...path, key], 0) : value
    )
    : call

const combinators: ReadonlyMap<string, CombinatorForm> = new Map(Object.entries(COMBINATORS))

/** Replaces the references in the value of a combinator, by its form. */
const inCombinator: Readonly<
  Record<CombinatorForm, (value: unknown, search: Search, path: Path, level: number) => unknown>
> = {
  list: (value, search, path, level) =>
    Array.isArray(value) ? value.map((each, index) => inFilters(each, search, [...path, index], level)) : value,
  filters: inFilters,
  row: (value, search, path) => (isObject(value) ? inExactRow(value, search, path) : value),
  members: (value, search, path, level) =>
    search.source === undefined ? value : inRelated(value as Fields, { ...search, source: search.source }, path, level)
}

function inRelated (members: Fields, search: Search & SearchOptions, path: Path, level: number): Fields {
  return map(members, (member, name) => {
    const { table = name } = member as Related
    const inner = { ...search, table: search.source.see(table) }
    return map(member as Fields, (value, field) =>
      field === 'filters' ? inFilters(value, inner, [...path, name, field], level) : value
    )
  })
}

function inFilters (filters: unknown, search: Search, path: Path, level: number): unknown {
  if (!isObject(filters) || level > search.depth) return filters
  return map(filters, (value, key) => {
    const place = [...path, key]
    const form = combinators.get(key)
    if (form !== undefined) return inCombinator[form](value, search, place, level + 1)
    return inColumnFilter(value, search.table.columns.get(key.startsWith('$$') ? key.slice(1) : key), search, place)
  })
}

/**
 * Replaces the references in a row as a select returned it, except in JSON columns, which may have stored an object
 * that looks like one.
 */
function inExactRow (row: Fields, search: Search, path: Path): Fields {
  return map(row, (value, name) =>
    isResultReference(value) && search.table.columns.get(name)?.type.holdsJson !== true
      ? toResultReference(value, search, [...path, name])
      : value
  )
}

function inColumnFilter (value: unknown, column: Column | undefined, search: Search, path: Path): unknown {
  if (isResultReference(value)) return toResultReference(value, search, path)
  if (Array.isArray(value)) return column?.type.structured === true ? value : inList(value, search, path)
  if (
    !isObject(value) ||
    (column?.type.structured === true && !Object.keys(value).every((key) => key.startsWith('$')))
  ) { return value }
  return map(value, (operand, name) => {
    const place = [...path, name]
    if (isResultReference(operand)) return toResultReference(operand, search, place)
    // the list of $in and $between has values; that of $eq is a value
    return Array.isArray(operand) && listOperators.has(name) ? inList(operand, search, place) : operand
  })
}

const IS_LIST: Readonly<Record<OperandForm, boolean>> = {
  compared: false,
  comparedOrNull: false,
  valueOrNull: false,
  values: true,
  pair: true,
  pattern: false,
  boolean: false,
  members: true
}
const listOperators: ReadonlySet<string> = new Set(
  Object.entries<FilterOperator>(OPERATORS).flatMap(([name, { operand }]) => (IS_LIST[operand] ? [name] : []))
)

const inList = (list: readonly unknown[], search: Search, path: Path): unknown[] =>
  list.map((value, index) => (isResultReference(value) ? toResultReference(value, search, [...path, index]) : value))

function isResultReference (value: unknown): value is Fields {
  return isObject(value) && Object.hasOwn(value, KEY) && Object.keys(value).length === 1
}

/** A JSON Pointer (RFC 6901) whose first step is an index. */
const POINTER = /^\/(0|[1-9]\d{0,2})((?:\/(?:[^~/]|~[01])*)*)$/

function toResultReference (value: Fields, { index, found }: Search, path: Path): ResultReference {
  const pointer = value[KEY]
  const [, first, rest] = typeof pointer === 'string' ? POINTER.exec(pointer) ?? [] : []
  if (first === undefined || rest === undefined) {
    throw at(path, invalidBody('"$ref" must be a JSON Pointer into the results, such as "/0/id"'))
  }
  if (Number(first) >= index) throw at(path, invalidBody('"$ref" must lead to the result of an earlier operation'))
  const reference = new ResultReference(Number(first), stepsOf(rest), path)
  found.push(reference)
  return reference
}
