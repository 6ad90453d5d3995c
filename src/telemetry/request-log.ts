/** The request log: one line for each request with its token's name, verb, table, status and duration, and the end of a stream. It never contains bodies, values, SQL, tokens or addresses. */
import type { FastifyBaseLogger } from 'fastify'
import { isTrouble, type ServiceError } from '../errors.ts'
import type { Collector, RequestRecord } from './record.ts'

/** Creates the collector that writes the log: failures of the service or the database as error, everything else as info. */
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
  const { requestId, verb, database, table, tool, token, route, status, rows, operations, retries, refusal, stream, total, inDatabase } = record
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

/** The reason of a refusal, if the code does not show it: for a missing permission the message, which contains no names invented by the client. */
function reasonOf ({ code, reason, message }: ServiceError): string | undefined {
  return reason ?? (code === 'PERMISSION_DENIED' ? message : undefined)
}

/** Rounds to microseconds, the resolution of the clock. */
export function round (milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
