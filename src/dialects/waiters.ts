import { overloaded } from '../errors.ts'
import { createDeadlines } from './time-limits.ts'
import type { Place } from './fifo.ts'

/** Those who wait for something, in the order in which they came, each for a bounded time. */
export interface Queue<T> {
  readonly size: number
  /** The number of who came last; numbers grow. */
  readonly last: number
  /** How long those who do not wait any more have waited together, in milliseconds. */
  readonly waited: number
  /** @throws OVERLOADED where too many wait already, or nothing came in time; `more`: places besides the usual ones */
  wait (more: number): Promise<T>
  /** Gives it to who came first; false where nobody waits. */
  give (thing: T): boolean
  /** Sends away who came no later than somebody; everybody, if left out. */
  refuse (reason: () => Error, last?: number): void
}

interface Waiter<T> {
  readonly number: number
  readonly resolve: (thing: T) => void
  readonly reject: (error: Error) => void
}

/** `places`: how many may wait; `patience`: for how long, in milliseconds. */
export function createQueue<T> (places: number, patience: number): Queue<T> {
  let count = 0
  let waited = 0

  const leave = ({ thing, since }: Place<Waiter<T>>): Waiter<T> => {
    waited += performance.now() - since
    return thing
  }
  const waiters = createDeadlines<Waiter<T>>(patience, { onDue: (place) => leave(place).reject(overloaded()) })

  const take = (first: Place<Waiter<T>>): Waiter<T> => {
    waiters.remove(first)
    return leave(first)
  }

  return {
    get size () { return waiters.size },
    get last () { return count },
    get waited () { return waited },
    wait (more) {
      if (waiters.size >= places + more) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => { waiters.push({ number: ++count, resolve, reject }) })
    },
    give (thing) {
      const { first } = waiters
      if (first !== undefined) take(first).resolve(thing)
      return first !== undefined
    },
    refuse (reason, last = count) {
      for (let { first } = waiters; first !== undefined && first.thing.number <= last; { first } = waiters) take(first).reject(reason())
    }
  }
}
