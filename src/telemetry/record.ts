/** What is noted of one request on its way. The log, the metrics, the spans and the header are all made of it, at its end. */
import { context, type Context } from '@opentelemetry/api'
import type { Table } from '../catalog/catalog.ts'
import type { Result } from '../dialects/dialect.ts'
import type { ServiceError } from '../errors.ts'
import type { Verb } from '../../schemas/grant.ts'

/** Told of requests at their end. */
export interface Collector {
  /** Whether of one that ended so. */
  accepts (refusal: ServiceError | undefined): boolean
  collect (record: RequestRecord): void
}

/**
 * One object and a few readings of the clock: it is made for every request that somebody looks at. Times are those of
 * `performance.now()`, 0 until there is one; what a stranger may have made up (a database, a table, a verb) is never in it.
 */
export class RequestRecord {
  readonly startedAt = performance.now()
  planStartedAt = 0
  plannedAt = 0
  compiledAt = 0
  executedAt = 0
  endedAt = 0

  /** Whether a line of the log will tell of it. */
  readonly isLogged: boolean
  /** Whether somebody accepts to know of planning and compiling too, which takes readings of its own. */
  readonly isDetailed: boolean
  requestId = ''
  verb: Verb | '' = ''
  /** One that is configured. */
  database = ''
  /** One that is in the catalog. */
  table = ''
  /** The name of the token. */
  token = ''
  /** The pattern of its path, where there is no verb. */
  route = ''
  status = 0
  /** Rows of the answer, or rows that were changed. */
  rows: number | undefined
  refusal: ServiceError | undefined
  /** Of the span that was active when the walk began. */
  context: Context | undefined

  constructor (isLogged: boolean, isDetailed: boolean) {
    this.isLogged = isLogged
    this.isDetailed = isDetailed
  }

  /** Its table is found, and it is being planned. */
  begin (table: Table): void {
    this.table = table.name
    // of an attempt before this one nothing is left
    this.plannedAt = this.compiledAt = this.executedAt = 0
    if (!this.isDetailed) return
    this.context = context.active()
    this.planStartedAt = performance.now()
  }

  planned (): void {
    if (this.isDetailed) this.plannedAt = performance.now()
  }

  /** Its statement is ready, and being sent. */
  compiled (): void {
    this.compiledAt = performance.now()
  }

  executed ({ returned, changed }: Result): void {
    this.executedAt = performance.now()
    this.rows = returned ?? changed
  }

  end (): void {
    this.endedAt = performance.now()
  }

  /** Milliseconds until its answer was ready to be sent. */
  get total (): number {
    return this.endedAt - this.startedAt
  }

  /** Milliseconds of planning and compiling. */
  get planning (): number {
    return this.planStartedAt === 0 ? 0 : (this.compiledAt || this.endedAt) - this.planStartedAt
  }

  /** Milliseconds of waiting for a connection and for the database; undefined where no statement was sent. */
  get inDatabase (): number | undefined {
    return this.compiledAt === 0 ? undefined : (this.executedAt || this.endedAt) - this.compiledAt
  }
}

/** The value of a `Server-Timing` header (W3C): milliseconds of planning, in the database, and altogether. */
export function timingOf ({ planning, inDatabase = 0, total }: RequestRecord): string {
  return `plan;dur=${planning.toFixed(3)}, db;dur=${inDatabase.toFixed(3)}, total;dur=${total.toFixed(3)}`
}
