import { readFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { BlockList, isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { ConfigSchema, type Config, type RowQueryOptions } from '../../schemas/options.ts'
import { ServerSchema, type ServerConfig } from '../../schemas/server-settings.ts'
import { API_TOKEN, createToken, hashToken, MIN_TOKEN_LENGTH } from '../access/tokens.ts'
import { ConfigError, decodeUtf8, findConfigErrors, orThrow, withoutInvalid, succeeds } from '../config-errors.ts'
import { parseConfigJson, isObject } from '../json/exact-json.ts'
import { databaseNameOf, parseDatabaseUrl } from './database-url.ts'
import { DEMO_REQUESTS, DEMO_ROLE } from './demo-requests.ts'
import { findOptionErrors, resolveSettings, withDefaults, type WithDefaults } from './settings.ts'
import { substitute } from './substitute.ts'
import {
  ALIASES, type Environment, findUnknownVariables, FLAGS, readVariable, VARIABLES, withoutServices
} from './variables.ts'
import { countWorkers } from './worker-shares.ts'

export type { Environment }

export interface Flags {
  config?: string | undefined
  host?: string | undefined
  port?: string | undefined
  'log-format'?: string | undefined
}

export interface Loaded {
  readonly config: Config
  /** Set if no database is configured: the path of the demo database, and its token if no tokens are configured. */
  readonly demo: { readonly path: string, readonly token: string | undefined } | undefined
}

/** Relative to the working directory. */
export const DEMO_PATH = 'data/demo.db'
/** Written if no tokens are configured. */
export const DEMO_TOKEN_PATH = 'data/demo.token'

interface Draft {
  config: Record<string, unknown>
  readonly errors: string[]
  /** Settings with an error that is known before the whole configuration is checked. */
  readonly refused: Set<string>
  /** The names that errors use for databases that are not in the file. */
  readonly names: Map<string, string>
}

/** Flags take precedence over the environment, which takes precedence over the file. @throws ConfigError */
export function loadConfig (environment: Environment, flags: Flags): Loaded {
  const env = withoutServices(environment)
  const variables: Environment = {
    ...env,
    '--config': flags.config,
    '--host': flags.host,
    '--port': flags.port,
    '--log-format': flags['log-format']
  }
  const draft: Draft = { config: {}, errors: [], refused: new Set(), names: new Map() }
  readConfigFile(draft, variables, environment)
  const invalid = [
    ...findUnknownVariables(env),
    ...readVariables(draft, variables, { ofDatabases: false })
  ]
  addDatabase(draft, env['DATABASE_URL'])
  addToken(draft, env)
  const demo = addDemo(draft)
  invalid.push(...readVariables(draft, variables, { ofDatabases: true }))
  const isRefused = (line: string): boolean => draft.refused.has(line.slice(0, line.indexOf(': ')))
  const ofFile = findConfigErrors(ConfigSchema, draft.config, draft.names).filter((line) => !isRefused(line))
  const bySchema = [
    ...findConfigErrors(ConfigSchema, draft.config),
    ...Array.from(draft.refused, (setting) => `${setting}:`)
  ]
  const errors = [
    ...draft.errors,
    ...invalid,
    ...ofFile,
    ...findServerErrors({ databases: {}, ...withoutInvalid(draft.config, bySchema) } as Config)
  ]
  // reports all errors at once; otherwise the options are checked where they are used, which also reads their files
  if (errors.length > 0) throw new ConfigError([...errors, ...findOptionErrors(optionsOf(draft.config), bySchema)])
  return { config: draft.config as Config, demo }
}

/** Finds the errors of the server's settings that their schema does not show. */
function findServerErrors (config: Config): readonly string[] {
  try {
    splitConfig(config)
    return []
  } catch (error) {
    return (error as ConfigError).errors
  }
}

const optionsOf = <T extends object>(config: T): Omit<T, keyof ServerConfig> =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !Object.hasOwn(ServerSchema.properties, name))) as T

function readConfigFile (draft: Draft, variables: Environment, environment: Environment): void {
  const source = ['--config', 'ROW_QUERY_CONFIG'].find((name) => variables[name] !== undefined)
  if (source === undefined) return
  const path = variables[source] as string
  try {
    if (path === '') throw new Error('is empty')
    const bytes = orThrow(() => readFileSync(path), () => new Error('cannot be read'))
    const content = parseConfigJson(decodeUtf8(bytes))
    if (!isObject(content)) throw new Error('does not contain a JSON object')
    // for editors
    if (typeof content['$schema'] === 'string') delete content['$schema']
    draft.config = content
    for (const [setting, line] of substitute(content, environment)) {
      draft.refused.add(setting)
      draft.errors.push(line)
    }
  } catch (error) {
    draft.errors.push(`${source}: ${path}${path === '' ? '' : ' '}${(error as Error).message}`)
  }
}

