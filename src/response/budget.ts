/**
 * What the answers of this process may take of its memory: those that are being made, and those that clients have not taken yet. There is
 * one for the process, as there is one memory.
 */
import type { ServerResponse } from 'node:http'

/** Answers of up to so many bytes are not counted: the system takes as much from a connection that nothing else waits on. */
const SMALL = 16_384
/** Answers of up to so many bytes may use all of the budget, larger ones three quarters of it: a few large ones do not shut out the rest. */
const MEDIUM = 1_048_576
const FOR_LARGE = 0.75

let budget = Infinity
let used = 0

/** Of several registrations in one process the last one decides. */
export function setAnswerBudget (bytes: number): void {
  budget = bytes
}

/** Bytes that an answer may have if there is no other. */
export function largestAnswer (): number {
  return Math.floor(budget * FOR_LARGE)
}

/**
 * Takes so many bytes for an answer that has `size` of them then; false where there are not so many left. The larger one is, the more of the
 * budget it may see used: one that is nearly ready is not refused for those that have just begun.
 */
export function takeMemory (bytes: number, size: number): boolean {
  if (used + bytes > (size > MEDIUM ? (largestAnswer() + size) / 2 : budget)) return false
  used += bytes
  return true
}

export function giveMemory (bytes: number): void {
  used -= bytes
}

/** Counts an answer until its client has taken it, or has gone. */
export function countUnsent (response: ServerResponse, payload: unknown): void {
  const { length = 0 } = (payload ?? '') as { length?: number }
  if (length <= SMALL || response.destroyed) return
  used += length
  let isCounted = true
  const end = (): void => {
    if (isCounted) used -= length
    isCounted = false
  }
  response.once('finish', end).once('close', end)
}
