/**
 * Collects telemetry for each request. The log, the metrics, the spans and the `Server-Timing` header are derived from
 * it.
 */
import type { Socket } from 'node:net'
import type { Context } from '@opentelemetry/api'
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify'
import type { Verb } from '../../schemas/grants.ts'
import type { Table } from '../catalog/catalog.ts'
import { isBug, isTrouble, type ServiceError } from '../errors.ts'

export interface Collector {
  /** Whether it needs the times of planning and compiling. */
  readonly isDetailed: boolean
  /** Returns the active context of OpenTelemetry, if the collector needs it. */
  readonly readContext?: () => Context
  /** Whether the collector accepts the record of a request that ended in this way. */
  accepts (refusal: ServiceError | undefined): boolean
  collect (record: RequestRecord): void
}

/**
 * The record of one request. Times are by `performance.now()`, or 0 if not reached. Names come from the configuration
 * and the catalog, never from the request alone, because clients could otherwise create any number of metric labels.
 */
export class RequestRecord {
  readonly startedAt = performance.now()
  planStartedAt = 0
  plannedAt = 0
  compiledAt = 0
  executedAt = 0
  endedAt = 0

  /** Whether the log has a line for it: a line of the request log, or of the end of a stream or import. */
  isLogged: boolean
  /** Whether the times of planning and compiling are needed, which requires more readings of the clock. */
  readonly isDetailed: boolean
  requestId = ''
  verb: Verb | 'operations' | '' = ''
  /** Name of a configured database. */
  database = ''
  /** Name of a table of the catalog. */
  table = ''
  /** Name of the named request that was called; only a configured one. */
  request = ''
  /** Name of the tool of a language model that was called. */
  tool = ''
  token = ''
  /** A pattern, if there is no verb. */
  route = ''
  status = 0
  /** 0 for a request to one table. */
  operations = 0
  /** Number of retries of its transaction after deadlocks. */
  retries = 0
  /** Returned by a select, or changed by a write. */
  rows: number | undefined
  refusal: ServiceError | undefined
  /** The response is a stream: the record ends with it and not with its header. */
  isDeferred = false
  /** The end of the stream, if the response was one. */
  stream: {
    /** Sent, before any compression. */
    readonly bytes: number
    /** The client has received everything. */
    readonly complete: boolean
    /** The reason if it has not: the code of an error, or an action of the client or the service. */
    readonly reason: string | undefined
  } | undefined

  /** Bytes that were read, decompressed, if the request was an import. */
  importedBytes: number | undefined
  /** OpenTelemetry context at the start of planning. */
  context: Context | undefined

  readonly #readContext: (() => Context) | undefined

  constructor (isLogged: boolean, isDetailed: boolean, readContext?: () => Context) {
    this.isLogged = isLogged
    this.isDetailed = isDetailed
    this.#readContext = readContext
  }

  /** The table is found and planning starts. */
  begin (table: Table): void {
    this.table = table.name
    this.#beginPlanning()
  }

  /** Planning of several operations starts. */
  beginOperations (count: number): void {
    this.operations = count
    this.#beginPlanning()
  }

  #beginPlanning (): void {
    // clear the times of a previous attempt
    this.plannedAt = this.compiledAt = this.executedAt = 0
    if (!this.isDetailed) return
    this.context = this.#readContext?.()
    this.planStartedAt = performance.now()
  }

  planned (): void {
    if (this.isDetailed) this.plannedAt = performance.now()
  }

  /** The statement is compiled and execution starts. */
  compiled (): void {
    this.compiledAt = performance.now()
  }

  /** The transaction runs for the `attempt`th time. */
  attempted (attempt: number): void {
    if (attempt > 1) this.retries++
  }

  executed (rows: number): void {
    this.executedAt = performance.now()
    this.rows = rows
  }

  end (): void {
    this.endedAt = performance.now()
  }

  /** Milliseconds until the response was ready to be sent. */
  get total (): number {
    return this.endedAt - this.startedAt
  }

  /** Milliseconds of planning and compiling. */
  get planning (): number {
    return this.planStartedAt === 0 ? 0 : (this.compiledAt || this.endedAt) - this.planStartedAt
  }

  /** In milliseconds, also waiting for a connection; undefined if no statement was sent. */
  get inDatabase (): number | undefined {
    return this.compiledAt === 0 ? undefined : (this.executedAt || this.endedAt) - this.compiledAt
  }
}

/** Creates the records of requests with all that these collectors need. */
export function createRecorder (
  collectors: readonly Collector[],
  { requestLog, serverTiming = false }: { readonly requestLog: boolean, readonly serverTiming?: boolean }
): () => RequestRecord {
  const isDetailed = serverTiming || collectors.some((collector) => collector.isDetailed)
  const readContext = collectors.find((collector) => collector.readContext !== undefined)?.readContext
  return () => new RequestRecord(requestLog, isDetailed, readContext)
}

export function collect (collectors: readonly Collector[], record: RequestRecord): void {
  for (const collector of collectors) if (collector.accepts(record.refusal)) collector.collect(record)
}

