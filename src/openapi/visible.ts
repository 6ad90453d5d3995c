/** What of a database a grant may see, and do there: nothing else appears in its document. */
import type { Catalog, Table } from '../catalog/catalog.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { seesTable, type Grant } from '../access/grant.ts'

export interface VisibleTable { readonly table: Table, readonly verbs: readonly Verb[] }

/** The tables with the verbs that are possible there, in the catalog's order; without those that leave nothing to do. */
export function visibleTables (catalog: Catalog, grant: Grant, database: string): VisibleTable[] {
  return [...catalog.tables.values()]
    .filter(({ name }) => seesTable(grant, database, name))
    .map((table) => ({ table, verbs: VERBS.filter((verb) => grant.permissions.has(verb) && isPossible(table, verb)) }))
    .filter(({ verbs }) => verbs.length > 0)
}

function isPossible ({ kind }: Table, verb: Verb): boolean {
  return kind === 'table' || verb === 'select'
}

/** The same text for grants that see the same of a database of which they see something. */
export function signatureOf (grant: Grant, database: string): string {
  const tables = grant.databases === 'all' ? 'all' : grant.databases.get(database) as 'all' | ReadonlySet<string>
  return JSON.stringify([VERBS.filter((verb) => grant.permissions.has(verb)), tables === 'all' ? tables : [...tables].sort()])
}

/** Who may do everything: for documents that are public, and for the command line. */
export const EVERYTHING: Grant = { name: 'everything', permissions: new Set(VERBS), databases: 'all' }
