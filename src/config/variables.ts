/** The environment variables of settings. Their names and types are derived from the schemas. */
import { Type, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { ConfigSchema, DatabaseSchema } from '../../schemas/options.ts'
import { findConfigErrors } from '../config-errors.ts'
import { findNearest } from '../nearest.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A setting that a variable can set: a string, number, boolean or list of strings. */
export interface Variable {
  /** The keys that lead to the setting, in the configuration or, with `ofDatabases`, in the settings of each database. */
  readonly path: readonly string[]
  /** What a variable may set; other forms of the setting, such as objects, are left out. */
  readonly schema: TSchema
  readonly ofDatabases: boolean
}

const PREFIX = 'ROW_QUERY_'

const isList = ({ type, items }: TSchema): boolean => type === 'array' && items.type === 'string'
const isPlain = (schema: TSchema): boolean => schema['const'] !== undefined || ['string', 'integer', 'boolean'].includes(schema['type']) || isList(schema)
const membersOf = (schema: TSchema): TSchema[] => schema['anyOf'] ?? [schema]

function * walk (schema: TSchema, path: readonly string[]): Generator<Pick<Variable, 'path' | 'schema'>> {
  for (const [key, child] of Object.entries<TSchema>(schema['properties'])) {
    const members = membersOf(child)
    const plain = members.filter(isPlain)
    if (plain.length > 0) yield { path: [...path, key], schema: plain.length === members.length ? child : Type.Union(plain, { description: child.description as string }) }
    for (const member of members) if (member['properties'] !== undefined) yield * walk(member, [...path, key])
  }
}

/** Settings that belong to one database have no variable: its URL, which is required, and lists such as replicas. */
function * walkDatabase (): Generator<Pick<Variable, 'path' | 'schema'>> {
  const required = new Set<string>(DatabaseSchema.required)
  for (const variable of walk(DatabaseSchema, [])) if (!isList(variable.schema) && !required.has(variable.path.join('.'))) yield variable
}

/** `pool.idleTimeout` -> `ROW_QUERY_POOL_IDLE_TIMEOUT` */
const nameOf = (path: readonly string[]): string => PREFIX + path.join('_').replace(/[A-Z]/g, '_$&').toUpperCase()

/** Name -> setting. */
export const VARIABLES: ReadonlyMap<string, Variable> = new Map([
  ...Array.from(walk(ConfigSchema, []), (variable): [string, Variable] => [nameOf(variable.path), { ...variable, ofDatabases: false }]),
  ...Array.from(walkDatabase(), (variable): [string, Variable] => [nameOf(variable.path), { ...variable, ofDatabases: true }])
])

/** Variables that are not derived from a setting. */
export const OTHER_VARIABLES = ['ROW_QUERY_CONFIG', 'DATABASE_URL', 'API_TOKEN', 'API_TOKEN_PERMISSIONS']

/**
 * Reads the text of a variable or flag as the type of its setting. Text of another type stays a string, and adds an error.
 * `source`: the name of the variable or flag. No error contains the text.
 */
export function readVariable (source: string, { schema }: Pick<Variable, 'schema'>, text: string): { value: unknown, errors: string[] } {
  const value = isList(schema) ? splitList(text) : readPlain(schema, text)
  const errors = findConfigErrors(schema, value, new Map([['configuration', source]]))
  if (text === '' && errors.length > 0) return { value, errors: [(errors[0] as string).replace(/^.*?: /, `${source}: is empty; it `)] }
  return { value, errors: errors.map((line) => line.startsWith(source) ? line : `${source}.${line}`) }
}

/** Keeps an empty text as it is, because every empty variable is an error. */
const splitList = (text: string): unknown => text === '' ? text : text.split(',').map((item) => item.trim())

function readPlain (schema: TSchema, text: string): unknown {
  const values = [text, ...(/^\d{1,15}$/.test(text) ? [Number(text)] : []), ...(text === 'true' || text === 'false' ? [text === 'true'] : [])]
  return values.find((value) => Value.Check(schema, value)) ?? text
}

/**
 * Matches the variables that Kubernetes and Docker add for each service near a container; those of a service called row-query begin with our prefix.
 * One of them may have the name of a setting: ROW_QUERY_PORT=tcp://10.0.0.1:80.
 */
const OF_SERVICE = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
const isOfService = (name: string, text: string): boolean => OF_SERVICE.test(name) || (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(text))

/** Returns the environment without variables that Kubernetes or Docker have added for a service called row-query. */
export function withoutServices (env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name, text = '']) => !name.startsWith(PREFIX) || !isOfService(name, text)))
}

/** Returns one line for each unknown variable with the prefix. `aliases`: other names of variables, for the hint. */
export function findUnknownVariables (env: Environment, aliases: readonly string[]): string[] {
  const known = new Set([...VARIABLES.keys(), ...OTHER_VARIABLES, ...aliases])
  const unknown = Object.keys(env).filter((name) => name.startsWith(PREFIX) && env[name] !== undefined && !known.has(name))
  const byRest = new Map(Array.from(known, (name) => [name.replace(PREFIX, ''), name]))
  return unknown.map((name) => {
    const nearest = byRest.get(findNearest(name.slice(PREFIX.length), byRest.keys()) ?? '')
    return `${printable(name)}: is not a variable of row-query${nearest === undefined ? '' : `; did you mean ${nearest}?`}`
  })
}

const printable = (name: string): string => /^[\x21-\x7e]{1,100}$/.test(name) ? name : JSON.stringify(name.slice(0, 100))
