/** JSON Pointers (RFC 6901). */

const INDEX = /^(0|[1-9]\d*)$/

/** Splits a pointer into its steps: `/a~1b/0` has the steps `a/b` and `0`. */
export function stepsOf (pointer: string): string[] {
  return pointer.split('/').slice(1).map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/**
 * Returns the part of a JSON value that the steps lead to; undefined if there is none. Only own properties count, so
 * `/constructor` finds nothing.
 */
export function findBySteps (value: unknown, steps: readonly string[]): unknown {
  let found = value
  for (const step of steps) {
    if (typeof found !== 'object' || found === null || JSON.isRawJSON(found) || !Object.hasOwn(found, step)) {
      return undefined
    }
    if (Array.isArray(found) && !INDEX.test(step)) return undefined // such as "length"
    found = (found as Record<string, unknown>)[step]
  }
  return found
}
