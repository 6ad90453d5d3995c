import { invalidBody } from '../errors.ts'
import { findNearest } from '../config-errors.ts'

/**
 * Refuses misspelt options, because `dryrun` would write and `consistancy` would read from a replica. `call`: for the
 * message. @throws INVALID_BODY
 */
export function requireKnown (given: object, known: ReadonlySet<string>, call: string): void {
  for (const name of Object.keys(given)) if (!known.has(name)) throw refuse(name, known, call)
}

function refuse (name: string, known: ReadonlySet<string>, call: string): Error {
  const nearest = findNearest(name, known)
  return invalidBody(
    `"${name}" is not an option of ${call}; ` +
    `${nearest === undefined ? `the options are ${[...known].join(', ')}` : `did you mean "${nearest}"?`}`
  )
}
