/** Command line, environment and configuration file -> one configuration. */
import { readFileSync } from 'node:fs'
import { ConfigSchema, type Config } from '../../schemas/options.ts'
import { VERBS, type Verb } from '../grant.ts'
import { createToken, hashToken } from '../tokens.ts'
import { databaseNameOf, parseDatabaseUrl } from './database-url.ts'
import { ConfigError, findMistakes } from './mistakes.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What `--config`, `--host` and `--port` say. */
export interface Flags { config?: string | undefined, host?: string | undefined, port?: string | undefined }

export interface Loaded {
  readonly config: Config
  /** Set where nothing was configured: the embedded demo, and the token made for this start if there was none. */
  readonly demo: { readonly path: string, readonly token: string } | undefined
}

/** Where the embedded database is kept, below the folder of the start. */
export const DEMO_PATH = 'data/demo.db'

/** Flags win over the environment, which wins over the file. @throws ConfigError */
export function loadConfig (env: Environment, flags: Flags): Loaded {
  const mistakes: string[] = []
  const file = readConfigFile(flags.config ?? env['ROW_QUERY_CONFIG'], mistakes)
  const config: Record<string, unknown> = { ...file }
  const set = (name: string, value: unknown): void => { if (value !== undefined) config[name] = value }
  set('host', flags.host ?? env['HOST'])
  set('port', toPort(flags.port ?? env['PORT']))
  set('prefix', env['PATH_PREFIX'])
  set('logLevel', env['LOG_LEVEL'])
  set('databases', addDatabase(file['databases'], env['DATABASE_URL'], mistakes))
  set('tokens', addToken(file['tokens'], env, mistakes))
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  if (config['databases'] === undefined && file['databases'] === undefined) return loadDemo(config, env)
  return { config: check(config), demo: undefined }
}

function loadDemo (config: Record<string, unknown>, env: Environment): Loaded {
  const token = env['API_TOKEN'] ?? createToken()
  const tokens = config['tokens'] ?? [{ name: 'demo', sha256: hashToken(token), permissions: [...VERBS] }]
  return { config: check({ ...config, tokens, databases: { demo: { url: `sqlite:${DEMO_PATH}` } } }), demo: { path: DEMO_PATH, token } }
}

function check (config: Record<string, unknown>): Config {
  const mistakes = findMistakes(ConfigSchema, config)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return config as Config
}

function readConfigFile (path: string | undefined, mistakes: string[]): Record<string, unknown> {
  if (path === undefined) return {}
  try {
    const content: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (typeof content === 'object' && content !== null && !Array.isArray(content)) return content as Record<string, unknown>
    mistakes.push(`ROW_QUERY_CONFIG: ${path} does not hold a JSON object`)
  } catch (error) {
    mistakes.push(`ROW_QUERY_CONFIG: ${path} ${error instanceof SyntaxError ? 'is not valid JSON' : 'cannot be read'}`)
  }
  return {}
}

/** Text that is no number is left for the schema to name. */
function toPort (text: string | undefined): unknown {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : text
}

function addDatabase (databases: unknown, url: string | undefined, mistakes: string[]): unknown {
  if (url === undefined) return databases
  try {
    return { ...databases as object, [databaseNameOf(parseDatabaseUrl(url))]: { url } }
  } catch (error) {
    mistakes.push(`DATABASE_URL: ${(error as Error).message}`)
    return databases
  }
}

function addToken (tokens: unknown, env: Environment, mistakes: string[]): unknown {
  const token = env['API_TOKEN']
  const permissions = env['API_TOKEN_PERMISSIONS']?.split(',').map((permission) => permission.trim()) ?? [...VERBS]
  const unknown = permissions.filter((permission) => !VERBS.includes(permission as Verb))
  if (unknown.length > 0) mistakes.push(`API_TOKEN_PERMISSIONS: expected a list of ${VERBS.join(', ')}, not ${JSON.stringify(unknown.join(','))}`)
  if (token === undefined) return tokens
  if (!/^[\x21-\x7e]+$/.test(token)) mistakes.push('API_TOKEN: must be printable ASCII without spaces')
  return [...(Array.isArray(tokens) ? tokens : []), { name: 'API_TOKEN', sha256: hashToken(token), permissions }]
}
