/**
 * One timer for things with the same time limit, which fall due in the order of their arrival. A timer for each of them would cost as
 * much as compiling a statement.
 */
import { createFifo, type Fifo, type FifoEntry } from './fifo.ts'

export interface Deadlines<T> extends Fifo<T> {}

/** The interval of `onLook`, in milliseconds. */
const LOOK = 100

export interface DeadlineOptions<T> {
  /** Called with each thing that exceeds the time limit, after it was removed. */
  readonly onDue: (place: FifoEntry<T>) => void
  /** Called with each thing at an interval, until it is removed. */
  readonly onLook?: (thing: T) => void
}

/** `milliseconds`: the time limit. Keeps the process alive while there is an entry. */
export function createDeadlines<T> (milliseconds: number, { onDue, onLook }: DeadlineOptions<T>): Deadlines<T> {
  const fifo = createFifo<T>()
  const pause = onLook === undefined ? milliseconds : Math.min(LOOK, milliseconds)
  let timer: NodeJS.Timeout | undefined

  const wake = (): void => {
    timer = undefined
    const now = performance.now()
    for (let { first } = fifo; first !== undefined && first.since + milliseconds <= now; { first } = fifo) {
      fifo.remove(first)
      onDue(first)
    }
    if (onLook !== undefined) fifo.each(onLook)
    if (fifo.first !== undefined) timer ??= setTimeout(wake, Math.min(pause, Math.ceil(fifo.first.since + milliseconds - now)))
  }

  return {
    get size () { return fifo.size },
    get first () { return fifo.first },
    each: fifo.each,
    push (thing) {
      const place = fifo.push(thing)
      timer ??= setTimeout(wake, pause)
      if (fifo.size === 1) timer.ref()
      return place
    },
    remove (place) {
      fifo.remove(place)
      if (fifo.size === 0) timer?.unref()
    }
  }
}
