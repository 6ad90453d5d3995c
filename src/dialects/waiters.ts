import { overloaded, type ServiceError } from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import { watch } from './time-limits.ts'

/** A bounded queue, with a time limit for each. Callers take turns, each in the order of its own requests. */
export interface Waiters<T> {
  readonly size: number
  /** A sequence number. */
  readonly last: number
  /** The total waiting time of all waiters that no longer wait, in milliseconds. */
  readonly waited: number
  /**
   * If there are too many waiters, the caller with the most loses its last one, if it has more than this caller would
   * have. @throws OVERLOADED if there are too many otherwise, or after the time limit
   */
  wait (options: WaitOptions<T>): Promise<T>
  /** The first waiter of the next caller that accepts the value; false if there is none. */
  give (value: T): boolean
  /** All up to the sequence number `last`, or all. */
  reject (reason: () => Error, last?: number): void
}

export interface WaitOptions<T> {
  /** The service itself, or the host app, if omitted. */
  readonly caller?: string | undefined
  /** Waiters in addition to the maximum. */
  readonly more?: number
  /** Any value if omitted. */
  readonly accepts?: (value: T) => boolean
}

interface Waiter<T> {
  readonly caller: string
  readonly number: number
  readonly since: number
  readonly accepts: (value: T) => boolean
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
  endLimit?: () => void
}

const SERVICE = ''

/** `timeout`: of each waiter, in milliseconds. */
export function createWaiters<T> (
  maxWaiting: number,
  timeout: number,
  /** The error of a waiter after the time limit. */
  late: () => ServiceError = overloaded
): Waiters<T> {
  /** The waiters of each caller in the order of their arrival; the first caller is next. */
  const callers = new Map<string, Array<Waiter<T>>>()
  let size = 0
  let count = 0
  let waited = 0

  const remove = (waiter: Waiter<T>): void => {
    const queue = callers.get(waiter.caller) as Array<Waiter<T>>
    queue.splice(queue.indexOf(waiter), 1)
    if (queue.length === 0) callers.delete(waiter.caller)
    waiter.endLimit?.()
    size--
    waited += performance.now() - waiter.since
  }

  const refuse = (waiter: Waiter<T>, reason: Error): void => {
    remove(waiter)
    waiter.reject(reason)
  }

  /** The last waiter of the caller with the most, if it has more than `least`. */
  const shed = (least: number): boolean => {
    let longest: ReadonlyArray<Waiter<T>> | undefined
    for (const queue of callers.values()) if (queue.length > (longest?.length ?? least)) longest = queue
    if (longest === undefined) return false
    refuse(longest.at(-1) as Waiter<T>, overloaded())
    return true
  }

  const find = (value: T): Waiter<T> | undefined => {
    for (const queue of callers.values()) {
      const waiter = queue.find(({ accepts }) => accepts(value))
      if (waiter !== undefined) return waiter
    }
    return undefined
  }

  return {
    get size () { return size },
    get last () { return count },
    get waited () { return waited },
    wait ({ caller = SERVICE, more = 0, accepts = () => true }) {
      const ofCaller = callers.get(caller)?.length ?? 0
      if (size >= maxWaiting + more && !shed(ofCaller + 1)) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => {
        const since = performance.now()
        const waiter: Waiter<T> = { caller, number: ++count, since, accepts, resolve, reject }
        waiter.endLimit = watch(timeout, undefined, () => refuse(waiter, late()))
        getOrCreate(callers, caller, () => []).push(waiter)
        size++
      })
    },
    give (value) {
      if (size === 0) return false
      const waiter = find(value)
      if (waiter === undefined) return false
      remove(waiter)
      const queue = callers.get(waiter.caller)
      if (queue !== undefined && callers.size > 1) {
        // the turn of the caller is over
        callers.delete(waiter.caller)
        callers.set(waiter.caller, queue)
      }
      waiter.resolve(value)
      return true
    },
    reject (reason, last = count) {
      const all = [...callers.values()].flat()
      for (const waiter of all) if (waiter.number <= last) refuse(waiter, reason())
    }
  }
}
