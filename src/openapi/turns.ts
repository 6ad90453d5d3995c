import { overloaded } from '../errors.ts'

/** Runs `work` when it is its turn. @throws OVERLOADED if too many already wait, and what `work` throws */
export type TakeTurn = <T>(work: () => Promise<T>) => Promise<T>

/** Limits how many run at once to `running`, while up to `waiting` others wait in the order of their arrival. */
export function createTurns ({ running, waiting }: { readonly running: number, readonly waiting: number }): TakeTurn {
  const queue: Array<() => void> = []
  let free = running
  return async (work) => {
    if (free > 0) free--
    else if (queue.length >= waiting) throw overloaded()
    else await new Promise<void>((resolve) => { queue.push(resolve) })
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
