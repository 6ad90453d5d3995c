/**
 * First in, first out, with a way out of the middle: a list whose places know their neighbours, and forget them when they are left.
 * A Set, a Map or an array that shrinks and grows would do as well, but V8 leaves the tables behind that they outgrow; in the old
 * generation a dead one keeps alive whatever stood in it, requests and all, until the next full collection.
 */
export interface Fifo<T> {
  /** How many are in. */
  readonly size: number
  /** Undefined where nobody is in. */
  readonly first: Place<T> | undefined
  push (thing: T): Place<T>
  /** Takes one out, if it is in still. */
  remove (place: Place<T>): void
  each (visit: (thing: T) => void): void
}

/** Where something stands. */
export interface Place<T> {
  readonly thing: T
  /** When it came, by `performance.now()`. */
  readonly since: number
  /** Its neighbours, until it is left. */
  before: Place<T> | undefined
  after: Place<T> | undefined
}

export function createFifo<T> (): Fifo<T> {
  let first: Place<T> | undefined
  let last: Place<T> | undefined
  let size = 0

  return {
    get size () { return size },
    get first () { return first },
    push (thing) {
      const place: Place<T> = { thing, since: performance.now(), before: last, after: undefined }
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
