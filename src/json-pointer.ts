/** A JSON Pointer (RFC 6901) other than the empty one, which is the whole value. */
export const JSON_POINTER = /^(\/([^~/]|~[01])*)+$/

const INDEX = /^(0|[1-9]\d*)$/

/** Returns the part of a JSON value that the pointer names; undefined if there is none. Only own properties count, so `/constructor` finds nothing. */
export function findByPointer (value: unknown, pointer: string): unknown {
  let found = value
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || JSON.isRawJSON(found) || !Object.hasOwn(found, key)) return undefined
    if (Array.isArray(found) && !INDEX.test(key)) return undefined // such as "length"
    found = (found as Record<string, unknown>)[key]
  }
  return found
}
