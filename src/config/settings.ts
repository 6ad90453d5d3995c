import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import {
  type DatabaseOptions, DatabaseSchema, type McpOptions, McpSchema, OptionsSchema, type RowQueryOptions
} from '../../schemas/options.ts'
import { type HttpOptions, HttpSchema } from '../../schemas/server-settings.ts'
import type { Grant, Authenticate } from '../access/grant.ts'
import { type JwtIssuer, readJwtIssuers } from '../access/jwt-settings.ts'
import {
  createTokenFile, readTokenFile, type TokenFile, readEntries, readRoles
} from '../access/token-settings.ts'
import type { StoredToken } from '../access/tokens.ts'
import { collect, ConfigError, findConfigErrors, withoutInvalid } from '../config-errors.ts'
import type { DatabaseConfig } from '../databases/open.ts'
import { MEMORY } from '../dialects/sqlite/protocol.ts'
import type { OnWrite } from '../in-process/on-write.ts'
import { isObject } from '../json/exact-json.ts'
import { findUnplain, isPlain } from '../json/plain-values.ts'
import { findUncallable, type NamedRequest, readRequests, REQUESTS_PATH } from '../named/definition.ts'
import type { RequestLimits } from '../plan/limits.ts'
import { parseDatabaseUrl, parseReplicaUrl } from './database-url.ts'

type AllRequired<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]-?: AllRequired<T[Key]> }
    : T

/** The type of settings once their defaults are filled in. `Optional`: the names of those that have no default. */
export type WithDefaults<T, Optional extends keyof T = never> = AllRequired<Omit<T, Optional>> & Pick<T, Optional>

/**
 * Returns a copy of valid settings in which each missing setting has the default of the schema. TypeBox fills in
 * objects and lists, but not the values of a record: the settings of each database need a call of their own.
 */
export function withDefaults<Complete extends object> (schema: TSchema, settings: object): Complete {
  return Value.Default(schema, structuredClone(settings)) as Complete
}

/** The limits of connections, of which a host app has the defaults. */
export type HttpSettings = Readonly<WithDefaults<HttpOptions>>
export const HTTP_DEFAULTS: HttpSettings = withDefaults(HttpSchema, {})

export interface McpSettings {
  /** In the order of VERBS. */
  readonly verbs: readonly Verb[]
  /** The named requests that are tools; undefined for those that only select. */
  readonly requests: '*' | readonly string[] | undefined
  /** Maximum size of a result, in bytes. */
  readonly resultLimit: number
  readonly url: string | undefined
}

/** The last part of the path of the tools, which no database may have as its name while they are enabled. */
export const MCP_PATH = 'mcp'

/** Fills in the defaults, also if the setting is missing, as for `row-query mcp`. */
export function withMcpDefaults (options: McpOptions = {}): McpSettings {
  const { verbs, requests, resultLimit, url } =
    withDefaults<WithDefaults<McpOptions, 'url' | 'requests'>>(McpSchema, options)
  return { verbs: VERBS.filter((verb) => verbs.includes(verb)), requests, resultLimit, url }
}

/** The options of the plugin in an app. A configuration file cannot have a function. */
export type AppOptions = RowQueryOptions & {
  /** Authenticates the requests that have no valid token. */
  readonly authenticate?: Authenticate | undefined
  /** Called in the transaction of each write, before COMMIT. */
  readonly onWrite?: OnWrite | undefined
}

type CompleteOptions = WithDefaults<
  RowQueryOptions,
  'tokensFile' | 'rateLimit' | 'cors' | 'mcp' | 'jwt' | 'roles' | 'requests' | 'openapiInfo'
> & { rateLimit?: WithDefaults<NonNullable<RowQueryOptions['rateLimit']>> }

export interface Settings extends Readonly<
  Pick<
    CompleteOptions,
    | 'bodyLimit'
    | 'rateLimit'
    | 'failedLogins'
    | 'cors'
    | 'openapi'
    | 'openapiInfo'
    | 'docs'
    | 'tracing'
    | 'serverTiming'
    | 'requestLog'
    | 'metrics'
  >
