import { resolve } from 'node:path'
import type { Verb } from '../../schemas/grants.ts'
import { type Grant, seesDatabase, createGrant, withClaims } from '../access/grant.ts'
import { checkClaims, type Claims } from '../access/rules.ts'
import type { StoredToken } from '../access/tokens.ts'
import { type Catalog, createCatalog } from '../catalog/catalog.ts'
import { ConfigError, orThrow } from '../config-errors.ts'
import { type Flags, loadConfig, type ServerSettings, splitConfig } from '../config/load.ts'
import { resolveSettings, type Settings } from '../config/settings.ts'
import { type DatabaseConfig, openDialect } from '../databases/open.ts'
import { createShop } from '../demo/shop.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { ServiceError } from '../errors.ts'
import { parseConfigJson, isObject } from '../json/exact-json.ts'
import { type NamedRequest, REQUESTS_PATH } from '../named/definition.ts'
import { type DocumentSettings, EVERYTHING } from '../openapi/visible.ts'
import { type FlagValues, parseFlags } from './commands.ts'

const BLOCKED = 'the account is blocked after too many wrong passwords'
const EXPIRED = 'the password of the account has expired'

/** The explanations for a server that answers but cannot be used, by reason. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['ER_ACCESS_DENIED_ERROR', 'the server refuses the user name or the password'],
  ['ER_ACCESS_DENIED_NO_PASSWORD_ERROR', 'the server refuses the user name or the password'],
  ['ER_DBACCESS_DENIED_ERROR', 'the account has no privilege in the database, which may not exist'],
  ['ER_BAD_DB_ERROR', 'the server does not have the database'],
  ['ER_ACCOUNT_HAS_BEEN_LOCKED', 'the account is locked'],
  ['ER_USER_IS_BLOCKED', BLOCKED],
  ['ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK', BLOCKED],
  ['ER_MUST_CHANGE_PASSWORD', EXPIRED],
  ['ER_MUST_CHANGE_PASSWORD_LOGIN', EXPIRED],
  ['ER_HOST_NOT_PRIVILEGED', 'the server does not accept connections of this machine'],
  ['ER_NOT_SUPPORTED_AUTH_MODE', 'the account logs in in a way that is not supported'],
  ['ER_CON_COUNT_ERROR', 'the server has too many connections'],
  ['ER_USER_LIMIT_REACHED', 'the account has too many connections']
])

/** Says why a database cannot be used, with the name of the error. @throws any other error, which is a bug */
export function describeConnectProblem (error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (!(error instanceof ServiceError)) throw error
  const { reason = error.code } = error
  // such as SERVER_TOO_OLD: …
  const said = REFUSALS.get(reason) ?? (reason.includes(': ') ? 'the server cannot be used' : 'does not answer')
  return `${said} (${reason})`
}

/** The wait is longer than the time limit for connecting, so that connection errors are reported. */
const ONE_CONNECTION = { size: 1, queue: 1, wait: 60_000 }

/** Opens a database for one use. @throws ConfigError if a SQLite file cannot be opened */
export async function withDialect<T> (config: DatabaseConfig, use: (dialect: Dialect) => Promise<T>): Promise<T> {
  const dialect = await openDialect({ ...config, pool: ONE_CONNECTION })
  try {
    return await use(dialect)
  } finally {
    await dialect.close()
  }
}

/**
 * The settings of a command. Creates the demo if it is used and not there, and says on standard error where it is then.
 * @throws ConfigError
 */
export function loadSettings (flags: Flags): { readonly server: ServerSettings, readonly settings: Settings } {
  const { config, demo } = loadConfig(process.env, flags)
  const { server, options } = splitConfig(config)
  if (demo !== undefined && createShop(demo.path)) {
    process.stderr.write(`row-query: no database is configured: created the demo in ${resolve(demo.path)}\n`)
  }
  return { server, settings: resolveSettings(options) }
}

/** @throws ConfigError */
export function findDatabase (databases: readonly DatabaseConfig[], name: string): DatabaseConfig {
  const database = databases.find((each) => each.name === name)
  if (database !== undefined) return database
  throw new ConfigError([`"${name}" is not configured; the databases are ${namesOf(databases)}`])
}

const namesOf = (databases: readonly DatabaseConfig[]): string => databases.map(({ name }) => name).join(', ')

type ReadingCommand = 'openapi' | 'types' | 'keys'

