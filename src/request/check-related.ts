/**
 * Checks the form of the members of `$some` and `$none` at any depth of filters, and finds the tables that they name.
 */
import type { TObject, TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Errors, type ValueErrorType } from '@sinclair/typebox/errors'
import {
  type Body, type Member, MemberSchema, type Related, RelatedSchema, type SelectBody
} from '../../schemas/body.ts'
import { type Include, MEMBER_NAME } from '../../schemas/fields.ts'
import { MAX_INCLUDE } from '../../schemas/limits.ts'
import { type CombinatorForm, COMBINATORS } from '../../schemas/filters.ts'
import { at, invalidBody, type Path, type ServiceError, didYouMean } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { stepsOf } from '../json/pointer.ts'
import { describeExpected, findExcluded, findFunctionError, findOwnError, withNames } from './check-fields.ts'

/** Returns the first error of a member that does not match its schema. */
function describeMember (member: object, schema: TObject, path: Path): ServiceError {
  const [first] = Errors(schema, [], member)
  const { path: within, type } = first as { path: string, type: ValueErrorType }
  const { properties } = schema
  const steps = stepsOf(within)
  const field = steps[0] as string
  const memberPath = [...path, ...steps]
  if (!Object.hasOwn(properties, field)) {
    const fields = Object.keys(properties)
    const hint = didYouMean(field, fields, `; its fields are ${fields.join(', ')}`)
    return at(memberPath, invalidBody(`"${field}" is not a field of a member${hint}`))
  }
  return (
    findOwnError({ field, path: memberPath, type }, member) ??
    at(memberPath, invalidBody(describeExpected(field, properties[field] as TSchema)))
  )
}

const hasMembers = (form: CombinatorForm): boolean => form === 'members' || form === 'counted'

const combinators: ReadonlyMap<string, CombinatorForm> = new Map(Object.entries(COMBINATORS))

const DOLLAR = 36

/**
 * Calls `visit` with the members of each `$some` and `$none`, outer ones first, until it returns a value. `path`: the
 * path of the filters, which is restored at the end. `depth`: the setting `limits.depth`; the planner refuses deeper
 * filters.
 */
function findMembers<T> (
  filters: unknown,
  path: Array<string | number>,
  visit: (found: { readonly key: string, readonly members: unknown, readonly path: Path }) => T | undefined,
  depth: number
): T | undefined {
  if (!isObject(filters) || depth < 0) return undefined
  for (const key in filters) {
    const form = key.charCodeAt(0) === DOLLAR ? combinators.get(key) : undefined
    if (form === undefined) continue
    let result = hasMembers(form) ? visit({ key, members: filters[key], path: [...path, key] }) : undefined
    for (const { steps, inner } of filtersIn(filters[key], form)) {
      if (result !== undefined) return result
      path.push(key, ...steps)
      result = findMembers(inner, path, visit, depth - 1)
      path.length -= steps.length + 1
    }
    if (result !== undefined) return result
  }
  return undefined
}

/** The filters in the value of a combinator, and the steps to them. */
function filtersIn (value: unknown, form: CombinatorForm): Array<{ readonly steps: Path, readonly inner: unknown }> {
  if (form === 'filters') return [{ steps: [], inner: value }]
  if (form === 'list') return Array.isArray(value) ? value.map((inner, index) => ({ steps: [index], inner })) : []
  if (!hasMembers(form) || !isObject(value)) return []
  return Object.entries(value).map(([name, member]) =>
    ({ steps: [name, 'filters'], inner: (member as Related | null)?.filters })
  )
}

const related = TypeCompiler.Compile(RelatedSchema)

/** Returns the first error in the form of the members of filters, not thrown. */
export function findRelatedError (filters: unknown, path: Path, depth: number): ServiceError | undefined {
  return findMembers(filters, [...path], ({ key, members, path: memberPath }) => {
    if (!isObject(members) || Object.keys(members).length === 0) {
      return at(
        memberPath,
        invalidBody(`"${key}" must be an object of at least one member, such as {"<table>": {"filters": {}}}`)
      )
    }
    for (const [name, member] of Object.entries(members)) {
      if (!isObject(member)) {
        return at([...memberPath, name], invalidBody('a member must be an object, such as {"table": "<table>"}'))
      }
      if (!related.Check(member)) return describeMember(member, RelatedSchema, [...memberPath, name])
    }
    return undefined
  }, depth)
}

/** Another table that a request names. */
export interface NamedTable {
  readonly table: string
  /** The path in the body that names it. */
  readonly path: Path
  /** The field that names it: `include`, `$some` or `$none`. */
  readonly by: string
}