> {
  readonly databases: readonly DatabaseConfig[]
  readonly tokens: readonly StoredToken[]
  /** The token file and the tokens that it contained at the start. */
  readonly tokenFile: { readonly file: TokenFile; readonly tokens: readonly StoredToken[] } | undefined
  readonly jwt: readonly JwtIssuer[]
  readonly roles: ReadonlyMap<string, Grant>
  readonly requestRoles: ReadonlyMap<string, Grant>
  /** Undefined if the path of named requests does not exist. */
  readonly requests: ReadonlyMap<string, NamedRequest> | undefined
  /** Undefined if there are no tools. */
  readonly mcp: McpSettings | undefined
  readonly authenticate: Authenticate | undefined
  readonly onWrite: OnWrite | undefined
  readonly limits: RequestLimits
  /** Maximum size of all responses that are being built or sent, in bytes. */
  readonly answerMemory: number
  /** Maximum memory of all bodies whose response has not been sent, in bytes. */
  readonly bodyMemory: number
}

/** Does not change `options`. @throws ConfigError with all errors */
export function resolveSettings (given: unknown): Settings {
  const { authenticate, onWrite, ...options } = { ...given as AppOptions }
  const errors = findConfigErrors(OptionsSchema, typeof given === 'object' && given !== null ? options : given)
  if (authenticate !== undefined && typeof authenticate !== 'function') errors.push('authenticate: must be a function')
  if (onWrite !== undefined && typeof onWrite !== 'function') errors.push('onWrite: must be a function')
  const settings = readSettings(errors, options)
  if (errors.length > 0) throw new ConfigError(errors)
  return { ...settings, authenticate, onWrite }
}

/** Finds the errors that the schema does not show. `invalid`: the errors by the schema. */
export function findOptionErrors (options: object, invalid: readonly string[]): string[] {
  const errors = [...invalid]
  readSettings(errors, options as RowQueryOptions)
  return errors.slice(invalid.length)
}

/** Leaves out the settings that `errors` names, and adds a line for each other error. */
function readSettings (errors: string[], options: RowQueryOptions): Omit<Settings, 'authenticate' | 'onWrite'> {
  const valid = withoutInvalid(options, errors)
  errors.push(...findUnplainGrants(valid))
  // bodies may have what cannot be cloned
  const { requests: bodies = {}, ...cloneable }: Pick<RowQueryOptions, 'requests'> = withoutInvalid(valid, errors)
  const settings = withDefaults<Omit<CompleteOptions, 'requests'>>(OptionsSchema, cloneable)
  const {
    databases = {}, tokens, tokensFile, jwt = [], roles: givenRoles = {}, mcp, limits: givenLimits, ...unchanged
  } = settings
  const {
    filterDepth: depth, filterConditions: conditions, filterValues: values, filterPattern: pattern, answerMemory,
    bodyMemory, streams, imports, ...others
  } = givenLimits
  const limits = { depth, conditions, values, pattern, ...others }
  const { databases: names, roles: configuredRoles = {} }: { readonly databases: unknown, readonly roles?: object } =
    options
  refuseTogether(errors, options, settings)
  const opened = Object.entries(databases).flatMap(([name, database]) =>
    toDatabase(errors, name, database, { streams, imports })
  )
  const stored = readEntries(errors, 'tokens', tokens, names)
  const { roles, requestRoles } = readRoles(errors, givenRoles, names)
  const requests = options.requests && readRequests(errors, bodies, {
    databases: isObject(names) ? new Set(Object.keys(names)) : undefined,
    requestRoles,
    otherRoles: roles,
    isInvalidRole: (name) => !isObject(configuredRoles) ||
      (Object.hasOwn(configuredRoles, name) && !roles.has(name) && !requestRoles.has(name)),
    limits
  })
  for (const [index, name] of (Array.isArray(mcp?.requests) ? mcp.requests : []).entries()) {
    if (options.requests !== undefined && !Object.hasOwn(options.requests, name)) {
      errors.push(`mcp.requests.${index}: is not one of the "requests"`)
    }
  }
  // entries that are not valid have no grant
  const invalid = new Set(Object.keys(options.requests ?? {}).filter((name) => requests?.has(name) !== true))
  const findUncallables = (grant: Grant, path: string): string[] =>
    findUncallable(grant, requests ?? new Map(), { path, invalid })
  errors.push(
    ...stored.flatMap(({ grant }) =>
      findUncallables(grant, `tokens.${tokens.findIndex((entry) => entry?.name === grant.name)}`)
    ),
    ...[...roles].flatMap(([name, grant]) => findUncallables(grant, `roles.${name}`))
  )
  const tokenFile = tokensFile === undefined
    ? undefined
    : openTokenFile(errors, createTokenFile(tokensFile, { databases: names, tokens, findUncallable: findUncallables }))
  return {
    ...unchanged,
    databases: opened,
    tokens: stored,
    tokenFile,
    jwt: readJwtIssuers(errors, jwt),
    roles,
    requestRoles,
    requests,
    mcp: mcp && withMcpDefaults(mcp),
    limits,
    answerMemory,
    bodyMemory
  }
}

