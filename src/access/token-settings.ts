/** Reads the settings of tokens and roles, and the token file, again when it changes. */
import { readFileSync, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { FastifyBaseLogger } from 'fastify'
import type { RolesOptions } from '../../schemas/grants.ts'
import { type TokenOptions, TokenSchema } from '../../schemas/options.ts'
import { collect, ConfigError, decodeUtf8, findConfigErrors, orThrow } from '../config-errors.ts'
import { isObject, parseConfigJson } from '../json/exact-json.ts'
import { isDay } from '../types/temporal.ts'
import { createGrant, findMissing, type Grant, type GrantOptions } from './grant.ts'
import { API_TOKEN, type StoredToken } from './tokens.ts'

/**
 * An undefined entry is known to be invalid. `errors` gets a line that begins with `path` for each other invalid one.
 */
export function readEntries (
  errors: string[],
  path: string,
  entries: ReadonlyArray<TokenOptions | undefined>,
  databases: unknown
): StoredToken[] {
  const tokens = entries.flatMap((entry, index) =>
    entry === undefined ? [] : collect(errors, `${path}.${index}.`, () => toToken(entry, databases))
  )
  errors.push(...UNIQUE.flatMap((field) => findRepeated(path, field, entries)))
  return tokens
}

/** The roles of JWTs, and those of named requests. */
export interface Roles { readonly roles: ReadonlyMap<string, Grant>, readonly requestRoles: ReadonlyMap<string, Grant> }

/** `errors` gets a line for each invalid role. `databases`: the configured ones. */
export function readRoles (errors: string[], roles: RolesOptions, databases: unknown): Roles {
  const read = (isOfRequests: boolean): ReadonlyMap<string, Grant> => new Map(
    Object.entries(roles).filter(([, role]) => (role.for !== undefined) === isOfRequests).flatMap(([name, role]) =>
      collect(errors, `roles.${name}.`, (): [string, Grant] => {
        const { for: _for, ...options } = role
        requireGrant(options as GrantOptions, databases, true)
        if (isOfRequests && options.requests !== undefined) {
          throw new Error('requests: is not allowed with "for": a request calls no others')
        }
        return [name, createGrant(name, options as GrantOptions, 'role')]
      })
    )
  )
  return { roles: read(false), requestRoles: read(true) }
}

/**
 * `databases`: the configured ones; not an object if the setting itself is invalid. @throws Error for a grant that is
 * not complete, or that names a database that is not configured
 */
function requireGrant (options: GrantOptions, databases: unknown, mustNameDatabases: boolean): void {
  const missing = findMissing(options, mustNameDatabases)
  if (missing !== undefined) throw new Error(missing)
  const { databases: named = {} } = options
  if (named === '*' || !isObject(databases)) return
  const unknown = Object.keys(named).find((database) => !Object.hasOwn(databases, database))
  if (unknown !== undefined) {
    throw new Error(
      `databases.${unknown}: is not a configured database; the databases are ${Object.keys(databases).join(', ')}`
    )
  }
}

/** Only one of two entries for a token could apply, and the name identifies the owner of an idempotency key. */
const UNIQUE = ['sha256', 'name'] as const

function findRepeated (
  path: string,
  field: (typeof UNIQUE)[number],
  entries: ReadonlyArray<TokenOptions | undefined>
): string[] {
  const first = new Map<string, number>()
  return entries.flatMap((entry, index) => {
    if (entry === undefined) return []
    const { [field]: value } = entry
    const earlier = first.get(value)
    if (earlier === undefined) {
      first.set(value, index)
      return []
    }
    const isVariable = field === 'sha256' && entry.name === API_TOKEN
    return [`${isVariable ? API_TOKEN : `${path}.${index}.${field}`}: is the same as that of ${path}.${earlier}`]
  })
}

function toToken ({ name, sha256, expires, ...options }: TokenOptions, databases: unknown): StoredToken {
  requireGrant(options, databases, false)
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires)
  return { sha256, grant: createGrant(name, options), expiresAt }
}

const EXPIRY = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

/** In milliseconds since 1970; a day without a time is midnight UTC. @throws Error for an invalid date */
export function parseExpiry (text: string): number {
  // Date.parse accepts February 30 as a day in March
  const time = EXPIRY.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) {
    throw new Error('expires: must be a date or a time with an offset, such as 2027-01-01 or 2027-01-01T12:00:00Z')
  }
  return time
}

// `tokensFile` is a JSON list of tokens, in addition to the configuration.

export interface TokenFile {
  readonly path: string
  /** @throws ConfigError with one line per error; no line contains part of a token */
  parse (text: string): readonly StoredToken[]
}

const FileSchema = Type.Array(TokenSchema, { description: 'of entries as "row-query token" prints them' })
const SETTING = 'tokensFile'

/**
 * `context`: databases that entries may name, tokens that they must not repeat, and what finds the requests that they
 * cannot call.
 */
