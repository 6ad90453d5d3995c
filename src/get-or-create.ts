/**
 * Returns the value stored under the key in a Map or WeakMap; if there is none, stores and returns the result of
 * `create`.
 */
export function getOrCreate<K, V extends object | string> (
  store: { get (key: K): V | undefined, set (key: K, value: V): unknown },
  key: K,
  create: () => V
): V {
  const found = store.get(key)
  if (found !== undefined) return found
  const created = create()
  store.set(key, created)
  return created
}
