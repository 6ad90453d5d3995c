/** The part of a database that a grant may see and use; documents contain nothing else. */
import type { Catalog, Table } from '../catalog/catalog.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { createGrant, permissionsOn, type Grant, type TableGrant } from '../access/grant.ts'

export interface VisibleTable { readonly table: Table, readonly verbs: readonly Verb[] }

/** Returns the tables with their possible verbs, in the order of the catalog, without tables that have no possible verb. */
export function visibleTables (catalog: Catalog, grant: Grant, database: string): VisibleTable[] {
  return [...catalog.tables.values()]
    .map((table) => ({ table, verbs: VERBS.filter((verb) => permissionsOn(grant, database, table.name).has(verb) && isPossible(table, verb)) }))
    .filter(({ verbs }) => verbs.length > 0)
}

function isPossible ({ kind }: Table, verb: Verb): boolean {
  return kind === 'table' || verb === 'select'
}

/** Returns a cache key: grants with the same rights on a database that they may see have the same key. */
export function cacheKeyOf (grant: Grant, database: string): string {
  const tables = grant.databases === 'all' ? 'all' : grant.databases.get(database)?.tables ?? new Map<string, TableGrant>()
  if (tables === 'all') return JSON.stringify(verbsIn(grant.permissions))
  return JSON.stringify([...tables].map(([name, { permissions }]) => [name, verbsIn(permissions)]).sort())
}

const verbsIn = (permissions: ReadonlySet<Verb>): Verb[] => VERBS.filter((verb) => permissions.has(verb))

/** A grant with all permissions, for public documents and the command line. */
export const EVERYTHING: Grant = createGrant('everything', { permissions: VERBS })
