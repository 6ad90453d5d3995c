import { createFifo, type Fifo, type FifoEntry } from './fifo.ts'

/**
 * Entries with the same time limit, which therefore expire in the order of their arrival. They share one timer, which also calls `onCheck`: an
 * entry costs 0.08 µs, compared with 0.12 µs for its own timer.
 */
export interface TimeoutQueue<T> extends Fifo<T> {}

/** The interval of `onCheck`, in milliseconds. */
const CHECK_INTERVAL = 100

export interface TimeoutQueueOptions<T> {
  /** Called with each entry that exceeds the time limit, after it was removed. */
  readonly onTimeout: (entry: FifoEntry<T>) => void
  /** Called with each value at an interval, until it is removed. */
  readonly onCheck?: (value: T) => void
}

/** `milliseconds`: the time limit. The queue keeps the process alive while it has entries. */
export function createTimeoutQueue<T> (milliseconds: number, { onTimeout, onCheck }: TimeoutQueueOptions<T>): TimeoutQueue<T> {
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
    if (fifo.first !== undefined) timer ??= setTimeout(wake, Math.min(pause, Math.ceil(fifo.first.since + milliseconds - now)))
  }

  return {
    get size () { return fifo.size },
    get first () { return fifo.first },
    get last () { return fifo.last },
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
