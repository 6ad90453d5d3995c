/** The environment variables of settings. Their names and types are derived from the schemas. */
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { ConfigSchema, DatabaseSchema } from '../../schemas/options.ts'
import { findConfigErrors } from '../config-errors.ts'
import { findNearest } from '../errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A setting that a variable can set: a string, number, boolean or list of strings. */
export interface Variable {
  /**
   * The keys that lead to the setting, in the configuration or, with `ofDatabases`, in the settings of each database.
   */
  readonly path: readonly string[]
  /** What a variable may set; other forms of the setting, such as objects, are left out. */
  readonly schema: TSchema
  readonly ofDatabases: boolean
}

const PREFIX = 'ROW_QUERY_'

const isList = ({ type, items }: TSchema): boolean => type === 'array' && items.type === 'string'
const isPlain = (schema: TSchema): boolean =>
  schema['const'] !== undefined || ['string', 'integer', 'boolean'].includes(schema['type']) || isList(schema)
const membersOf = (schema: TSchema): TSchema[] => schema['anyOf'] ?? [schema]

function * walk (schema: TSchema, path: readonly string[], ofDatabases: boolean): Generator<Variable> {
  for (const [key, child] of Object.entries<TSchema>(schema['properties'])) {
    const members = membersOf(child)
    const plain = members.filter(isPlain)
    const isWhole = plain.length === members.length
    const schema = isWhole ? child : Type.Union(plain, { description: child.description as string })
    if (plain.length > 0) yield { path: [...path, key], schema, ofDatabases }
    for (const member of members) {
      if (member['properties'] !== undefined) yield * walk(member, [...path, key], ofDatabases)
    }
  }
}

/** `pool.idleTimeout` -> `ROW_QUERY_POOL_IDLE_TIMEOUT` */
const nameOf = (path: readonly string[]): string => PREFIX + path.join('_').replace(/[A-Z]/g, '_$&').toUpperCase()

const required = new Set<string>(DatabaseSchema.required)

/**
 * Name -> setting. Settings that belong to one database have no variable: its URL, which is required, and lists such as
 * replicas.
 */
export const VARIABLES: ReadonlyMap<string, Variable> = new Map([
  ...walk(ConfigSchema, [], false),
  ...[...walk(DatabaseSchema, [], true)].filter(({ path, schema }) => !required.has(path.join('.')) && !isList(schema))
].map((variable) => [nameOf(variable.path), variable]))

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

/** Variables that are not derived from a setting. */
export const OTHER_VARIABLES = ['ROW_QUERY_CONFIG', 'DATABASE_URL', 'API_TOKEN', 'API_TOKEN_PERMISSIONS']

/**
 * Reads the text of a variable or flag as the type of its setting. Text of another type stays a string, and adds an
 * error. `source`: the name of the variable or flag. No error contains the text.
 */
export function readVariable (
  source: string,
  { schema }: Pick<Variable, 'schema'>,
  text: string
): { value: unknown; errors: string[] } {
  const value = isList(schema) ? splitList(text) : readPlain(schema, text)
  const errors = findConfigErrors(schema, value, new Map([['configuration', source]]))
  if (text === '' && errors.length > 0) {
    return { value, errors: [(errors[0] as string).replace(/^.*?: /, `${source}: is empty; it `)] }
  }
  return { value, errors: errors.map((line) => (line.startsWith(source) ? line : `${source}.${line}`)) }
}

/** Keeps an empty text as it is, because every empty variable is an error. */
const splitList = (text: string): unknown => text === '' ? text : text.split(',').map((item) => item.trim())

function readPlain (schema: TSchema, text: string): unknown {
  const values = [
    text,
    ...(/^\d{1,15}$/.test(text) ? [Number(text)] : []),
    ...(text === 'true' || text === 'false' ? [text === 'true'] : [])
  ]
  return values.find((value) => Value.Check(schema, value)) ?? text
}

/**
 * Matches the variables that Kubernetes and Docker add for each service near a container; the variables of a service
 * called row-query begin with our prefix. One of them may have the name of a setting: ROW_QUERY_PORT=tcp://10.0.0.1:80.
 */
const OF_SERVICE = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
const isOfService = (name: string, text: string): boolean =>
  OF_SERVICE.test(name) || (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(text))

/** Returns the environment without variables that Kubernetes or Docker have added for a service called row-query. */
export function withoutServices (env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([name, text = '']) => !name.startsWith(PREFIX) || !isOfService(name, text))
  )
}

/** One line for each unknown variable with the prefix. */
export function findUnknownVariables (env: Environment): string[] {
  const names = new Set([...VARIABLES.keys(), ...OTHER_VARIABLES, ...ALIASES.values()])
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith(PREFIX) && env[name] !== undefined && !names.has(name)
  )
  const byRest = new Map(Array.from(names, (name) => [name.replace(PREFIX, ''), name]))
  return unknown.map((name) => {
    const nearest = byRest.get(findNearest(name.slice(PREFIX.length), byRest.keys()) ?? '')
    return `${printable(name)}: is not a variable of ` +
      `row-query${nearest === undefined ? '' : `; did you mean ${nearest}?`}`
  })
}

const printable = (name: string): string =>
  /^[\x21-\x7e]{1,100}$/.test(name) ? name : JSON.stringify(name.slice(0, 100))
