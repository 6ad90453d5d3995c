/**
 * Things that must each be over within the same time, so that they fall due in the order in which they came: one timer for
 * the first of them is enough. One for each would cost as much as compiling the statement.
 */
export interface Deadlines<T> {
  add (thing: T): void
  /** It is over. */
  delete (thing: T): void
}

/** `onDue`: told of each thing that is not over after so many milliseconds. Keeps no process alive. */
export function createDeadlines<T> (milliseconds: number, onDue: (thing: T) => void): Deadlines<T> {
  const due = new Map<T, number>()
  let sleeping = false

  const sleep = (time: number): void => {
    sleeping = true
    setTimeout(wake, time).unref()
  }

  const wake = (): void => {
    sleeping = false
    const now = performance.now()
    for (const [thing, time] of due) {
      if (time > now) return sleep(Math.ceil(time - now))
      due.delete(thing)
      onDue(thing)
    }
  }

  return {
    add (thing) {
      due.set(thing, performance.now() + milliseconds)
      if (!sleeping) sleep(milliseconds)
    },
    delete: (thing) => { due.delete(thing) }
  }
}
