import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyBaseLogger } from 'fastify'
import type { Verb } from '../../schemas/grants.ts'
import { type Grant, seesDatabase } from '../access/grant.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { McpSettings } from '../config/settings.ts'
import type { Database } from '../databases/database.ts'
import type { Client } from '../dialects/dialect.ts'
import { at, invalidBody, type ServiceError } from '../errors.ts'
import type { InProcess } from '../in-process/calls.ts'
import type { NamedRequests } from '../named/call.ts'
import { type Schema, type Schemas, toDocument } from '../openapi/value-schema.ts'
import { type VisibleTable, visibleTables } from '../openapi/visible.ts'
import { clampNumbers } from '../request/check-body.ts'
import { findFieldError } from '../request/check-fields.ts'
import type { RequestRecord } from '../telemetry/record.ts'

/** The arguments of a call as sent; numbers that JavaScript would change are kept as text (src/json). */
export type Arguments = Readonly<Record<string, unknown>>

export interface Principal {
  /** @throws UNAUTHENTICATED if the grant has ended */
  readonly grant: () => Grant
  /** The client whose disconnection ends the statement of a call. */
  readonly client: Client | undefined
  /** The header Row-Query-Consistency. */
  readonly consistency?: unknown
  readonly record: RequestRecord | null | undefined
  readonly requestId: string
  readonly log: FastifyBaseLogger
}

export interface Call extends Omit<Principal, 'grant'> {
  readonly grant: Grant
}

export interface Tool {
  readonly title: string
  readonly description: string
  /** Undefined if the grant may not use the tool on any table. */
  inputSchema (grant: Grant): Schema | undefined
  readonly isReadOnly: boolean
  /** Whether the tool may change or remove rows that exist; undefined for a tool that only reads. */
  readonly isDestructive?: boolean
  /** Returns the JSON text of the result. */
  run (args: Arguments, call: Call): Promise<string>
}

export const PATH = {
  database: Type.String(),
  table: Type.String({ description: 'A table or view of the database.' })
}

/** The JSON Schema of arguments, with the names of the databases that the grant sees. */
export function describeArguments (schema: TObject, grant: Grant, options: InProcess): Schema {
  const { properties, ...rest } = toDocument(schema, true) as { readonly properties: Schemas }
  const database = { ...properties['database'], enum: databasesOf(grant, options) }
  return { ...rest, properties: { ...properties, database } }
}

/** Makes numbers ordinary ones. @throws INVALID_BODY, LIMIT_OUT_OF_RANGE */
export function readArguments<T extends TObject> (
  args: Arguments,
  schema: T,
  expected?: Readonly<Record<string, string>>
): Static<T> {
  const copy = clampNumbers({ ...args }) as Record<string, unknown>
  const error = findFieldError(copy, { schema, expected })
  if (error !== undefined) throw error
  return copy
}

export const refuse = (name: string, message: string): ServiceError => at([name], invalidBody(message))

export interface ToolOptions extends InProcess, Pick<McpSettings, 'verbs' | 'requests' | 'resultLimit'> {
  readonly named?: NamedRequests | undefined
}

/** Whether the grant holds the permission on any table of the databases. */
export function holdsAnywhere (grant: Grant, databases: ReadonlyMap<string, Database>, verb: Verb): boolean {
  const { databases: granted, permissions } = grant
  if (!permissions.has(verb)) return false
  if (granted === 'all') return true
  return [...databases.keys()].some((name) => {
    const tables = granted.get(name)?.tables
    return (
      tables === 'all' || (tables !== undefined && [...tables.values()].some((table) => table.permissions.has(verb)))
    )
  })
}

export const databasesOf = (grant: Grant, { databases }: InProcess): string[] =>
  [...databases.keys()].filter((name) => seesDatabase(grant, name))

/** The tables of a database that the grant can use with tools, with their verbs that are tools. */
export function usableTables (
  catalog: Catalog,
  grant: Grant,
  { database, verbs }: { readonly database: string; readonly verbs: readonly Verb[] }
): VisibleTable[] {
  return visibleTables(catalog, grant, database).flatMap(({ table, verbs: possible }) => {
    const usable = possible.filter((verb) => verbs.includes(verb))
    return usable.length === 0 ? [] : [{ table, verbs: usable }]
  })
}
