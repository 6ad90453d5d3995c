/** Walks through the members of `$some` and `$none` at any depth of filters, and lists the tables that a body names. */
import type { Body, Related } from '../../schemas/body.ts'
import type { Include } from '../../schemas/fields.ts'
import { COMBINATOR_FORMS, type CombinatorForm } from '../../schemas/filters.ts'
import type { Path } from '../errors.ts'
import { isObject, objectKeys } from '../json/exact-json.ts'

const hasMembers = (form: CombinatorForm): boolean => form === 'members' || form === 'counted'

export interface MembersVisitor<T> {
  readonly visit: (found: { readonly key: string, readonly members: unknown, readonly path: Path }) => T | undefined
  /** How many conditions may follow. Each key, and each filter of a list, is one at least. */
  remaining: number
  /** Called with the path of one too many. */
  readonly refuse?: (path: Path) => T
}

/**
 * Calls `visit` with the members of each `$some` and `$none`, outer ones first, until it returns a value. `path`: the
 * path of the filters, which is restored at the end. `depth`: the setting `limits.depth`; the planner refuses deeper
 * filters.
 */
export function findMembers<T> (
  filters: unknown,
  path: Array<string | number>,
  visitor: MembersVisitor<T>,
  depth: number
): T | undefined {
  if (!isObject(filters) || depth < 0) return undefined
  const keys = objectKeys(filters)
  if (keys.length > visitor.remaining) return visitor.refuse?.([...path, keys[visitor.remaining] as string])
  for (const key of keys) {
    const form = COMBINATOR_FORMS.get(key)
    if (form === undefined) {
      visitor.remaining--
      continue
    }
    const value = filters[key]
    if (Array.isArray(value) && value.length > visitor.remaining) {
      return visitor.refuse?.([...path, key, visitor.remaining])
    }
    let result = hasMembers(form) ? visitor.visit({ key, members: value, path: [...path, key] }) : undefined
    if (result !== undefined) return result
    for (const { steps, inner } of filtersIn(value, form)) {
      if (result !== undefined) return result
      path.push(key, ...steps)
      result = findMembers(inner, path, visitor, depth - 1)
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

/** A request names it. */
export interface NamedTable {
  readonly table: string
  readonly path: Path
  /** `include`, `$some` or `$none`. */
  readonly by: string
}

/** The form of the filters must have been checked. */
function nameRelated (filters: unknown, path: Path, depth: number, named: NamedTable[]): void {
  if (filters === undefined) return
  findMembers(filters, [...path], {
    remaining: Infinity,
    visit ({ key, members, path: memberPath }) {
      for (const [name, { table }] of Object.entries(members as Readonly<Record<string, Related>>)) {
        const steps = table === undefined ? [name] : [name, 'table']
        named.push({ table: table ?? name, path: [...memberPath, ...steps], by: key })
      }
      return undefined
    }
  }, depth)
}

/** In its filters, in filters of aggregates, then in `include`, in their order. */
export function namedTables (body: Body, depth: number): readonly NamedTable[] {
  const named: NamedTable[] = []
  if (body.verb !== 'insert' && body.filters !== undefined) nameRelated(body.filters, ['filters'], depth, named)
  if (body.verb === 'select' && body.aggregates !== undefined) {
    for (const [name, { filters }] of Object.entries(body.aggregates)) {
      nameRelated(filters, ['aggregates', name, 'filters'], depth, named)
    }
  }
  if (body.include !== undefined) nameMembers(body.include, ['include'], depth, named)
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
