import type { Body, OnConflict } from '../../schemas/body.ts'
import { fieldNamed, fieldsWith } from '../../schemas/fields.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { at, permissionDenied } from '../errors.ts'
import { objectKeys } from '../json/exact-json.ts'

/**
 * Fields that need a permission besides their verb's. `onConflict` is not among them, because it needs the permission
 * update only if it may change rows.
 */
const NEEDING = new Map(VERBS.map((verb) => [verb, fieldsWith('needs').flatMap((field) => {
  const permission = fieldNamed(field)?.needs?.[verb]
  return permission === undefined ? [] : [{ field, permission }]
})]))

export function mayUse (field: string, verb: Verb, verbs: readonly Verb[]): boolean {
  const needed = fieldNamed(field)?.needs?.[verb]
  return needed === undefined || verbs.includes(needed)
}

/** The permission of the verb, and of fields that do more than the verb. @throws PERMISSION_DENIED */
export function requirePermissions (permissions: ReadonlySet<Verb>, body: Body): void {
  if (!permissions.has(body.verb)) throw permissionDenied(`The token does not have the permission ${body.verb}`)
  if (body.verb === 'insert' && body.onConflict !== undefined && !permissions.has('update')) {
    if (changesRows(body.data, body.onConflict)) refuseField('onConflict', 'update')
  }
  const all = NEEDING.get(body.verb) ?? []
  for (let index = 0; index < all.length; index++) {
    const { field, permission } = all[index] as typeof all[number]
    const value = (body as unknown as Readonly<Record<string, unknown>>)[field]
    if (value !== undefined && value !== false && !permissions.has(permission)) refuseField(field, permission)
  }
}

/** Only a select in a transaction has it. @throws PERMISSION_DENIED */
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
  return [data].flat().some((row) => objectKeys(row).some((name) => !names.has(name)))
}
