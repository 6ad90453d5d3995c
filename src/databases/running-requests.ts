/** Counts the requests that use a database, so that closing it can wait for them. Fastify only waits for those that came over a connection. */
export class RunningRequests {
  #count = 0
  #onEnd: (() => void) | undefined

  begin (): void {
    this.#count++
  }

  end (): void {
    if (--this.#count === 0) this.#onEnd?.()
  }

  /** Resolves when no request runs, or after so many milliseconds. May be called once. */
  async ended (milliseconds: number): Promise<void> {
    if (this.#count === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onEnd = resolve
    const timer = setTimeout(resolve, milliseconds)
    await promise
    clearTimeout(timer)
  }
}
