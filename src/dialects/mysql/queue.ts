import { overloaded } from '../../errors.ts'
import { createDeadlines } from './deadlines.ts'

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

interface Waiter<T> { readonly number: number, readonly since: number, readonly resolve: (thing: T) => void, readonly reject: (error: Error) => void }

/** `places`: how many may wait; `patience`: for how long, in milliseconds. */
export function createQueue<T> (places: number, patience: number): Queue<T> {
  // a Set keeps the order and forgets one in the middle as quickly as the first
  const waiters = new Set<Waiter<T>>()
  let count = 0
  let waited = 0

  const take = (waiter: Waiter<T>): void => {
    waiters.delete(waiter)
    deadlines.delete(waiter)
    waited += performance.now() - waiter.since
  }

  const deadlines = createDeadlines<Waiter<T>>(patience, (waiter) => {
    take(waiter)
    waiter.reject(overloaded())
  })

  return {
    get size () { return waiters.size },
    get last () { return count },
    get waited () { return waited },
    wait (more) {
      if (waiters.size >= places + more) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => {
        const waiter = { number: ++count, since: performance.now(), resolve, reject }
        waiters.add(waiter)
        deadlines.add(waiter)
      })
    },
    give (thing) {
      const [first] = waiters
      if (first === undefined) return false
      take(first)
      first.resolve(thing)
      return true
    },
    refuse (reason, last = count) {
      for (const waiter of waiters) {
        if (waiter.number > last) return
        take(waiter)
        waiter.reject(reason())
      }
    }
  }
}
