/** Whether the object is not an instance of a class such as Map or Promise, and has no fields but its own. */

export function isPlain (value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Object.prototype, also that of another realm
  if (prototype === null) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf')
}

type Path = readonly string[]

/** The schema of a grant would misread it. */
export class NotPlain extends Error {}

/** Deeper than a grant can be: `tokens.0.databases.shop.orders.rows.tenant.$in.0`. */
const MAX_DEPTH = 10

/**
 * Copies a grant and reads each field once: an accessor may return another value the next time, so the service checks
 * and uses the copy. Refuses undefined and instances of classes: a schema reads them as an omitted value or as an empty
 * object, which allows everything. `claims` may have such values, because a rule finds no claim in them and refuses the
 * request; `copyClaims` copies them. `path`: the path of the grant.
 * @throws NotPlain; what an accessor or `copyClaims` throws
 */
export function copyGrant (grant: unknown, copyClaims: (claims: unknown) => unknown, path: Path = []): unknown {
  if (typeof grant !== 'object' || grant === null || !isPlain(grant)) return copy(grant, path)
  return copyFields(grant, (key, value) => key === 'claims' ? copyClaims(value) : copy(value, [...path, key]))
}

/** Returns the path of the first value of a grant that is not plain, and the reason. */
export function findUnplain (grant: unknown, path: Path): string | undefined {
  try {
    copyGrant(grant, (claims) => claims, path)
    return undefined
  } catch (error) {
    if (error instanceof NotPlain) return error.message
    throw error
  }
}

function copy (value: unknown, path: Path): unknown {
  if (value === undefined) throw new NotPlain(`${nameOf(path)}must not be undefined`)
  if (typeof value !== 'object' || value === null) return value
  if (path.length > MAX_DEPTH) throw new NotPlain(`${nameOf(path)}is nested too deeply`)
  // Array.from, because map skips holes
  if (Array.isArray(value)) return Array.from(value as unknown[], (each, index) => copy(each, [...path, String(index)]))
  if (!isPlain(value)) {
    throw new NotPlain(`${nameOf(path)}must be a plain object, not a promise, a Map or another instance of a class`)
  }
  return copyFields(value, (key, each) => copy(each, [...path, key]))
}

/** Copies also fields that are not enumerable: without its `rows`, a grant would allow all of them. */
function copyFields (value: object, copyField: (key: string, field: unknown) => unknown): unknown {
  const fields = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(Object.getOwnPropertyNames(fields).map((key) => [key, copyField(key, fields[key])]))
}

const nameOf = (path: Path): string => path.length === 0 ? '' : `${path.join('.')}: `

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
  let part = value
  for (const step of steps) {
    if (typeof part !== 'object' || part === null || JSON.isRawJSON(part) || !Object.hasOwn(part, step)) {
      return undefined
    }
    if (Array.isArray(part) && !INDEX.test(step)) return undefined // such as "length"
    part = (part as Record<string, unknown>)[step]
  }
  return part
}
