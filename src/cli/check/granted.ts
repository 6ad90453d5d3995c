/** The grants of the configuration: those of tokens and roles. */
import type { Grant } from '../../access/grant.ts'
import type { Settings } from '../../config/settings.ts'
import { findings, type Findings } from './findings.ts'

export interface Granted {
  /** `token "reports"`. */
  readonly label: string
  readonly grant: Grant
  /** Whether the claims are known: the entry of a token has them, but those of a role come with each JWT. */
  readonly knowsClaims: boolean
}

type Configured = Pick<Settings, 'tokens' | 'tokenFile' | 'roles' | 'jwt'>

export function listGrants ({ tokens, tokenFile, roles }: Configured): Granted[] {
  return [
    ...[...tokens, ...tokenFile?.tokens ?? []].map(({ grant }): Granted => ({ label: `token "${grant.name}"`, grant, knowsClaims: true })),
    ...Array.from(roles, ([name, grant]): Granted => ({ label: `role "${name}"`, grant, knowsClaims: false }))
  ]
}

/** Checks whether anybody can send requests, and which tokens have expired. */
export function checkTokens ({ tokens, tokenFile, roles, jwt }: Configured, now = Date.now()): Findings {
  const all = [...tokens, ...tokenFile?.tokens ?? []]
  const expired = all.flatMap(({ grant, expiresAt = Infinity }) => expiresAt <= now ? [`token "${grant.name}": has expired at ${new Date(expiresAt).toISOString()}`] : [])
  return findings('warning', [
    ...all.length === 0 && jwt.length === 0 ? ['no token is configured, so all requests are refused'] : expired,
    ...roles.size > 0 && jwt.length === 0 ? ['roles: nobody has them, because no issuer of JWTs is configured (jwt)'] : []
  ])
}
