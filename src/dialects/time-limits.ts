/**
 * Things that must each be over within the same time, so that they fall due in the order in which they came: one timer for
 * all of them is enough. One for each would cost as much as compiling the statement.
 */
import { createFifo, type Fifo, type Place } from './fifo.ts'

export interface Deadlines<T> extends Fifo<T> {}

/** At something that is not over yet is looked so often, in milliseconds. */
const LOOK = 100

export interface DeadlineOptions<T> {
  /** Told of each thing that is not over in time, which is taken out. */
  readonly onDue: (place: Place<T>) => void
  /** Told of each thing now and then, while it is in. */
  readonly onLook?: (thing: T) => void
}

/** Keeps a process alive while there is anything that may fall due, after so many `milliseconds`. */
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
