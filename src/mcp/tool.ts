/** The types of a tool and of a call. */
import type { FastifyBaseLogger } from 'fastify'
import type { Verb } from '../../schemas/grants.ts'
import { type Grant, seesDatabase } from '../access/grant.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Client } from '../dialects/dialect.ts'
import { at, invalidBody, limitOutOfRange, type ServiceError } from '../errors.ts'
import type { InProcess } from '../in-process/calls.ts'
import type { Schema } from '../openapi/value-schema.ts'
import { type VisibleTable, visibleTables } from '../openapi/visible.ts'
import { clampNumbers } from '../request/check-body.ts'
import type { RequestRecord } from '../telemetry/record.ts'

/** The arguments of a call as sent; numbers that JavaScript would change are kept as text (src/json). */
export type Arguments = Readonly<Record<string, unknown>>

/** The caller of a tool. */
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
  /** The JSON Schema of the arguments. */
  inputSchema (grant: Grant): Schema
  readonly isReadOnly: boolean
  /** Whether the tool may change or remove rows that exist; undefined for a tool that only reads. */
  readonly isDestructive?: boolean
  /** Whether the grant may use the tool on any table. */
  isUsable (grant: Grant): boolean
  /** Returns the JSON text of the result. @throws ServiceError */
  run (args: Arguments, call: Call): Promise<string>
}

// Reads the arguments of tools that do not send requests.

/** Refuses unknown arguments, and makes numbers ordinary ones. @throws INVALID_BODY */
export function readArguments<Name extends string> (
  args: Arguments,
  names: readonly Name[]
): Readonly<Partial<Record<Name, unknown>>> {
  const other = Object.keys(args).find((name) => !names.includes(name as Name))
  if (other !== undefined) throw refuse(other, `"${other}" is not an argument; the arguments are ${names.join(', ')}`)
  return clampNumbers({ ...args }) as Partial<Record<Name, unknown>>
}

/** Reads a string; undefined if it is omitted. @throws INVALID_BODY for any other value */
export function readText (name: string, value: unknown): string | undefined {
  if (value !== undefined && typeof value !== 'string') throw refuse(name, `"${name}" must be a string`)
  return value
}

/** @throws INVALID_BODY */
export function requireText (name: string, value: unknown, hint: string): string {
  const text = readText(name, value)
  if (text === undefined) throw refuse(name, `"${name}" is required: ${hint}`)
  return text
}

/** @throws INVALID_BODY, LIMIT_OUT_OF_RANGE */
export function readLimit (
  value: unknown,
  { fallback, most }: { readonly fallback: number; readonly most: number }
): number {
  if (value === undefined) return fallback
  if (!Number.isInteger(value)) throw refuse('limit', '"limit" must be a whole number')
  if ((value as number) < 1 || (value as number) > most) throw at(['limit'], limitOutOfRange(most))
  return value as number
}

export const refuse = (name: string, message: string): ServiceError => at([name], invalidBody(message))

// Finds out what a grant may do with tools.

export interface ToolOptions extends InProcess {
  /** The verbs that are tools. */
  readonly verbs: readonly Verb[]
  /** Maximum size of a result, in bytes. */
  readonly resultLimit: number
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

/** The names of the databases that the grant sees. */
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
