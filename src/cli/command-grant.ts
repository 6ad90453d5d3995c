/**
 * The grant of commands that read and write rows themselves: that of a token or a role of the configuration, or one on
 * everything.
 */
import type { Verb } from '../../schemas/grants.ts'
import { createGrant, withClaims, type Grant } from '../access/grant.ts'
import { checkClaims, type Claims } from '../access/rules.ts'
import type { StoredToken } from '../access/tokens.ts'
import { ConfigError, orThrow } from '../config-errors.ts'
import { parseConfigJson, isObject } from '../json/exact-json.ts'
import type { Settings } from '../config/settings.ts'

/** The values of the flags `--token-name`, `--role` and `--claims`. */
export interface GrantFlags {
  readonly name?: string | undefined
  readonly role?: string | undefined
  /** A JSON object. */
  readonly claims?: string | undefined
}

export interface CommandGrant {
  readonly grant: Grant
  /** The token that was named, if one was. */
  readonly token: StoredToken | undefined
}

/**
 * `permissions`: those on everything, if no token or role is named. @throws ConfigError; also for an expired token, and
 * for claims that rules of the grant need and cannot use
 */
export function commandGrant (
  { name, role, claims }: GrantFlags,
  settings: Settings,
  { now = Date.now(), permissions = ['select'] }: { readonly now?: number; readonly permissions?: Verb[] } = {}
): CommandGrant {
  if (name !== undefined && role !== undefined) throw new ConfigError(['--role: cannot be combined with --token-name'])
  if (claims !== undefined && role === undefined) throw new ConfigError(['--claims: requires --role'])
  const token = name === undefined ? undefined : findToken(name, settings, now)
  const grant =
    token?.grant ??
    (role === undefined
      ? createGrant('everything', { permissions })
      : findRole(role, settings, readClaims(claims)))
  requireClaims(grant, role === undefined ? '--token-name' : '--claims')
  return { grant, token }
}

function findToken (name: string, { tokens, tokenFile }: Settings, now: number): StoredToken {
  const token = [...tokens, ...tokenFile?.tokens ?? []].find(({ grant }) => grant.name === name)
  if (token === undefined) throw new ConfigError([`--token-name: no token is called "${name}"`])
  if (token.expiresAt !== undefined && token.expiresAt <= now) {
    throw new ConfigError([`--token-name: the token "${name}" has expired`])
  }
  return token
}

function findRole (name: string, { roles }: Settings, claims: Claims): Grant {
  const role = roles.get(name)
  if (role === undefined) throw new ConfigError([`--role: no role is called "${name}"`])
  return withClaims(role, claims, role.owner)
}

function readClaims (text = '{}'): Claims {
  const claims = orThrow(() => parseConfigJson(text), ({ message }) => new ConfigError([`--claims: ${message}`]))
  if (!isObject(claims)) throw new ConfigError(['--claims: must be a JSON object'])
  return claims
}

function requireClaims ({ databases, claims }: Grant, flag: string): void {
  if (databases === 'all') return
  const rules = [...databases.values()].flatMap(({ tables }) =>
    tables === 'all' ? [] : [...tables.values()].flatMap((table) => table.rules)
  )
  orThrow(() => checkClaims(rules, claims), ({ message }) => new ConfigError([`${flag}: ${message}`]))
}
