/**
 * Returns the value stored under the key in a Map or WeakMap; if there is none, stores and returns the result of
 * `create`.
 */
export function getOrCreate<K, V extends object | string | number> (
  store: { get (key: K): V | undefined, set (key: K, value: V): unknown },
  key: K,
  create: () => V
): V {
  const value = store.get(key)
  if (value !== undefined) return value
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

/** Values of a table, so that a table with ever new keys does not displace the values of others. */
const MAX_PER_TABLE = 100

/**
 * Values by table, with which they are dropped, and by key. Above `limit` bytes all of them are dropped: to make a
 * value again costs less than to know which ones are needed.
 */
export class CacheByTable<T> {
  readonly #limit: number
  readonly #sizeOf: (key: string, value: T) => number
  #tables = new WeakMap<object, Map<string, T>>()
  /** The memory of the values, in bytes, about; also of values that were dropped with their table. */
  bytes = 0

  constructor (limit: number, sizeOf: (key: string, value: T) => number) {
    this.#limit = limit
    this.#sizeOf = sizeOf
  }

  get (table: object, key: string): T | undefined {
    const values = this.#tables.get(table)
    const value = values?.get(key)
    // the order of use does not matter while half of the room is free
    if (values !== undefined && value !== undefined && values.size > MAX_PER_TABLE / 2) {
      values.delete(key)
      values.set(key, value)
    }
    return value
  }

  set (table: object, key: string, value: T): void {
    const size = this.#sizeOf(key, value)
    if (this.bytes + size > this.#limit) {
      this.#tables = new WeakMap()
      this.bytes = 0
    }
    const values = getOrCreate(this.#tables, table, () => new Map<string, T>())
    values.set(key, value)
    this.bytes += size
    if (values.size <= MAX_PER_TABLE) return
    const oldest = values.keys().next().value as string
    this.bytes -= this.#sizeOf(oldest, values.get(oldest) as T)
    values.delete(oldest)
  }
}
