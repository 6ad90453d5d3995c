/** Converts configured entries: those of tokens into stored tokens, those of roles into grants. */
import type { TokenOptions } from '../../schemas/options.ts'
import type { RolesOptions } from '../../schemas/role.ts'
import { collect } from '../config-errors.ts'
import { isObject } from '../json/exact-json.ts'
import { isDay } from '../types/temporal.ts'
import { createGrant, type Grant, type GrantOptions } from './grant.ts'
import type { StoredToken } from './tokens.ts'

/** Converts the valid entries; an undefined one is known to be invalid. Adds a line that begins with `place` to `errors` for each invalid one. */
export function readEntries (errors: string[], place: string, entries: ReadonlyArray<TokenOptions | undefined>, known: unknown): StoredToken[] {
  const tokens = entries.flatMap((entry, index) => entry === undefined ? [] : collect(errors, `${place}.${index}.`, () => toToken(entry, known)))
  errors.push(...UNIQUE.flatMap((field) => findRepeated(place, field, entries)))
  return tokens
}

/** Converts the valid roles. Adds a line to `errors` for each invalid one. `known`: the configured databases. */
export function readRoles (errors: string[], roles: RolesOptions, known: unknown): ReadonlyMap<string, Grant> {
  return new Map(Object.entries(roles).flatMap(([name, options]) => collect(errors, `roles.${name}.`, (): [string, Grant] => {
    requireDatabases(options.databases, known)
    return [name, createGrant(name, options as GrantOptions, 'role')]
  })))
}

/** Only one of two entries for a token could apply, and the name identifies the owner of an idempotency key. */
export const UNIQUE = ['sha256', 'name'] as const

function findRepeated (place: string, field: typeof UNIQUE[number], entries: ReadonlyArray<TokenOptions | undefined>): string[] {
  const first = new Map<string, number>()
  return entries.flatMap((entry, index) => {
    if (entry === undefined) return []
    const { [field]: value } = entry
    const other = first.get(value)
    if (other === undefined) first.set(value, index)
    return other === undefined ? [] : [`${place}.${index}.${field}: is the same as that of ${place}.${other}`]
  })
}

/** `known`: not an object if the setting itself is invalid. @throws Error for a database of a grant that is not configured */
export function requireDatabases (databases: '*' | object, known: unknown): void {
  const unknown = databases === '*' || !isObject(known) ? undefined : Object.keys(databases).find((database) => !Object.hasOwn(known, database))
  if (unknown !== undefined) throw new Error(`databases.${unknown}: is not a configured database; the databases are ${Object.keys(known as object).join(', ')}`)
}

function toToken ({ name, sha256, permissions, databases = '*', claims, expires }: TokenOptions, known: unknown): StoredToken {
  requireDatabases(databases, known)
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires)
  return { sha256, grant: createGrant(name, { permissions, databases, claims }), expiresAt }
}

const EXPIRY = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

/** @returns milliseconds since 1970; a day without a time is midnight UTC. @throws Error for an invalid date */
export function parseExpiry (text: string): number {
  // Date.parse accepts February 30 as a day in March
  const time = EXPIRY.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) throw new Error('expires: must be a date or a time with an offset, such as 2027-01-01 or 2027-01-01T12:00:00Z')
  return time
}
