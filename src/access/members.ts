/** Authorization of the tables that `include` names, stage by stage over all of them, in the order of the request. */
import type { Include } from '../../schemas/body.ts'
import type { TableSource } from '../catalog/table-source.ts'
import type { Database } from '../databases/database.ts'
import { at, permissionDenied, type Path, type ServiceError } from '../errors.ts'
import { findTableGrant, permissionsOn, type Grant } from './grant.ts'
import { findLost, lostForNow } from './lost.ts'
import { checkClaims } from './rules.ts'

interface Named { readonly grant: Grant, readonly database: Database, readonly tableName: string }

/** Calls `visit` with the table of each member, on all levels. */
function eachTable (include: Include, visit: (table: string, path: Path) => void, path: Path = ['include']): void {
  for (const [name, { table, include: inner }] of Object.entries(include)) {
    const place = [...path, name]
    visit(table ?? name, table === undefined ? place : [...place, 'table'])
    if (inner !== undefined) eachTable(inner, visit, [...place, 'include'])
  }
}

/** Requires the permission to select from each table of which the grant sees something. @throws PERMISSION_DENIED, also for claims that are missing */
export function requireMembers ({ grant, database }: Named, include: Include): void {
  eachTable(include, (table, path) => {
    const permissions = permissionsOn(grant, database.name, table)
    if (permissions.size === 0) return
    if (!permissions.has('select')) throw at(path, permissionDenied(`"include" needs the permission select on table "${table}", which the token does not have`))
    const granted = findTableGrant(grant, database.name, table)
    if (granted !== undefined) checkClaims(granted.rules, grant.claims)
  })
}

/** A table that the grant does not see is refused like one that does not exist. @throws TABLE_NOT_FOUND; DATABASE_UNAVAILABLE where it was there a moment ago */
export function seeMembers (named: Named, source: TableSource, include: Include): void {
  eachTable(include, (table, path) => {
    try {
      source.see(table)
    } catch (error) {
      throw wasThere(findLost(named), table) ? lostForNow() : at(path, error as ServiceError)
    }
  })
}

function wasThere (lost: TableSource | undefined, table: string): boolean {
  try {
    return lost?.see(table) !== undefined
  } catch {
    return false
  }
}
