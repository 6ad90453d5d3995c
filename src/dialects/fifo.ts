/**
 * A queue from which any entry can be removed: a doubly linked list whose entries forget their neighbours when they are removed.
 * A Set, a Map or an array would do as well, but V8 replaces their tables when they grow or shrink, and a dead table in the old
 * generation keeps its content alive, requests included, until the next full garbage collection.
 */
export interface Fifo<T> {
  readonly size: number
  readonly first: FifoEntry<T> | undefined
  push (thing: T): FifoEntry<T>
  /** Does nothing if the entry was removed already. */
  remove (place: FifoEntry<T>): void
  each (visit: (thing: T) => void): void
}

export interface FifoEntry<T> {
  readonly thing: T
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
    push (thing) {
      const place: FifoEntry<T> = { thing, since: performance.now(), before: last, after: undefined }
      if (last === undefined) first = place
      else last.after = place
      last = place
      size++
      return place
    },
    remove (place) {
      const { before, after } = place
      if (before === undefined && place !== first) return
      if (before === undefined) first = after
      else before.after = after
      if (after === undefined) last = before
      else after.before = before
      place.before = place.after = undefined
      size--
    },
    each (visit) {
      for (let place = first; place !== undefined; place = place.after) visit(place.thing)
    }
  }
}