/** Applies flags and variables to the configuration, or with `ofDatabases` to each database. Returns their errors. */
function readVariables (
  { config, refused }: Draft,
  variables: Environment,
  { ofDatabases }: { ofDatabases: boolean }
): string[] {
  const errors: string[] = []
  const { databases } = config
  const targets = ofDatabases ? (isObject(databases) ? Object.values(databases).filter(isObject) : []) : [config]
  for (const [name, variable] of VARIABLES) {
    const source = [FLAGS.get(name), name, ALIASES.get(name)].find(
      (each) => each !== undefined && variables[each] !== undefined
    )
    if (source === undefined || variable.ofDatabases !== ofDatabases) continue
    const { value, errors: found } = readVariable(source, variable, variables[source] as string)
    errors.push(...found)
    if (found.length > 0 && !ofDatabases) refused.add(variable.path.join('.'))
    if (found.length === 0) for (const target of targets) assign(target, variable.path, value)
  }
  return errors
}

/**
 * Creates missing objects, also in place of `true`, as `metrics` is an object if it has a port. The schema checks other
 * values.
 */
function assign (target: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    target[key] = value
    return
  }
  if (target[key] === undefined || target[key] === true) target[key] = {}
  if (isObject(target[key])) assign(target[key], rest, value)
}

/** Adds the database of DATABASE_URL, or replaces the URL of the database with the same name. */
function addDatabase ({ config, errors, names }: Draft, url: string | undefined): void {
  const { databases = {} } = config
  if (url === undefined || !isObject(databases)) return
  try {
    const name = databaseNameOf(parseDatabaseUrl(url))
    const before = databases[name] ?? {}
    config['databases'] = { ...databases, [name]: isObject(before) ? { ...before, url } : before }
    if (databases[name] === undefined) names.set(`databases.${name}`, 'DATABASE_URL')
  } catch (error) {
    errors.push(`DATABASE_URL: ${(error as Error).message}`)
  }
}

/** Adds the token of API_TOKEN and API_TOKEN_PERMISSIONS. No error contains it. */
function addToken ({ config, errors }: Draft, { API_TOKEN: token, API_TOKEN_PERMISSIONS: list }: Environment): void {
  const permissions = [...new Set(list?.split(',').map((permission) => permission.trim()) ?? VERBS)] as Verb[]
  const found = token === '' ? ['API_TOKEN: is empty'] : findTokenErrors(token, list, permissions)
  errors.push(...found)
  const { tokens = [] } = config
  if (token === undefined || found.length > 0 || !Array.isArray(tokens)) return
  config['tokens'] = [...tokens, { name: API_TOKEN, sha256: hashToken(token), permissions }]
}

function findTokenErrors (token: string | undefined, list: string | undefined, permissions: readonly Verb[]): string[] {
  const errors: string[] = []
  if (!permissions.every((permission) => VERBS.includes(permission))) {
    const isEmpty = permissions.join('') === ''
    errors.push(
      `API_TOKEN_PERMISSIONS: ${isEmpty ? 'is empty; it ' : ''}must be a comma-separated list of ${VERBS.join(', ')}`
    )
  }
  if (token === undefined) {
    if (list !== undefined) errors.push('API_TOKEN_PERMISSIONS: is set, but API_TOKEN is not')
  } else if (!/^[\x21-\x7e]+$/.test(token)) errors.push('API_TOKEN: must be printable ASCII without spaces')
  else if (token.length < MIN_TOKEN_LENGTH) {
    errors.push(
      `API_TOKEN: must have at least ${MIN_TOKEN_LENGTH} characters; "openssl rand -hex 32" generates one`
    )
  }
  return errors
}

function addDemo ({ config }: Draft): Loaded['demo'] {
  if (config['databases'] !== undefined) return undefined
  Object.assign(config, {
    databases: { demo: { url: `sqlite:${DEMO_PATH}` } },
    docs: config['docs'] ?? config['openapi'] !== 'off',
    ...(config['requests'] === undefined && isObject(config['roles'] ?? {}) && {
      requests: DEMO_REQUESTS,
      roles: { front: DEMO_ROLE, ...config['roles'] as object | undefined }
    })
  })
  if (config['tokens'] !== undefined || config['tokensFile'] !== undefined || config['jwt'] !== undefined) {
    return { path: DEMO_PATH, token: undefined }
  }
  const token = readDemoToken(DEMO_TOKEN_PATH) ?? createToken()
  config['tokens'] = [{ name: 'demo', sha256: hashToken(token), permissions: [...VERBS], requests: '*' }]
  return { path: DEMO_PATH, token }
}

