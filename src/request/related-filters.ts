/** Checks the form of the members of `$some` and `$none` at any depth of filters, and finds the tables that they name. */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { RelatedSchema, type Related } from '../../schemas/body.ts'
import { COMBINATORS, type CombinatorForm } from '../../schemas/filters.ts'
import { at, invalidBody, type Path, type ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { describeMember } from './describe-member.ts'

const combinators: ReadonlyMap<string, CombinatorForm> = new Map(Object.entries(COMBINATORS))

/** Maximum level of combinators that a setting can allow. The planner refuses deeper filters. */
const MAX_DEPTH = 1000

/** Whether a key of the filters begins with `$`; otherwise they have no members. */
function combines (filters: unknown): boolean {
  for (const key in filters as object) if (key.charCodeAt(0) === DOLLAR) return true
  return false
}

const DOLLAR = 36

/** The members of one `$some` or `$none` (`key`). */
interface Found { readonly key: string, readonly members: unknown, readonly path: Path }

/** Calls `visit` with the members of each `$some` and `$none`, outer ones first, until it returns a value. `path`: the path of the filters, which is restored at the end. */
function findMembers<T> (filters: unknown, path: Array<string | number>, visit: (found: Found) => T | undefined, depth = 0): T | undefined {
  if (!isObject(filters) || depth > MAX_DEPTH) return undefined
  for (const key in filters) {
    if (key.charCodeAt(0) !== DOLLAR) continue
    const value = filters[key]
    const inner = (each: unknown, ...steps: ReadonlyArray<string | number>): T | undefined => {
      path.push(...steps)
      const result = findMembers(each, path, visit, depth + 1)
      path.length -= steps.length
      return result
    }
    let result: T | undefined
    switch (combinators.get(key)) {
      case 'list':
        if (Array.isArray(value)) for (let index = 0; index < value.length && result === undefined; index++) result = inner(value[index], key, index)
        break
      case 'filters':
        result = inner(value, key)
        break
      case 'members':
        result = visit({ key, members: value, path: [...path, key] })
        if (isObject(value)) for (const name in value) result ??= inner((value[name] as Related | undefined)?.filters, key, name, 'filters')
        break
    }
    if (result !== undefined) return result
  }
  return undefined
}

const related = TypeCompiler.Compile(RelatedSchema)

/** Returns the first error in the form of the members of filters, not thrown. */
export function findRelatedError (filters: unknown, path: Path): ServiceError | undefined {
  if (!combines(filters)) return undefined
  return findMembers(filters, [...path], ({ key, members, path: place }) => {
    if (!isObject(members) || Object.keys(members).length === 0) return at(place, invalidBody(`"${key}" must be an object of at least one member, such as {"<table>": {"filters": {}}}`))
    for (const [name, member] of Object.entries(members)) {
      if (!isObject(member)) return at([...place, name], invalidBody('a member must be an object, such as {"table": "<table>"}'))
      if (!related.Check(member)) return describeMember(member, RelatedSchema, [...place, name])
    }
    return undefined
  })
}

/** Another table that a request names. */
export interface NamedTable {
  readonly table: string
  /** The place in the body that names it. */
  readonly path: Path
  /** The field that names it: `include`, `$some` or `$none`. */
  readonly by: string
}

/** Adds the tables that the members of filters name; their form must have been checked. */
export function nameRelated (filters: unknown, path: Path, named: NamedTable[]): void {
  if (!combines(filters)) return
  findMembers(filters, [...path], ({ key, members, path: place }) => {
    for (const [name, { table }] of Object.entries(members as Readonly<Record<string, Related>>)) named.push({ table: table ?? name, path: table === undefined ? [...place, name] : [...place, name, 'table'], by: key })
    return undefined
  })
}
