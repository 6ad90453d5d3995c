/** The permissions that a request needs. */
import type { Body, OnConflict } from '../../schemas/body.ts'
import type { Verb } from '../../schemas/grant.ts'
import { permissionDenied } from '../errors.ts'

/** Requires the permission of the verb, and those of fields that do more than the verb. @throws PERMISSION_DENIED */
export function requirePermissions (permissions: ReadonlySet<Verb>, body: Body): void {
  if (!permissions.has(body.verb)) throw permissionDenied(`The token does not have the permission ${body.verb}`)
  if (body.verb === 'insert' && body.onConflict !== undefined && !permissions.has('update')) requireFor(permissions, 'update', changesRows(body.data, body.onConflict) ? '"onConflict"' : undefined)
  if (body.verb !== 'select') requireFor(permissions, 'select', findReading(body))
}

/** `field`: the field that needs the permission; undefined if the request does not use it. */
function requireFor (permissions: ReadonlySet<Verb>, permission: Verb, field: string | undefined): void {
  if (field !== undefined && !permissions.has(permission)) throw permissionDenied(`${field} needs the permission ${permission}, which the token does not have`)
}

/** Whether an upsert may change rows that exist. Without `set` it writes the columns outside of the key. */
function changesRows (data: object | readonly object[], { key, set }: OnConflict): boolean {
  if (set !== undefined) return !Array.isArray(set) || set.length > 0
  const names = new Set(key)
  return [data].flat().some((row) => Object.keys(row).some((name) => !names.has(name)))
}

/** The field by which a write reads: it returns rows, or shows whether rows match without changing them. */
function findReading (body: Exclude<Body, { verb: 'select' }>): string | undefined {
  if (body.returning !== undefined) return '"returning"'
  if (body.verb === 'insert') return undefined
  if (body.expect !== undefined) return '"expect"'
  return body.dryRun === true ? '"dryRun"' : undefined
}
