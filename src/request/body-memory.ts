/** The memory for request bodies that have been received, in part or in full, and have no response yet. */

import { requestTimeout, type ServiceError } from '../errors.ts'

/**
 * Rate below which an unfinished body is slow, in bytes per second, and the minimum time over which it is measured, in
 * milliseconds.
 */
const SLOW_RATE = 65_536
const MIN_TIME = 1000
/**
 * Interval of the clock for slow bodies, in milliseconds. The clock stands still while the process itself is busy,
 * which is not the client's fault.
 */
const TICK = 250

/** The memory that one principal holds for all its bodies. */
interface Holder { bytes: number }

/**
 * A budget in bytes. One principal holds at most half of the memory that the others leave free, so that none can use up
 * the whole. A body that needs more than the budget is accepted while nothing else is held, so that it is not refused
 * forever.
 */
export class BodyMemory {
  readonly #total: number
  readonly #holders = new Map<string, Holder>()
  /** The reservations of unfinished bodies, oldest first. */
  readonly #unfinished = new Set<BodyReservation>()
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

  /** Reserves bytes; the reservations of slow bodies are cancelled first. @returns false if the bytes do not fit */
  take (reservation: BodyReservation, bytes: number): boolean {
    if (!this.#fits(reservation, bytes) && !this.#makeRoom(reservation, bytes)) return false
    this.#held += bytes
    const holder = this.#holders.get(reservation.owner)
    if (holder === undefined) this.#holders.set(reservation.owner, { bytes })
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

  /** Allows the reservation to be cancelled while its body is slow. */
  addUnfinished (reservation: BodyReservation): void {
    this.#unfinished.add(reservation)
    this.#clock ??= setInterval(() => this.tick(), TICK).unref()
  }

  removeUnfinished (reservation: BodyReservation): void {
    if (!this.#unfinished.delete(reservation) || this.#unfinished.size > 0) return
    clearInterval(this.#clock)
    this.#clock = undefined
  }

  #heldBy (owner: string): number {
    return this.#holders.get(owner)?.bytes ?? 0
  }

  #fits ({ owner, bytes: own }: BodyReservation, bytes: number): boolean {
    const held = this.#heldBy(owner)
    return this.#held === own || (held + bytes) * 2 <= this.#total - (this.#held - held)
  }

  /** Cancels the reservations of slow bodies, those of the same owner and of owners that hold more. */
  #makeRoom (reservation: BodyReservation, bytes: number): boolean {
    for (const other of this.#unfinished) {
      if (other === reservation || !other.isSlow()) continue
      const { owner } = reservation
      if (other.owner !== owner && this.#heldBy(other.owner) <= this.#heldBy(owner) + bytes) continue
      other.lose()
      if (this.#fits(reservation, bytes)) return true
    }
    return false
  }
}

/** The memory that is reserved for one body. */
export class BodyReservation {
  readonly owner: string
  bytes = 0
  /** Called when another body has taken the memory of this one, which is unfinished and slow. */
  onLost: (error: ServiceError) => void = () => {}
  readonly #memory: BodyMemory
  #hasLeft = false
  /**
   * The last measurement of an unfinished body: its time in milliseconds, the bytes that had arrived, and the result.
   */
  #measuredAt = 0
  #measured = 0
  #wasSlow = false
  #received = 0
  #receivedAt = 0

  /** `owner`: identifies the principal. */
  constructor (memory: BodyMemory, owner: string) {
    this.#memory = memory
    this.owner = owner
  }

  /** Increases the reservation to `bytes`. @returns false if they do not fit, or if the reservation was cancelled */
  hold (bytes: number): boolean {
    const more = bytes - this.bytes
    if (more <= 0) return true
    if (this.#hasLeft || !this.#memory.take(this, more)) return false
    this.bytes = bytes
    return true
  }

  /** Allows the reservation to be cancelled while its body is slow, until `finish`. */
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
    return (
      this.#wasSlow ||
      now - this.#receivedAt >= MIN_TIME ||
      (now - this.#measuredAt >= MIN_TIME && this.#isBelowRate(now))
    )
  }

  #isBelowRate (now: number): boolean {
    return this.#received - this.#measured < SLOW_RATE * (now - this.#measuredAt) / 1000
  }

  lose (): void {
    this.leave()
    this.onLost(requestTimeout())
  }

  /** Returns all memory. Idempotent. */
  leave (): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.finish()
    if (this.bytes > 0) this.#memory.give(this.owner, this.bytes)
  }
}
