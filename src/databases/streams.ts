import { streamsBusy } from '../errors.ts'

/** A running stream. */
export interface RunningStream {
  /** Cuts the stream off. */
  fail (error: Error): void
}

/** The running streams of a database, each of which may keep a connection for minutes. */
export class Streams {
  readonly #most: number
  readonly #running = new Set<RunningStream>()

  /** `most`: the maximum number of streams at a time. */
  constructor (most: number) {
    this.#most = most
  }

  get running (): number {
    return this.#running.size
  }

  /** @throws OVERLOADED if too many streams run */
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
