import { overloaded } from '../errors.ts'

/**
 * A queue from which any entry can be removed: a doubly linked list whose entries forget their neighbours when they are
 * removed. A Set, Map or array would also work, but V8 replaces their tables when they grow or shrink, and a dead table
 * in the old generation keeps its content, including requests, alive until the next full garbage collection.
 */
interface Fifo<T> {
  readonly size: number
  readonly first: FifoEntry<T> | undefined
  readonly last: FifoEntry<T> | undefined
  push (value: T): FifoEntry<T>
  /** Does nothing if the entry was removed already. */
  remove (entry: FifoEntry<T>): void
  each (visit: (value: T) => void): void
}

export interface FifoEntry<T> {
  readonly value: T
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
    get last () { return last },
    push (value) {
      const entry: FifoEntry<T> = { value, since: performance.now(), before: last, after: undefined }
      if (last === undefined) first = entry
      else last.after = entry
      last = entry
      size++
      return entry
    },
    remove (entry) {
      const { before, after } = entry
      if (before === undefined && entry !== first) return
      if (before === undefined) first = after
      else before.after = after
      if (after === undefined) last = before
      else after.before = before
      entry.before = entry.after = undefined
      size--
    },
    each (visit) {
      for (let entry = first; entry !== undefined; entry = entry.after) visit(entry.value)
    }
  }
}

/**
 * Entries with the same time limit, which therefore expire in the order of their arrival. They share one timer, which
 * also calls `onCheck`: an entry costs 0.08 µs, compared with 0.12 µs for its own timer.
 */
export interface TimeoutQueue<T> extends Fifo<T> {}

/** The interval of `onCheck`, in milliseconds. */
const CHECK_INTERVAL = 100

/**
 * `milliseconds`: the time limit. `onTimeout`: called with each entry that exceeds it, after the entry was removed.
 * `onCheck`: called with each value at an interval, until it is removed. The queue keeps the process alive while it has
 * entries.
 */
export function createTimeoutQueue<T> (
  milliseconds: number,
  { onTimeout, onCheck }: {
    readonly onTimeout: (entry: FifoEntry<T>) => void
    readonly onCheck?: (value: T) => void
  }
): TimeoutQueue<T> {
  const fifo = createFifo<T>()
  const pause = onCheck === undefined ? milliseconds : Math.min(CHECK_INTERVAL, milliseconds)
  let timer: NodeJS.Timeout | undefined

  const wake = (): void => {
    timer = undefined
    const now = performance.now()
    for (let { first } = fifo; first !== undefined && first.since + milliseconds <= now; { first } = fifo) {
      fifo.remove(first)
      onTimeout(first)
    }
    if (onCheck !== undefined) fifo.each(onCheck)
    if (fifo.first !== undefined) {
      timer ??= setTimeout(wake, Math.min(pause, Math.ceil(fifo.first.since + milliseconds - now)))
    }
  }

  return {
    get size () {
      return fifo.size
    },
    get first () {
      return fifo.first
    },
    get last () {
      return fifo.last
    },
    each: fifo.each,
    push (value) {
      const entry = fifo.push(value)
      timer ??= setTimeout(wake, pause)
      if (fifo.size === 1) timer.ref()
      return entry
    },
    remove (entry) {
      fifo.remove(entry)
      if (fifo.size === 0) timer?.unref()
    }
  }
}

/**
 * A bounded queue of waiters, each with a time limit. Callers take turns, each in the order of its own requests, so
 * that one that sends thousands does not delay the others.
 */
