/** Runs long work in pieces, between which the event loop serves others. */
import { setImmediate } from 'node:timers/promises'

/**
 * Work that yields after each small part: the bytes that it has gone through, or a number that stands for as much time.
 */
export type LongWork<T = void> = Generator<number, T>

/** The size of the parts into which long values are divided, in bytes or characters. */
export const PART = 65_536

/** The amount of work between two turns of the event loop. */
const PIECE = 262_144

/** Does all of the work at once, for callers that cannot wait. @throws what the work throws */
export function allOf<T> (work: LongWork<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** Undefined if `isOver` returned true between two pieces, so that nobody needs it. @throws what the work throws */
export async function inPieces<T> (work: LongWork<T>): Promise<T>
export async function inPieces<T> (work: LongWork<T>, isOver: () => boolean): Promise<T | undefined>
export async function inPieces<T> (work: LongWork<T>, isOver: () => boolean = () => false): Promise<T | undefined> {
  // what has brought the work has taken its time
  let done = PIECE
  for (;;) {
    if (done >= PIECE) {
      done = 0
      if (isOver()) return undefined
      await setImmediate()
      if (isOver()) return undefined
    }
    const step = work.next()
    if (step.done === true) return step.value
    done += step.value
  }
}
