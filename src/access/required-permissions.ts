/** The permissions that a request needs. */
import type { Body, OnConflict } from '../../schemas/body.ts'
import type { Verb } from '../../schemas/grant.ts'
import { at, permissionDenied } from '../errors.ts'

/** Fields by which a write reads: it returns rows, or shows whether rows match without changing them. */
const READING = { returning: 'select', expect: 'select', dryRun: 'select' } as const

/**
 * The permissions that fields need besides that of their verb, in the order in which they are required. `dryRun` of an insert shows no rows. `onConflict`
 * is not among them, because it needs the permission update only if it may change rows.
 */
const NEEDED: Readonly<Record<Verb, Readonly<Record<string, Verb>>>> = { select: { lock: 'update' }, insert: { returning: 'select' }, update: READING, delete: READING }

/** Whether a caller with these permissions may use the field in some way. */
export function mayUse (field: string, verb: Verb, verbs: readonly Verb[]): boolean {
  const needed = NEEDED[verb][field]
  return needed === undefined || verbs.includes(needed)
}

/** Requires the permission of the verb, and those of fields that do more than the verb. @throws PERMISSION_DENIED */
export function requirePermissions (permissions: ReadonlySet<Verb>, body: Body): void {
  if (!permissions.has(body.verb)) throw permissionDenied(`The token does not have the permission ${body.verb}`)
  if (body.verb === 'insert' && body.onConflict !== undefined && !permissions.has('update')) requireFor(permissions, 'update', changesRows(body.data, body.onConflict) ? '"onConflict"' : undefined)
  if (body.verb === 'select') return
  const needed = NEEDED[body.verb]
  for (const field in needed) requireFor(permissions, needed[field] as Verb, isUsed(body, field) ? `"${field}"` : undefined)
}

/** Requires the permission for `lock`, which only a select in a transaction has. @throws PERMISSION_DENIED */
export function requireLock (permissions: ReadonlySet<Verb>): void {
  if (!permissions.has('update')) throw at('/lock', permissionDenied('"lock" needs the permission update'))
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

/** Whether a body uses a field; false is the same as leaving it out. */
function isUsed (body: Body, field: string): boolean {
  const value = (body as Readonly<Record<string, unknown>>)[field]
  return value !== undefined && value !== false
}
