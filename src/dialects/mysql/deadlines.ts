/**
 * Things that must each be over within the same time, so that they fall due in the order in which they came: one timer for
 * the first of them is enough. One for each would cost as much as compiling the statement.
 */
import { createFifo, type Place } from './fifo.ts'

export interface Deadlines<T> {
  /** What it gives is for `remove`. */
  add (thing: T): Place
  /** It is over. */
  remove (place: Place): void
}

/** `onDue`: told of each thing that is not over after so many milliseconds. Keeps a process alive while there is any. */
export function createDeadlines<T> (milliseconds: number, onDue: (thing: T) => void): Deadlines<T> {
  const due = createFifo<{ readonly thing: T, readonly time: number }>()
  let timer: NodeJS.Timeout | undefined

  const wake = (): void => {
    timer = undefined
    const now = performance.now()
    for (let first = due.first; first !== undefined; first = due.first) {
      if (first.time > now) {
        timer = setTimeout(wake, Math.ceil(first.time - now))
        return
      }
      due.shift()
      onDue(first.thing)
    }
  }

  return {
    add (thing) {
      const place = due.push({ thing, time: performance.now() + milliseconds })
      timer ??= setTimeout(wake, milliseconds)
      if (due.size === 1) timer.ref()
      return place
    },
    remove (place) {
      due.remove(place)
      if (due.size === 0) timer?.unref()
    }
  }
}
