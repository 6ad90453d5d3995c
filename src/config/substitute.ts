/**
 * Replaces `${NAME}` and `${file:path}` in the strings of a configuration file, so that it need not contain secrets.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { ConfigSchema, DatabaseSchema, type TokenOptions } from '../../schemas/options.ts'
import { API_TOKEN, hashToken, MIN_TOKEN_LENGTH } from '../access/tokens.ts'
import { decodeUtf8, findConfigErrors, orThrow } from '../config-errors.ts'
import { findNearest } from '../errors.ts'

// The environment variables of settings. Their names and types are derived from the schemas.

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

/** One line for each unknown variable with the prefix. `aliases`: other names of variables, for the hint. */
export function findUnknownVariables (env: Environment, aliases: readonly string[]): string[] {
  const names = new Set([...VARIABLES.keys(), ...OTHER_VARIABLES, ...aliases])
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

/** Maximum size of a file, in bytes. Kubernetes and Docker allow secrets of 1 MiB and 500 kB. */
const MAX_SIZE = 1_048_576

/** Without the newline at the end. @throws Error with the reason, which contains nothing of the file */
function readSecretFile (path: string): string {
  const bytes = readBytes(path)
  if (bytes.length > MAX_SIZE) throw new Error('is larger than 1 MiB')
  const text = decodeUtf8(bytes).replace(/\r?\n$/, '')
  if (text === '') throw new Error('is empty')
  return text
}

/** Reads at most one byte more than MAX_SIZE. Without O_NONBLOCK, opening a FIFO would wait for a writer. */
function readBytes (path: string): Buffer {
  const file = orThrow(
    () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    (error: NodeJS.ErrnoException) => new Error(`cannot be read (${error.code})`)
  )
  try {
    if (!fstatSync(file).isFile()) throw new Error('is not a regular file')
    const bytes = Buffer.alloc(MAX_SIZE + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null)
    }
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

const FORM =
  'after ${, the name of a variable or file:path and a closing brace are required; write $${ for the characters ${'

/** `$${` stands for `${`. A reference ends at the next brace; without one it is invalid. */
const REFERENCE = /\$\$\{|\$\{(?:([^}]*)\})?/g

/**
 * Replaces the references in all strings of a parsed file, in place. Keys stay as they are, and inserted texts are not
 * searched again. Returns a line for each string with an invalid reference, by its setting (`databases.shop.url`). No
 * line contains a value.
 */
export function substitute (root: object, env: Environment): Map<string, string> {
  const errors = new Map<string, string>()
  const visit = (holder: Record<string, unknown>, path: string): void => {
    for (const key of Object.keys(holder)) {
      const { [key]: value } = holder
      const setting = path === '' ? key : `${path}.${key}`
      if (typeof value === 'object' && value !== null) visit(value as Record<string, unknown>, setting)
      else if (typeof value === 'string') {
        holder[key] = replace(value, env, (reason) => errors.set(setting, `${setting}: ${reason}`))
      }
    }
  }
  visit(root as Record<string, unknown>, '')
  return errors
}

function replace (text: string, env: Environment, refuse: (reason: string) => void): string {
  return text.replace(REFERENCE, (match, reference: string | undefined) => {
    if (match.startsWith('$$')) return match.slice(1)
    try {
      return resolve(reference ?? '', env)
    } catch (error) {
      refuse((error as Error).message)
      return match
    }
  })
}

function resolve (reference: string, env: Environment): string {
  if (reference.startsWith('file:') && reference.length > 'file:'.length) {
    const path = reference.slice('file:'.length)
    return orThrow(() => readSecretFile(path), ({ message }) => new Error(`the file ${path} ${message}`))
  }
  // a text with other characters may be part of a password, so the error does not repeat it
  if (!/^[A-Za-z_]\w*$/.test(reference)) throw new Error(FORM)
  const value = Object.hasOwn(env, reference) ? env[reference] : undefined
  if (value === undefined) throw new Error(`the variable ${reference} is not set`)
  if (value === '') throw new Error(`the variable ${reference} is empty`)
  return value
}

/** From API_TOKEN and API_TOKEN_PERMISSIONS. No error contains the token. */
export function readApiToken (
  token: string | undefined,
  list: string | undefined
): { readonly entry: TokenOptions | undefined; readonly errors: readonly string[] } {
  if (token === '') return { errors: ['API_TOKEN: is empty'], entry: undefined }
  const permissions = [...new Set(list?.split(',').map((permission) => permission.trim()) ?? VERBS)]
  const errors = [...findPermissionErrors(permissions), ...findTokenErrors(token)]
  if (list !== undefined && token === undefined) errors.push('API_TOKEN_PERMISSIONS: is set, but API_TOKEN is not')
  const isValid = token !== undefined && errors.length === 0
  return {
    errors,
    entry: isValid ? { name: API_TOKEN, sha256: hashToken(token), permissions: permissions as Verb[] } : undefined
  }
}

function findPermissionErrors (permissions: readonly string[]): string[] {
  const areVerbs = permissions.every((permission) => VERBS.includes(permission as Verb))
  if (areVerbs) return []
  return [
    `API_TOKEN_PERMISSIONS: ${permissions.join('') === '' ? 'is empty; it ' : ''}must be a comma-separated list of ` +
    `${VERBS.join(', ')}`
  ]
}

function findTokenErrors (token: string | undefined): string[] {
  if (token === undefined) return []
  if (!/^[\x21-\x7e]+$/.test(token)) return ['API_TOKEN: must be printable ASCII without spaces']
  return token.length < MIN_TOKEN_LENGTH
    ? [`API_TOKEN: must have at least ${MIN_TOKEN_LENGTH} characters; "openssl rand -hex 32" generates one`]
    : []
}