/** Adds a line for settings that exclude each other. `roles`, `requests`: also those that are not valid. */
function refuseTogether (
  errors: string[],
  { roles, requests }: RowQueryOptions,
  { databases = {}, docs, jwt = [], mcp, openapi, openapiInfo: { license } = {} }: Omit<CompleteOptions, 'requests'>
): void {
  if (jwt.length > 0 && Object.values(roles ?? {}).every((role) => role?.for !== undefined)) {
    errors.push('roles: is required with jwt')
  }
  if (license?.identifier !== undefined && license.url !== undefined) {
    errors.push('openapiInfo.license: cannot have both identifier and url')
  }
  if (mcp !== undefined && Object.hasOwn(databases, MCP_PATH)) {
    errors.push(`databases.${MCP_PATH}: is the path of the tools of "mcp"; give the database another name`)
  }
  if (mcp !== undefined && requests === undefined) {
    if (mcp.verbs?.length === 0) errors.push('mcp.verbs: must not be empty without "requests"')
    if (mcp.requests !== undefined) errors.push('mcp.requests: is only allowed beside "requests"')
  }
  if (requests !== undefined && Object.hasOwn(databases, REQUESTS_PATH)) {
    errors.push(`databases.${REQUESTS_PATH}: is the path of named requests; give the database another name`)
  }
  if (docs && openapi === 'off') errors.push('docs: cannot be enabled, because openapi is "off"')
}

/** Finds values in tokens and roles that their schemas accept but misread, such as instances of classes. */
function findUnplainGrants ({ tokens = [], roles = {} }: {
  readonly tokens?: ArrayLike<unknown>
  readonly roles?: object
}): string[] {
  if (!isPlain(roles)) return ['roles: must be a plain object']
  return [
    ...Array.from(tokens).flatMap((token, index) =>
      token === undefined ? [] : findUnplain(token, ['tokens', String(index)]) ?? []
    ),
    ...Object.entries(roles).flatMap(([name, role]) => findUnplain(role, ['roles', name]) ?? [])
  ]
}

function openTokenFile (errors: string[], file: TokenFile): Settings['tokenFile'] {
  try {
    return { file, tokens: readTokenFile(file) }
  } catch (error) {
    errors.push(...(error as ConfigError).errors)
    return undefined
  }
}

/** `streams` and `imports`: the most of one caller at a time. */
function toDatabase (
  errors: string[],
  name: string,
  options: DatabaseOptions,
  { streams, imports }: { readonly streams: number, readonly imports: number }
): DatabaseConfig[] {
  const { url, replicas, setup, ...limits } = withDefaults<WithDefaults<DatabaseOptions>>(DatabaseSchema, options)
  const path = `databases.${name}`
  const [address] = collect(errors, `${path}.url: `, () => parseDatabaseUrl(url))
  const replicaAddresses = replicas.flatMap((replica, index) =>
    collect(errors, `${path}.replicas.${index}: `, () => parseReplicaUrl(replica))
  )
  if (address === undefined) return []
  if (address.engine === 'sqlite' && replicas.length > 0) {
    errors.push(`${path}.replicas: only allowed with mysql:// and mariadb://`)
  }
  if (setup.length > 0 && (address.engine !== 'sqlite' || address.path !== MEMORY)) {
    errors.push(`${path}.setup: only allowed with sqlite::memory:`)
  }
  const { size, minimum } = limits.pool
  if (minimum > size) errors.push(`${path}.pool.minimum: must not be greater than pool.size, which is ${size}`)
  return [{ name, address, replicas: replicaAddresses, setup, ...limits, streams, imports }]
}
