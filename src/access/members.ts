/** Authorizes the other tables that a request names: each stage covers all of them, in the order of the request. */
import type { TableSource } from '../catalog/table-source.ts'
import type { Database } from '../databases/database.ts'
import { at, permissionDenied, type ServiceError } from '../errors.ts'
import type { NamedTable } from '../request/related-filters.ts'
import { findTableGrant, permissionsOn, type Grant } from './grant.ts'
import { findLost, lostForNow } from './lost.ts'
import { checkClaims } from './rules.ts'

interface Access { readonly grant: Grant, readonly database: Database, readonly tableName: string }

/** Requires the permission `select` on each of the tables that the grant sees. @throws PERMISSION_DENIED, also for claims that are missing */
export function requireMembers ({ grant, database }: Access, named: readonly NamedTable[]): void {
  for (const { table, path, by } of named) {
    const permissions = permissionsOn(grant, database.name, table)
    if (permissions.size === 0) continue
    if (!permissions.has('select')) throw at(path, permissionDenied(`"${by}" needs the permission select on table "${table}", which the token does not have`))
    const granted = findTableGrant(grant, database.name, table)
    if (granted !== undefined) checkClaims(granted.rules, grant.claims)
  }
}

/** Refuses a table that the grant does not see like one that does not exist. @throws TABLE_NOT_FOUND; DATABASE_UNAVAILABLE if it was there a moment ago */
export function seeMembers (access: Access, source: TableSource, named: readonly NamedTable[]): void {
  for (const { table, path } of named) {
    try {
      source.see(table)
    } catch (error) {
      throw wasThere(findLost(access), table) ? lostForNow() : at(path, error as ServiceError)
    }
  }
}

function wasThere (lost: TableSource | undefined, table: string): boolean {
  try {
    return lost?.see(table) !== undefined
  } catch {
    return false
  }
}