export interface ServerSettings extends Readonly<
  Omit<WithDefaults<ServerConfig, 'https'>, 'metrics' | 'requestLog' | 'workers'>
> {
  /** The number of worker processes; 1 if this process answers the requests. */
  readonly workers: number
  /** The address of the separate port for metrics, if there is one. */
  readonly metrics: { readonly host: string; readonly port: number } | undefined
}

/**
 * The configuration must be valid; defaults are filled in. `cores`: the number of workers for "auto". @throws
 * ConfigError
 */
export function splitConfig (
  config: Config,
  cores = availableParallelism()
): { server: ServerSettings; options: RowQueryOptions } {
  const names = Object.keys(ServerSchema.properties) as Array<keyof ServerConfig>
  const serverConfig = Object.fromEntries(names.map((name) => [name, config[name]]))
  const { requestLog, metrics, ...settings } =
    withDefaults<WithDefaults<ServerConfig, 'https'>>(ServerSchema, serverConfig)
  const { trustProxy, http } = settings
  const errors = trustProxy.flatMap((proxy, index) =>
    isNetwork(proxy) ? [] : [`trustProxy.${index}: must be an IP address, or a network such as 10.0.0.0/8`]
  )
  if (http.headersTimeout >= http.requestTimeout) {
    errors.push('http.headersTimeout: must be less than http.requestTimeout')
  }
  const workers = countWorkers(config, cores)
  errors.push(...workers.errors)
  if (errors.length > 0) throw new ConfigError(errors)
  return {
    options: { ...optionsOf(config), requestLog, metrics: metrics !== false },
    server: { ...settings, workers: workers.count, metrics: typeof metrics === 'object' ? metrics : undefined }
  }
}

/** Completes the check of the schema, which knows only the names of networks and the characters of addresses. */
function isNetwork (text: string): boolean {
  if (/^[a-z]{3,}/.test(text)) return true
  const [address = '', prefix = '0'] = text.split('/')
  return succeeds(() => new BlockList().addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4'))
}

const TOKEN = /^rq_[\w-]{20,}$/

/** An earlier start has kept it. */
function readDemoToken (path: string): string | undefined {
  const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
  return TOKEN.test(text) ? text : undefined
}

/** Only this user can read the file. It is kept so that the next start has the same one. */
export function keepDemoToken (path: string, token: string): void {
  if (readDemoToken(path) === token) return
  mkdirSync(dirname(path), { recursive: true })
  const unfinished = `${path}.${process.pid}.tmp`
  writeFileSync(unfinished, `${token}\n`, { mode: 0o600 })
  renameSync(unfinished, path)
}

// At SIGHUP the tokens and roles of the configuration are read again.

/** The settings that can be replaced while the service runs. */
export type ConfiguredGrants = Pick<Config, 'tokens' | 'roles' | 'requests'>

export function partGrants ({ tokens, roles, requests, ...others }: Config) {
  const grants: ConfiguredGrants = {
    ...(tokens !== undefined && { tokens }),
    ...(roles !== undefined && { roles }),
    ...(requests !== undefined && { requests })
  }
  return { grants, others }
}

/** Returns the tokens and roles; undefined if they stay. */
export type ReadGrants = (log: FastifyBaseLogger) => ConfiguredGrants | undefined

/** `running`: the configuration of the start, with whose other settings the tokens and roles are checked. */
export function createGrantReader (running: Config, load: () => Loaded): ReadGrants {
  const { others } = partGrants(running)
  return (log) => {
    try {
      const { config, demo } = load()
      const { grants, others: changed } = partGrants(config)
      const settings = findDifferences(others, changed)
      if (settings.length > 0) log.warn({ settings }, 'settings that a restart applies have changed')
      // the token of the demo stays the one of the start
      if (demo?.token !== undefined) return undefined
      // requests and the list of their tools belong together in the file
      const { mcp } = changed
      resolveSettings(splitConfig({ ...others, ...grants, ...(mcp && others.mcp && { mcp }) }).options)
      const { tokens = [], roles = {}, requests = {} } = grants
      log.info({
        tokens: tokens.length, roles: Object.keys(roles).length, requests: Object.keys(requests).length
      }, 'tokens and roles reloaded')
      return grants
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      log.error(
        { errors: error.errors },
        'the configuration cannot be used; the previous tokens and roles stay in use'
      )
      return undefined
    }
  }
}

function findDifferences (one: object, other: object): string[] {
  return Object.keys({ ...one, ...other }).filter(
    (name) => !isDeepStrictEqual(one[name as keyof object], other[name as keyof object])
  )
}
