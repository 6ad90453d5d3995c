import { overloaded } from '../errors.ts'

/** Runs the statements of a transaction one after the other, because a host app may send several without waiting for their results. */
export interface CommandQueue {
  /** @throws OVERLOADED if too many wait; what `work` throws */
  run<T> (work: () => Promise<T>): Promise<T>
  /** Resolves when nothing runs or waits. */
  drain (): Promise<void>
}

/** Maximum number of waiting statements. */
export const MAX_WAITING = 1000

export function createCommandQueue (): CommandQueue {
  let pending = 0
  let last: Promise<unknown> = Promise.resolve()
  const settled = (): void => { pending-- }
  const drain = async (): Promise<void> => {
    if (pending > 0) await last.then(drain)
  }
  return {
    run (work) {
      if (pending > MAX_WAITING) return Promise.reject(overloaded())
      const result = pending === 0 ? work() : last.then(work)
      pending++
      last = result.then(settled, settled)
      return result
    },
    drain
  }
}
