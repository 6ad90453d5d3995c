/** Fields that are valid each for itself, and not together. */
import type { Body, SelectBody } from '../../schemas/body.ts'
import { invalidBody, pointer, withDetails, type ServiceError } from '../errors.ts'

/** Returns INVALID_BODY, not thrown, if fields of the body exclude each other. */
export function findConflict (body: Body): ServiceError | undefined {
  return body.verb === 'select' ? findInGroups(body) : undefined
}

/** Fields that concern the rows of a table. */
const OF_ROWS = ['columns', 'after', 'total', 'expect']

function findInGroups (body: SelectBody): ServiceError | undefined {
  const { groupBy, aggregates, having } = body
  if (groupBy === undefined && aggregates === undefined) return having === undefined ? undefined : conflict(['having'], '"having" requires "groupBy" or "aggregates"')
  const field = OF_ROWS.find((name) => Object.hasOwn(body, name))
  if (field !== undefined) return conflict([field], `"${field}" is not allowed with ${groupBy === undefined ? '"aggregates"' : '"groupBy"'}`)
  const name = groupBy?.find((column) => aggregates !== undefined && Object.hasOwn(aggregates, column))
  return name === undefined ? undefined : conflict(['aggregates', name], `"${name}" is already a column of "groupBy"`)
}

function conflict (path: readonly string[], message: string): ServiceError {
  return withDetails(invalidBody(message), { path: pointer(...path), message })
}