export function createTokenFile (
  path: string,
  context: {
    readonly databases: unknown
    readonly tokens?: ReadonlyArray<TokenOptions | undefined> | undefined
    readonly findUncallable?: (grant: Grant, path: string) => readonly string[]
  }
): TokenFile {
  const taken = UNIQUE.map((field) => ({ field, values: new Set(context.tokens?.map((entry) => entry?.[field])) }))
  return {
    path,
    parse (text) {
      if (text.length > MAX_LENGTH) throw new ConfigError([TOO_LARGE])
      const entries = parseEntries(text)
      const errors = findFormErrors(entries)
      const sound = errors.length === 0 ? entries : []
      const tokens = readEntries(errors, SETTING, sound, context.databases)
      if (errors.length === 0 && context.findUncallable !== undefined) {
        for (const [index, { grant }] of tokens.entries()) {
          errors.push(...context.findUncallable(grant, `${SETTING}.${index}`))
        }
      }
      // removing a token from the file would not revoke it if the configuration has it too
      for (const [index, entry] of sound.entries()) {
        for (const { field, values } of taken) {
          if (values.has(entry[field])) errors.push(`${SETTING}.${index}.${field}: is already in "tokens"`)
        }
      }
      if (errors.length > 0) throw new ConfigError(atMost(errors))
      return tokens
    }
  }
}

/** @throws ConfigError */
export function readTokenFile ({ path, parse }: TokenFile): readonly StoredToken[] {
  if (isTooLarge(path)) throw new ConfigError([TOO_LARGE])
  const bytes = orThrow(() => readFileSync(path), () => new ConfigError([`${SETTING}: the file cannot be read`]))
  return parse(orThrow(() => decodeUtf8(bytes), () => new ConfigError([NOT_TEXT])))
}

function parseEntries (text: string): TokenOptions[] {
  const entries = orThrow(
    () => parseConfigJson(text),
    ({ message }) => new ConfigError([`${SETTING}: the file ${message}`])
  )
  if (!Array.isArray(entries)) {
    throw new ConfigError(findConfigErrors(FileSchema, entries, new Map([['configuration', SETTING]])))
  }
  return entries as TokenOptions[]
}

function findFormErrors (entries: readonly unknown[]): string[] {
  const errors: string[] = []
  for (const [index, entry] of entries.entries()) {
    if (Value.Check(TokenSchema, entry) && findMissing(entry, false) === undefined) continue
    const path = `${SETTING}.${index}`
    // errors that are not shown only count: what is wrong takes longer to find out than that something is
    errors.push(...errors.length < MAX_ERRORS ? findEntryErrors(entry, path) : [path])
  }
  return errors
}

function findEntryErrors (entry: unknown, path: string): string[] {
  const missing = findMissing(Object(entry), false)
  return [
    ...findConfigErrors(TokenSchema, entry, new Map([['configuration', path]])),
    ...missing === undefined ? [] : [missing]
  ].map((line) => line.startsWith(path) ? line : `${path}.${line}`)
}

/** Maximum size of the file in characters, and of the list of its errors. */
const [MAX_LENGTH, MAX_ERRORS] = [16_777_216, 20]
/** A larger file is not read: a character is at most three bytes. */
const MAX_BYTES = 3 * MAX_LENGTH
const isTooLarge = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES
const TOO_LARGE = `${SETTING}: the file is larger than ${MAX_LENGTH} characters`
const NOT_TEXT = `${SETTING}: the file is not UTF-8 text`

const atMost = (errors: readonly string[]): string[] =>
  errors.length <= MAX_ERRORS
    ? [...errors]
    : [...errors.slice(0, MAX_ERRORS), `${SETTING}: at least ${errors.length - MAX_ERRORS} more errors`]

export interface TokenWatch {
  /** Reads the file now. Errors in it are logged. */
  refresh (): Promise<void>
  /** Parses the file with this parser from now on. */
  use (file: TokenFile): void
  stop (): void
}

/** Between reads, in milliseconds: a token that is removed from the file works for at most this long. */
const INTERVAL = 500

/**
 * Compares contents at an interval: modification times are too coarse, and `fs.watch` misses changes when the file is
 * replaced, is a symbolic link (as in a container) or is on a network disk.
 */
export function watchTokens ({
  file: first,
  log,
  onChange
}: {
  readonly file: TokenFile
  readonly log: FastifyBaseLogger
  readonly onChange: (tokens: readonly StoredToken[]) => void
}): TokenWatch {
  let file = first
  let seen: string | undefined | null = null
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const refresh = async (): Promise<void> => {
    let problem = `${SETTING}: cannot be read`
    const text = await stat(file.path).then(async ({ size }) => {
      if (size > MAX_BYTES) {
        problem = TOO_LARGE
        return
      }
      const bytes = await readFile(file.path)
      problem = NOT_TEXT
      return decodeUtf8(bytes)
    }).catch(() => undefined)
    if (stopped || text === seen) return
    seen = text
    if (text === undefined) return refuse([problem])
    try {
      const tokens = file.parse(text)
      onChange(tokens)
      log.info({ tokens: tokens.length }, 'token file read')
    } catch (error) {
      refuse((error as ConfigError).errors)
    }
  }
  const refuse = (errors: readonly string[]): void =>
    log.error({ errors }, 'the token file cannot be used; the previous tokens stay in use')
  const wait = (): void => {
    timer = setTimeout(() => refresh().then(wait), INTERVAL).unref()
  }
  wait()
  return {
    refresh,
    use (other) { file = other },
    stop () {
      stopped = true
      clearTimeout(timer)
    }
  }
}
