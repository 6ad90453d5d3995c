/** Loads the configuration from the command line, the environment and the configuration file. */
import { readFileSync } from 'node:fs'
import { ConfigSchema, type Config } from '../../schemas/options.ts'
import { VERBS } from '../../schemas/grant.ts'
import { createToken, hashToken } from '../access/tokens.ts'
import { readApiToken } from './api-token.ts'
import { databaseNameOf, parseDatabaseUrl } from './database-url.ts'
import { ConfigError, findConfigErrors } from '../config-errors.ts'
import { parseConfigJson } from '../config-json.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Flags { config?: string | undefined, host?: string | undefined, port?: string | undefined }

export interface Loaded {
  readonly config: Config
  /** Set if no database is configured: the path of the demo database, and its token if no tokens are configured. */
  readonly demo: { readonly path: string, readonly token: string | undefined } | undefined
}

/** The path of the demo database, relative to the working directory. */
export const DEMO_PATH = 'data/demo.db'

/** The flags and variables that set a setting, in the order of precedence. */
export const SOURCES: ReadonlyArray<readonly [setting: string, ...sources: string[]]> = [
  ['host', '--host', 'HOST'],
  ['port', '--port', 'PORT'],
  ['prefix', 'PATH_PREFIX'],
  ['logLevel', 'LOG_LEVEL'],
  ['tokensFile', 'API_TOKENS_FILE'],
  ['https.cert', 'HTTPS_CERT'],
  ['https.key', 'HTTPS_KEY']
]

interface Draft {
  readonly config: Record<string, unknown>
  readonly errors: string[]
  /** The flag or variable that each setting comes from. */
  readonly names: Map<string, string>
}

/** Flags take precedence over the environment, which takes precedence over the file. @throws ConfigError */
export function loadConfig (env: Environment, flags: Flags): Loaded {
  const given: Environment = { ...env, '--config': flags.config, '--host': flags.host, '--port': flags.port }
  const draft: Draft = { config: {}, errors: [], names: new Map() }
  readConfigFile(draft, given)
  readSources(draft, given)
  addDatabase(draft, env['DATABASE_URL'])
  addToken(draft, env)
  const demo = addDemo(draft)
  const errors = [...draft.errors, ...findConfigErrors(ConfigSchema, draft.config, draft.names)]
  if (errors.length > 0) throw new ConfigError(errors)
  return { config: draft.config as Config, demo }
}

function readConfigFile ({ config, errors }: Draft, given: Environment): void {
  const source = ['--config', 'ROW_QUERY_CONFIG'].find((name) => given[name] !== undefined)
  if (source === undefined) return
  const path = given[source] as string
  try {
    const content = parseConfigJson(readConfig(path))
    if (isObject(content)) Object.assign(config, content)
    else errors.push(`${source}: ${path} does not contain a JSON object`)
  } catch (error) {
    errors.push(`${source}: ${path} ${(error as Error).message}`)
  }
}

function readConfig (path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new Error('cannot be read')
  }
}

function readSources ({ config, names }: Draft, given: Environment): void {
  for (const [setting, ...sources] of SOURCES) {
    const source = sources.find((name) => given[name] !== undefined)
    if (source === undefined) continue
    assign(config, setting.split('.'), setting === 'port' ? toPort(given[source] as string) : given[source])
    names.set(setting, source)
  }
}

/** Supports one level of nesting. Leaves invalid values of the file for the schema to reject. */
function assign (config: Record<string, unknown>, [name = '', inner]: string[], value: unknown): void {
  if (inner === undefined) config[name] = value
  else if (isObject(config[name] ??= {})) config[name] = { ...config[name], [inner]: value }
}

/** Leaves text that is not a number for the schema to reject. */
function toPort (text: string): unknown {
  return /^\d+$/.test(text) ? Number(text) : text
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

function addToken ({ config, errors }: Draft, { API_TOKEN: token, API_TOKEN_PERMISSIONS: permissions }: Environment): void {
  const { entry, errors: found } = readApiToken(token, permissions)
  errors.push(...found)
  const { tokens = [] } = config
  if (entry !== undefined && Array.isArray(tokens)) config['tokens'] = [...tokens, entry]
}

/** Configures the demo database if no database is configured. */
function addDemo ({ config }: Draft): Loaded['demo'] {
  if (config['databases'] !== undefined) return undefined
  Object.assign(config, { databases: { demo: { url: `sqlite:${DEMO_PATH}` } }, docs: config['docs'] ?? config['openapi'] !== 'off' })
  if (config['tokens'] !== undefined || config['tokensFile'] !== undefined || config['jwt'] !== undefined) return { path: DEMO_PATH, token: undefined }
  const token = createToken()
  config['tokens'] = [{ name: 'demo', sha256: hashToken(token), permissions: [...VERBS] }]
  return { path: DEMO_PATH, token }
}

function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
