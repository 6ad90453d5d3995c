import type { Body, Include } from '../../schemas/body.ts'
import type { Path } from '../errors.ts'
import { nameRelated, type NamedTable } from './related-filters.ts'

/** The other tables that a request names: in its filters, then in `include`, in the order of the request. */
export function namedTables (body: Body): readonly NamedTable[] {
  if (body.verb === 'insert') return []
  const named: NamedTable[] = []
  if (body.filters !== undefined) nameRelated(body.filters, ['filters'], named)
  if (body.verb === 'select' && body.include !== undefined) nameMembers(body.include, ['include'], named)
  return named
}

function nameMembers (include: Include, path: Path, named: NamedTable[]): void {
  for (const [name, { table, filters, include: inner }] of Object.entries(include)) {
    const place = [...path, name]
    named.push({ table: table ?? name, path: table === undefined ? place : [...place, 'table'], by: 'include' })
    nameRelated(filters, [...place, 'filters'], named)
    if (inner !== undefined) nameMembers(inner, [...place, 'include'], named)
  }
}
