/**
 * Returns a value in the form of `data` and `filters`: an object with only keys that begin with `$` is sent under
 * `$eq`.
 */
export function quoted (value: unknown): unknown {
  const keys = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  return keys.length > 0 && keys.every((key) => key.startsWith('$')) ? { $eq: value } : value
}
