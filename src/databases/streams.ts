import { streamsBusy } from '../errors.ts'

/** A running stream. */
export interface RunningStream {
  /** Cuts the stream off. */
  fail (error: Error): void
}

/** The maximum number of streams at a time: of one caller, and of all callers together. */
export interface StreamLimits {
  readonly ofCaller: number
  readonly ofAll: number
}

/** The callers that may use their full number of streams at the same time, unless the pool is too small for them. */
const CALLERS = 4

/**
 * `most`: the setting `limits.streams`. A stream keeps its connection for minutes: half of the pool remains for short requests, and half of the rest for other
 * callers.
 */
export function limitStreams (most: number, poolSize: number): StreamLimits {
  const half = (number: number): number => Math.max(1, Math.floor(number / 2))
  return { ofCaller: Math.min(most, half(half(poolSize))), ofAll: Math.min(CALLERS * most, half(poolSize)) }
}

/** The running streams of a database, with the callers that they belong to. */
export class Streams {
  readonly #limits: StreamLimits
  readonly #running = new Map<RunningStream, string>()

  constructor (limits: StreamLimits) {
    this.#limits = limits
  }

  get running (): number {
    return this.#running.size
  }

  /** @throws OVERLOADED if the caller has too many streams, or all callers have */
  add (stream: RunningStream, caller: string): void {
    const { ofCaller, ofAll } = this.#limits
    if (this.#running.size >= ofAll || this.#countOf(caller) >= ofCaller) throw streamsBusy()
    this.#running.set(stream, caller)
  }

  #countOf (caller: string): number {
    let count = 0
    for (const each of this.#running.values()) if (each === caller) count++
    return count
  }

  remove (stream: RunningStream): void {
    this.#running.delete(stream)
  }

  failAll (error: () => Error): void {
    for (const stream of this.#running.keys()) stream.fail(error())
  }
}
