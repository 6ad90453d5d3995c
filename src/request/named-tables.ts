/** The other tables that a body names, with their places. */
import type { Body, Related } from '../../schemas/body.ts'
import type { Include } from '../../schemas/fields.ts'
import type { Path } from '../errors.ts'
import { findMembers, isPlain } from './related-members.ts'

/** A request names it. */
export interface NamedTable {
  readonly table: string
  readonly path: Path
  /** `include`, `$some` or `$none`. */
  readonly by: string
}

/** The form of the filters must have been checked. */
function nameRelated (filters: unknown, path: Path, depth: number, named: NamedTable[]): void {
  if (isPlain(filters)) return
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
