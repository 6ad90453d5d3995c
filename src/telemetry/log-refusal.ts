import type { FastifyBaseLogger } from 'fastify'
import { isBug, isTrouble, type ServiceError } from '../errors.ts'
import type { RequestRecord } from './record.ts'

export interface Refused {
  readonly refusal: ServiceError
  /** The thrown error, whose stack is logged if it is a bug. */
  readonly error: unknown
  readonly requestId: string
  readonly record: RequestRecord | null | undefined
}

/** Adds the refusal to the record of its request. Logs bugs with their stack, and faults of the service or the database that the request log does not show. */
export function logRefusal (log: FastifyBaseLogger, { refusal, error, requestId, record }: Refused): void {
  if (record != null) record.refusal = refusal
  if (isBug(refusal)) log.error({ requestId, err: error }, 'unexpected error')
  else if (isTrouble(refusal) && record?.isLogged !== true) log.warn({ requestId, code: refusal.code, reason: refusal.reason }, 'refused')
}
