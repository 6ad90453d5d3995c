/**
 * The request log: one line for each request with its token's name, verb, table, status and duration, and the end of a
 * stream. It never contains bodies, values, SQL, tokens or addresses.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { Database } from '../databases/database.ts'
import { isBug, isTrouble, type ServiceError } from '../errors.ts'
import type { Collector, RequestRecord } from './record.ts'
import { createSpans, isTracingSetUp } from './spans.ts'

/**
 * Creates the collector that writes the log: failures of the service or the database as error, everything else as info.
 */
export function createRequestLog (log: FastifyBaseLogger & { isLevelEnabled?: (level: string) => boolean }): Collector {
  const isError = (refusal: ServiceError | undefined): boolean => refusal !== undefined && isTrouble(refusal)
  return {
    // do not create lines that the log level discards
    accepts: (refusal) => log.isLevelEnabled?.(isError(refusal) ? 'error' : 'info') !== false,
    collect (record) {
      const text = record.stream === undefined ? 'request' : 'stream'
      if (isError(record.refusal)) log.error(lineOf(record), text)
      else log.info(lineOf(record), text)
    }
  }
}

/** Returns the fields of a log line; empty fields are undefined. */
export function lineOf (record: RequestRecord) {
  const {
    requestId,
    verb,
    database,
    table,
    tool,
    token,
    route,
    status,
    rows,
    operations,
    retries,
    refusal,
    stream,
    total,
    inDatabase
  } = record
  return {
    requestId,
    verb: verb || undefined,
    database: database || undefined,
    table: table || undefined,
    route: route || undefined,
    tool: tool || undefined,
    token: token || undefined,
    status,
    code: refusal?.code,
    reason: stream?.reason ?? (refusal && reasonOf(refusal)),
    rows,
    bytes: stream?.bytes,
    complete: stream?.complete,
    operations: operations || undefined,
    retries: retries || undefined,
    ms: round(total),
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

/** Creates the collectors that the settings enable. `registry`: called only with metrics. */
export async function createCollectors (
  settings: { requestLog: boolean; metrics: boolean; tracing: boolean },
  { databases, registry, log }: {
    readonly databases: ReadonlyMap<string, Database>
    readonly registry: () => Registry
    readonly log: FastifyBaseLogger
  }
): Promise<Collector[]> {
  const collectors: Collector[] = []
  if (settings.requestLog) collectors.push(createRequestLog(log))
  if (settings.metrics) {
    const { addMetrics } = await import('./prometheus.ts')
    collectors.push(addMetrics(registry(), databases))
  }
  if (settings.tracing && isTracingSetUp()) collectors.push(createSpans(databases))
  return collectors
}
