import { streamsBusy } from '../errors.ts'

/** A stream that runs. */
export interface RunningStream {
  /** Ends it without its end. */
  fail (error: Error): void
}

/** The streams that run on a database: each keeps a connection, and may keep it for minutes. */
export class Streams {
  readonly #most: number
  readonly #running = new Set<RunningStream>()

  /** `most`: how many may run at a time. */
  constructor (most: number) {
    this.#most = most
  }

  get running (): number {
    return this.#running.size
  }

  /** @throws OVERLOADED where too many run */
  add (stream: RunningStream): void {
    if (this.#running.size >= this.#most) throw streamsBusy()
    this.#running.add(stream)
  }

  remove (stream: RunningStream): void {
    this.#running.delete(stream)
  }

  failAll (error: () => Error): void {
    for (const stream of this.#running) stream.fail(error())
  }
}
