/**
 * The memory budget of the process for answers: those that are being written, and those that clients have not read yet.
 */
import type { ServerResponse } from 'node:http'

/** Sent answers of up to so many bytes are not counted: they fit into the send buffer of a connection. */
const SMALL = 16_384
/** Answers of up to so many bytes may use all of the budget, larger ones three quarters of it, so that a few large ones do not block the others. */
const MEDIUM = 1_048_576
const FOR_LARGE = 0.75

let budget = Infinity
let used = 0

/** If the plugin is registered several times in one process, the last registration decides. */
export function setAnswerBudget (bytes: number): void {
  budget = bytes
}

/** The maximum size of an answer, in bytes. */
export function largestAnswer (): number {
  return Math.floor(budget * FOR_LARGE)
}

/**
 * Takes `bytes` for an answer that then has `size` bytes; returns false where fewer are left. The larger an answer is, the more of the
 * budget it may use: an answer that is nearly complete is not refused because of others that have just begun.
 */
export function takeMemory (bytes: number, size: number): boolean {
  if (used + bytes > (size > MEDIUM ? (largestAnswer() + size) / 2 : budget)) return false
  used += bytes
  return true
}

export function giveMemory (bytes: number): void {
  used -= bytes
}

/** Counts an answer until its client has read it, or has disconnected. */
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
