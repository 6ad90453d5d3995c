/** Grants: what a caller may do, and where. Every way of authentication ends in a grant. */
import type { TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyRequest } from 'fastify'
import type { Body, OnConflict } from '../../schemas/body.ts'
import { fieldNamed, fieldsWith } from '../../schemas/fields.ts'
import {
  type Verb, GrantSchema, HostGrantSchema, NAMED_DATABASES, PermissionsSchema, VERBS
} from '../../schemas/grants.ts'
import type { Table } from '../catalog/catalog.ts'
import { orThrow, findConfigErrors } from '../config-errors.ts'
import { at, permissionDenied } from '../errors.ts'
import { objectKeys } from '../json/exact-json.ts'
import { copyGrant, NotPlain } from '../json/plain-values.ts'
import { readRules, type Claims, type ConfiguredRule, type RuleOptions } from './rules.ts'

export interface Grant {
  /** The name of the token or the role, for logs. Never the token itself. */
  readonly name: string
  /**
   * Identifies the caller among all callers, for rate limits and idempotency keys. Undefined for a JWT without a
   * subject.
   */
  readonly owner: string | undefined
  readonly permissions: ReadonlySet<Verb>
  /** The permissions apply there. */
  readonly databases: 'all' | ReadonlyMap<string, DatabaseGrant>
  /** Those that may be called and run with the rights of a role: all, or these; none if omitted. */
  readonly requests?: 'all' | ReadonlySet<string> | undefined
  readonly claims: Claims
  /** The tables as the grant sees them, by the tables of the catalog (granted-table.ts). */
  readonly tables: WeakMap<Table, Table>
}

export interface DatabaseGrant {
  readonly tables: 'all' | ReadonlyMap<string, TableGrant>
  /** There is a permission on at least one table. */
  readonly isSeen: boolean
  /** At least one table has columns or rows that the grant does not see. */
  readonly isNarrowed: boolean
}

export interface TableGrant {
  /** The permissions of the entry, restricted by those of the table. */
  readonly permissions: ReadonlySet<Verb>
  /** Those that the configuration names for the table, for `row-query check`. */
  readonly named?: readonly Verb[] | undefined
  /** Undefined for every column. */
  readonly columns: ColumnGrant | undefined
  /** All of them hold for every row that is seen or written. */
  readonly rules: readonly ConfiguredRule[]
}

/** The columns that are seen, and those that may be written. */
export type ColumnGrant = Readonly<Record<'select' | 'insert' | 'update', ReadonlySet<string>>>

/** A configured grant. */
export interface GrantOptions {
  /** May be omitted beside `requests`. */
  readonly permissions?: readonly Verb[] | undefined
  /**
   * For each database `"*"`, a list of tables, or an object of tables; all databases if omitted, and none if
   * `permissions` are omitted, too.
   */
  readonly databases?:
    '*' | Readonly<Record<string, '*' | readonly string[] | Readonly<Record<string, TableGrantOptions>>>> | undefined
  /** The named requests with `as` that may be called: a list of names, or `"*"`; none if omitted. */
  readonly requests?: '*' | readonly string[] | undefined
  /** Values for `{"$claim": …}` in the rules of `rows`. */
  readonly claims?: Claims | undefined
}

/** The configuration of one table in a grant. */
export interface TableGrantOptions {
  /** Some of the permissions of the entry; all of them if omitted. */
  readonly permissions?: readonly Verb[]
  /**
   * Columns that are seen (`select`) and that may be written. If omitted, `insert` and `update` are the list of
   * `select`, and `select` is empty.
   */
  readonly columns?: {
    readonly select?: readonly string[]
    readonly insert?: readonly string[]
    readonly update?: readonly string[]
  }
  /** Rules by column: only rows that satisfy all of them exist for the grant, and only such rows can be written. */
  readonly rows?: Readonly<Record<string, RuleOptions>>
}

/**
 * `kind`: the source of the grant, within which names are unique. @throws Error for a rule that cannot be used; the
 * message begins with its path
 */
export function createGrant (
  name: string,
  { permissions, requests, databases = permissions === undefined ? {} : '*', claims = {} }: GrantOptions,
  kind: 'token' | 'role' | 'app' = 'token'
): Grant {
  const granted = new Set(permissions)
  return {
    name,
    owner: `${kind} ${name}`,
    permissions: granted,
    databases:
      databases === '*'
        ? 'all'
        : new Map(
          Object.entries(databases).map(([database, tables]) => [
            database,
            createDatabaseGrant(granted, tables, `databases.${database}`)
          ])
        ),
    ...(requests !== undefined && { requests: requests === '*' ? 'all' as const : new Set(requests) }),
    claims,
    tables: new WeakMap()
  }
}

