/** What an engine answers. Only files below this folder touch a driver. */
import type { TableFacts } from '../catalog/catalog.ts'
import type { Consistency } from '../request/consistency.ts'
import type { Plan } from '../plan/plan.ts'
import type { Engine, Query } from '../sql/aliases.ts'

/** What a statement gave: the answer with its rows, or what was changed. */
export interface Result {
  /** The whole answer to a select, written as its rows arrived (src/response/sink.ts). */
  readonly answer: Buffer | string | undefined
  /** Rows in that answer. */
  readonly returned?: number
  /** Rows inserted, updated or deleted. */
  readonly changed: number
  /** The number that the database gave a new row, as digits (of no meaning where it gave none); undefined for a select. */
  readonly insertId: string | undefined
  /** Whether the new row has another key by now than it was inserted with. */
  readonly keyChanged?: boolean
}

/** Who waits for an answer: a response of Node's. */
export interface Client {
  readonly destroyed: boolean
}

/** What is known of who asks. */
export interface ExecuteOptions {
  /** Whose going away ends the statement. */
  readonly client?: Client | undefined
  /** Whether a select must not be sent to a replica. */
  readonly consistency?: Consistency | undefined
}

/** A connected database. */
export interface Dialect {
  readonly engine: Engine
  /** Reads every table: a fixed number of queries, whatever the size of the database. @throws ServiceError */
  introspect (): Promise<TableFacts[]>
  /** Runs a plan's statement, and ends it where the client goes away. @throws ServiceError, or SchemaMoved where the catalog must be read again */
  execute (query: Query, plan: Plan, options?: ExecuteOptions): Promise<Result>
  /** What the account may do, a line each, as the database says it. @throws ServiceError */
  privileges (): Promise<string[]>
  /** What is dangerous about how the database is used. `configured`: the databases that the service has. @throws ServiceError */
  findRisks (configured: readonly string[]): Promise<Risks>
  /** Whether it can be asked anything: done where it can, without a place in the queue while it is busy. @throws ServiceError */
  check? (): Promise<void>
  /** The connections, the database's own first and then those of each replica. */
  poolUse? (): PoolUse[]
  close (): Promise<void>
}

/** For a person, a line each; and the statements that grant what would be enough, where the account may do more. */
export interface Risks { readonly risks: readonly string[], readonly enough: readonly string[] }

/** In connections, and in requests that wait for one. */
export interface PoolUse {
  readonly size: number
  readonly open: number
  readonly idle: number
  /** Those of the open ones whose statement was given up and has not ended yet. */
  readonly ending: number
  readonly waiting: number
  /** Requests that had to wait for a connection since the start, and how long they waited together, in milliseconds. */
  readonly waits: number
  readonly waited: number
  /** Connections that could not be made since the start. */
  readonly failures: number
}

/** The database does not know a table or column that the catalog has: it was changed since. Nothing ran. */
export class SchemaMoved extends Error {
  /** What the database says is missing: its name for the error and, where it is safe, the name of the thing. For the log alone. */
  readonly reason: string | undefined
  /** Whether something else than the table itself may be missing: what a trigger, a view or a routine names. */
  readonly isElsewhere: boolean

  constructor (reason?: string, isElsewhere = false) {
    super('the schema has changed')
    this.name = 'SchemaMoved'
    this.reason = reason
    this.isElsewhere = isElsewhere
  }
}

/** A database error that only a statement of ours can have caused: a bug. Carries its number, never its text, which may hold values. */
export class UnknownDatabaseError extends Error {
  constructor (code: string | number) {
    super(`unexpected database error ${code}`)
    this.name = 'UnknownDatabaseError'
  }
}
