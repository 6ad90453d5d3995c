/** Checks values that a program passes where the service expects JSON. */

/** Whether the object is not an instance of a class such as Map or Promise, which would have no fields to read. */
export function isPlain (value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Deeper than a grant can be: `tokens.0.databases.shop.orders.rows.tenant.$in.0`. */
const MAX_DEPTH = 10

/**
 * Returns the place of the first value of a grant that is undefined or an instance of a class: a schema takes it for an omitted value or an empty
 * object, which allows everything. `claims` may have such values, because a rule finds no claim in them and refuses.
 */
export function findUnplain (grant: unknown, path: readonly string[] = []): string | undefined {
  if (typeof grant !== 'object' || grant === null || !('claims' in grant) || !isPlain(grant)) return find(grant, path)
  const { claims: _, ...rest } = grant
  return find(rest, path)
}

function find (value: unknown, path: readonly string[]): string | undefined {
  if (value === undefined) return `${nameOf(path)}must not be undefined`
  if (typeof value !== 'object' || value === null || path.length > MAX_DEPTH) return undefined
  if (!Array.isArray(value) && !isPlain(value)) return `${nameOf(path)}must be a plain object, not a promise, a Map or another instance of a class`
  // not forEach and map, which skip holes
  for (const [key, each] of Array.isArray(value) ? Array.from(value as unknown[]).entries() : Object.entries(value)) {
    const found = find(each, [...path, String(key)])
    if (found !== undefined) return found
  }
  return undefined
}

const nameOf = (path: readonly string[]): string => path.length === 0 ? '' : `${path.join('.')}: `
