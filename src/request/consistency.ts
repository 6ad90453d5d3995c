/** Whether a select may be answered by a replica, which applies writes a moment later than the database itself. */
import { invalidBody } from '../errors.ts'
import type { Verb } from '../../schemas/grant.ts'

export type Consistency = 'primary'

/**
 * What a request says of it, in `place`. Writes always go to the primary. A value that is not known is refused: rows would be older than
 * the client thinks. @throws INVALID_BODY
 */
export function readConsistency (verb: Verb, place: string, asked: unknown): Consistency | undefined {
  if (asked === undefined || verb !== 'select') return undefined
  if (String(asked).toLowerCase() !== 'primary') throw invalidBody(`${place} must be "primary"`)
  return 'primary'
}