/** A grant needs permissions, or requests to call. `named`: whether permissions need databases. Returns the error. */
export function findMissing (
  { permissions, databases, requests }: Pick<GrantOptions, 'permissions' | 'databases' | 'requests'>,
  named: boolean
): string | undefined {
  if (permissions === undefined && requests === undefined) {
    return `permissions: is required (${PermissionsSchema.description})`
  }
  const needsDatabases = named && databases === undefined && (permissions !== undefined || requests === undefined)
  return needsDatabases ? `databases: is required (${NAMED_DATABASES})` : undefined
}

/** The grant of a role for the claims of a JWT. `owner`: undefined if it has no subject. */
export function withClaims (role: Grant, claims: Claims, owner: string | undefined): Grant {
  return { ...role, owner, claims, tables: new WeakMap() }
}

function createDatabaseGrant (
  permissions: ReadonlySet<Verb>,
  tables: '*' | readonly string[] | Readonly<Record<string, TableGrantOptions>>,
  path: string
): DatabaseGrant {
  const isSeen = permissions.size > 0
  if (tables === '*') return { tables: 'all', isSeen, isNarrowed: false }
  if (isList(tables)) {
    return {
      tables: new Map(tables.map((table) => [table, { permissions, columns: undefined, rules: [] }])),
      isSeen,
      isNarrowed: false
    }
  }
  const entries = Object.entries(tables).map(([table, options]): [string, TableGrant] => [
    table,
    createTableGrant(permissions, options, `${path}.${table}`)
  ])
  return {
    tables: new Map(entries),
    isSeen: entries.some(([, { permissions }]) => permissions.size > 0),
    isNarrowed: entries.some(([, { columns, rules }]) => columns !== undefined || rules.length > 0)
  }
}

const isList = (tables: object): tables is readonly string[] => Array.isArray(tables)

function createTableGrant (
  granted: ReadonlySet<Verb>,
  { permissions: named, columns, rows = {} }: TableGrantOptions,
  path: string
): TableGrant {
  const permissions = named ?? [...granted]
  const restricted = new Set(permissions.filter((verb) => granted.has(verb)))
  // a select must return at least one column
  if (columns !== undefined && (columns.select ?? []).length === 0) restricted.delete('select')
  return {
    permissions: restricted,
    named,
    columns: columns && createColumnGrant(columns),
    rules: orThrow(
      () => readRules(rows),
      ({ message }) => new Error(`${path}.rows.${message}`)
    )
  }
}

function createColumnGrant ({
  select = [],
  insert = select,
  update = select
}: NonNullable<TableGrantOptions['columns']>): ColumnGrant {
  return { select: new Set(select), insert: new Set(insert), update: new Set(update) }
}

/** The grant on a table; undefined if the grant does not name tables of the database. */
export function findTableGrant (grant: Grant, database: string, table: string): TableGrant | undefined {
  if (grant.databases === 'all') return undefined
  const tables = grant.databases.get(database)?.tables
  return tables === 'all' ? undefined : tables?.get(table)
}

const NONE: ReadonlySet<Verb> = new Set()

/** None if the table must appear not to exist. */
export function permissionsOn (grant: Grant, database: string, table: string): ReadonlySet<Verb> {
  if (grant.databases === 'all') return grant.permissions
  const tables = grant.databases.get(database)?.tables
  if (tables === undefined) return NONE
  return tables === 'all' ? grant.permissions : tables.get(table)?.permissions ?? NONE
}

/** Whether the grant holds a permission on any table of the database. If not, the database must appear not to exist. */
export function seesDatabase (grant: Grant, database: string): boolean {
  return grant.databases === 'all' ? grant.permissions.size > 0 : grant.databases.get(database)?.isSeen ?? false
}

/** A token, a subject of an issuer, a caller of a host app; a JWT without a subject is its role of its issuer. */
export const principalOf = ({ owner, name, claims }: Grant): string =>
  owner ?? `role ${JSON.stringify([claims['iss'], name])}`

/** A grant of a host app, in the form of a token's entry. */
export interface HostGrant extends GrantOptions {
  /** Identifies the caller in logs and for rate limits and idempotency keys. */
  readonly name: string
  /** Required, except beside `requests`: `"*"` for all databases. */
  readonly databases?: NonNullable<GrantOptions['databases']>
}

/** The grant of a request in process. */
export interface CallGrant extends GrantOptions {
  /** Passed to the hook for writes; `in process` if omitted. */
  readonly name?: string
}

/** Authenticates a request for the host app. Returns null if it does not know the caller. */
export type Authenticate = (
  request: FastifyRequest
) => HostGrant | null | undefined | Promise<HostGrant | null | undefined>

