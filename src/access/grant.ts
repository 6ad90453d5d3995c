/** Grants: what a caller may do, and where. Every way of authentication ends in a grant. */
import type { Verb } from '../../schemas/grant.ts'

export interface Grant {
  /** The token's name, for logs and rate limits; never the token. */
  readonly name: string
  readonly permissions: ReadonlySet<Verb>
  /** Where they hold: every database, or the named ones with every table or the named ones. */
  readonly databases: 'all' | ReadonlyMap<string, 'all' | ReadonlySet<string>>
}

/** A grant as somebody writes it down: what an entry for a token says of it. */
export interface GrantOptions {
  readonly permissions: readonly Verb[]
  /** Database to `"*"` or a list of tables; everywhere if left out. */
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

/** Whether the grant holds any permission anywhere in the database. Where it does not, the database must seem not to exist. */
export function seesDatabase (grant: Grant, database: string): boolean {
  return grant.databases === 'all' || grant.databases.has(database)
}

/** The same for one table. */
export function seesTable (grant: Grant, database: string, table: string): boolean {
  if (grant.databases === 'all') return true
  const tables = grant.databases.get(database)
  return tables === 'all' || (tables?.has(table) ?? false)
}
