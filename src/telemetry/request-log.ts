/** One line a request: who asked what of which table, how it ended and how long it took. Never a body, a value, SQL, a token or a client's address. */
import type { FastifyBaseLogger } from 'fastify'
import { isTrouble, type ServiceError } from '../errors.ts'
import type { Collector, RequestRecord } from './record.ts'

/** Writes to a log: trouble of ours or of the database as an error, the rest as information. */
export function createRequestLog (log: FastifyBaseLogger & { isLevelEnabled?: (level: string) => boolean }): Collector {
  const isError = (refusal: ServiceError | undefined): boolean => refusal !== undefined && isTrouble(refusal)
  return {
    // a line that nobody reads need not be made
    accepts: (refusal) => log.isLevelEnabled?.(isError(refusal) ? 'error' : 'info') !== false,
    collect (record) {
      if (isError(record.refusal)) log.error(lineOf(record), 'request')
      else log.info(lineOf(record), 'request')
    }
  }
}

/** Fields that say nothing are left out. */
export function lineOf (record: RequestRecord) {
  const { requestId, verb, database, table, token, route, status, rows, refusal, total, inDatabase } = record
  return {
    requestId,
    verb: verb || undefined,
    database: database || undefined,
    table: table || undefined,
    route: route || undefined,
    token: token || undefined,
    status,
    code: refusal?.code,
    reason: refusal?.reason,
    rows,
    ms: round(total),
    databaseMs: inDatabase === undefined ? undefined : round(inDatabase)
  }
}

/** To microseconds: the clock has no more. */
export function round (milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
