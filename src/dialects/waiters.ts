import { overloaded, type ServiceError } from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import { watch } from './time-limits.ts'

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

/** A bounded queue, with a time limit for each. Callers take turns, each in the order of its own requests. */
export class Waiters<T> {
  readonly #most: number
  readonly #timeout: number
  readonly #late: () => ServiceError
  /** The waiters of each caller in the order of their arrival; the first caller is next. */
  readonly #callers = new Map<string, Array<Waiter<T>>>()
  /** How many wait. A field, so that nothing is called while nobody waits. */
  size = 0
  /** The sequence number of the last one. */
  last = 0
  /** The total waiting time of all waiters that no longer wait, in milliseconds. */
  waited = 0

  /** `timeout`: of each waiter, in milliseconds. `late`: the error after it. */
  constructor (most: number, timeout: number, late: () => ServiceError = overloaded) {
    this.#most = most
    this.#timeout = timeout
    this.#late = late
  }

  /**
   * `caller`: the service itself, or the host app, if omitted; `more`: waiters in addition to the maximum. If there are
   * too many, the caller with the most loses its last one, if it has more than this caller would have.
   * @throws OVERLOADED if there are too many otherwise, or after the time limit
   */
  wait ({ caller = SERVICE, more = 0, accepts = () => true }: {
    readonly caller?: string | undefined
    readonly more?: number
    readonly accepts?: (value: T) => boolean
  }): Promise<T> {
    const ofCaller = this.#callers.get(caller)?.length ?? 0
    if (this.size >= this.#most + more && !this.#shed(ofCaller + 1)) return Promise.reject(overloaded())
    return new Promise((resolve, reject) => {
      const since = performance.now()
      const waiter: Waiter<T> = { caller, number: ++this.last, since, accepts, resolve, reject }
      waiter.endLimit = watch(this.#timeout, undefined, () => this.#refuse(waiter, this.#late()))
      getOrCreate(this.#callers, caller, () => []).push(waiter)
      this.size++
    })
  }

  /** To the first waiter of the next caller that accepts the value; false if there is none. */
  give (value: T): boolean {
    const waiter = this.#find(value)
    if (waiter === undefined) return false
    this.#remove(waiter)
    const queue = this.#callers.get(waiter.caller)
    if (queue !== undefined && this.#callers.size > 1) {
      // the turn of the caller is over
      this.#callers.delete(waiter.caller)
      this.#callers.set(waiter.caller, queue)
    }
    waiter.resolve(value)
    return true
  }

  /** All up to the sequence number `last`, or all. */
  reject (reason: () => Error, last = this.last): void {
    const all = [...this.#callers.values()].flat()
    for (const waiter of all) if (waiter.number <= last) this.#refuse(waiter, reason())
  }

  #find (value: T): Waiter<T> | undefined {
    for (const queue of this.#callers.values()) {
      const waiter = queue.find(({ accepts }) => accepts(value))
      if (waiter !== undefined) return waiter
    }
    return undefined
  }

  /** Refuses the last waiter of the caller with the most, if it has more than `least`. */
  #shed (least: number): boolean {
    let longest: ReadonlyArray<Waiter<T>> | undefined
    for (const queue of this.#callers.values()) if (queue.length > (longest?.length ?? least)) longest = queue
    if (longest === undefined) return false
    this.#refuse(longest.at(-1) as Waiter<T>, overloaded())
    return true
  }

  #refuse (waiter: Waiter<T>, reason: Error): void {
    this.#remove(waiter)
    waiter.reject(reason)
  }

  #remove (waiter: Waiter<T>): void {
    const queue = this.#callers.get(waiter.caller) as Array<Waiter<T>>
    queue.splice(queue.indexOf(waiter), 1)
    if (queue.length === 0) this.#callers.delete(waiter.caller)
    waiter.endLimit?.()
    this.size--
    this.waited += performance.now() - waiter.since
  }
}
