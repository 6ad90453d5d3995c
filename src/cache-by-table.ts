import { getOrCreate } from './bounded-map.ts'

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
    const found = values?.get(key)
    // the order of use does not matter while half of the room is free
    if (values !== undefined && found !== undefined && values.size > MAX_PER_TABLE / 2) {
      values.delete(key)
      values.set(key, found)
    }
    return found
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
