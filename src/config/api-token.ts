/** API_TOKEN and API_TOKEN_PERMISSIONS -> an entry for a token. */
import type { TokenOptions } from '../../schemas/options.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { hashToken, MIN_TOKEN_LENGTH } from '../access/tokens.ts'

/** What is made of them; a line in `mistakes` for each thing that is wrong. */
export interface ApiToken { readonly entry: TokenOptions | undefined, readonly errors: readonly string[] }

/** The token itself stands in no mistake. */
export function readApiToken (token: string | undefined, list: string | undefined): ApiToken {
  const permissions = [...new Set(list?.split(',').map((permission) => permission.trim()) ?? VERBS)]
  const errors = [...findPermissionErrors(permissions), ...findTokenErrors(token)]
  if (list !== undefined && token === undefined) errors.push('API_TOKEN_PERMISSIONS: says nothing without API_TOKEN')
  const fit = token !== undefined && errors.length === 0
  return { errors, entry: fit ? { name: 'API_TOKEN', sha256: hashToken(token), permissions: permissions as Verb[] } : undefined }
}

function findPermissionErrors (permissions: readonly string[]): string[] {
  const known = permissions.every((permission) => VERBS.includes(permission as Verb))
  return known ? [] : [`API_TOKEN_PERMISSIONS: must be a list of ${VERBS.join(', ')}, separated by commas`]
}

function findTokenErrors (token: string | undefined): string[] {
  if (token === undefined) return []
  if (!/^[\x21-\x7e]+$/.test(token)) return ['API_TOKEN: must be printable ASCII without spaces, not empty']
  return token.length < MIN_TOKEN_LENGTH ? [`API_TOKEN: must have at least ${MIN_TOKEN_LENGTH} characters, which "openssl rand -hex 32" makes at random`] : []
}
