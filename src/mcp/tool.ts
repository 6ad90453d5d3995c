/** The types of a tool and of a call. */
import type { FastifyBaseLogger } from 'fastify'
import type { Grant } from '../access/grant.ts'
import type { Client } from '../dialects/dialect.ts'
import type { Schema } from '../openapi/schema.ts'
import type { RequestRecord } from '../telemetry/record.ts'

/** The arguments of a call as sent; numbers that JavaScript would change are kept as text (src/json). */
export type Arguments = Readonly<Record<string, unknown>>

/** The caller of a tool. */
export interface Caller {
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

export interface Call extends Omit<Caller, 'grant'> {
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
