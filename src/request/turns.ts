/** Large bodies take turns: what one of them takes, others do not wait for together. */

export const LARGE = 65_536

const waiting: Array<() => void> = []

/**
 * Works in a turn of the event loop in which no other large body does. Node would call all that has arrived in one
 * turn, and everything else would wait for their sum.
 */
export function inOwnTurn (work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(takeTurn)
}

function takeTurn (): void {
  try {
    (waiting[0] as () => void)()
  } finally {
    waiting.shift()
    if (waiting.length > 0) setImmediate(takeTurn)
  }
}