/** @throws ConfigError */
export function chooseDatabase (command: ReadingCommand, args: string[]): {
  readonly databases: readonly DatabaseConfig[]
  readonly database: DatabaseConfig | undefined
  /** The named requests, if the argument is their path. */
  readonly requests: ReadonlyMap<string, NamedRequest> | undefined
  readonly settings: DocumentSettings & { readonly limits: Settings['limits'] }
  /** The grant of the named token or role; otherwise one with all permissions. */
  readonly grant: Grant
} {
  const { values, positionals } = parseFlags(command, args)
  const { server: { prefix }, settings } = loadSettings(values)
  const { databases, limits, openapiInfo: info } = settings
  const { token, role } = values
  if (token !== undefined && role !== undefined) throw new ConfigError(['--role: cannot be combined with --token'])
  const grant = token !== undefined
    ? findToken('--token', token, settings).grant
    : role === undefined ? EVERYTHING : findRole(role, settings)
  const [name, ...others] = positionals
  if (others.length > 0) throw new ConfigError([`only one database is allowed, not ${positionals.join(', ')}`])
  const requests = name === REQUESTS_PATH ? settings.requests : undefined
  const database = name === undefined || requests !== undefined ? undefined : findDatabase(databases, name)
  if (database !== undefined && !seesDatabase(grant, database.name)) {
    throw new ConfigError([`"${grant.name}" has no permission on "${name}"`])
  }
  return {
    databases: requests === undefined ? databases.filter((each) => seesDatabase(grant, each.name)) : databases,
    database,
    requests,
    settings: { prefix, limits, info },
    grant
  }
}

/** The arguments of commands that need one database: the only one if none is named. @throws ConfigError */
export function requireDatabase (
  command: ReadingCommand,
  args: string[]
): { readonly database: DatabaseConfig; readonly grant: Grant } {
  const {
    databases,
    grant,
    database = databases.length === 1 ? databases[0] : undefined
  } = chooseDatabase(command, args)
  if (database === undefined) {
    throw new ConfigError([`a database is required; the databases are ${namesOf(databases)}`])
  }
  return { database, grant }
}

function findToken (flag: string, name: string, { tokens, tokenFile }: Settings): StoredToken {
  const token = [...tokens, ...tokenFile?.tokens ?? []].find(({ grant }) => grant.name === name)
  if (token === undefined) throw new ConfigError([`${flag}: no token is called "${name}"`])
  return token
}

function findRole (name: string, { roles }: Settings): Grant {
  const role = roles.get(name)
  if (role === undefined) throw new ConfigError([`--role: no role is called "${name}"`])
  return role
}

/** @throws ConfigError if the database does not answer */
export async function readCatalog (config: DatabaseConfig): Promise<Catalog> {
  const refuse = (error: unknown): never => {
    throw new ConfigError([`databases.${config.name}: ${describeConnectProblem(error)}`])
  }
  return createCatalog(await withDialect(config, (dialect) => dialect.introspect().catch(refuse)), Date.now())
}

// The grant of commands that read and write rows themselves: the grant of a token or a role of the configuration, or
// one on everything.

export interface CommandGrant {
  readonly grant: Grant
  readonly token: StoredToken | undefined
}

/**
 * `permissions`: those on everything, if no token or role is named. @throws ConfigError; also for an expired token, and
 * for claims that rules of the grant need and cannot use
 */
export function commandGrant (
  { 'token-name': name, role: roleName, claims }: FlagValues<'mcp'>,
  settings: Settings,
  { now = Date.now(), permissions = ['select'] }: { readonly now?: number; readonly permissions?: Verb[] } = {}
): CommandGrant {
  if (name !== undefined && roleName !== undefined) {
    throw new ConfigError(['--role: cannot be combined with --token-name'])
  }
  if (claims !== undefined && roleName === undefined) throw new ConfigError(['--claims: requires --role'])
  const token = name === undefined ? undefined : findToken('--token-name', name, settings)
  if (token?.expiresAt !== undefined && token.expiresAt <= now) {
    throw new ConfigError([`--token-name: the token "${name}" has expired`])
  }
  const role = roleName === undefined ? undefined : findRole(roleName, settings)
  const grant = token?.grant ??
    (role && withClaims(role, readClaims(claims), role.owner)) ?? createGrant('everything', { permissions })
  requireClaims(grant, role === undefined ? '--token-name' : '--claims')
  return { grant, token }
}

function readClaims (text = '{}'): Claims {
  const claims = orThrow(() => parseConfigJson(text), ({ message }) => new ConfigError([`--claims: ${message}`]))
  if (!isObject(claims)) throw new ConfigError(['--claims: must be a JSON object'])
  return claims
}

/** @throws ConfigError for claims that rules of the grant need and cannot use */
export function requireClaims ({ databases, claims }: Grant, flag: string): void {
  if (databases === 'all') return
  const rules = [...databases.values()].flatMap(({ tables }) =>
    tables === 'all' ? [] : [...tables.values()].flatMap((table) => table.rules)
  )
  orThrow(() => checkClaims(rules, claims), ({ message }) => new ConfigError([`${flag}: ${message}`]))
}
