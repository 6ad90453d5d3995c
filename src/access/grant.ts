/** Grants: what a caller may do, and where. Every way of authentication ends in a grant. */
import type { Verb } from '../../schemas/grant.ts'

export interface Grant {
  /** Name of the token, for logs and rate limits. Never the token itself. */
  readonly name: string
  readonly permissions: ReadonlySet<Verb>
  /** Where the permissions hold: all databases, or the named ones with all or the named tables. */
  readonly databases: 'all' | ReadonlyMap<string, 'all' | ReadonlySet<string>>
}

/** A grant as it is configured. */
export interface GrantOptions {
  readonly permissions: readonly Verb[]
  /** Database to `"*"` or a list of tables; all databases if omitted. */
  readonly databases?: Readonly<Record<string, '*' | readonly string[]>> | undefined
}

export function createGrant (name: string, { permissions, databases }: GrantOptions): Grant {
  return {
    name,
    permissions: new Set(permissions),
    databases: databases === undefined
      ? 'all'
      : new Map(Object.entries(databases).map(([database, tables]) => [database, tables === '*' ? 'all' : new Set(tables)]))
  }
}

/** Whether the grant holds a permission on any table of the database. If not, the database must appear not to exist. */
export function seesDatabase (grant: Grant, database: string): boolean {
  return grant.databases === 'all' || grant.databases.has(database)
}

/** Whether the grant holds a permission on the table. If not, the table must appear not to exist. */
export function seesTable (grant: Grant, database: string, table: string): boolean {
  if (grant.databases === 'all') return true
  const tables = grant.databases.get(database)
  return tables === 'all' || (tables?.has(table) ?? false)
}
