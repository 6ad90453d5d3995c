import { overloaded } from '../errors.ts'
import { createTimeoutQueue } from './timeout-queue.ts'
import type { FifoEntry } from './fifo.ts'

/** A bounded queue of waiters, in the order of their arrival, each with a time limit. */
export interface Waiters<T> {
  readonly size: number
  /** The sequence number of the last waiter. */
  readonly last: number
  /** The sum of the waiting times of all that do not wait any more, in milliseconds. */
  readonly waited: number
  /** `more`: places besides the usual ones. @throws OVERLOADED where too many wait already, or the time limit is over */
  wait (more: number): Promise<T>
  /** Resolves the first waiter. Returns false where nobody waits. */
  give (value: T): boolean
  /** Rejects all waiters up to the sequence number `last`; all of them if it is left out. */
  refuse (reason: () => Error, last?: number): void
}

interface Waiter<T> {
  readonly number: number
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
}

/** `places`: how many may wait; `timeout`: for how long, in milliseconds. */
export function createWaiters<T> (places: number, timeout: number): Waiters<T> {
  let count = 0
  let waited = 0

  const leave = ({ value, since }: FifoEntry<Waiter<T>>): Waiter<T> => {
    waited += performance.now() - since
    return value
  }
  const entries = createTimeoutQueue<Waiter<T>>(timeout, { onTimeout: (entry) => leave(entry).reject(overloaded()) })

  const take = (first: FifoEntry<Waiter<T>>): Waiter<T> => {
    entries.remove(first)
    return leave(first)
  }

  return {
    get size () { return entries.size },
    get last () { return count },
    get waited () { return waited },
    wait (more) {
      if (entries.size >= places + more) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => { entries.push({ number: ++count, resolve, reject }) })
    },
    give (value) {
      const { first } = entries
      if (first !== undefined) take(first).resolve(value)
      return first !== undefined
    },
    refuse (reason, last = count) {
      for (let { first } = entries; first !== undefined && first.value.number <= last; { first } = entries) take(first).reject(reason())
    }
  }
}
