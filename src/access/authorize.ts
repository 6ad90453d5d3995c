/** Authorization, over HTTP and in process: by the path before the body is read, then by the verb of the body. */
import type { Body, OnConflict } from '../../schemas/body.ts'
import { fieldNamed, fieldsWith } from '../../schemas/fields.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import type { Catalog, TableSource } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { lookAgain } from '../databases/stale-catalog.ts'
import { at, databaseNotFound, permissionDenied, unauthenticated, didYouMean } from '../errors.ts'
import { namedTables, type NamedTable } from '../request/check-fields.ts'
import { findTableGrant, type Grant, permissionsOn, seesDatabase } from './grant.ts'
import { getSeen, type SeenTables, unseenTable } from './granted-table.ts'
import { checkClaims } from './rules.ts'

// The permissions that a request needs.

/**
 * The fields of bodies that need a permission besides that of their verb, by verbs. `onConflict` is not among them,
 * because it needs the permission update only if it may change rows.
 */
const NEEDING = new Map(VERBS.map((verb) => [verb, fieldsWith('needs').flatMap((field) => {
  const permission = fieldNamed(field)?.needs?.[verb]
  return permission === undefined ? [] : [{ field, permission }]
})]))

/** Whether a caller with these permissions may use the field in some way. */
export function mayUse (field: string, verb: Verb, verbs: readonly Verb[]): boolean {
  const needed = fieldNamed(field)?.needs?.[verb]
  return needed === undefined || verbs.includes(needed)
}

/** Requires the permission of the verb, and those of fields that do more than the verb. @throws PERMISSION_DENIED */
function requirePermissions (permissions: ReadonlySet<Verb>, body: Body): void {
  if (!permissions.has(body.verb)) throw permissionDenied(`The token does not have the permission ${body.verb}`)
  if (body.verb === 'insert' && body.onConflict !== undefined && !permissions.has('update')) {
    if (changesRows(body.data, body.onConflict)) refuseField('onConflict', 'update')
  }
  for (const { field, permission } of NEEDING.get(body.verb) ?? []) {
    const value = (body as unknown as Readonly<Record<string, unknown>>)[field]
    if (value !== undefined && value !== false && !permissions.has(permission)) refuseField(field, permission)
  }
}

/** Requires the permission for `lock`, which only a select in a transaction has. @throws PERMISSION_DENIED */
export function requireLock (permissions: ReadonlySet<Verb>): void {
  if (!permissions.has('update')) throw at('/lock', permissionDenied('"lock" needs the permission update'))
}

function refuseField (field: string, permission: Verb): never {
  throw permissionDenied(`"${field}" needs the permission ${permission}, which the token does not have`)
}

/** Whether an upsert may change rows that exist. Without `set` it writes the columns outside of the key. */
function changesRows (data: object | readonly object[], { key, set }: OnConflict): boolean {
  if (set !== undefined) return !Array.isArray(set) || set.length > 0
  const names = new Set(key)
  return [data].flat().some((row) => Object.keys(row).some((name) => !names.has(name)))
}

/**
 * Requires the permission `select` on each of the tables that the grant sees. @throws PERMISSION_DENIED, also for
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

/**
 * A database and the name of a table in it on which the grant holds a permission. The catalog may not have the table.
 */
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
 * Returns the access to the database and table of a path. One on which the grant holds no permission is refused like
 * one that does not exist.
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
    throw unseenTable({ grant, database: database.name, catalog: database.latestCatalog() }, tableName)
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
  const named = namedTables(body, depth)
  if (named.length > 0) requireMembers(access, named)
  const catalog = database.getCatalog()
  return catalog instanceof Promise
    ? catalog.then((loaded) => getTables(access, loaded, named))
    : getTables(access, catalog, named)
}

/**
 * Authorizes a request, and plans it with the tables as the grant sees them. What the catalog lacks is looked for
 * before it is refused. @throws as `authorize`, `lookAgain` and `plan`
 */
export function authorizeAndPlan<T> (
  access: Access,
  { body, limits }: { readonly body: Body, readonly limits: { readonly depth: number } },
  plan: (source: TableSource) => T
): T | Promise<T> {
  return lookAgain(access.database, (database) => {
    const found = authorize({ ...access, database }, body, limits)
    return found instanceof Promise ? found.then(plan) : plan(found)
  })
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
