/** What the schemas cannot express, or not in words that help: fields that are valid each for itself and not together, and the rows of an insert. */
import { MAX_CELLS, MAX_ROWS, type Body, type SelectBody } from '../../schemas/body.ts'
import { at, invalidBody, type Path, type ServiceError } from '../errors.ts'
import { isObject } from './exact-json.ts'

/** Returns INVALID_BODY, not thrown. */
export function findConflict (body: Body): ServiceError | undefined {
  if (body.verb === 'insert') return Array.isArray(body.data) || body.onConflict !== undefined ? findRowsError(body) : undefined
  if (body.verb !== 'select') return undefined
  if (body.after !== undefined && body.offset !== undefined) return refuse(['offset'], '"offset" is not allowed with "after"')
  return findInGroups(body)
}

/** Fields that concern the rows of a table. They do not go together with groups. */
export const OF_ROWS = ['columns', 'after', 'total', 'expect']

function findInGroups (body: SelectBody): ServiceError | undefined {
  const { groupBy, aggregates, having } = body
  if (groupBy === undefined && aggregates === undefined) return having === undefined ? undefined : refuse(['having'], '"having" requires "groupBy" or "aggregates"')
  const field = OF_ROWS.find((name) => Object.hasOwn(body, name))
  if (field !== undefined) return refuse([field], `"${field}" is not allowed with ${groupBy === undefined ? '"aggregates"' : '"groupBy"'}`)
  const name = groupBy?.find((column) => aggregates !== undefined && Object.hasOwn(aggregates, column))
  return name === undefined ? undefined : refuse(['aggregates', name], `"${name}" is already a column of "groupBy"`)
}

/** Finds the first error in `data` and `onConflict` of an insert; undefined if there is none that is told here. */
export function findRowsError ({ data, onConflict }: { readonly data?: unknown, readonly onConflict?: unknown }): ServiceError | undefined {
  return findListError(data) ?? findConflictError(onConflict)
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

function findConflictError (onConflict: unknown): ServiceError | undefined {
  if (!isObject(onConflict)) return undefined
  const { set } = onConflict as { set?: unknown }
  if (isObject(set) && Object.keys(set).length === 0) return refuse(['onConflict', 'set'], '"set" must not be an empty object; an empty list leaves existing rows as they are')
  return JSON.isRawJSON(set) ? refuse(['onConflict', 'set'], '"set" must be a list of column names or an object of column values') : undefined
}

const refuse = (path: Path, message: string): ServiceError => at(path, invalidBody(message))
