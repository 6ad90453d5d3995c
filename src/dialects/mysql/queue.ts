import { overloaded } from '../../errors.ts'
import { createDeadlines } from './deadlines.ts'
import { createFifo, type Place } from './fifo.ts'

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
  readonly since: number
  readonly resolve: (thing: T) => void
  readonly reject: (error: Error) => void
  readonly deadline: Place
}

/** `places`: how many may wait; `patience`: for how long, in milliseconds. */
export function createQueue<T> (places: number, patience: number): Queue<T> {
  const waiters = createFifo<Waiter<T>>()
  // who waits longest is the first of those who wait
  const deadlines = createDeadlines<null>(patience, () => take()?.reject(overloaded()))
  let count = 0
  let waited = 0

  const take = (): Waiter<T> | undefined => {
    const first = waiters.shift()
    if (first === undefined) return undefined
    deadlines.remove(first.deadline)
    waited += performance.now() - first.since
    return first
  }

  return {
    get size () { return waiters.size },
    get last () { return count },
    get waited () { return waited },
    wait (more) {
      if (waiters.size >= places + more) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => {
        waiters.push({ number: ++count, since: performance.now(), resolve, reject, deadline: deadlines.add(null) })
      })
    },
    give (thing) {
      const first = take()
      first?.resolve(thing)
      return first !== undefined
    },
    refuse (reason, last = count) {
      while (waiters.first !== undefined && waiters.first.number <= last) take()?.reject(reason())
    }
  }
}
