/**
 * Large bodies take turns, their callers by turns: others wait for one of them, not for all that has arrived. Between
 * them is time for short requests, which need several turns of the event loop.
 */

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
