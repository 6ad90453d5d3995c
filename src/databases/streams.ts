/** How many streams and imports a database runs at a time. */
import { streamsBusy } from '../errors.ts'

interface RunningStream {
  /** Cuts the stream off, or ends the import. */
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
 * `most`: the setting `limits.streams`. A stream keeps its connection for minutes: half of the pool remains for short
 * requests, and half of the rest for other callers.
 */
export function limitStreams (most: number, poolSize: number): StreamLimits {
  const half = (number: number): number => Math.max(1, Math.floor(number / 2))
  return { ofCaller: Math.min(most, half(half(poolSize))), ofAll: Math.min(CALLERS * most, half(poolSize)) }
}

type Kind = 'streams' | 'imports'

/** The running streams and imports of a database, with the callers that they belong to. */
export class Streams {
  readonly #limits: Readonly<Record<Kind | 'both', StreamLimits>>
  readonly #running = new Map<RunningStream, { readonly caller: string, readonly kind: Kind }>()

  /** `both`: of streams and imports together. */
  constructor (
    streams: StreamLimits,
    { imports = streams, both = streams }: { readonly imports?: StreamLimits, readonly both?: StreamLimits } = {}
  ) {
    this.#limits = { streams, imports, both }
  }

  get running (): number {
    return this.count('streams')
  }

  count (kind: Kind): number {
    return this.#count(kind, undefined)
  }

  #count (kind: Kind | 'both', caller: string | undefined): number {
    let count = 0
    for (const each of this.#running.values()) {
      if ((kind === 'both' || each.kind === kind) && (caller === undefined || each.caller === caller)) count++
    }
    return count
  }

  /** @throws OVERLOADED if the caller has too many, or all callers have */
  add (stream: RunningStream, caller: string, kind: Kind = 'streams'): void {
    for (const each of [kind, 'both'] as const) {
      const { ofCaller, ofAll } = this.#limits[each]
      if (this.#count(each, undefined) >= ofAll || this.#count(each, caller) >= ofCaller) {
        throw streamsBusy(each === 'both' ? 'streams and imports' : kind)
      }
    }
    this.#running.set(stream, { caller, kind })
  }

  remove (stream: RunningStream): void {
    this.#running.delete(stream)
  }

  failAll (kind: Kind, error: () => Error): void {
    for (const [stream, each] of this.#running) if (each.kind === kind) stream.fail(error())
  }
}
