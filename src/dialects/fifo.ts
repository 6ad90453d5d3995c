/**
 * A queue from which any entry can be removed: a doubly linked list whose entries forget their neighbours when they are removed.
 * A Set, Map or array would also work, but V8 replaces their tables when they grow or shrink, and a dead table in the old
 * generation keeps its content, including requests, alive until the next full garbage collection.
 */
export interface Fifo<T> {
  readonly size: number
  readonly first: FifoEntry<T> | undefined
  readonly last: FifoEntry<T> | undefined
  push (value: T): FifoEntry<T>
  /** Does nothing if the entry was removed already. */
  remove (entry: FifoEntry<T>): void
  each (visit: (value: T) => void): void
}

export interface FifoEntry<T> {
  readonly value: T
  /** When it was pushed, by `performance.now()`. */
  readonly since: number
  /** The neighbours, until the entry is removed. */
  before: FifoEntry<T> | undefined
  after: FifoEntry<T> | undefined
}

export function createFifo<T> (): Fifo<T> {
  let first: FifoEntry<T> | undefined
  let last: FifoEntry<T> | undefined
  let size = 0

  return {
    get size () { return size },
    get first () { return first },
    get last () { return last },
    push (value) {
      const entry: FifoEntry<T> = { value, since: performance.now(), before: last, after: undefined }
      if (last === undefined) first = entry
      else last.after = entry
      last = entry
      size++
      return entry
    },
    remove (entry) {
      const { before, after } = entry
      if (before === undefined && entry !== first) return
      if (before === undefined) first = after
      else before.after = after
      if (after === undefined) last = before
      else after.before = before
      entry.before = entry.after = undefined
      size--
    },
    each (visit) {
      for (let entry = first; entry !== undefined; entry = entry.after) visit(entry.value)
    }
  }
}
