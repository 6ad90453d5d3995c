/**
 * What request bodies may take of the process while they have no response: memory, and turns of the event loop.
 */

/**
 * A budget in bytes. One principal holds at most half of the memory that the others leave free, so that none can use up
 * the whole. A body that needs more than the budget is accepted while nothing else is held, so that it is not refused
 * forever.
 */
export class BodyMemory {
  readonly #total: number
  readonly #holders = new Map<string, number>()
  /** In bytes. */
  held = 0

  constructor (total: number) {
    this.#total = total
  }

  /** `ownBytes`: what the body holds already. False if the bytes do not fit. */
  take (owner: string, ownBytes: number, bytes: number): boolean {
    const before = this.#holders.get(owner) ?? 0
    if (this.held !== ownBytes && (before + bytes) * 2 > this.#total - (this.held - before)) return false
    this.held += bytes
    this.#holders.set(owner, before + bytes)
    return true
  }

  give (owner: string, bytes: number): void {
    const rest = (this.#holders.get(owner) as number) - bytes
    this.held -= bytes
    if (rest === 0) this.#holders.delete(owner)
    else this.#holders.set(owner, rest)
  }
}

export class BodyReservation {
  readonly #memory: BodyMemory
  readonly owner: string
  bytes = 0
  #hasLeft = false

  /** `owner`: the principal. */
  constructor (memory: BodyMemory, owner: string) {
    this.#memory = memory
    this.owner = owner
  }

  /** Increases the reservation to `bytes`. Returns false if they do not fit. */
  hold (bytes: number): boolean {
    const more = bytes - this.bytes
    if (more <= 0) return true
    if (this.#hasLeft || !this.#memory.take(this.owner, this.bytes, more)) return false
    this.bytes = bytes
    return true
  }

  /** The response has ended, or the client has gone. */
  get hasLeft (): boolean { return this.#hasLeft }

  /** Frees all memory. Idempotent. */
  leave (): void {
    if (!this.#hasLeft && this.bytes > 0) this.#memory.give(this.owner, this.bytes)
    this.#hasLeft = true
  }
}

/** Bytes for each byte of a body: itself, its text, the texts of its values, the statement and its packet. */
const PER_BYTE = 6
/**
 * Bytes for each item of a list or object, and for each list and object. Numbers with their text and empty objects are
 * the largest.
 */
const PER_ITEM = 72
/** Bytes of a body whose items are not counted, and which takes no turn of its own. */
export const SMALL = 16_384
/** Bytes for each byte of a small body; only `[` can take more. */
const PER_BYTE_OF_SMALL = 32

export const weighBytes = (length: number): number => length * (length <= SMALL ? PER_BYTE_OF_SMALL : PER_BYTE)

/**
 * The memory that a body of so many bytes takes while its request runs, in bytes: an upper bound for ordinary bodies,
 * and about as much for the worst. `items`: commas and opening brackets.
 */
export const weighBody = (length: number, items: number): number =>
  weighBytes(length) + (length > SMALL ? items * PER_ITEM : 0)

// Large bodies take turns, their callers by turns: others wait for one of them, not for all that has arrived. Between
// them is time for short requests, which need several turns of the event loop.

/** Bodies go on without a pause until they have taken so many milliseconds. */
const SLICE = 20
/** A pause is so much of the time that they have taken, and at most so many milliseconds. */
const SHARE = 1 / 4
const LONGEST = 50

/** By caller, in the order of their next turns. */
const waiting = new Map<string, Array<() => void>>()
let isRunning = false
/** Milliseconds since the last pause. */
let used = 0

/** Works in a turn of the event loop in which no other large body does. */
export function inOwnTurn (caller: string, work: () => void): void {
  const own = waiting.get(caller)
  if (own === undefined) waiting.set(caller, [work])
  else own.push(work)
  if (isRunning) return
  isRunning = true
  setImmediate(takeTurn)
}

function takeTurn (): void {
  const [caller, works] = waiting.entries().next().value as [string, Array<() => void>]
  const work = works.shift() as () => void
  waiting.delete(caller)
  if (works.length > 0) waiting.set(caller, works)
  const since = performance.now()
  // in the next turn of the event loop, when promises have gone on, too
  setImmediate(() => {
    used += performance.now() - since
    if (waiting.size > 0 && used < SLICE) return takeTurn()
    const pause = Math.min(used * SHARE, LONGEST)
    used = 0
    if (waiting.size > 0) setTimeout(takeTurn, pause)
    else isRunning = false
  })
  work()
}
