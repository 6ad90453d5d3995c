/** The part of a database that a grant may see and use; documents contain nothing else. */
import type { Catalog, Column, Table } from '../catalog/catalog.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { createGrant, permissionsOn, type Grant } from '../access/grant.ts'
import { describeTable } from '../access/granted-table.ts'

export interface VisibleTable { readonly table: Table, readonly verbs: readonly Verb[] }

/** Returns the tables with their possible verbs, in the order of the catalog, without tables that have no possible verb. */
export function visibleTables (catalog: Catalog, grant: Grant, database: string): VisibleTable[] {
  return [...catalog.tables.values()].flatMap((base) => {
    const permissions = permissionsOn(grant, database, base.name)
    const table = permissions.size === 0 ? undefined : describeTable(grant, database, catalog, base)
    const verbs = table === undefined ? [] : VERBS.filter((verb) => permissions.has(verb) && isPossible(table, verb))
    return table === undefined || verbs.length === 0 ? [] : [{ table, verbs }]
  })
}

/** Whether a verb is possible: a select must return a column, an update must write one, and filters need one. */
function isPossible (table: Table, verb: Verb): boolean {
  if (verb === 'select') return table.columns.size > 0
  if (table.kind === 'view') return false
  return verb === 'insert' || (table.columns.size > 0 && (verb === 'delete' || writableColumns(table, verb).length > 0))
}

/** The columns that `data` of an insert or update may contain. */
export function writableColumns (table: Table, verb: 'insert' | 'update'): Column[] {
  return [...(table.granted?.writable[verb] ?? table.columns).values()].filter(isWritable)
}

/** Whether the database can write the column. */
export function isWritable ({ generated, type }: Column): boolean {
  return !generated && type.writable
}

/** Returns a cache key, which is the same for grants that see the same part of a database. */
export function cacheKeyOf (catalog: Catalog, grant: Grant, database: string): string {
  const granted = grant.databases === 'all' ? undefined : grant.databases.get(database)
  if (granted === undefined || granted.tables === 'all') return JSON.stringify(verbsIn(grant.permissions))
  if (!granted.isNarrowed) return JSON.stringify([...granted.tables].map(([name, { permissions }]) => [name, verbsIn(permissions)]).sort())
  return JSON.stringify(visibleTables(catalog, grant, database).map(({ table: { name, columns, requiredColumns, granted }, verbs }) => {
    if (granted === undefined) return [name, verbs]
    // a rule may give a value to a column that would otherwise be required
    return [name, verbs, ...[columns, granted.writable.insert, granted.writable.update].map((each) => [...each.keys()]), [...granted.given], requiredColumns.map((column) => column.name)]
  }))
}

const verbsIn = (permissions: ReadonlySet<Verb>): Verb[] => VERBS.filter((verb) => permissions.has(verb))

/** A grant with all permissions, for public documents and the command line. */
export const EVERYTHING: Grant = createGrant('everything', { permissions: VERBS })
