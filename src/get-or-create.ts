/** A Map or a WeakMap. */
interface Store<K, V> {
  get (key: K): V | undefined
  set (key: K, value: V): unknown
}

/** What is kept under a key; made and put there where there is nothing yet. */
export function obtain<K, V extends object> (store: Store<K, V>, key: K, make: () => V): V {
  const found = store.get(key)
  if (found !== undefined) return found
  const made = make()
  store.set(key, made)
  return made
}
