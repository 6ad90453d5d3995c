/** Reads whether a select may use a replica, which may lag behind the primary. */
import { invalidBody } from '../errors.ts'
import type { Verb } from '../../schemas/grant.ts'

export type Consistency = 'primary'

/**
 * Reads the requested consistency. Writes always go to the primary. Unknown values are refused, because ignoring them could return
 * stale rows. `place` names the header or field in messages. @throws INVALID_BODY
 */
export function readConsistency (verb: Verb, place: string, asked: unknown): Consistency | undefined {
  if (asked === undefined || verb !== 'select') return undefined
  if (String(asked).toLowerCase() !== 'primary') throw invalidBody(`${place} must be "primary"`)
  return 'primary'
}
