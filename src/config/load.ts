/** Loads the configuration from the command line, the environment and the configuration file. */
import { readFileSync } from 'node:fs'
import { ConfigSchema, type Config } from '../../schemas/options.ts'
import { ServerSchema } from '../../schemas/server-settings.ts'
import { VERBS } from '../../schemas/grants.ts'
import { createToken, hashToken } from '../access/tokens.ts'
import { readDemoToken } from '../demo/demo-token.ts'
import {
  readApiToken, substitute, findUnknownVariables, readVariable, VARIABLES, withoutServices, type Environment
} from './substitute.ts'
import { databaseNameOf, parseDatabaseUrl } from './database-url.ts'
import { ConfigError, findConfigErrors, orThrow, withoutInvalid } from '../config-errors.ts'
import { parseConfigJson, isObject } from '../json/exact-json.ts'
import { splitConfig } from './split-config.ts'
import { findOptionErrors } from './settings.ts'

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

/** The path of the demo database, relative to the working directory. */
export const DEMO_PATH = 'data/demo.db'
/** The path of its token, if no tokens are configured. */
export const DEMO_TOKEN_PATH = 'data/demo.token'

/** The flags of settings, by the names of their variables. */
export const FLAGS: ReadonlyMap<string, string> = new Map([
  ['ROW_QUERY_HOST', '--host'],
  ['ROW_QUERY_PORT', '--port'],
  ['ROW_QUERY_LOG_FORMAT', '--log-format']
])

/** Other names of variables, which many platforms use. A variable with the prefix takes precedence. */
export const ALIASES: ReadonlyMap<string, string> = new Map([
  ['ROW_QUERY_HOST', 'HOST'],
  ['ROW_QUERY_PORT', 'PORT'],
  ['ROW_QUERY_PREFIX', 'PATH_PREFIX'],
  ['ROW_QUERY_LOG_LEVEL', 'LOG_LEVEL'],
  ['ROW_QUERY_TOKENS_FILE', 'API_TOKENS_FILE'],
  ['ROW_QUERY_HTTPS_CERT', 'HTTPS_CERT'],
  ['ROW_QUERY_HTTPS_KEY', 'HTTPS_KEY']
])

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
  const given: Environment = {
    ...env,
    '--config': flags.config,
    '--host': flags.host,
    '--port': flags.port,
    '--log-format': flags['log-format']
  }
  const draft: Draft = { config: {}, errors: [], refused: new Set(), names: new Map() }
  readConfigFile(draft, given, environment)
  const invalid = [
    ...findUnknownVariables(env, [...ALIASES.values()]),
    ...readVariables(draft, given, { ofDatabases: false })
  ]
  addDatabase(draft, env['DATABASE_URL'])
  addToken(draft, env)
  const demo = addDemo(draft)
  invalid.push(...readVariables(draft, given, { ofDatabases: true }))
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

/** The options of the plugin, without the settings of the server. */
const optionsOf = (config: object): object =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !Object.hasOwn(ServerSchema.properties, name)))

function readConfigFile (draft: Draft, given: Environment, environment: Environment): void {
  const source = ['--config', 'ROW_QUERY_CONFIG'].find((name) => given[name] !== undefined)
  if (source === undefined) return
  const path = given[source] as string
  try {
    if (path === '') throw new Error('is empty')
    const content = parseConfigJson(orThrow(() => readFileSync(path, 'utf8'), () => new Error('cannot be read')))
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
  given: Environment,
  { ofDatabases }: { ofDatabases: boolean }
): string[] {
  const errors: string[] = []
  const { databases } = config
  const targets = ofDatabases ? (isObject(databases) ? Object.values(databases).filter(isObject) : []) : [config]
  for (const [name, variable] of VARIABLES) {
    const source = [FLAGS.get(name), name, ALIASES.get(name)].find(
      (each) => each !== undefined && given[each] !== undefined
    )
    if (source === undefined || variable.ofDatabases !== ofDatabases) continue
    const { value, errors: found } = readVariable(source, variable, given[source] as string)
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
    const known = databases[name] ?? {}
    config['databases'] = { ...databases, [name]: isObject(known) ? { ...known, url } : known }
    if (databases[name] === undefined) names.set(`databases.${name}`, 'DATABASE_URL')
  } catch (error) {
    errors.push(`DATABASE_URL: ${(error as Error).message}`)
  }
}

function addToken (
  { config, errors }: Draft,
  { API_TOKEN: token, API_TOKEN_PERMISSIONS: permissions }: Environment
): void {
  const { entry, errors: found } = readApiToken(token, permissions)
  errors.push(...found)
  const { tokens = [] } = config
  if (entry !== undefined && Array.isArray(tokens)) config['tokens'] = [...tokens, entry]
}

/** Configures the demo database if no database is configured. */
function addDemo ({ config }: Draft): Loaded['demo'] {
  if (config['databases'] !== undefined) return undefined
  Object.assign(config, {
    databases: { demo: { url: `sqlite:${DEMO_PATH}` } },
    docs: config['docs'] ?? config['openapi'] !== 'off'
  })
  if (config['tokens'] !== undefined || config['tokensFile'] !== undefined || config['jwt'] !== undefined) {
    return { path: DEMO_PATH, token: undefined }
  }
  const token = readDemoToken(DEMO_TOKEN_PATH) ?? createToken()
  config['tokens'] = [{ name: 'demo', sha256: hashToken(token), permissions: [...VERBS] }]
  return { path: DEMO_PATH, token }
}
