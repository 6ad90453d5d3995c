/** A value as `data` and `filters` take it: an object whose keys all begin with `$` is a value under `$eq` alone (the contract, section 3). */
export function quoted (value: unknown): unknown {
  const keys = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  return keys.length > 0 && keys.every((key) => key.startsWith('$')) ? { $eq: value } : value
}
