/**
 * Returns the value stored under the key in a Map or WeakMap; if there is none, stores and returns the result of
 * `create`.
 */
export function getOrCreate<K, V extends object | string | number> (
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

/** A map that drops its oldest entries while it has more than `most`, or while they are larger than `size` together. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #most: number
  readonly #limit: number
  readonly #sizeOf: (value: V) => number
  #size = 0

  constructor (most: number, size = Infinity, sizeOf: (value: V) => number = () => 0) {
    this.#most = most
    this.#limit = size
    this.#sizeOf = sizeOf
  }

  get (key: K): V | undefined {
    return this.#entries.get(key)
  }

  /** The entry becomes the newest one. */
  set (key: K, value: V): void {
    this.delete(key)
    this.#entries.set(key, value)
    this.#size += this.#sizeOf(value)
    while (this.#entries.size > this.#most || this.#size > this.#limit) {
      this.delete(this.#entries.keys().next().value as K)
    }
  }

  delete (key: K): void {
    const value = this.#entries.get(key)
    if (this.#entries.delete(key)) this.#size -= this.#sizeOf(value as V)
  }

  clear (): void {
    this.#entries.clear()
    this.#size = 0
  }
}
