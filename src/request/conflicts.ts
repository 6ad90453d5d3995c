/** What the schemas cannot express: fields that are valid each for itself and not together, and the size of a list. */
import type { Body, SelectBody } from '../../schemas/body.ts'
import { at, invalidBody, type Path, type ServiceError } from '../errors.ts'
import { findRowsError } from './check-rows.ts'

/** Returns INVALID_BODY, not thrown. */
export function findConflict (body: Body): ServiceError | undefined {
  if (body.verb === 'insert') return Array.isArray(body.data) || body.onConflict !== undefined ? findRowsError(body) : undefined
  if (body.verb !== 'select') return undefined
  if (body.after !== undefined && body.offset !== undefined) return conflict(['offset'], '"offset" is not allowed with "after"')
  return findInGroups(body)
}

/** Fields that concern the rows of a table. They do not go together with groups. */
export const OF_ROWS = ['columns', 'after', 'total', 'expect']

function findInGroups (body: SelectBody): ServiceError | undefined {
  const { groupBy, aggregates, having } = body
  if (groupBy === undefined && aggregates === undefined) return having === undefined ? undefined : conflict(['having'], '"having" requires "groupBy" or "aggregates"')
  const field = OF_ROWS.find((name) => Object.hasOwn(body, name))
  if (field !== undefined) return conflict([field], `"${field}" is not allowed with ${groupBy === undefined ? '"aggregates"' : '"groupBy"'}`)
  const name = groupBy?.find((column) => aggregates !== undefined && Object.hasOwn(aggregates, column))
  return name === undefined ? undefined : conflict(['aggregates', name], `"${name}" is already a column of "groupBy"`)
}

const conflict = (path: Path, message: string): ServiceError => at(path, invalidBody(message))