export interface Waiters<T> {
  readonly size: number
  /** The sequence number of the last waiter. */
  readonly last: number
  /** The total waiting time of all waiters that no longer wait, in milliseconds. */
  readonly waited: number
  /**
   * `more`: the number of waiters allowed in addition to the maximum. `caller`: the caller that waits; the service
   * itself if omitted. If there are too many waiters, the caller with the most loses its last one, if it has more than
   * this caller would have. @throws OVERLOADED if there are too many otherwise, or after the time limit
   */
  wait (more: number, caller?: string): Promise<T>
  /** Resolves the first waiter of the next caller. Returns false if there are no waiters. */
  give (value: T): boolean
  /** Rejects all waiters up to the sequence number `last`; all of them if it is omitted. */
  reject (reason: () => Error, last?: number): void
  /** How many waiters a caller has. */
  countOf (caller: string | undefined): number
  /**
   * Rejects the last waiter of the caller with the most waiters, if it has more than `count`; otherwise returns false.
   */
  shed (count: number): boolean
}

interface Waiter<T> {
  readonly number: number
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
  readonly queue: CallerQueue<T>
  /** The entry of the waiter in the queue of its caller. */
  entry?: FifoEntry<FifoEntry<Waiter<T>>>
}

/** The waiters of one caller, and the entry of the caller among the callers, of which the first one is next. */
interface CallerQueue<T> {
  readonly caller: string
  readonly entries: Fifo<FifoEntry<Waiter<T>>>
  entry: FifoEntry<CallerQueue<T>>
}

/** The caller for requests of the service and of the host app. */
const SERVICE = ''

/** `maxWaiting`: the maximum number of waiters; `timeout`: their time limit, in milliseconds. */
export function createWaiters<T> (maxWaiting: number, timeout: number): Waiters<T> {
  let count = 0
  let waited = 0
  const queues = new Map<string, CallerQueue<T>>()
  const callers = createFifo<CallerQueue<T>>()

  const queueOf = (caller: string): CallerQueue<T> => {
    let queue = queues.get(caller)
    if (queue === undefined) {
      queue = { caller, entries: createFifo() } as Omit<CallerQueue<T>, 'entry'> as CallerQueue<T>
      queue.entry = callers.push(queue)
      queues.set(caller, queue)
    }
    return queue
  }

  const unlink = ({ value, since }: FifoEntry<Waiter<T>>): Waiter<T> => {
    waited += performance.now() - since
    const { queue, entry } = value
    queue.entries.remove(entry as NonNullable<typeof entry>)
    if (queue.entries.size === 0) {
      callers.remove(queue.entry)
      queues.delete(queue.caller)
    }
    return value
  }
  const entries = createTimeoutQueue<Waiter<T>>(timeout, { onTimeout: (entry) => unlink(entry).reject(overloaded()) })

  const take = (entry: FifoEntry<Waiter<T>>): Waiter<T> => {
    entries.remove(entry)
    return unlink(entry)
  }

  const countOf = (caller = SERVICE): number => queues.get(caller)?.entries.size ?? 0

  const shed = (count: number): boolean => {
    let longest: CallerQueue<T> | undefined
    for (const queue of queues.values()) {
      if (queue.entries.size > count && queue.entries.size > (longest?.entries.size ?? 0)) longest = queue
    }
    if (longest?.entries.last === undefined) return false
    take(longest.entries.last.value).reject(overloaded())
    return true
  }

  return {
    get size () { return entries.size },
    get last () { return count },
    get waited () { return waited },
    countOf,
    shed,
    wait (more, caller = SERVICE) {
      if (entries.size >= maxWaiting + more && !shed(countOf(caller) + 1)) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => {
        const queue = queueOf(caller)
        const waiter: Waiter<T> = { number: ++count, resolve, reject, queue }
        waiter.entry = queue.entries.push(entries.push(waiter))
      })
    },
    give (value) {
      const queue = callers.first?.value
      if (queue === undefined) return false
      const { value: waiter } = queue.entries.first as FifoEntry<FifoEntry<Waiter<T>>>
      if (queue.entries.size > 1 && callers.size > 1) {
        callers.remove(queue.entry)
        queue.entry = callers.push(queue)
      }
      take(waiter).resolve(value)
      return true
    },
    reject (reason, last = count) {
      for (let { first } = entries; first !== undefined && first.value.number <= last; { first } = entries) {
        take(first).reject(reason())
      }
    }
  }
}
