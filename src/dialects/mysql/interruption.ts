import { queryTimeout, withReason, type ServiceError } from '../../errors.ts'
import { isLost, isNotHere, toServiceError, wasNotSent, type MysqlError } from './errors.ts'
import type { Run } from './execute.ts'

/** A statement may be sent once more: it did not run, or it only read and its connection was lost. */
export class Interruption {
  readonly refusal: Error
  readonly wasLost: boolean

  constructor (refusal: Error, wasLost: boolean) {
    this.refusal = refusal
    this.wasLost = wasLost
  }
}

/** Nobody reads this answer; the log tells it from a timeout. */
export const clientGone = (): ServiceError => withReason(queryTimeout(), 'CLIENT_GONE')

/** What an error of a statement leads to. @throws ServiceError, or SchemaMoved, where the statement must not be sent again */
export function toInterruption ({ pool, session, statement: { plan, client } }: Run, error: MysqlError, stopped: boolean): Interruption {
  const lost = isLost(error)
  if (stopped && !lost) throw client?.destroyed === true ? clientGone() : queryTimeout()
  const refusal = toServiceError(error, plan)
  if (lost || wasNotSent(error)) pool.discard(session)
  const again = lost ? plan.verb === 'select' && !stopped : wasNotSent(error) || (isNotHere(error) && pool.moveOn(session))
  if (again) return new Interruption(refusal, lost)
  throw refusal
}
