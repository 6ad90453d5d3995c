/** Finds out what a grant may do with tools. */
import type { Verb } from '../../schemas/grant.ts'
import { seesDatabase, type Grant } from '../access/grant.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { visibleTables, type VisibleTable } from '../openapi/visible.ts'
import type { InProcess } from '../in-process/execute.ts'

export interface ToolOptions extends InProcess {
  /** The verbs that are tools. */
  readonly verbs: readonly Verb[]
  /** Maximum size of a result, in bytes. */
  readonly resultLimit: number
}

/** Whether the grant holds the permission on any table of the databases. */
export function holdsAnywhere (grant: Grant, databases: ReadonlyMap<string, Database>, verb: Verb): boolean {
  const { databases: granted, permissions } = grant
  if (!permissions.has(verb)) return false
  if (granted === 'all') return true
  return [...databases.keys()].some((name) => {
    const tables = granted.get(name)?.tables
    return tables === 'all' || (tables !== undefined && [...tables.values()].some((table) => table.permissions.has(verb)))
  })
}

/** The names of the databases that the grant sees. */
export const databasesOf = (grant: Grant, { databases }: InProcess): string[] => [...databases.keys()].filter((name) => seesDatabase(grant, name))

/** The tables of a database that the grant can use with tools, with their verbs that are tools. */
export function usableTables (catalog: Catalog, grant: Grant, { database, verbs }: { readonly database: string, readonly verbs: readonly Verb[] }): VisibleTable[] {
  return visibleTables(catalog, grant, database).flatMap(({ table, verbs: possible }) => {
    const usable = possible.filter((verb) => verbs.includes(verb))
    return usable.length === 0 ? [] : [{ table, verbs: usable }]
  })
}
