/**
 * First in, first out, with a way out of the middle: an array whose front is given up by the thousand. A Set or Map would do as
 * well, but V8 links each table that one outgrows to the next; a dead one in the old generation then keeps alive all that came
 * after it, with every request that stood in one of them, until the next full collection.
 */
export interface Fifo<T> {
  /** How many are in. */
  readonly size: number
  readonly first: T | undefined
  push (thing: T): Place
  /** Takes the first one out. */
  shift (): T | undefined
  /** Takes one out, if it is in still. */
  remove (place: Place): void
}

/** Where something was put; no two things have the same. */
export type Place = number

/** Empty places at the front that are not worth moving all others for. */
const WORTH_MOVING = 1024

export function createFifo<T extends object> (): Fifo<T> {
  const slots: Array<T | undefined> = []
  /** The place of the first slot. */
  let offset = 0
  /** The first slot that is not known to be empty. */
  let head = 0
  let size = 0

  const remove = (place: Place): void => {
    const index = place - offset
    if (slots[index] === undefined) return
    slots[index] = undefined
    size--
    while (head < slots.length && slots[head] === undefined) head++
    if (head < WORTH_MOVING) return
    slots.splice(0, head)
    offset += head
    head = 0
  }

  return {
    get size () { return size },
    get first () { return slots[head] },
    push: (thing) => {
      size++
      return slots.push(thing) - 1 + offset
    },
    shift () {
      const first = slots[head]
      remove(offset + head)
      return first
    },
    remove
  }
}
