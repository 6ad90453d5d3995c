/**
 * Things that must each be over within the same time, so that they fall due in the order in which they came: one timer for
 * the first of them is enough. One for each would cost as much as compiling the statement.
 */
export interface Deadlines<T> {
  add (thing: T): void
  /** It is over. */
  delete (thing: T): void
}

/** `onDue`: told of each thing that is not over after so many milliseconds. Keeps a process alive while there is any. */
export function createDeadlines<T> (milliseconds: number, onDue: (thing: T) => void): Deadlines<T> {
  const due = new Map<T, number>()
  let timer: NodeJS.Timeout | undefined

  const wake = (): void => {
    timer = undefined
    const now = performance.now()
    for (const [thing, time] of due) {
      if (time > now) {
        timer = setTimeout(wake, Math.ceil(time - now))
        return
      }
      due.delete(thing)
      onDue(thing)
    }
  }

  return {
    add (thing) {
      due.set(thing, performance.now() + milliseconds)
      timer ??= setTimeout(wake, milliseconds)
      if (due.size === 1) timer.ref()
    },
    delete (thing) {
      due.delete(thing)
      if (due.size === 0) timer?.unref()
    }
  }
}
