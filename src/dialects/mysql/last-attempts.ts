import { within } from './session.ts'

/** In milliseconds. */
const PATIENCE = 500

/**
 * Runs the last attempt of a transaction without the others of this process: those that take the same locks in another
 * order would undo it again. Nothing waits while there is no such attempt, nor longer than PATIENCE.
 */
export class LastAttempts {
  #running = 0
  #onIdle = (): void => {}
  /** Resolves when the last attempts that run or wait, one after the other, have ended; undefined if there are none. */
  #last: Promise<void> | undefined

  async run<T> (attempt: () => Promise<T>, isLast: boolean): Promise<T> {
    if (isLast) return await this.#runAlone(attempt)
    if (this.#last !== undefined) await inTime(this.#withoutLast())
    return await this.#count(attempt)
  }

  async #count<T> (attempt: () => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await attempt()
    } finally {
      if (--this.#running === 0) this.#onIdle()
    }
  }

  async #withoutLast (): Promise<void> {
    while (this.#last !== undefined) await this.#last
  }

  #runAlone<T> (attempt: () => Promise<T>): Promise<T> {
    const running = inTime(this.#idle(this.#last)).then(() => this.#count(attempt))
    const end = (): void => { if (this.#last === last) this.#last = undefined }
    const last = this.#last = running.then(end, end)
    return running
  }

  async #idle (before: Promise<void> | undefined): Promise<void> {
    await before
    if (this.#running > 0) await new Promise<void>((resolve) => { this.#onIdle = resolve })
  }
}

const inTime = (waiting: Promise<void>): Promise<void> => within(PATIENCE, waiting).catch(() => {})
