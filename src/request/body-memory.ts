/** The memory for request bodies: of all that have been received in part or whole, and are not answered yet. */

import { requestTimeout, type ServiceError } from '../errors.ts'

/** Rate below which an unfinished body is slow, in bytes per second, and the least time over which it is measured, in milliseconds. */
const SLOW_RATE = 65_536
const MIN_TIME = 1000
/** Interval of the clock of slow bodies, in milliseconds. It is behind while the process itself is busy, which is no fault of a client. */
const TICK = 250

/** What one caller holds, in all its bodies. */
interface Holder { bytes: number }

/**
 * A budget in bytes. One caller holds at most half of what the others leave free, so that none can use up that of the others. What alone
 * needs more than all of it is taken while nothing else is held: a large body is not refused for ever.
 */
export class BodyMemory {
  readonly #total: number
  readonly #holders = new Map<string, Holder>()
  /** Places of unfinished bodies, oldest first. */
  readonly #unfinished = new Set<BodyPlace>()
  #held = 0
  #time = 0
  #clock: NodeJS.Timeout | undefined

  constructor (total: number) {
    this.#total = total
  }

  /** Bytes that are held. */
  get held (): number {
    return this.#held
  }

  /** Takes bytes for a place; slow bodies lose theirs first. @returns false if they do not fit */
  take (place: BodyPlace, bytes: number): boolean {
    if (!this.#fits(place, bytes) && !this.#makeRoom(place, bytes)) return false
    this.#held += bytes
    const holder = this.#holders.get(place.owner)
    if (holder === undefined) this.#holders.set(place.owner, { bytes })
    else holder.bytes += bytes
    return true
  }

  give (owner: string, bytes: number): void {
    this.#held -= bytes
    const holder = this.#holders.get(owner) as Holder
    holder.bytes -= bytes
    if (holder.bytes === 0) this.#holders.delete(owner)
  }

  /** Time during which the process could read, in milliseconds, while there were unfinished bodies. */
  get time (): number {
    return this.#time
  }

  tick (): void {
    this.#time += TICK
  }

  /** From now on the place may be taken away while it is slow. */
  addUnfinished (place: BodyPlace): void {
    this.#unfinished.add(place)
    this.#clock ??= setInterval(() => this.tick(), TICK).unref()
  }

  removeUnfinished (place: BodyPlace): void {
    if (!this.#unfinished.delete(place) || this.#unfinished.size > 0) return
    clearInterval(this.#clock)
    this.#clock = undefined
  }

  #heldBy (owner: string): number {
    return this.#holders.get(owner)?.bytes ?? 0
  }

  #fits ({ owner, bytes: own }: BodyPlace, bytes: number): boolean {
    const held = this.#heldBy(owner)
    return this.#held === own || (held + bytes) * 2 <= this.#total - (this.#held - held)
  }

  /** Takes the places of slow bodies, of the same caller and of those that hold more. */
  #makeRoom (place: BodyPlace, bytes: number): boolean {
    for (const other of this.#unfinished) {
      if (other === place || !other.isSlow()) continue
      if (other.owner !== place.owner && this.#heldBy(other.owner) <= this.#heldBy(place.owner) + bytes) continue
      other.lose()
      if (this.#fits(place, bytes)) return true
    }
    return false
  }
}

/** What one body holds. */
export class BodyPlace {
  readonly owner: string
  bytes = 0
  /** Called when another body needs the memory of this one, which is unfinished and slow. The place has been left. */
  onLost: (error: ServiceError) => void = () => {}
  readonly #memory: BodyMemory
  #hasLeft = false
  /** The last measurement of an unfinished body: when it was, in milliseconds, how much had arrived, and what it found. */
  #measuredAt = 0
  #measured = 0
  #wasSlow = false
  #received = 0
  #receivedAt = 0

  /** `owner`: identifies the caller. */
  constructor (memory: BodyMemory, owner: string) {
    this.#memory = memory
    this.owner = owner
  }

  /** Takes memory until the place holds so many bytes. @returns false if they do not fit, or the place was left */
  hold (bytes: number): boolean {
    const more = bytes - this.bytes
    if (more <= 0) return true
    if (this.#hasLeft || !this.#memory.take(this, more)) return false
    this.bytes = bytes
    return true
  }

  /** From now on, until `finish`, the place may be taken away while its body is slow. */
  begin (): void {
    this.#measuredAt = this.#receivedAt = this.#memory.time
    this.#memory.addUnfinished(this)
  }

  /** `received`: bytes of an unfinished body so far. */
  progress (received: number): void {
    this.#received = received
    const now = this.#receivedAt = this.#memory.time
    if (now - this.#measuredAt < MIN_TIME) return
    this.#wasSlow = this.#isBelowRate(now)
    this.#measuredAt = now
    this.#measured = received
  }

  finish (): void {
    this.#memory.removeUnfinished(this)
  }

  isSlow (): boolean {
    const now = this.#memory.time
    return this.#wasSlow || now - this.#receivedAt >= MIN_TIME || (now - this.#measuredAt >= MIN_TIME && this.#isBelowRate(now))
  }

  #isBelowRate (now: number): boolean {
    return this.#received - this.#measured < SLOW_RATE * (now - this.#measuredAt) / 1000
  }

  lose (): void {
    this.leave()
    this.onLost(requestTimeout())
  }

  /** Gives all memory back. Idempotent. */
  leave (): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.finish()
    if (this.bytes > 0) this.#memory.give(this.owner, this.bytes)
  }
}
