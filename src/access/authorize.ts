/** Authorization, over HTTP and in process: by the path before the body is read, then by the verb of the body. */
import type { Body } from '../../schemas/body.ts'
import type { Verb } from '../../schemas/grants.ts'
import type { Catalog, Table, TableSource } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import {
  at, brokenDefinition, databaseNotFound, didYouMean, findNearest, type Path, permissionDenied, type ServiceError,
  tableNotFound, unauthenticated, withReason
} from '../errors.ts'
import { isOfOneTable } from '../request/check-body.ts'
import { namedTables, type NamedTable } from '../request/related-members.ts'
import { findTableGrant, type Grant, permissionsOn, seesDatabase, requirePermissions } from './grant.ts'
import { describeTable, findGrantedTable, type Viewer } from './granted-table.ts'
import { checkClaims } from './rules.ts'

const NONE: readonly NamedTable[] = []

/**
 * The permission `select` is required on each of the tables that the grant sees. @throws PERMISSION_DENIED, also for
 * claims that are missing
 */
function requireMembers (
  { grant, database }: Pick<Access, 'grant' | 'database'>,
  named: readonly NamedTable[]
): void {
  for (const { table, path, by } of named) {
    const permissions = permissionsOn(grant, database.name, table)
    if (permissions.size === 0) continue
    if (!permissions.has('select')) {
      throw at(
        path,
        permissionDenied(`"${by}" needs the permission select on table "${table}", which the token does not have`)
      )
    }
    const granted = findTableGrant(grant, database.name, table)
    if (granted !== undefined) checkClaims(granted.rules, grant.claims)
  }
}

/** The grant holds a permission on the table. The catalog may not have the table. */
export interface Access {
  readonly grant: Grant
  readonly database: Database
  readonly tableName: string
  readonly permissions: ReadonlySet<Verb>
}

/** @throws UNAUTHENTICATED */
export function getGrant ({ rowQueryGrant }: { readonly rowQueryGrant: Grant | null }): Grant {
  if (rowQueryGrant === null) throw unauthenticated('The request has no grant')
  return rowQueryGrant
}

/**
 * A database on which the grant holds no permission is refused like one that does not exist. @throws DATABASE_NOT_FOUND
 */
export function getDatabase (databases: ReadonlyMap<string, Database>, grant: Grant, name: string): Database {
  const database = databases.get(name)
  if (database === undefined || !seesDatabase(grant, name)) {
    throw databaseNotFound(name, didYouMean(name, [...databases.keys()].filter((each) => seesDatabase(grant, each))))
  }
  return database
}

/**
 * What the grant holds no permission on is refused like one that does not exist.
 * @throws DATABASE_NOT_FOUND, TABLE_NOT_FOUND
 */
export function getAccess (
  databases: ReadonlyMap<string, Database>,
  grant: Grant,
  path: { readonly database: string; readonly table: string }
): Access {
  return accessTo(getDatabase(databases, grant, path.database), grant, path.table)
}

/** @throws TABLE_NOT_FOUND for a table on which the grant holds no permission, as for one that does not exist */
export function accessTo (database: Database, grant: Grant, tableName: string): Access {
  const permissions = permissionsOn(grant, database.name, tableName)
  if (permissions.size === 0) {
    throw unseenTable({ grant, database: database.name, catalog: database.catalog }, tableName)
  }
  return { grant, database, tableName, permissions }
}

/**
 * The tables as the grant sees them; a promise only while the catalog is being read for the first time. `depth`: the
 * setting `limits.depth`. @throws PERMISSION_DENIED before TABLE_NOT_FOUND, also for claims that are missing;
 * BROKEN_DEFINITION; DATABASE_UNAVAILABLE if no catalog could be read
 */
export function authorize (
  access: Access,
  body: Body,
  { depth }: { readonly depth: number }
): TableSource | Promise<TableSource> {
  const { grant, permissions, database, tableName } = access
  requirePermissions(permissions, body)
  const granted = findTableGrant(grant, database.name, tableName)
  if (granted !== undefined) checkClaims(granted.rules, grant.claims)
  const named = isOfOneTable(body) ? NONE : namedTables(body, depth)
  if (named.length > 0) requireMembers(access, named)
  const { catalog } = database
  return catalog === undefined
    ? database.getCatalog().then((loaded) => getTables(access, loaded, named))
    : getTables(access, catalog, named)
}

function getTables (
  { grant, database, tableName }: Access,
  catalog: Catalog,
  named: readonly NamedTable[]
): SeenTables {
  const seen = getSeen({ grant, database: database.name, catalog }, tableName)
  for (const { table, path } of named) seen.see(table, path)
  return seen
}

/** The tables of one reading of the catalog as a grant sees them. */
class SeenTables implements TableSource {
  readonly #viewer: Viewer
  readonly table: Table

  constructor (viewer: Viewer, table: Table) {
    this.#viewer = viewer
    this.table = table
  }

  /** @throws TABLE_NOT_FOUND; BROKEN_DEFINITION; PERMISSION_DENIED for claims that cannot be used */
  see (name: string, path: Path): Table {
    const { grant, database } = this.#viewer
    try {
      const table = permissionsOn(grant, database, name).size === 0 ? undefined : findNamed(this.#viewer, name)
      if (table === undefined) throw unseenTable(this.#viewer, name)
      return table
    } catch (error) {
      throw at(path, error as ServiceError)
    }
  }
}

/** Suggests a table that the grant sees. `catalog`: undefined until it has been read. */
export function unseenTable (
  { grant, database, catalog }: Omit<Viewer, 'catalog'> & { readonly catalog: Catalog | undefined },
  name: string
): ServiceError {
  if (catalog === undefined) return tableNotFound(name, database)
  const seen = [...catalog.tables.values()]
    // First, because there may be thousands. A table of this name has been dropped.
    .filter((table) => table.name !== name && findNearest(name, [table.name]) !== undefined)
    .filter((table) => describeTable({ grant, database, catalog }, table) !== undefined)
  return tableNotFound(name, database, didYouMean(name, seen.map((table) => table.name)))
}

/** For a table on which the grant holds a permission. @throws as `see` */
export function getSeen (viewer: Viewer, name: string): SeenTables {
  const table = findNamed(viewer, name)
  if (table === undefined) throw unseenTable(viewer, name)
  return new SeenTables(viewer, table)
}

function findNamed (viewer: Viewer, name: string): Table | undefined {
  const { grant, catalog } = viewer
  const table = catalog.tables.get(name)
  const reason = table === undefined ? catalog.broken?.get(name) : undefined
  if (reason !== undefined) throw withReason(brokenDefinition(), reason)
  return table === undefined || grant.databases === 'all' ? table : findGrantedTable(viewer, table)
}