/** Adds the tables that the members of filters name; their form must have been checked. */
function nameRelated (filters: unknown, path: Path, depth: number, named: NamedTable[]): void {
  findMembers(filters, [...path], ({ key, members, path: memberPath }) => {
    for (const [name, { table }] of Object.entries(members as Readonly<Record<string, Related>>)) {
      const steps = table === undefined ? [name] : [name, 'table']
      named.push({ table: table ?? name, path: [...memberPath, ...steps], by: key })
    }
    return undefined
  }, depth)
}

// Checks the members of `include`, level by level: their schema, and the combination of their fields.

const members = TypeCompiler.Compile(withNames(MemberSchema))

interface IncludeToCheck {
  /** The setting `limits.depth`. */
  readonly depth: number
  /** Whether the rows are those that a write returns. */
  readonly isReturned: boolean
  /** Whether the members are those by whose columns rows are grouped. */
  readonly isGrouped: boolean
}

/**
 * Returns the first error of an object of members, not thrown. Levels beyond the maximum of the setting are not
 * checked.
 */
export function findIncludeError (
  include: Include,
  checking: IncludeToCheck,
  path: Path = ['include'],
  level = 1
): ServiceError | undefined {
  if (level > MAX_INCLUDE.levels) return refuse(path, `"include" has more than ${MAX_INCLUDE.levels} levels`)
  for (const [name, member] of Object.entries(include)) {
    const error = findMemberError(name, member, { ...checking, path: [...path, name], level })
    if (error !== undefined) return error
  }
  return undefined
}

function findMemberError (
  name: string,
  member: Member,
  { path, level, ...checking }: IncludeToCheck & { readonly path: Path, readonly level: number }
): ServiceError | undefined {
  const { depth, isReturned, isGrouped } = checking
  if (!MEMBER_NAME.test(name)) {
    return refuse(path, 'the name of a member begins with a letter and has 1 to 64 letters, digits and _')
  }
  if (!isObject(member)) return refuse(path, 'a member must be an object, such as {"table": "<table>"}')
  if (!members.Check(member)) return describeMember(member, MemberSchema, path)
  if (isReturned && member.aggregates !== undefined) {
    return refuse([...path, 'aggregates'], '"aggregates" is not allowed beside "returning"')
  }
  const notOfGroups = isGrouped ? Object.keys(member).find((field) => !OF_GROUPS.includes(field)) : undefined
  if (notOfGroups !== undefined) {
    return refuse(
      [...path, notOfGroups],
      `"${notOfGroups}" is not allowed beside "groupBy": only ${OF_GROUPS.join(', ')}`
    )
  }
  const error = findExcluded('member', member, path) ??
    findFunctionError(member.aggregates, [...path, 'aggregates']) ??
    findRelatedError(member.filters, [...path, 'filters'], depth)
  return error === undefined && member.include !== undefined
    ? findIncludeError(member.include, checking, [...path, 'include'], level + 1)
    : error
}

/** The fields of members by whose columns rows are grouped. */
const OF_GROUPS = ['table', 'on', 'filters']

const refuse = (path: Path, message: string): ServiceError => at(path, invalidBody(message))

/** Returns the first error in the form of the members that the filters of aggregates have, not thrown. */
export function findAggregateError (aggregates: SelectBody['aggregates'], depth: number): ServiceError | undefined {
  for (const [name, { filters }] of Object.entries(aggregates ?? {})) {
    const error = findRelatedError(filters, ['aggregates', name, 'filters'], depth)
    if (error !== undefined) return error
  }
  return undefined
}

/** The other tables that a request names: in its filters, those of aggregates, then in `include`, in their order. */
export function namedTables (body: Body, depth: number): readonly NamedTable[] {
  const named: NamedTable[] = []
  if (body.verb !== 'insert' && body.filters !== undefined) nameRelated(body.filters, ['filters'], depth, named)
  if (body.verb === 'select') {
    for (const [name, { filters }] of Object.entries(body.aggregates ?? {})) {
      nameRelated(filters, ['aggregates', name, 'filters'], depth, named)
    }
  }
  if (body.verb !== 'delete' && body.include !== undefined) nameMembers(body.include, ['include'], depth, named)
  return named
}

function nameMembers (include: Include, path: Path, depth: number, named: NamedTable[]): void {
  for (const [name, { table, filters, include: inner }] of Object.entries(include)) {
    const memberPath = [...path, name]
    const tablePath = table === undefined ? memberPath : [...memberPath, 'table']
    named.push({ table: table ?? name, path: tablePath, by: 'include' })
    nameRelated(filters, [...memberPath, 'filters'], depth, named)
    if (inner !== undefined) nameMembers(inner, [...memberPath, 'include'], depth, named)
  }
}
