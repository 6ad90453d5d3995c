/** Authorization, over HTTP and in process: by the path before the body is read, then by the verb of the body. */
import type { Body } from '../../schemas/body.ts'
import type { Verb } from '../../schemas/grant.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { TableSource } from '../catalog/table-source.ts'
import type { Database } from '../databases/database.ts'
import { databaseNotFound, tableNotFound, unauthenticated } from '../errors.ts'
import { findTableGrant, permissionsOn, seesDatabase, type Grant } from './grant.ts'
import { namedTables } from '../request/named-tables.ts'
import type { NamedTable } from '../request/related-filters.ts'
import { requireMembers, seeMembers } from './members.ts'
import { requirePermissions } from './required-permissions.ts'
import { checkClaims } from './rules.ts'
import { findLost, lostForNow } from './lost.ts'
import { findSeen, type SeenTables } from './seen-tables.ts'

/** A database and the name of a table in it on which the grant holds a permission. The catalog may not have the table. */
export interface Access {
  readonly grant: Grant
  readonly database: Database
  readonly tableName: string
  /** The permissions of the grant on this table. */
  readonly permissions: ReadonlySet<Verb>
}

/** The grant of an authenticated request. @throws UNAUTHENTICATED */
export function getGrant ({ rowQueryGrant }: { readonly rowQueryGrant: Grant | null }): Grant {
  if (rowQueryGrant === null) throw unauthenticated('The request has no grant')
  return rowQueryGrant
}

/** A database on which the grant holds no permission is refused like one that does not exist. @throws DATABASE_NOT_FOUND */
export function getDatabase (databases: ReadonlyMap<string, Database>, grant: Grant, name: string): Database {
  const database = databases.get(name)
  if (database === undefined || !seesDatabase(grant, name)) throw databaseNotFound(name)
  return database
}

/**
 * Returns the access to the database and table of a path. One on which the grant holds no permission is refused like one that does not exist.
 * @throws DATABASE_NOT_FOUND, TABLE_NOT_FOUND
 */
export function getAccess (databases: ReadonlyMap<string, Database>, grant: Grant, path: { readonly database: string, readonly table: string }): Access {
  const database = getDatabase(databases, grant, path.database)
  const permissions = permissionsOn(grant, path.database, path.table)
  if (permissions.size === 0) throw tableNotFound(path.table, path.database)
  return { grant, database, tableName: path.table, permissions }
}

/**
 * The tables as the grant sees them; a promise only while the catalog is being read, for the first time or because a table may have been mended.
 * @throws PERMISSION_DENIED before TABLE_NOT_FOUND, also for claims that are missing; BROKEN_DEFINITION; DATABASE_UNAVAILABLE if no catalog could be read, or if the table was there a moment ago
 */
export function authorize (access: Access, body: Body): TableSource | Promise<TableSource> {
  const { grant, permissions, database, tableName } = access
  requirePermissions(permissions, body)
  const granted = findTableGrant(grant, database.name, tableName)
  if (granted !== undefined) checkClaims(granted.rules, grant.claims)
  const named = namedTables(body)
  requireMembers(access, named)
  const catalog = database.getCatalog()
  if (catalog instanceof Promise) return catalog.then((loaded) => getTables(access, loaded, named))
  if (!mayBeMended(catalog, [tableName, ...named.map(({ table }) => table)])) return getTables(access, catalog, named)
  return database.refresh().then((loaded) => getTables(access, loaded, named))
}

/** How long a table that the database could not open is not looked for again, in milliseconds. */
const BROKEN_FOR = 5000

const mayBeMended = ({ broken, loadedAt }: Catalog, names: readonly string[]): boolean =>
  broken !== undefined && Date.now() - loadedAt >= BROKEN_FOR && names.some((name) => broken.has(name))

function getTables (access: Access, catalog: Catalog, named: readonly NamedTable[]): SeenTables {
  const { grant, database, tableName } = access
  const seen = findSeen({ grant, database: database.name, catalog }, tableName)
  if (seen === undefined) throw findLost(access) === undefined ? tableNotFound(tableName, database.name) : lostForNow()
  seeMembers(access, seen, named)
  return seen
}
