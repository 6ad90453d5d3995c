/** Checks the members of `include` and those of `$some` and `$none`: how many, on how many levels, and their fields. */
import type { TObject } from '@sinclair/typebox'
import { type Body, type Member, MemberSchema, RelatedSchema, type SelectBody } from '../../schemas/body.ts'
import { type Include, MEMBER_NAME } from '../../schemas/fields.ts'
import { at, type Path, type ServiceError, tooManyConditions } from '../errors.ts'
import { isObject, objectKeys } from '../json/exact-json.ts'
import { findConflict, findFieldError } from './check-fields.ts'
import { findFunctionError, findUnused } from './check-groups.ts'
import { refuse, refuseField } from './field-errors.ts'
import { findMembers, type MembersVisitor } from './related-members.ts'

/** The settings that a body is checked with. */
export interface BodyLimits {
  /** Levels of combinators in filters. */
  readonly depth: number
  /** Conditions of all filters. */
  readonly conditions: number
  /** Levels and members of `include`; it is refused if omitted. */
  readonly include?: { readonly levels: number, readonly members: number }
}

/** INVALID_BODY, LIMIT_OUT_OF_RANGE or INVALID_ORDER_BY, not thrown. The body is valid otherwise. */
export function findInMembers (body: Body, limits: BodyLimits): ServiceError | undefined {
  const error = (body.verb === 'insert' ? undefined : findRelatedError(body.filters, ['filters'], limits)) ??
    (body.verb === 'select' && body.aggregates !== undefined ? findAggregateError(body.aggregates, limits) : undefined)
  if (error !== undefined) return error
  const invalid = body.include === undefined ? undefined : findIncludeError(body.include, { limits, body })
  return invalid ?? (
    body.verb === 'select' && (body.groupBy !== undefined || body.aggregates !== undefined)
      ? findUnused(body)
      : undefined
  )
}

/**
 * Returns the first error in the form of the members of filters, not thrown; or that there are too many conditions,
 * before anything looks for a name.
 */
export function findRelatedError (
  filters: unknown,
  path: Path,
  { depth, conditions }: BodyLimits
): ServiceError | undefined {
  if (filters === undefined) return undefined
  const refuseMore = (beyond: Path): ServiceError => at(beyond, tooManyConditions(conditions))
  const visitor: MembersVisitor<ServiceError> = {
    remaining: conditions,
    refuse: refuseMore,
    visit ({ key, members, path: memberPath }) {
      const names = isObject(members) ? objectKeys(members) : []
      if (names.length > visitor.remaining) return refuseMore([...memberPath, names[visitor.remaining] as string])
      visitor.remaining -= names.length
      if (names.length === 0) {
        return refuse(
          memberPath,
          `"${key}" must be an object of at least one member, such as {"<table>": {"filters": {}}}`
        )
      }
      for (const name of names) {
        const member = (members as Readonly<Record<string, unknown>>)[name]
        const error = findMemberFieldError(member, RelatedSchema, [...memberPath, name])
        if (error !== undefined) return error
      }
      return undefined
    }
  }
  return findMembers(filters, [...path], visitor, depth)
}

const findMemberFieldError = (member: unknown, schema: TObject, path: Path): ServiceError | undefined =>
  isObject(member)
    ? findFieldError(member, { schema, path })
    : refuse(path, 'a member must be an object, such as {"table": "<table>"}')

// The members of `include` are checked level by level: their schema, and the combination of their fields.

interface IncludeToCheck {
  readonly limits: BodyLimits
  readonly body: Body
}

/** Returns the first error of an object of members, not thrown. The members of all levels are counted together. */
function findIncludeError (
  include: Include,
  checking: IncludeToCheck,
  path: Path = ['include'],
  level = 1,
  counted = { members: 0 }
): ServiceError | undefined {
  const { levels, members } = checking.limits.include ?? { levels: 0, members: 0 }
  if (levels === 0 || members === 0) {
    return refuseField(path, '"include" is not allowed: the setting limits.include is 0')
  }
  if (level > levels) return refuse(path, `"include" can have at most ${levels} levels`)
  const names = objectKeys(include)
  const beyond = names[members - counted.members]
  if (beyond !== undefined) {
    return refuse([...path, beyond], `"include" can have at most ${members} members, on all levels together`)
  }
  counted.members += names.length
  for (const name of names) {
    const member = include[name] as Member
    const error = findMemberError(name, member, { ...checking, path: [...path, name], level, counted })
    if (error !== undefined) return error
  }
  return undefined
}

function findMemberError (
  name: string,
  member: Member,
  { path, level, counted, ...checking }: IncludeToCheck & {
    readonly path: Path
    readonly level: number
    readonly counted: { members: number }
  }
): ServiceError | undefined {
  const { limits, body } = checking
  if (!MEMBER_NAME.test(name)) {
    return refuse(path, 'the name of a member begins with a letter and has 1 to 64 letters, digits and _')
  }
  const invalid = findMemberFieldError(member, MemberSchema, path)
  if (invalid !== undefined) return invalid
  const error = findConflict('member', member, body, path) ??
    findFunctionError(member.aggregates, [...path, 'aggregates']) ??
    findRelatedError(member.filters, [...path, 'filters'], limits)
  return error === undefined && member.include !== undefined
    ? findIncludeError(member.include, checking, [...path, 'include'], level + 1, counted)
    : error
}

function findAggregateError (
  aggregates: NonNullable<SelectBody['aggregates']>,
  limits: BodyLimits
): ServiceError | undefined {
  for (const [name, { filters }] of Object.entries(aggregates)) {
    const error = findRelatedError(filters, ['aggregates', name, 'filters'], limits)
    if (error !== undefined) return error
  }
  return undefined
}
