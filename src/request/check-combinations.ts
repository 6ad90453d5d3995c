/** Checks which fields stand beside each other, by the rows of schemas/fields.ts, and how many values a list has. */
import type { Body, DeleteBody, UpdateBody } from '../../schemas/body.ts'
import { type Field, FIELDS } from '../../schemas/fields.ts'
import type { Verb } from '../../schemas/grants.ts'
import { MAX_CELLS, MAX_COLUMNS } from '../../schemas/limits.ts'
import { at, filtersRequired, type Path, type ServiceError } from '../errors.ts'
import { hasMany, objectKeys } from '../json/exact-json.ts'
import { findGroupsError } from './check-groups.ts'
import { refuse, refuseField } from './check-fields.ts'

type Fields = Readonly<Record<string, unknown>>

/** What a row says of its field and others. A field that is false is the same as none. */
interface Rule {
  readonly field: string
  /** The rule is about members of `include`, and the field is one of the body. */
  readonly isOfBody?: true
  /** They are not allowed with the field. */
  readonly excludes?: readonly string[]
  /** The field needs one of them. */
  readonly oneOf?: readonly string[]
  /** The field is there if this one is a list, and only then. */
  readonly list?: string
  readonly why?: string | undefined
}

const rows = Object.entries<Field>(FIELDS)

/**
 * Verb or member -> its rules; of those that exclude fields, those that exclude fewer come first. A request has none of
 * the fields of a select in a transaction.
 */
const RULES: ReadonlyMap<string, readonly Rule[]> = Map.groupBy<string, Rule & { readonly place: string }>([
  ...rows.flatMap(([field, { excludesOfMembers: excludes }]) =>
    excludes === undefined ? [] : [{ place: 'member', field, excludes, isOfBody: true as const }]),
  ...rows
    .flatMap(([field, { excludes = {} }]) =>
      Object.entries(excludes).map(([place, names]) => ({ place, field, excludes: names })))
    .sort((one, other) => one.excludes.length - other.excludes.length),
  ...rows.flatMap(([field, { withList = {}, requires = {} }]) => [
    ...Object.entries(withList).map(([place, { field: list, why }]) => ({ place, field, list, why })),
    ...Object.entries(requires).map(([place, others]) => ({ place, field, ...others }))
  ])
], ({ place }) => place === 'selectInTransaction' ? 'select' : place)

/** INVALID_BODY or FILTERS_REQUIRED, not thrown. */
export function findCombinationError (body: Body): ServiceError | undefined {
  const { verb } = body
  const emptiness = verb === 'update' || verb === 'delete' ? findEmptyFilters(body) : undefined
  const error = emptiness ?? findConflict(verb, body)
  if (error !== undefined) return error
  if (verb === 'select') {
    const { groupBy, aggregates } = body
    return groupBy === undefined && aggregates === undefined ? undefined : findGroupsError(groupBy, aggregates)
  }
  return verb !== 'delete' && Array.isArray(body.data) && hasTooManyCells(body.data)
    ? refuse(['data'], `"data" must have at most ${MAX_CELLS} values: rows times the columns that any of them names`)
    : undefined
}

/** INVALID_BODY for fields that do not go together, not thrown. `body`: that of a member. */
export function findConflict (
  place: Verb | 'member',
  fields: object,
  body = fields,
  path?: Path
): ServiceError | undefined {
  const rules = RULES.get(place) as readonly Rule[]
  for (let index = 0; index < rules.length; index++) {
    const { field, isOfBody, excludes, oneOf, list, why } = rules[index] as Rule
    const value = ((isOfBody === true ? body : fields) as Fields)[field]
    const isThere = value !== undefined && value !== false
    if (list !== undefined && Array.isArray((fields as Fields)[list]) !== isThere) {
      return refuse([field], isThere
        ? `"${field}" is only allowed with a list in "${list}"`
        : `"${field}" is required with a list in "${list}": ${why}`)
    }
    if (!isThere) continue
    const excluded = excludes?.find((name) => Object.hasOwn(fields, name))
    if (excluded !== undefined) {
      const message = isOfBody === true
        ? `"${excluded}" of a member is not allowed beside "${field}" of the request`
        : `"${excluded}" is not allowed with "${field}"`
      return refuseField([...path ?? [], excluded], message)
    }
    if (oneOf?.every((name) => (fields as Fields)[name] === undefined) === true) {
      return refuse([field], `"${field}" requires "${oneOf.join('" or "')}"${why === undefined ? '' : `: ${why}`}`)
    }
  }
  return undefined
}

/** The keys of a list count as filters. The planner finds filters that are not empty and restrict nothing. */
const findEmptyFilters = (body: UpdateBody | DeleteBody): ServiceError | undefined =>
  objectKeys(body.filters).length > 0 || (body.verb === 'update' && Array.isArray(body.data))
    ? undefined
    : at('/filters', filtersRequired(body.verb))

/** Rows with more names than a table has columns are refused for one of the names. */
function hasTooManyCells (rows: readonly object[]): boolean {
  const names = new Set<string>()
  const most = Math.min(MAX_CELLS / rows.length, MAX_COLUMNS)
  for (const row of rows) {
    if (hasMany(row) && objectKeys(row).length > most) return objectKeys(row).length * rows.length > MAX_CELLS
    for (const name in row) names.add(name)
    if (names.size > most) break
  }
  return rows.length * names.size > MAX_CELLS
}
