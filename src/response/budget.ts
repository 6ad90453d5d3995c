/**
 * The memory for the responses of one registration of the plugin: those being written, and those that clients have not
 * read yet.
 */
import type { ServerResponse } from 'node:http'

/**
 * Sent responses of up to so many bytes need not be counted, because they fit into the send buffer of a connection. Of
 * a text, which is short, its characters are taken for bytes, because counting those would be a call for each response.
 */
export const UNCOUNTED = 16_384
/**
 * Responses of up to so many bytes may use the whole budget, larger ones three quarters of it, so that a few large ones
 * do not block the others.
 */
const MEDIUM = 1_048_576
const FOR_LARGE = 0.75

export interface MemoryBudget {
  /** In bytes. */
  readonly largest: number
  /** Bytes of the earlier parts of a larger response. */
  readonly before: number
  take (bytes: number, size: number): boolean
  give (bytes: number): void
}

export class ResponseBudget implements MemoryBudget {
  readonly #bytes: number
  /** In bytes. */
  readonly largest: number
  readonly before = 0
  #used = 0

  constructor (bytes: number) {
    this.#bytes = bytes
    this.largest = Math.floor(bytes * FOR_LARGE)
  }

  /**
   * Reserves `bytes` for a response that then has `size` bytes; returns false if fewer are left. The larger a response
   * is, the more of the budget it may use, so that a nearly complete one is not refused because of others that have
   * just begun.
   */
  take (bytes: number, size: number): boolean {
    if (this.#used + bytes > (size > MEDIUM ? (this.largest + size) / 2 : this.#bytes)) return false
    this.#used += bytes
    return true
  }

  give (bytes: number): void {
    this.#used -= bytes
  }

  /** The memory for the next part of a response that holds `before` bytes already; sizes are of the whole. */
  after (before: number): MemoryBudget {
    return {
      largest: this.largest - before,
      before,
      take: (bytes, size) => this.take(bytes, before + size),
      give: (bytes) => this.give(bytes)
    }
  }

  /** Counts the bytes of a response that is not closed until its client has read it, or has disconnected. */
  countUnsent (response: ServerResponse, length: number): void {
    this.#used += length
    let isCounted = true
    const end = (): void => {
      if (isCounted) this.give(length)
      isCounted = false
    }
    response.once('finish', end).once('close', end)
  }
}

/** For responses outside of a registration. */
export const UNLIMITED = new ResponseBudget(Infinity)

/** Bytes that are taken from the budget at a time. */
const STEP = 1_048_576

/** What one response has taken from the budget. */
export class ResponseMemory {
  readonly #budget: MemoryBudget
  #taken = 0

  constructor (budget: MemoryBudget) {
    this.#budget = budget
  }

  /** In bytes. */
  get taken (): number {
    return this.#taken
  }

  /** For a response of `length` bytes that becomes no larger than `maxBytes`. False if the budget is exhausted. */
  extend (length: number, maxBytes: number): boolean {
    const more = Math.max(Math.min(STEP, maxBytes - this.#taken), length - this.#taken)
    if (!this.#budget.take(more, this.#taken + more)) return false
    this.#taken += more
    return true
  }

  release (): void {
    this.#budget.give(this.#taken)
    this.#taken = 0
  }
}
