import type { Grant } from '../../access/grant.ts'
import type { Settings } from '../../config/settings.ts'
import type { Denied } from '../../dialects/dialect.ts'

/** Kinds of findings, in the order in which they are printed. */
const KINDS = ['line', 'error', 'warning', 'enough', 'note'] as const
type Kind = typeof KINDS[number]

/**
 * - line: a fact
 * - error: what can never work; the exit code is 1
 * - warning: what is dangerous, or fails for some requests; the exit code is 1 with --strict
 * - enough: a statement that grants the account sufficient privileges
 * - note: what can be better
 */
export type Findings = ReadonlyArray<readonly [kind: Kind, text: string]>

/** False for a text that does not apply. */
export const findings = (kind: Kind, texts: ReadonlyArray<string | false>): Findings =>
  texts.flatMap((text): Findings => text === false ? [] : [[kind, text]])

export const has = (all: Findings, kind: Kind): boolean => all.some(([each]) => each === kind)

/** Begins each finding with the label of its subject. */
export const about = (label: string, all: Findings): Findings => all.map(([kind, text]) => [kind, `${label}: ${text}`])

/** Writes findings below a heading. */
export function write (heading: string, all: Findings): string {
  const sorted = KINDS.flatMap((kind) => all.filter(([each]) => each === kind))
  return [heading, ...sorted.map(([kind, text]) => (kind === 'line' ? `  ${text}` : `  ${kind}: ${text}`))]
    .map((line) => `${line}\n`)
    .join('')
}

/** The most names that are listed. */
const MAX_NAMES = 10

/** `"customers", "orders" and 3 more`. */
export function listNames (names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return names.slice(0, MAX_NAMES).map((name) => `"${name}"`).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

export function describeDenied (denied: readonly Denied[]): string[] {
  const whole = denied.filter(({ columns, reason }) => columns === undefined && reason === undefined)
  const verbs = Map.groupBy(whole, ({ table }) => table)
  const tables = Map.groupBy(verbs, ([, uses]) => uses.map(({ verb }) => verb.toUpperCase()).join(', '))
  return [
    ...Array.from(
      tables,
      ([privileges, list]) => `the database account lacks ${privileges} on ${listNames(list.map(([table]) => table))}`
    ),
    ...denied.flatMap(({ table, verb, columns, reason }) => {
      if (reason !== undefined) return [`"${table}" cannot be read (${reason})`]
      return columns === undefined
        ? []
        : [`the database account lacks ${verb.toUpperCase()} on ${listNames(columns)} of "${table}"`]
    })
  ]
}

export interface Granted {
  /** `token "reports"`. */
  readonly label: string
  readonly grant: Grant
  /** Whether the claims are known: the entry of a token has them, but the claims of a role come with each JWT. */
  readonly knowsClaims: boolean
  /** Whether it is a role of named requests, which nobody has as a caller. */
  readonly isOfRequests?: true
}

export function listGrants ({ tokens, tokenFile, roles, requestRoles }: Settings): Granted[] {
  return [
    ...[...tokens, ...(tokenFile?.tokens ?? [])].map(({ grant }): Granted => ({
      label: `token "${grant.name}"`,
      grant,
      knowsClaims: true
    })),
    ...Array.from(roles, ([name, grant]): Granted => ({ label: `role "${name}"`, grant, knowsClaims: false })),
    ...Array.from(requestRoles, ([name, grant]): Granted =>
      ({ label: `role "${name}"`, grant, knowsClaims: false, isOfRequests: true }))
  ]
}

/** Checks whether anybody can send requests, and which tokens have expired. */
export function checkTokens ({ tokens, tokenFile, roles, jwt }: Settings): Findings {
  const all = [...tokens, ...tokenFile?.tokens ?? []]
  const expired = all.flatMap(({ grant, expiresAt = Infinity }) =>
    expiresAt <= Date.now() ? [`token "${grant.name}": has expired at ${new Date(expiresAt).toISOString()}`] : []
  )
  return findings('warning', [
    ...(all.length === 0 && jwt.length === 0 ? ['no token is configured, so all requests are refused'] : expired),
    roles.size > 0 && jwt.length === 0 && 'roles: nobody has them, because no issuer of JWTs is configured (jwt)'
  ])
}
