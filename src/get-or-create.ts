/** A Map or a WeakMap. */
interface Store<K, V> {
  get (key: K): V | undefined
  set (key: K, value: V): unknown
}

/** Returns the value stored under the key; if there is none, stores and returns the result of `create`. */
export function getOrCreate<K, V extends object | string> (store: Store<K, V>, key: K, create: () => V): V {
  const found = store.get(key)
  if (found !== undefined) return found
  const created = create()
  store.set(key, created)
  return created
}