const hostGrants = TypeCompiler.Compile(HostGrantSchema)
/** Strict: a misspelt `databases` would allow access to all databases. */
const callGrants = TypeCompiler.Compile(GrantSchema)

/** Null if the app does not know the caller. @throws InvalidGrant, and whatever the function throws */
export async function getHostGrant (authenticate: Authenticate, request: FastifyRequest): Promise<Grant | null> {
  const returned = authenticate(request)
  // only resolving a thenable gives its value: its `then` may return anything
  const isThenable = typeof (returned as Promise<unknown> | null | undefined)?.then === 'function'
  const given = isThenable ? await Promise.resolve(returned) : returned
  return given == null ? null : toGrant(given)
}

/** @throws InvalidGrant */
export const toGrant = (given: unknown, giver = 'authenticate() returned'): Grant => readGrant(hostGrants, given, giver)

/** @throws InvalidGrant */
export const toCallGrant = (given: unknown): Grant => readGrant(callGrants, given, 'The request has')

const NAMES = new Map([['configuration', 'the grant']])

/**
 * Copies the grant at once, because the app may use the same object for the next request. `giver`: the beginning of the
 * message. @throws InvalidGrant
 */
function readGrant (schema: TypeCheck<TSchema>, given: unknown, giver: string): Grant {
  const invalid = (reason: string): InvalidGrant => new InvalidGrant(giver, reason)
  const copyClaims = (claims: unknown): unknown => orThrow(
    () => structuredClone(claims),
    () => invalid('the claims contain something that cannot be copied, such as a function')
  )
  const copy = orThrow(
    () => copyGrant(given, copyClaims),
    (error) => error instanceof NotPlain ? invalid(error.message) : error
  )
  if (!schema.Check(copy)) throw invalid(findConfigErrors(schema.Schema(), copy, NAMES).join('; '))
  const { name = 'in process', ...options } = copy as CallGrant
  const missing = findMissing(options, schema === hostGrants)
  if (missing !== undefined) throw invalid(missing)
  return orThrow(() => createGrant(name, options, 'app'), ({ message }) => invalid(message))
}

/** A bug of the host app: 500 over HTTP; only the log has the reason. */
export class InvalidGrant extends Error {
  readonly code = 'INTERNAL'
  readonly statusCode = 500

  constructor (giver: string, reason: string) {
    super(`${giver} a grant that is not valid: ${reason}`)
    this.name = 'InvalidGrant'
  }
}

// Which permissions a body needs.

/**
 * Fields that need a permission besides their verb's. `onConflict` is not among them, because it needs the permission
 * update only if it may change rows.
 */
const NEEDING = new Map(VERBS.map((verb) => [verb, fieldsWith('needs').flatMap((field) => {
  const permission = fieldNamed(field)?.needs?.[verb]
  return permission === undefined ? [] : [{ field, permission }]
})]))

export function mayUse (field: string, verb: Verb, verbs: readonly Verb[]): boolean {
  const needed = fieldNamed(field)?.needs?.[verb]
  return needed === undefined || verbs.includes(needed)
}

/** The permission of the verb, and of fields that do more than the verb. @throws PERMISSION_DENIED */
export function requirePermissions (permissions: ReadonlySet<Verb>, body: Body): void {
  if (!permissions.has(body.verb)) throw permissionDenied(`The token does not have the permission ${body.verb}`)
  if (body.verb === 'insert' && body.onConflict !== undefined && !permissions.has('update')) {
    if (changesRows(body.data, body.onConflict)) refuseField('onConflict', 'update')
  }
  const all = NEEDING.get(body.verb) ?? []
  for (let index = 0; index < all.length; index++) {
    const { field, permission } = all[index] as typeof all[number]
    const value = (body as unknown as Readonly<Record<string, unknown>>)[field]
    if (value !== undefined && value !== false && !permissions.has(permission)) refuseField(field, permission)
  }
}

/** Only a select in a transaction has it. @throws PERMISSION_DENIED */
export function requireLock (permissions: ReadonlySet<Verb>): void {
  if (!permissions.has('update')) throw at('/lock', permissionDenied('"lock" needs the permission update'))
}

function refuseField (field: string, permission: Verb): never {
  throw permissionDenied(`"${field}" needs the permission ${permission}, which the token does not have`)
}

/** Whether an upsert may change rows that exist. Without `set` it writes the columns outside of the key. */
function changesRows (data: object | readonly object[], { key, set }: OnConflict): boolean {
  if (set !== undefined) return !Array.isArray(set) || set.length > 0
  const names = new Set(key)
  return [data].flat().some((row) => objectKeys(row).some((name) => !names.has(name)))
}
