import { outcomeUnknown, queryTimeout, withReason, type ServiceError } from '../../../errors.ts'
import { isLost, isNotHere, toServiceError, toTimeout, wasNotSent, type MysqlError } from '../errors.ts'
import type { Run } from './statement.ts'

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

const KILL_FAILED = 'KILL_FAILED'

/** In the place of the answer of a statement that the server has not ended in time: whether it was made is unknown, as if its connection were lost. */
export const killFailed = (): MysqlError => Object.assign(new Error('the statement could not be ended'), { code: KILL_FAILED })

/** What an error of a statement leads to. @throws ServiceError, or SchemaMoved, where the statement must not be sent again */
export function toInterruption ({ pool, session, statement: { plan, client } }: Run, error: MysqlError, stopped: boolean): Interruption {
  const lost = isLost(error)
  const isGone = client?.destroyed === true
  if (wasNotSent(error) || (lost && error.code !== KILL_FAILED)) pool.discard(session)
  if (stopped && lost && plan.verb !== 'select') throw withReason(outcomeUnknown(), isGone ? 'CLIENT_GONE' : error.code)
  if (stopped) throw isGone ? clientGone() : withReason(toTimeout(plan), lost ? error.code : undefined)
  const refusal = toServiceError(error, plan)
  const again = lost ? plan.verb === 'select' : wasNotSent(error) || (isNotHere(error) && pool.moveOn(session))
  if (again) return new Interruption(refusal, lost)
  throw refusal
}
