/** Checks that schemas cannot express, or only with unclear messages: fields that are not valid together, and the rows of an insert. */
import { MAX_AGGREGATES, MAX_CELLS, MAX_ROWS, type AggregateCall, type Body, type SelectBody } from '../../schemas/body.ts'
import { at, invalidBody, type Path, type ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'

/** Returns INVALID_BODY, not thrown. */
export function findCombinationError (body: Body): ServiceError | undefined {
  if (body.verb === 'insert') return Array.isArray(body.data) || body.onConflict !== undefined ? findRowsError(body) : undefined
  if (body.verb !== 'select') return undefined
  if (body.after !== undefined && body.offset !== undefined) return refuse(['offset'], '"offset" is not allowed with "after"')
  return findInGroups(body)
}

/** The expected forms, for messages. */
export const GROUP_BY = 'a list of column names and of parts of time such as {"month": {"$month": "<column>"}}, not empty and without repeats'
export const AGGREGATES = `an object of 1 to ${MAX_AGGREGATES} names (1 to 64 letters, digits and _), each with one function such as {"$sum": "<column>"} and optionally "filters"`

/** Fields for the rows of a table, which a select with `groupBy` or `aggregates` does not have. */
export const NOT_OF_GROUPS = ['columns', 'after', 'total', 'expect', 'include']
/** Fields for the rows of a member, which one with `aggregates` does not have. */
export const NOT_OF_AGGREGATES = ['columns', 'orderBy', 'limit', 'include']

function findInGroups (body: SelectBody): ServiceError | undefined {
  const { groupBy, aggregates, having } = body
  if (groupBy === undefined && aggregates === undefined) return having === undefined ? undefined : refuse(['having'], '"having" requires "groupBy" or "aggregates"')
  const field = NOT_OF_GROUPS.find((name) => Object.hasOwn(body, name))
  if (field !== undefined) return refuse([field], `"${field}" is not allowed with ${groupBy === undefined ? '"aggregates"' : '"groupBy"'}`)
  return findRepeat(groupBy) ?? findFunctionError(aggregates) ?? findTaken(groupBy, aggregates)
}

type GroupBy = NonNullable<SelectBody['groupBy']>
const isName = (entry: GroupBy[number]): entry is string => typeof entry === 'string'
const nameOf = (entry: GroupBy[number]): string => isName(entry) ? entry : Object.keys(entry)[0] as string

function findRepeat (groupBy: GroupBy = []): ServiceError | undefined {
  const names = groupBy.map(nameOf)
  if (new Set(names).size === names.length) return undefined
  const repeated = groupBy.findIndex((entry, index) => !isName(entry) && names.indexOf(nameOf(entry)) !== names.lastIndexOf(names[index] as string))
  if (repeated < 0) return refuse(['groupBy'], `"groupBy" must be ${GROUP_BY}`)
  return refuse(['groupBy', repeated, names[repeated] as string], `"${names[repeated]}" is already a name of "groupBy"`)
}

/** Requires exactly one function for each aggregate of a select or a member. */
export function findFunctionError (aggregates: SelectBody['aggregates'] = {}, path: Path = ['aggregates']): ServiceError | undefined {
  for (const name in aggregates) {
    const { filters, ...call } = aggregates[name] as AggregateCall
    if (Object.keys(call).length !== 1) return refuse([...path, name], `"aggregates" must be ${AGGREGATES}`)
  }
  return undefined
}

function findTaken (groupBy: GroupBy = [], aggregates: SelectBody['aggregates'] = {}): ServiceError | undefined {
  const taken = groupBy.find((entry) => Object.hasOwn(aggregates, nameOf(entry)))
  if (taken === undefined) return undefined
  const name = nameOf(taken)
  return refuse(['aggregates', name], `"${name}" is already ${isName(taken) ? 'a column' : 'a name'} of "groupBy"`)
}

/** Finds the first error in `data` and `onConflict` of an insert; undefined if this file finds none. */
export function findRowsError ({ data, onConflict }: { readonly data?: unknown, readonly onConflict?: unknown }): ServiceError | undefined {
  return findListError(data) ?? findOnConflictError(onConflict)
}

function findListError (data: unknown): ServiceError | undefined {
  if (!Array.isArray(data)) return isObject(data) ? undefined : refuse(['data'], '"data" must be an object of column values, or a list of them')
  if (data.length === 0 || data.length > MAX_ROWS) return refuse(['data'], `"data" must have 1 to ${MAX_ROWS} rows`)
  const wrong = data.findIndex((row) => !isObject(row))
  if (wrong >= 0) return refuse(['data', wrong], 'a row must be an object of column values')
  return hasTooManyCells(data) ? refuse(['data'], `"data" must have at most ${MAX_CELLS} values: rows times the columns that any of them names`) : undefined
}

function hasTooManyCells (rows: readonly object[]): boolean {
  const names = new Set<string>()
  for (const row of rows) for (const name in row) names.add(name)
  return rows.length * names.size > MAX_CELLS
}

function findOnConflictError (onConflict: unknown): ServiceError | undefined {
  if (!isObject(onConflict)) return undefined
  const { set } = onConflict as { set?: unknown }
  if (isObject(set) && Object.keys(set).length === 0) return refuse(['onConflict', 'set'], '"set" must not be an empty object; an empty list leaves existing rows as they are')
  return JSON.isRawJSON(set) ? refuse(['onConflict', 'set'], '"set" must be a list of column names or an object of column values') : undefined
}

const refuse = (path: Path, message: string): ServiceError => at(path, invalidBody(message))