/** `Server-Timing` (W3C): milliseconds of planning, in the database, and in total. */
export function timingOf ({ planning, inDatabase = 0, total }: RequestRecord): string {
  return `plan;dur=${planning.toFixed(3)}, db;dur=${inDatabase.toFixed(3)}, total;dur=${total.toFixed(3)}`
}

/** The decorator of the app of the stand-alone server, which has no hooks of others. */
export const OWN_APP = 'rowQueryOwnApp'

/** Connections that were closed because their clients received a response too slowly, for the reason in the log. */
export const slowClients = new WeakSet<Socket>()

// The request log: one line for each request with its token's name, verb, table, status and duration, and the end of a
// stream. It never contains bodies, values, SQL, tokens or addresses.

/**
 * Creates the collector that writes the log: failures of the service or the database as error, everything else as info.
 */
export function createRequestLog (log: FastifyBaseLogger & { isLevelEnabled?: (level: string) => boolean }): Collector {
  const isError = (refusal: ServiceError | undefined): boolean => refusal !== undefined && isTrouble(refusal)
  return {
    isDetailed: false,
    // do not create lines that the log level discards
    accepts: (refusal) => log.isLevelEnabled?.(isError(refusal) ? 'error' : 'info') !== false,
    collect (record) {
      const text = record.stream !== undefined ? 'stream' : record.importedBytes !== undefined ? 'import' : 'request'
      if (isError(record.refusal)) log.error(lineOf(record), text)
      else log.info(lineOf(record), text)
    }
  }
}

/** Writes the line of a stream or import that has ended, which the log has also without a request log. */
export function logEnd (log: FastifyBaseLogger, record: RequestRecord): void {
  if (record.isLogged) return
  record.isLogged = true
  const ends = createRequestLog(log)
  if (ends.accepts(record.refusal)) ends.collect(record)
}

/** Empty fields are undefined. */
export function lineOf (record: RequestRecord) {
  const { requestId, status, rows, refusal, stream, inDatabase } = record
  return {
    requestId,
    verb: record.verb || undefined,
    database: record.database || undefined,
    table: record.table || undefined,
    route: record.route || undefined,
    tool: record.tool || undefined,
    request: record.request || undefined,
    token: record.token || undefined,
    status,
    code: refusal?.code,
    reason: stream?.reason ?? (refusal && reasonOf(refusal)),
    rows,
    bytes: stream?.bytes ?? record.importedBytes,
    complete: stream?.complete,
    operations: record.operations || undefined,
    retries: record.retries || undefined,
    ms: round(record.total),
    databaseMs: inDatabase === undefined ? undefined : round(inDatabase)
  }
}

/**
 * The reason of an error, if the code does not show it: for a missing permission the message, which contains no names
 * that the client has invented.
 */
function reasonOf ({ code, reason, message }: ServiceError): string | undefined {
  return reason ?? (code === 'PERMISSION_DENIED' ? message : undefined)
}

/** Rounds to microseconds, the resolution of the clock. */
function round (milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}

/**
 * Adds `refusal`, the error for the client, to the record of its request. Logs bugs with the stack of the thrown
 * `error`, and faults of the service or the database that the request log does not show.
 */
export function logRefusal (
  log: FastifyBaseLogger,
  { refusal, error, requestId, record }: {
    readonly refusal: ServiceError
    readonly error: unknown
    readonly requestId: string
    readonly record: RequestRecord | null | undefined
  }
): void {
  if (record != null) record.refusal = refusal
  if (isBug(refusal)) log.error({ requestId, err: error }, 'unexpected error')
  else if (isTrouble(refusal) && record?.isLogged !== true) {
    log.warn({ requestId, code: refusal.code, reason: refusal.reason }, 'refused')
  }
}

type CreateChild = () => FastifyBaseLogger

/** A logger that creates the real one with its first line. */
class LazyLogger implements FastifyBaseLogger {
  readonly #create: CreateChild
  #created: FastifyBaseLogger | undefined

  constructor (create: CreateChild) {
    this.#create = create
  }

  get #logger (): FastifyBaseLogger {
    this.#created ??= this.#create()
    return this.#created
  }

  get level (): string { return this.#logger.level }
  set level (level: string) { this.#logger.level = level }
  fatal (...line: [unknown]): void { this.#logger.fatal(...line) }
  error (...line: [unknown]): void { this.#logger.error(...line) }
  warn (...line: [unknown]): void { this.#logger.warn(...line) }
  info (...line: [unknown]): void { this.#logger.info(...line) }
  debug (...line: [unknown]): void { this.#logger.debug(...line) }
  trace (...line: [unknown]): void { this.#logger.trace(...line) }
  silent (...line: [unknown]): void { this.#logger.silent(...line) }
  child (...of: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger { return this.#logger.child(...of) }
}

/**
 * Creates Fastify's child logger of a request with its first line, because few requests use it, and creating it takes
 * about one hundredth of the CPU time of a short request.
 */
export const createRequestLogger: NonNullable<FastifyServerOptions['childLoggerFactory']> = (
  logger,
  bindings,
  options
) => new LazyLogger(() => logger.child(bindings, options))
