/** What waits for a session, and how long what runs on one may take. */
import { overloaded, queryTimeout, type ServiceError } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
import { clientGone, type Client } from './dialect.ts'

/** A bounded queue of waiters, each with a time limit. Callers take turns, each in the order of its own requests. */
export interface Waiters<T> {
  readonly size: number
  /** The sequence number of the last waiter. */
  readonly last: number
  /** The total waiting time of all waiters that no longer wait, in milliseconds. */
  readonly waited: number
  /**
   * If there are too many waiters, the caller with the most loses its last one, if it has more than this caller would
   * have. @throws OVERLOADED if there are too many otherwise, or after the time limit
   */
  wait (options: WaitOptions<T>): Promise<T>
  /** Resolves the first waiter of the next caller that accepts the value. Returns false if there is none. */
  give (value: T): boolean
  /** Rejects all waiters up to the sequence number `last`; all of them if it is omitted. */
  reject (reason: () => Error, last?: number): void
}

export interface WaitOptions<T> {
  /** The caller that waits; the service itself, or the host app, if omitted. */
  readonly caller?: string | undefined
  /** The number of waiters allowed in addition to the maximum. */
  readonly more?: number
  /** Whether a value is of use; any if omitted. */
  readonly accepts?: (value: T) => boolean
}

interface Waiter<T> {
  readonly caller: string
  readonly number: number
  readonly since: number
  readonly accepts: (value: T) => boolean
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
  timer?: NodeJS.Timeout
}

const SERVICE = ''

/** `maxWaiting`: the maximum number of waiters; `timeout`: their time limit, in milliseconds. */
export function createWaiters<T> (
  maxWaiting: number,
  timeout: number,
  /** The error of a waiter after the time limit. */
  late: () => ServiceError = overloaded
): Waiters<T> {
  /** The waiters of each caller in the order of their arrival; the first caller is next. */
  const callers = new Map<string, Set<Waiter<T>>>()
  let size = 0
  let count = 0
  let waited = 0

  const remove = (waiter: Waiter<T>): void => {
    const own = callers.get(waiter.caller) as Set<Waiter<T>>
    own.delete(waiter)
    if (own.size === 0) callers.delete(waiter.caller)
    clearTimeout(waiter.timer)
    size--
    waited += performance.now() - waiter.since
  }

  const refuse = (waiter: Waiter<T>, reason: Error): void => {
    remove(waiter)
    waiter.reject(reason)
  }

  /** Rejects the last waiter of the caller with the most waiters, if it has more than `least`. */
  const shed = (least: number): boolean => {
    let longest: Set<Waiter<T>> | undefined
    for (const own of callers.values()) if (own.size > (longest?.size ?? least)) longest = own
    if (longest === undefined) return false
    refuse([...longest].at(-1) as Waiter<T>, overloaded())
    return true
  }

  const find = (value: T): Waiter<T> | undefined => {
    for (const own of callers.values()) for (const waiter of own) if (waiter.accepts(value)) return waiter
    return undefined
  }

  return {
    get size () { return size },
    get last () { return count },
    get waited () { return waited },
    wait ({ caller = SERVICE, more = 0, accepts = () => true }) {
      if (size >= maxWaiting + more && !shed((callers.get(caller)?.size ?? 0) + 1)) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => {
        const waiter: Waiter<T> = { caller, number: ++count, since: performance.now(), accepts, resolve, reject }
        waiter.timer = setTimeout(() => refuse(waiter, late()), timeout)
        getOrCreate(callers, caller, () => new Set<Waiter<T>>()).add(waiter)
        size++
      })
    },
    give (value) {
      const waiter = find(value)
      if (waiter === undefined) return false
      remove(waiter)
      const others = callers.get(waiter.caller)
      if (others !== undefined) {
        // the turn of the caller is over
        callers.delete(waiter.caller)
        callers.set(waiter.caller, others)
      }
      waiter.resolve(value)
      return true
    },
    reject (reason, last = count) {
      for (const own of callers.values()) for (const waiter of own) if (waiter.number <= last) refuse(waiter, reason())
    }
  }
}

/** The interval at which a client is checked, in milliseconds. */
const CHECK_INTERVAL = 100

/**
 * Calls `stop` with QUERY_TIMEOUT after the time limit, and with CLIENT_GONE when the client has disconnected. Returns
 * the function that ends this.
 */
export function watch (
  milliseconds: number,
  client: Client | undefined,
  stop: (reason: ServiceError) => void
): () => void {
  const timer = setTimeout(() => stop(queryTimeout()), milliseconds)
  const checks = client && setInterval(() => { if (client.destroyed) stop(clientGone()) }, CHECK_INTERVAL)
  return () => {
    clearTimeout(timer)
    clearInterval(checks)
  }
}
