import type { TokenOptions } from '../../schemas/options.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { hashToken, MIN_TOKEN_LENGTH } from '../access/tokens.ts'

export interface ApiToken { readonly entry: TokenOptions | undefined, readonly errors: readonly string[] }

/** Makes an entry for `tokens` from API_TOKEN and API_TOKEN_PERMISSIONS. No error contains the token. */
export function readApiToken (token: string | undefined, list: string | undefined): ApiToken {
  if (token === '') return { errors: ['API_TOKEN: is empty'], entry: undefined }
  const permissions = [...new Set(list?.split(',').map((permission) => permission.trim()) ?? VERBS)]
  const errors = [...findPermissionErrors(permissions), ...findTokenErrors(token)]
  if (list !== undefined && token === undefined) errors.push('API_TOKEN_PERMISSIONS: is set, but API_TOKEN is not')
  const isValid = token !== undefined && errors.length === 0
  return { errors, entry: isValid ? { name: 'API_TOKEN', sha256: hashToken(token), permissions: permissions as Verb[] } : undefined }
}

function findPermissionErrors (permissions: readonly string[]): string[] {
  const known = permissions.every((permission) => VERBS.includes(permission as Verb))
  if (known) return []
  return [`API_TOKEN_PERMISSIONS: ${permissions.join('') === '' ? 'is empty; it ' : ''}must be a comma-separated list of ${VERBS.join(', ')}`]
}

function findTokenErrors (token: string | undefined): string[] {
  if (token === undefined) return []
  if (!/^[\x21-\x7e]+$/.test(token)) return ['API_TOKEN: must be printable ASCII without spaces']
  return token.length < MIN_TOKEN_LENGTH ? [`API_TOKEN: must have at least ${MIN_TOKEN_LENGTH} characters; "openssl rand -hex 32" generates one`] : []
}
